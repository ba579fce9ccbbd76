/*
 * uuid.h: makes UUIDs.
 */
#ifndef ETHOS_BASE_SYSTEM_UUID_H
#define ETHOS_BASE_SYSTEM_UUID_H

#define UUID_SIZE 37 /* with terminator */

/* A new UUID, version 4. -1 and errno if cannot get random bytes from the system. */
int uuid_make(char out[UUID_SIZE]);

#endif
