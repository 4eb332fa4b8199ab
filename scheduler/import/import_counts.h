/* import_counts.h - what came of the problems of an import, in numbers, and of what was left out by reason.
 * Layer: scheduler.  Zeroed at first; fini. */
#ifndef ATOLL_SCHEDULER_IMPORT_IMPORT_COUNTS_H
#define ATOLL_SCHEDULER_IMPORT_IMPORT_COUNTS_H

#include <jansson.h>

struct atoll_import_counts {
    unsigned listed, read, checked, expressible, seeded, degenerate, imported, failed;
    json_t *reasons;  /* "degenerate: range": [problems]; owned, NULL: none */
    json_t *no_seeds; /* why there is none, its numbers as #: [problems] */
};

/* entry: of the record of the import, borrowed. */
void atoll_import_count(struct atoll_import_counts *counts, const char *problem, const json_t *entry);
/* A line, and one a reason with an example; or one JSON object. */
void atoll_import_counts_print(const struct atoll_import_counts *counts, int is_json, int is_all);
void atoll_import_counts_fini(struct atoll_import_counts *counts);

#endif
