/* slot.h - how many jobs of this machine run at once, and whose turn it is.  Layer: scheduler.  A slot is a locked file: it is
 * free as soon as its holder is gone, however it went. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_LOCAL_SLOT_H
#define ATOLL_SCHEDULER_LAUNCHER_LOCAL_SLOT_H

/* One of count slots of a folder, which is made: its descriptor; -1 when all are taken.  close() gives it back. */
int atoll_slot_take(const char *folder, unsigned count);
/* Of this machine: ATOLL_LOCAL_JOBS, 1 without it. */
unsigned atoll_slot_count(void);

/* Queues up; whether nobody who was queued before waits any more.  Jobs whose supervisor is gone are passed over. */
int atoll_turn_is_mine(const char *root, const char *id);
void atoll_turn_leave(const char *root, const char *id);

#endif
