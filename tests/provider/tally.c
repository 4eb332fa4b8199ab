#include "tests/provider/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/provider/scenario.h"

void tally_init(struct tally *tally)
{
    *tally = (struct tally){0};
}

void tally_fini(struct tally *tally)
{
    for (size_t i = 0; i < tally->capacity; i++)
        free(tally->rows[i]);
    free(tally->rows);
    tally_init(tally);
}

static struct tally_row **place_of(struct tally_row **rows, size_t capacity, const char *id)
{
    size_t at = scenario_hash(id) & (capacity - 1);
    while (rows[at] && strcmp(rows[at]->id, id) != 0)
        at = (at + 1) & (capacity - 1);
    return &rows[at];
}

static void grow(struct tally *tally)
{
    size_t capacity = tally->capacity ? tally->capacity * 2 : 256;
    struct tally_row **rows = calloc(capacity, sizeof(struct tally_row *));
    if (!rows)
        abort();
    for (size_t i = 0; i < tally->capacity; i++)
        if (tally->rows[i])
            *place_of(rows, capacity, tally->rows[i]->id) = tally->rows[i];
    free(tally->rows);
    tally->rows = rows;
    tally->capacity = capacity;
}

struct tally_row *tally_row(struct tally *tally, const char *id)
{
    if (tally->count * 2 >= tally->capacity)
        grow(tally);
    struct tally_row **place = place_of(tally->rows, tally->capacity, id);
    if (!*place) {
        *place = calloc(1, sizeof(**place));
        if (!*place)
            abort();
        snprintf((*place)->id, sizeof(*place)->id, "%s", id);
        tally->count++;
    }
    return *place;
}

static void row_note(struct tally_row *row, enum tally_end end, uint64_t input, uint64_t output)
{
    if (end == TALLY_ANSWERED) {
        row->answered++;
        row->input += input;
        row->output += output;
    } else if (end == TALLY_REFUSED) {
        row->refused++;
    } else {
        row->broken++;
        row->broken_input += input;
        row->broken_output += output;
    }
}

void tally_note(struct tally *tally, const char *id, enum tally_end end, double input, double output)
{
    row_note(tally_row(tally, id), end, (uint64_t)input, (uint64_t)output);
    row_note(&tally->sum, end, (uint64_t)input, (uint64_t)output);
}

static void row_print(const struct tally_row *row, struct atoll_buffer *out)
{
    atoll_buffer_printf(
        out,
        "\"seen\":%u,\"answered\":%u,\"refused\":%u,\"broken\":%u,\"input\":%llu,\"output\":%llu,"
        "\"broken_input\":%llu,\"broken_output\":%llu",
        row->seen, row->answered, row->refused, row->broken, (unsigned long long)row->input,
        (unsigned long long)row->output, (unsigned long long)row->broken_input,
        (unsigned long long)row->broken_output);
}

void tally_print(const struct tally *tally, int has_ids, struct atoll_buffer *out)
{
    const char *comma = "";
    atoll_buffer_printf(out, "{\"connections\":%llu,\"open\":%llu,\"requests\":%llu,\"distinct\":%zu,",
                        (unsigned long long)tally->connections, (unsigned long long)tally->open,
                        (unsigned long long)tally->requests, tally->count);
    row_print(&tally->sum, out);
    if (has_ids) {
        atoll_buffer_printf(out, ",\"ids\":{");
        for (size_t i = 0; i < tally->capacity; i++) {
            if (!tally->rows[i])
                continue;
            atoll_buffer_printf(out, "%s\"%s\":{", comma, tally->rows[i]->id);
            row_print(tally->rows[i], out);
            atoll_buffer_printf(out, "}");
            comma = ",";
        }
        atoll_buffer_printf(out, "}");
    }
    atoll_buffer_printf(out, "}\n");
}
