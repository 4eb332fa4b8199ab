/* migrate.h - who travels between islands, and when (ALGORITHMS.md 4): a ring now.
 * Layer: evolution. */
#ifndef ATOLL_EVOLUTION_MIGRATE_H
#define ATOLL_EVOLUTION_MIGRATE_H

#include "evolution/state.h"

/* Called when an island has one more evaluated candidate: at the end of every migration_interval-th
 * generation its fastest elite goes to the next island, where it enters an empty cell or challenges. */
int atoll_migrate(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t island,
                  struct atoll_err *err);

#endif
