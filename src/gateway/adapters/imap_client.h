/*
 * imap_client.h: a connection to an IMAP server: libcurl connects, encrypts and signs in, the talk is ours.
 *
 * Everything blocks, for IMAP_REPLY_MS at most.
 */
#ifndef ETHOS_GATEWAY_IMAP_CLIENT_H
#define ETHOS_GATEWAY_IMAP_CLIENT_H

#include <stdbool.h>

#include <ethos/types.h>

#define IMAP_REPLY_MS 60000

struct imap_client;

struct imap_settings {
    const char *
        url; /* imaps://HOST, or imap://HOST, which must offer STARTTLS unless it is this machine */
    const char *user, *password;
    bool is_loopback;
};

/* ETHOS_DENIED: the server does not accept the password. */
int imap_open(const struct imap_settings *settings, struct imap_client **out,
              struct ethos_error *error);
void imap_close(struct imap_client *self);

/* An untagged response of the server. */
typedef void imap_each_fn(void *arg, struct ethos_view response);

/* Sends a command and waits for its end. ETHOS_INVALID: the server refused it; ETHOS_IO: the connection is over. */
int imap_command(struct imap_client *self, const char *command, imap_each_fn *each, void *arg,
                 struct ethos_error *error);

/* Waits until the server tells of something new, fd is readable, or the time is over. */
int imap_idle(struct imap_client *self, int fd, int64_t ms, struct ethos_error *error);

#endif
