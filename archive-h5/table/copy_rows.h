/* copy_rows.h - copies rows between tables, translating texts and campaigns.
 * Layer: archive-h5, private to project.c and merge.c.  Lifetime: init/fini. */
#ifndef ATOLL_ARCHIVE_H5_TABLE_COPY_ROWS_H
#define ATOLL_ARCHIVE_H5_TABLE_COPY_ROWS_H

#include "archive-h5/table/table.h"

struct atoll_row_copier {
    struct atoll_tables *into;       /* borrowed */
    const struct atoll_tables *from; /* borrowed */
    uint32_t *texts;                 /* text of `from` -> text of `into` + 1; 0 = not yet */
    const uint32_t *campaigns;       /* borrowed; campaign row of `from` -> of `into`; NULL = the same */
    size_t campaign_count;
};

int atoll_row_copier_init(struct atoll_row_copier *c, struct atoll_tables *into,
                          const struct atoll_tables *from, struct atoll_err *err);
void atoll_row_copier_fini(struct atoll_row_copier *c);
/* A row of `from` as it has to look in `into`; ret_row has room for the table's struct. */
int atoll_row_copier_get(struct atoll_row_copier *c, enum atoll_table table, uint64_t row, void *ret_row,
                         struct atoll_err *err);

/* Room for any row struct. */
union atoll_any_row {
    struct atoll_row_campaign campaign;
    struct atoll_row_task task;
    struct atoll_row_device device;
    struct atoll_row_ask ask;
    struct atoll_row_candidate candidate;
    struct atoll_row_evaluation evaluation;
    struct atoll_row_timing timing;
    struct atoll_row_sample sample;
    struct atoll_row_profile profile;
    struct atoll_row_duel duel;
    struct atoll_row_elite elite;
    struct atoll_row_migration migration;
    struct atoll_row_decision decision;
    struct atoll_row_rival rival;
    struct atoll_row_rival_timing rival_timing;
    struct atoll_row_device_time device_time;
    struct atoll_row_hint hint;
    struct atoll_row_hint_use hint_use;
    struct atoll_row_memory memory;
    struct atoll_row_brief brief;
    struct atoll_row_tool_call tool_call;
};

#endif
