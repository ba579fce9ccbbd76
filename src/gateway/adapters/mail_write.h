/*
 * mail_write.h: an answer as a mail.
 */
#ifndef ETHOS_GATEWAY_MAIL_WRITE_H
#define ETHOS_GATEWAY_MAIL_WRITE_H

#include "base/str.h"

struct mail_answer {
    const char *from, *to, *subject; /* of the mail that is answered */
    const char *id; /* Message-ID without brackets: the same whenever this answer is sent */
    const char *reply_to, *root; /* Message-IDs, or "" */
    struct ethos_view text;
    int64_t time_ms;
};

/* Appends the mail, lines ending in CRLF. */
int mail_write(const struct mail_answer *answer, struct str *out, struct ethos_error *error);

#endif
