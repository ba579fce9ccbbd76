/*
 * references_internal.h: shared by the files that implement references.h.
 */
#ifndef ETHOS_CORE_NOTES_REFERENCES_INTERNAL_H
#define ETHOS_CORE_NOTES_REFERENCES_INTERNAL_H

#include "core/notes/references.h"

/* The references in a line of prose. */
int claims_line(struct ethos_view text, size_t line, claim_fn *each, void *arg);

/* The end of the code span that the backticks at `at` open, or 0. */
size_t claims_run(struct ethos_view text, size_t at);
size_t claims_code_end(struct ethos_view text, size_t at);

/* Exactly YYYY-MM-DD. */
bool claims_date(struct ethos_view text, int64_t *out_ms);

/* Of a name or a word in any script. */
bool claims_is_word_byte(char c);

/*
 * Whether a word is a path as defined in references.h; :line, :line:column and #L7 are removed.
 * linked: it is the target of a link, so a name without a directory is a path too.
 */
bool claims_path(struct ethos_view word, bool linked, struct ethos_view *out_path,
                 size_t *out_number);

/* Whether a word is the name of a symbol; *out_name is its last part, without qualifiers and (). */
bool claims_symbol(struct ethos_view word, struct ethos_view *out_name);

#endif
