/* reap.h - ends what a job leaves behind.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_LOCAL_REAP_H
#define ATOLL_SCHEDULER_LOCAL_REAP_H

/* Kills and reaps all descendants of this process, which must be a subreaper: orphans then become its children, whatever
 * session or group they have put themselves into. */
void atoll_local_reap(void);

#endif
