/*
 * output.c: text for a person.
 */
#include "chat/output.h"

#include "base/str.h"
#include "base/text/terminal.h"

void output_text(FILE *out, struct ethos_view text, bool is_terminal)
{
    struct str safe;
    if (!is_terminal) {
        fwrite(text.data, 1, text.size, out);
        return;
    }
    str_init(&safe, 8 * text.size + 1);
    if (terminal_escape(text, &safe) == ETHOS_OK)
        fwrite(safe.data, 1, safe.size, out);
    str_release(&safe);
}
