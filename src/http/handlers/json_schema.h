/*
 * json_schema.h: forms of ops/result_types.h as JSON Schema.
 */
#ifndef ETHOS_HTTP_HANDLERS_JSON_SCHEMA_H
#define ETHOS_HTTP_HANDLERS_JSON_SCHEMA_H

#include "base/json.h"

/* NULL without memory, or for a form that is none. Types are named below #/components/schemas/. */
json_t *schema_json(const char *form);

#endif
