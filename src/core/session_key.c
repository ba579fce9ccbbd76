/*
 * session_key.c: keys and titles of conversations.
 */
#include "core/session_key.h"

#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/line.h"
#include "core/remember.h"

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
