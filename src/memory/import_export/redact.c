/*
 * redact.c: finds and redacts text that looks like a secret in imports and exports.
 */
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "memory/import_export/internal.h"

/* "github-pat" of a line that holds "[REDACTED:github-pat]". */
static struct ethos_view tag_of(struct ethos_view line)
{
    static const char mark[] = "[REDACTED:";
    const char *at = line.size ? memmem(line.data, line.size, mark, sizeof mark - 1) : NULL;
    if (!at)
        return VIEW("secret");
    at += sizeof mark - 1;
    const char *end = memchr(at, ']', (size_t)(line.data + line.size - at));
    return end ? view_of(at, (size_t)(end - at)) : VIEW("secret");
}

int secret_redact(struct ethos_view text, struct str *out)
{
    return scan_text(text, SCAN_REDACT, out, NULL) ? str_code(out) : str_add(out, text);
}

int secret_find(struct ethos_view text, secret_fn *each, void *arg)
{
    CLEANUP_STR struct str clean;
    struct ethos_view shown, line, seen;
    str_init(&clean, ETHOS_MAX_STORE_BYTES);
    if (scan_text(text, SCAN_REDACT, &clean, NULL)) {
        shown = str_view(&clean);
        for (size_t number = 1; view_line(&text, &line) && view_line(&shown, &seen); number++)
            if (!view_eq(line, seen))
                each(arg, number, tag_of(seen));
    }
    return str_code(&clean);
}
