/*
 * mail_read.h: a mail as a message of a channel: who vouches for its sender, whether it may be answered at all, and
 * what it says without what it quotes.
 *
 * Programs write mails, too, and two that answer each other never end: a mail that any of the usual signs marks as
 * written by one (Auto-Submitted, Precedence, List-*, an empty Return-Path, a report, ...) is not answered. The sender
 * is known only by an Authentication-Results line of the server that the settings name, the topmost of that name.
 */
#ifndef ETHOS_GATEWAY_MAIL_READ_H
#define ETHOS_GATEWAY_MAIL_READ_H

#include <stdbool.h>

#include "base/str.h"

#define MAIL_MAX_BYTES 26214400 /* of a mail that is read */
#define MAIL_MAX_TEXT 262144    /* bytes of what it says */
#define MAIL_MAX_ADDRESS 255    /* bytes with terminator */
#define MAIL_MAX_ID 250         /* bytes of a Message-ID that is taken, with terminator */

struct mail {
    char address
        [MAIL_MAX_ADDRESS]; /* of the one From, folded: lower case, no +tag, A-label; "" when there is none */
    char name[128];
    char id[MAIL_MAX_ID];   /* Message-ID without brackets, or "" */
    char root[MAIL_MAX_ID]; /* of the first of its thread; itself when it begins one */
    struct str subject, text;
    int64_t time_ms; /* Date, or 0 */
    bool is_verified;
    bool is_automatic; /* never to be answered */
    bool has_files;
};

/* authserv NULL or "": nobody is verified. own: the address that mails are sent from. Release in any case. */
int mail_read(struct ethos_view raw, const char *authserv, const char *own, struct mail *out,
              struct ethos_error *error);
void mail_release(struct mail *self);

/*
 * Whether what is left of a mail is not all its sender's: forwarded, or quotes that stand for the whole. By the signs
 * that mail programs leave; a text that somebody pasted has none.
 */
bool mail_quotes_others(struct ethos_view subject, struct ethos_view text);

/* ---- parts, for tests -------------------------------------------------------------------------- */

/* Whether a value of Authentication-Results, of that server, vouches for the domain. *out_its: it is of that server. */
bool mail_is_vouched(struct ethos_view value, const char *authserv, const char *domain,
                     bool *out_its);

/* Appends a text without its quotes and signature; all of it when nothing else is there. Returns str_code. */
int mail_cut_quotes(struct ethos_view text, struct str *out);

#endif
