/*
 * uuid.h: names that nobody else gives.
 */
#ifndef ETHOS_BASE_UUID_H
#define ETHOS_BASE_UUID_H

#define UUID_SIZE 37 /* with terminator */

#define UUID_RANDOM 16 /* bytes that one is made of */

/* The UUID, version 4, of so many random bytes. */
void uuid_text(const unsigned char random[UUID_RANDOM], char out[UUID_SIZE]);

/* A new UUID, version 4. -1 and errno when the system gives no randomness. */
int uuid_make(char out[UUID_SIZE]);

#endif
