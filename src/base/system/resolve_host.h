/*
 * resolve_host.h: resolves a host name with a timeout. For backends on a network.
 *
 * getaddrinfo can take long and cannot be cancelled. So it runs in a thread, which is abandoned at
 * the timeout: a shared object that uses this must stay loaded (-z nodelete). Numeric addresses
 * need no thread.
 */
#ifndef ETHOS_BASE_SYSTEM_RESOLVE_HOST_H
#define ETHOS_BASE_SYSTEM_RESOLVE_HOST_H

#include <netdb.h>
#include <stdint.h>

/*
 * 0, and a list of stream addresses for freeaddrinfo; otherwise a code of getaddrinfo: EAI_AGAIN if
 * there was no answer until then, by os_monotonic_ms. port: a number.
 */
int resolve_host(const char *host, const char *port, int64_t until, struct addrinfo **out);

#endif
