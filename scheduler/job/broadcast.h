/* broadcast.h - the programs of a step on the nodes' own disks, where the site wants that.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_JOB_BROADCAST_H
#define ATOLL_SCHEDULER_JOB_BROADCAST_H

#include "scheduler/site/node_list.h"
#include "scheduler/site/site.h"

/* Copies atoll-eval and what it starts to every node below the site's scratch folder.  from: folder of the programs,
 * absolute.  ret_folder: where they are now; `from` itself where the site wants no copies or there is one node.  Errors:
 * what the commands said; then everything can be started from `from`. */
int atoll_broadcast(const struct atoll_site *site, const struct atoll_node_list *nodes, const char *job,
                    const char *from, char *ret_folder, size_t bytes, struct atoll_err *err);

#endif
