/*
 * key.c: keys and titles of conversations.
 */
#include "core/sessions/key.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "core/notes/remember.h"

#define HASH_DIGITS 8
#define TITLE_LOOK_BYTES 4096 /* in which a title is looked for */

static void add_encoded(struct ethos_view part, struct str *out)
{
    for (size_t i = 0; i < part.size; i++) {
        if (part.data[i] == '%' || part.data[i] == ':')
            str_printf(out, "%%%02X", (unsigned)(unsigned char)part.data[i]);
        else
            str_addc(out, part.data[i]);
    }
}

static struct ethos_view basename_of(struct ethos_view folder)
{
    while (folder.size > 1 && folder.data[folder.size - 1] == '/')
        folder.size--;
    for (size_t i = folder.size; i-- > 0;)
        if (folder.data[i] == '/' && folder.size > 1)
            return view_from(folder, i + 1);
    return folder;
}

int session_key_folder(struct ethos_view folder, bool hashed, struct str *out)
{
    char hash[HASH_HEX_SIZE];
    str_adds(out, "cli:");
    add_encoded(basename_of(folder), out);
    hash_hex(folder, hash);
    return hashed ? str_printf(out, "~%.*s", HASH_DIGITS, hash) : str_code(out);
}

int session_key_parts(const struct ethos_view *parts, size_t count, struct str *out)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            str_addc(out, ':');
        add_encoded(parts[i], out);
    }
    return str_code(out);
}

bool session_key_of_family(struct ethos_view key, struct ethos_view base)
{
    if (!view_starts(key, base))
        return false;
    struct ethos_view rest = view_from(key, base.size);
    if (rest.size == 0)
        return true;
    if (rest.data[0] != ':' || rest.size < 2)
        return false;
    for (size_t i = 1; i < rest.size; i++)
        if (rest.data[i] < '0' || rest.data[i] > '9')
            return false;
    return true;
}

struct ethos_view session_key_base(struct ethos_view key)
{
    size_t size = key.size, colons = 0;
    size_t least = view_starts(key, VIEW("cli:")) ? 2 : 3; // those of a plain key and its moment's
    for (size_t i = 0; i < key.size; i++)
        colons += key.data[i] == ':';
    while (size > 0 && key.data[size - 1] >= '0' && key.data[size - 1] <= '9')
        size--;
    bool moment = colons >= least && size < key.size && key.data[size - 1] == ':';
    return moment ? view_of(key.data, size - 1) : key;
}

/* A message may be of any size; the title is where it begins. */
int session_title(struct ethos_view text, struct str *out)
{
    text = line_begin(text);
    if (text.size > TITLE_LOOK_BYTES) {
        text.size = TITLE_LOOK_BYTES;
        while (text.size > 0 && (text.data[text.size] & 0xC0) == 0x80)
            text.size--;
    }
    return remember_title(text, out);
}

/* "/clear", "/plugin:review": a command and nothing else; a path has more slashes. */
static bool is_command(struct ethos_view line)
{
    line = view_trim(line);
    if (line.size < 2 || line.data[0] != '/')
        return false;
    for (size_t i = 1; i < line.size; i++) {
        char c = line.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '-' && c != '_' && c != ':')
            return false;
    }
    return true;
}

/* Cuts "<tag>...</tag>" off where the tag is one that agents write. */
static bool skip_tag(struct ethos_view *text)
{
    static const char *const tags[] = {
        "bash-input",           "bash-stdout",          "bash-stderr",
        "local-command-caveat", "command-name",         "local-command-stdout",
        "command-args",         "local-command-stderr", "command-message"};
    char open[32], close[32];
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        int size = snprintf(open, sizeof open, "<%s>", tags[i]);
        snprintf(close, sizeof close, "</%s>", tags[i]);
        if (!view_starts(*text, view_str(open)))
            continue;
        const char *end = memmem(text->data, text->size, close, (size_t)size + 1);
        *text = end ? view_from(*text, (size_t)(end - text->data) + (size_t)size + 1)
                    : view_from(*text, text->size);
        return true;
    }
    return false;
}

struct ethos_view session_said(struct ethos_view text)
{
    for (;;) {
        struct ethos_view rest = text = view_trim_start(text), line;
        if (skip_tag(&text))
            continue;
        if (!view_line(&rest, &line) || !is_command(line))
            return text;
        text = rest;
    }
}
