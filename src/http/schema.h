/*
 * schema.h: forms of ops/answers.h as JSON Schema.
 */
#ifndef ETHOS_HTTP_SCHEMA_H
#define ETHOS_HTTP_SCHEMA_H

#include "base/json.h"

/* NULL without memory, or for a form that is none. Types are named below #/components/schemas/. */
json_t *schema_json(const char *form);

#endif
