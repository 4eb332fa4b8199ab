/* boot.h - which boot of which machine this is: what was written and not synced survives as long as it lasts.
 * Layer: base. */
#ifndef ATOLL_BASE_BOOT_H
#define ATOLL_BASE_BOOT_H

#define ATOLL_BOOT_BYTES 64

/* The kernel's boot id, NUL-ended.  Where it gives none, one drawn at random: never the same twice, so that whoever compares
 * takes the machine for another one. */
void atoll_boot_id(char ret_boot[ATOLL_BOOT_BYTES]);

#endif
