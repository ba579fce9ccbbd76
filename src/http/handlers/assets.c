/*
 * assets.c: the files of the dashboard, embedded, and the page of those who are not let in.
 *
 * The program and its files are of one version. The page (dashboard_page.c) names them by that version, so a browser
 * that has them asks no more; by their plain names it asks each time, and mostly hears that nothing changed.
 */
#include "http/handlers/assets.h"

#include <string.h>

#include "base/view.h"
#include "http/internal.h"

static const char stranger[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width\">"
    "<meta name=\"color-scheme\" content=\"light dark\"><title>ethos</title></head>\n"
    "<body><h1>ethos</h1>\n<p>This browser is not signed in. Run <code>ethos serve --link</code> "
    "in "
    "a terminal and open the link that it prints. A link works once, within 10 minutes.</p>\n"
    "<form action=\"/auth/exchange\"><p><label>Or type the six digits that a browser which is "
    "signed in shows: <input name=\"t\" inputmode=\"numeric\" autocomplete=\"one-time-code\" "
    "pattern=\"[0-9]{6}\" maxlength=\"6\" size=\"6\" required></label> "
    "<button>Sign in</button></p></form></body></html>\n";

void http_stranger(struct http_call *call)
{
    http_answer_static(call, "text/html; charset=utf-8", view_of(stranger, sizeof stranger - 1));
}

static const char *content_type(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},   {".svg", "image/svg+xml"},
        {".json", "application/json"},         {".png", "image/png"},
        {".ico", "image/vnd.microsoft.icon"},  {".woff2", "font/woff2"},
        {".txt", "text/plain; charset=utf-8"}, {".md", "text/plain; charset=utf-8"},
        {".ts", "text/plain; charset=utf-8"},  {".webmanifest", "application/manifest+json"},
    };
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof types / sizeof *types; i++)
        if (strcmp(ending, types[i].ending) == 0)
            return types[i].type;
    return "application/octet-stream";
}

/* What follows "VERSION/" in a name; NULL when the name does not begin so. */
static const char *versioned(const char *name)
{
    size_t size = strlen(assets_version);
    return strncmp(name, assets_version, size) == 0 && name[size] == '/' ? name + size + 1 : NULL;
}

const struct asset *asset_find(const char *name)
{
    for (const struct asset *asset = assets; asset->name; asset++)
        if (strcmp(asset->name, name) == 0)
            return asset;
    return NULL;
}

/* Whether a header that is a list of words has one; what follows a semicolon is not looked at but "q=0". */
static bool takes(const char *list, const char *word)
{
    while (list && *list) {
        size_t size = strcspn(list, ",");
        struct ethos_view item = view_trim(view_of(list, size));
        size_t name = 0;
        while (name < item.size && item.data[name] != ';' && item.data[name] != ' ')
            name++;
        if (view_eq_str(view_of(item.data, name), word))
            return !view_ends(item, VIEW("q=0"));
        list += size + (list[size] == ',');
    }
    return false;
}

void http_asset(struct http_call *call)
{
    static const struct http_error none = {404, "NOT_FOUND", "There is no such file", NULL};
    const char *lasting = versioned(call->rest);
    const struct asset *asset = asset_find(lasting ? lasting : call->rest);
    if (!asset) {
        http_answer_error(call, &none, NULL);
        return;
    }
    http_answer_header(call, "Cache-Control",
                       lasting ? "private, max-age=31536000, immutable" : "no-cache");
    http_answer_header(call, "ETag", asset->etag);
    if (asset->zip)
        http_answer_header(call, "Vary", "Accept-Encoding");
    if (takes(http_header(call, "if-none-match"), asset->etag)) {
        call->status = 304;
        return;
    }
    bool zipped = asset->zip && takes(http_header(call, "accept-encoding"), "gzip");
    if (zipped)
        http_answer_header(call, "Content-Encoding", "gzip");
    const char *start = zipped ? asset->zip : asset->start;
    const char *end = zipped ? asset->zip_end : asset->end;
    http_answer_static(call, content_type(asset->name), view_of(start, (size_t)(end - start)));
}
