/* copy_rows.c - texts are interned in the target as they are met. */
#include "archive-h5/table/copy_rows.h"

#include <stdlib.h>
#include <string.h>

int atoll_row_copier_init(struct atoll_row_copier *c, struct atoll_tables *into,
                          const struct atoll_tables *from, struct atoll_err *err)
{
    *c = (struct atoll_row_copier){into, from, NULL, NULL, 0};
    c->texts = calloc((size_t)atoll_tables_text_count(from) + 1, sizeof(*c->texts));
    return c->texts ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory to copy rows");
}

void atoll_row_copier_fini(struct atoll_row_copier *c)
{
    free(c->texts);
    c->texts = NULL;
}

int atoll_row_copier_get(struct atoll_row_copier *c, enum atoll_table table, uint64_t row, void *ret_row,
                         struct atoll_err *err)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    atoll_tables_get(c->from, table, row, ret_row);
    for (size_t i = 0; i < schema->column_count; i++) {
        uint32_t value;
        char *at = (char *)ret_row + schema->columns[i].offset;
        if (schema->columns[i].type == ATOLL_COLUMN_TEXT) {
            memcpy(&value, at, sizeof(value));
            uint32_t from = value < atoll_tables_text_count(c->from) ? value : 0;
            if (!c->texts[from]) {
                if (atoll_tables_add_text(c->into, atoll_tables_text(c->from, from),
                                          atoll_tables_text_length(c->from, from), &value, err) != 0) {
                    return -1;
                }
                c->texts[from] = value + 1;
            }
            value = c->texts[from] - 1;
            memcpy(at, &value, sizeof(value));
        } else if (schema->columns[i].type == ATOLL_COLUMN_CAMPAIGN && c->campaigns) {
            memcpy(&value, at, sizeof(value));
            value = value < c->campaign_count ? c->campaigns[value] : 0;
            memcpy(at, &value, sizeof(value));
        }
    }
    return 0;
}
