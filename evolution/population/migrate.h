/* migrate.h - who travels between islands, and when (ALGORITHMS.md 4; papers/000 3.2, papers/001 3.3).
 * Layer: evolution. */
#ifndef ATOLL_EVOLUTION_POPULATION_MIGRATE_H
#define ATOLL_EVOLUTION_POPULATION_MIGRATE_H

#include "evolution/engine/state.h"

/* Called when an island has one more evaluated candidate.  At the end of every migration_interval-th generation its
 * fastest elite goes along the topology: to the next island of a ring, or to a random one.  An island that stagnates
 * (no new elite for stagnation_generations) receives the fastest of a random other island at the end of a generation,
 * with probability stagnation_migration.  A migrant enters an empty cell or challenges; it is never merged. */
int atoll_migrate(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island, struct atoll_err *err);

#endif
