/*
 * resolve_host.h: the addresses of a name, within a time. For backends that are reached over a network.
 *
 * getaddrinfo takes as long as whoever is asked takes, and cannot be called off. So it is called in a thread of
 * its own, which is left alone when the time is over: whoever has this in a shared object keeps it loaded
 * (-z nodelete). Numbers need no thread.
 */
#ifndef ETHOS_BASE_SYSTEM_RESOLVE_HOST_H
#define ETHOS_BASE_SYSTEM_RESOLVE_HOST_H

#include <netdb.h>
#include <stdint.h>

/*
 * 0, and a list for freeaddrinfo, of streams; else a code of getaddrinfo: EAI_AGAIN when there was no answer until
 * then, by os_monotonic_ms. port: a number.
 */
int resolve_host(const char *host, const char *port, int64_t until, struct addrinfo **out);

#endif
