/* orphans.h - what is left of a job when its script has ended.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_LOCAL_ORPHANS_H
#define ATOLL_SCHEDULER_LAUNCHER_LOCAL_ORPHANS_H

/* Kills the children of this process, which is the subreaper of one job, and theirs, until none is left but supervisors of other
 * jobs: those that were submitted inside of this one.  root: the folder of all jobs. */
void atoll_orphans_clear(const char *root);

#endif
