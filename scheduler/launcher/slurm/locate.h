/* locate.h - finds the plugin that works here: that loads, whose library is here, and whose library finds a cluster.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_LOCATE_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_LOCATE_H

#include <stddef.h>

#include "base/err.h"

/* Looks beside the program, as it is built, and in ../lib/atoll, as it is installed; ATOLL_SLURM_PLUGIN names another one
 * ("none": no plugin at all).  Newest version first.  ret_version: that it was built for.  MISSING with what was tried and why not. */
int atoll_slurm_locate(double timeout_s, char *ret_path, size_t path_bytes, char *ret_version,
                       size_t version_bytes, struct atoll_err *err);

#endif
