/*
 * contacts.h: who may talk, and the codes by which people are let in.
 *
 * An identity is the platform's own id of the sender, never a name. Codes are stored as hashes and valid for an
 * hour; of one that a stranger got the beginning is stored, too, so that an owner can compare it. What each role may is decided elsewhere: reception.c, commands.c and answering.c.
 */
#ifndef ETHOS_CHANNEL_CONTACTS_H
#define ETHOS_CHANNEL_CONTACTS_H

#include "channel/database.h"
#include "channel/message.h"

#define CODE_SIZE 9         /* bytes with terminator */
#define CODE_SHOWN 4        /* letters of a stranger's code that are stored, to be compared */
#define CODE_MAX_OPEN 20    /* of a platform, that strangers got */
#define CODE_MAX_TRIES 5    /* wrong codes of a sender within CODE_MS */
#define CODE_MS 3600000     /* how long a code is valid */
#define SILENCE_MS 86400000 /* after a line that a stranger got */

#define ROLE_OWNER "owner"
#define ROLE_TRUSTED "trusted"
#define ROLE_GUEST "guest"
#define ROLE_NONE "" /* somebody who has written and may not talk */

struct contact {
    char platform[CHANNEL_MAX_NAME], sender[CHANNEL_MAX_ID], name[CHANNEL_MAX_ID], role[16];
    char adapter[CHANNEL_MAX_NAME],
        chat[CHANNEL_MAX_ID]; /* the direct chat; "" when none is known */
    int64_t since_ms, told_ms, tries, tries_ms;
};

/* ETHOS_NOTFOUND: somebody who never wrote. */
int contact_read(struct channel_db *db, const char *platform, const char *sender,
                 struct contact *out, struct ethos_error *error);

/* All columns; an empty chat leaves that of the row. */
int contact_store(struct channel_db *db, const struct contact *contact, struct ethos_error *error);

int contact_set_role(struct channel_db *db, const char *platform, const char *sender,
                     const char *role, struct ethos_error *error);

/* An owner with a direct chat, of the platform if there is one. ETHOS_NOTFOUND. */
int contact_find_owner(struct channel_db *db, const char *platform, struct contact *out,
                       struct ethos_error *error);

/* Calls each with everybody who has a role. */
typedef int contact_each_fn(void *arg, const struct contact *contact);
int contact_each(struct channel_db *db, contact_each_fn *each, void *arg,
                 struct ethos_error *error);

/*
 * The role of somebody who has written, who is told so when it is the first one. ETHOS_NOTFOUND; ETHOS_INVALID for an
 * owner, who stays one.
 */
int contact_admit(struct channel_db *db, const char *platform, const char *sender, const char *role,
                  int64_t now_ms, struct contact *out, struct ethos_error *error);

/* Somebody may no longer talk, or does not wait any more: the code is over, too. ETHOS_NOTFOUND. */
int contact_remove(struct channel_db *db, const char *platform, const char *sender,
                   struct ethos_error *error);

/* ---- codes ------------------------------------------------------------------------------------- */

#define CODE_OWNER "owner" /* whoever sends it becomes the owner; sender is "" */
#define CODE_PAIR "pair"   /* the sender of the code is let in by an owner who names it */
#define CODE_LINK "link"   /* another identity of the sender */

/* Whether a text has the form of a code, blanks around it and its case ignored; which. */
bool code_parse(struct ethos_view text, char out[CODE_SIZE]);

/*
 * A new code. ETHOS_LIMIT when strangers of the platform have as many as there may be. The owner's, and a link's,
 * end the earlier one of the same kind.
 */
int code_make(struct channel_db *db, const char *purpose, const char *platform, const char *sender,
              int64_t now_ms, char out[CODE_SIZE], struct ethos_error *error);

/* Whose code it is; ETHOS_NOTFOUND when there is none, or it is over. It is used up with use. */
int code_find(struct channel_db *db, const char *purpose, const char *code, int64_t now_ms,
              bool use, char out_platform[CHANNEL_MAX_NAME], char out_sender[CHANNEL_MAX_ID],
              struct ethos_error *error);

/* Somebody who has a code and may not talk yet. */
struct contact_waiting {
    struct contact contact;
    char begins[CODE_SHOWN + 1]; /* of the code */
    int64_t since_ms;            /* of the code */
};
typedef int contact_waiting_fn(void *arg, const struct contact_waiting *waiting);
int contact_each_waiting(struct channel_db *db, int64_t now_ms, contact_waiting_fn *each, void *arg,
                         struct ethos_error *error);

/*
 * Lets the sender of a code in, who is told so, as role; *out is who that is. ETHOS_NOTFOUND when it is not a valid
 * code.
 */
int contact_allow(struct channel_db *db, const char *code, const char *role, int64_t now_ms,
                  struct contact *out, struct ethos_error *error);

#endif
