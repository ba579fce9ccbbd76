/*
 * json.c: JSON out, and small helpers around jansson's values. Reading is in json_parse.c.
 */
#include "base/json.h"

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

static int append(const char *buffer, size_t size, void *data)
{
    return str_add(data, view_of(buffer, size)) ? -1 : 0;
}

int json_print(const json_t *value, int style, struct str *out)
{
    size_t flags = style == JSON_STYLE_PRETTY ? JSON_INDENT(2) : JSON_COMPACT;
    size_t start = out->size;

    if (str_code(out))
        return str_code(out);
    if (json_dump_callback(value, append, out, flags | JSON_ENCODE_ANY) == 0)
        return ETHOS_OK;
    str_truncate(out, start);
    return str_fail(out, ETHOS_NOMEM); // unless the ceiling was the reason
}

struct ethos_view json_view(const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);

    return view_of(json_string_value(member), json_string_length(member));
}

json_t *json_text(struct ethos_view v)
{
    struct str clean;

    if (utf8_valid(v))
        return json_stringn_nocheck(v.size ? v.data : "", v.size);
    str_init(&clean, SIZE_MAX);
    json_t *out = utf8_sanitize(v, &clean) ? NULL : json_stringn_nocheck(clean.data, clean.size);
    str_release(&clean);
    return out;
}
