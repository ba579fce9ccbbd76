/*
 * text.c: the memory that everything is measured on.
 */
#include "text.h"

#include "base/str.h"
#include "base/view.h"

static const char paragraph[] =
    "- Prefers short answers with the command first and the reason after it.\n"
    "- The build is `make`; the tests take two minutes and need no network.\n"
    "- Decided on 12 March: one lock per directory, taken before anything is read.\n"
    "\n"
    "## Release\n"
    "\n"
    "- Releases are cut on Thursdays; the changelog is written by hand – never generated.\n"
    "- Lives in Zürich, works with people in São Paulo and 東京.\n"
    "- Staging and production differ only in the address of the queue.\n"
    "- Asked twice not to reformat files that are not part of the change.\n";

struct ethos_view text_make(size_t bytes)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    while (text.size < bytes && str_adds(&text, paragraph) == ETHOS_OK)
        continue;
    while (bytes > 1 && ((unsigned char)text.data[bytes - 1] & 0x80)) // end on a character
        bytes--;
    str_truncate(&text, bytes - 1);
    str_addc(&text, '\n');
    return view_of(str_steal(&text, NULL), bytes);
}
