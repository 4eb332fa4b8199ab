#include "mpi-eval/coordinator/rank_map.h"

#include <string.h>

static const char *or_dash(const char *text)
{
    return text[0] ? text : "-";
}

void atoll_rank_map_line(const struct atoll_rank_map_row *row, struct atoll_buffer *out)
{
    const struct atoll_place *p = row->place;
    if (row->rank >= 0)
        atoll_buffer_printf(out, "rank %-4d", row->rank);
    else
        atoll_buffer_printf(out, "evaluator %-3u", row->evaluator);
    atoll_buffer_printf(out, " %-9s %-16s", row->state, or_dash(p->node));
    if (p->surplus == ATOLL_SURPLUS_NONE)
        atoll_buffer_printf(out, " %s %s", or_dash(row->model), row->uuid);
    if (p->core_count)
        atoll_buffer_printf(out, "; NUMA %s, %u cores %s", or_dash(p->numa), p->core_count, p->cores);
    if (p->slots)
        atoll_buffer_printf(out, ", %u compile slot%s", p->slots, p->slots == 1 ? "" : "s");
    if (p->note[0])
        atoll_buffer_printf(out, "; %s", p->note);
}

/* Quadratic, once in a while, in hundreds. */
static unsigned nodes_count(const struct atoll_rank_map_row *rows, unsigned count)
{
    unsigned nodes = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned first = 0;
        while (first < i && strcmp(rows[first].place->node, rows[i].place->node) != 0)
            first++;
        nodes += first == i && rows[i].place->node[0] ? 1 : 0;
    }
    return nodes;
}

static unsigned state_count(const struct atoll_rank_map_row *rows, unsigned count, const char *state)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += strcmp(rows[i].state, state) == 0;
    return found;
}

void atoll_rank_map_summary(const struct atoll_rank_map_row *rows, unsigned count, struct atoll_buffer *out)
{
    unsigned ready = state_count(rows, count, "ready"), surplus = state_count(rows, count, "surplus");
    unsigned nodes = nodes_count(rows, count), others = count - ready - surplus;
    atoll_buffer_printf(out, "%u of %u evaluators work, on %u node%s", ready, count, nodes,
                        nodes == 1 ? "" : "s");
    if (surplus)
        atoll_buffer_printf(out, "; %u surplus", surplus);
    if (others)
        atoll_buffer_printf(out, "; %u not there", others);
}

static void text_put(const char *name, const char *text, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, ",\"%s\":\"", name);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            atoll_buffer_put_u8(out, '\\');
        atoll_buffer_put_u8(out, *c < ' ' || *c > '~' ? '?' : (uint8_t)*c);
    }
    atoll_buffer_put_u8(out, '"');
}

static void row_put(const struct atoll_rank_map_row *row, struct atoll_buffer *out)
{
    const struct atoll_place *p = row->place;
    atoll_buffer_printf(out, "{\"evaluator\":%u", row->evaluator);
    if (row->rank >= 0)
        atoll_buffer_printf(out, ",\"rank\":%d", row->rank);
    text_put("state", row->state, out);
    text_put("node", p->node, out);
    text_put("model", row->model, out);
    text_put("uuid", row->uuid, out);
    text_put("numa", p->numa, out);
    text_put("cores", p->cores, out);
    atoll_buffer_printf(out, ",\"core_count\":%u,\"compile_slots\":%u", p->core_count, p->slots);
    text_put("note", p->note, out);
    atoll_buffer_put_u8(out, '}');
}

void atoll_rank_map_json(const struct atoll_rank_map_row *rows, unsigned count, int64_t unix_ns,
                         struct atoll_buffer *out)
{
    atoll_buffer_printf(out, "{\"version\":%d,\"unix_ns\":%lld,\"evaluators\":[", ATOLL_RANK_MAP_VERSION,
                        (long long)unix_ns);
    for (unsigned i = 0; i < count; i++) {
        atoll_buffer_printf(out, "%s\n", i ? "," : "");
        row_put(&rows[i], out);
    }
    atoll_buffer_printf(out, "\n]}\n");
}
