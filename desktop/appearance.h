/*
 * appearance.h: dark and light, as the person's desktop says by its portal.
 */
#ifndef DESKTOP_APPEARANCE_H
#define DESKTOP_APPEARANCE_H

/* From now on; without a portal, as GTK is set. */
void appearance_follow(void);

#endif
