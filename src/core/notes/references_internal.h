/*
 * references_internal.h: what the files behind references.h tell each other.
 */
#ifndef ETHOS_CORE_NOTES_REFERENCES_INTERNAL_H
#define ETHOS_CORE_NOTES_REFERENCES_INTERNAL_H

#include "core/notes/references.h"

/* The claims of a line of prose. */
int claims_line(struct ethos_view text, size_t line, claim_fn *each, void *arg);

/* Backticks in a row from `at` on; the end of the code span they open, or 0. */
size_t claims_run(struct ethos_view text, size_t at);
size_t claims_code_end(struct ethos_view text, size_t at);

/* Exactly YYYY-MM-DD. */
bool claims_date(struct ethos_view text, int64_t *out_ms);

/* Of a name or a word in any script. */
bool claims_is_word_byte(char c);

/*
 * Whether a word is a path as references.h means it; :line, :line:column and #L7 are taken off. linked:
 * it is where a link leads, so that a name alone is one too.
 */
bool claims_path(struct ethos_view word, bool linked, struct ethos_view *out_path,
                 size_t *out_number);

/* Whether a word is a name of code; *out_name is its last part, without qualifiers and (). */
bool claims_symbol(struct ethos_view word, struct ethos_view *out_name);

#endif
