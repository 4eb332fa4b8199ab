#include "mpi-eval/coordinator/rank_map.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#define LOOK_NS   0.5e9
#define STARTS_NS 10e9 /* after the first: whoever is not there then is logged as not there */
#define MAP_BYTES ((size_t)16 << 20)

static const char *or_dash(const char *text)
{
    return text[0] ? text : "-";
}

void atoll_rank_map_line(const struct atoll_rank_map_row *row, struct atoll_buffer *out)
{
    const struct atoll_evaluator_location *p = row->place;
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

/* Nodes are counted in quadratic time: this is done once in a while, for some hundred rows. */
void atoll_rank_map_summary(const struct atoll_rank_map_row *rows, unsigned count, struct atoll_buffer *out)
{
    unsigned ready = 0, surplus = 0, nodes = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned first = 0;
        while (first < i && strcmp(rows[first].place->node, rows[i].place->node) != 0)
            first++;
        nodes += first == i && rows[i].place->node[0];
        ready += strcmp(rows[i].state, "ready") == 0;
        surplus += strcmp(rows[i].state, "surplus") == 0;
    }
    unsigned others = count - ready - surplus;
    atoll_buffer_printf(out, "%u of %u evaluators work, on %u node%s", ready, count, nodes,
                        nodes == 1 ? "" : "s");
    if (surplus)
        atoll_buffer_printf(out, "; %u surplus", surplus);
    if (others)
        atoll_buffer_printf(out, "; %u not there", others);
}

static void put_text(const char *name, const char *text, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, ",\"%s\":\"", name);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            atoll_buffer_put_u8(out, '\\');
        atoll_buffer_put_u8(out, *c < ' ' || *c > '~' ? '?' : (uint8_t)*c);
    }
    atoll_buffer_put_u8(out, '"');
}

static void put_row(const struct atoll_rank_map_row *row, struct atoll_buffer *out)
{
    const struct atoll_evaluator_location *p = row->place;
    atoll_buffer_printf(out, "{\"evaluator\":%u", row->evaluator);
    if (row->rank >= 0)
        atoll_buffer_printf(out, ",\"rank\":%d", row->rank);
    put_text("state", row->state, out);
    put_text("node", p->node, out);
    put_text("model", row->model, out);
    put_text("uuid", row->uuid, out);
    put_text("numa", p->numa, out);
    put_text("cores", p->cores, out);
    atoll_buffer_printf(out, ",\"core_count\":%u,\"compile_slots\":%u", p->core_count, p->slots);
    put_text("note", p->note, out);
    atoll_buffer_put_u8(out, '}');
}

void atoll_rank_map_json(const struct atoll_rank_map_row *rows, unsigned count, int64_t unix_ns,
                         struct atoll_buffer *out)
{
    atoll_buffer_printf(out, "{\"version\":%d,\"unix_ns\":%lld,\"evaluators\":[", ATOLL_RANK_MAP_VERSION,
                        (long long)unix_ns);
    for (unsigned i = 0; i < count; i++) {
        atoll_buffer_printf(out, "%s\n", i ? "," : "");
        put_row(&rows[i], out);
    }
    atoll_buffer_printf(out, "\n]}\n");
}

static void log_line(struct atoll_buffer *line)
{
    atoll_buffer_put_u8(line, '\0');
    if (!line->failed)
        atoll_log(ATOLL_LOG_INFO, "eval.ranks", "%s", (const char *)line->data);
    atoll_buffer_clear(line);
}

void atoll_rank_map_log(const struct atoll_rank_map_row *rows, unsigned count)
{
    struct atoll_buffer line;
    atoll_buffer_init(&line, 1u << 16);
    for (unsigned i = 0; i < count; i++) {
        atoll_rank_map_line(&rows[i], &line);
        log_line(&line);
    }
    atoll_rank_map_summary(rows, count, &line);
    log_line(&line);
    atoll_buffer_fini(&line);
    unsigned absent = 0;
    for (unsigned i = 0; i < count; i++)
        absent += strcmp(rows[i].state, atoll_peer_state_name(ATOLL_PEER_ABSENT)) == 0;
    if (absent)
        atoll_log(
            ATOLL_LOG_WARNING, "eval.ranks.absent",
            "%u of %u evaluators were not heard of: the run goes on, and their devices idle until they come; "
            "of ranks that ended as they started the step's output says why",
            absent, count);
}

static void write_file(struct atoll_rank_map *map, const struct atoll_rank_map_row *rows, unsigned count,
                       const char *attempt_dir)
{
    struct atoll_buffer text;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    atoll_buffer_init(&text, MAP_BYTES);
    atoll_rank_map_json(rows, count, 0, &text); /* the time alone is no change */
    uint32_t digest = atoll_crc32c(1, text.data, text.length);
    int n = snprintf(path, sizeof(path), "%s/%s", attempt_dir, ATOLL_RANK_MAP_FILE);
    if (digest != map->digest && n >= 0 && (size_t)n < sizeof(path)) {
        map->digest = digest;
        atoll_buffer_clear(&text);
        atoll_rank_map_json(rows, count, atoll_clock_unix_ns(), &text);
        if (atoll_buffer_check(&text, &err) != 0 ||
            atoll_file_replace(NULL, path, text.data, text.length, &err) != 0) {
            atoll_log_err(ATOLL_LOG_WARNING, "eval.ranks.file", &err);
        }
    }
    atoll_buffer_fini(&text);
}

void atoll_rank_map_update(struct atoll_rank_map *map, const struct atoll_peer_table *peers,
                           const char *attempt_dir, double now_ns, int is_last)
{
    unsigned count = atoll_peer_table_count(peers);
    int all_are_known = 1; /* nobody is expected to send a place any more */
    if (!is_last && now_ns - map->looked_ns < LOOK_NS && map->looked_ns > 0)
        return;
    map->looked_ns = now_ns;
    for (unsigned i = 0; i < count; i++) {
        enum atoll_peer_state state = atoll_peer_table_peer(peers, i)->state;
        if (state == ATOLL_PEER_ABSENT || state == ATOLL_PEER_GREETED)
            all_are_known = 0;
        if ((state == ATOLL_PEER_READY || state == ATOLL_PEER_SURPLUS) && map->first_ns <= 0)
            map->first_ns = now_ns;
    }
    int is_time = all_are_known || is_last || (map->first_ns > 0 && now_ns - map->first_ns > STARTS_NS);
    if (!map->is_logged && !is_time)
        return;
    struct atoll_rank_map_row *rows = calloc(count ? count : 1, sizeof(*rows));
    for (unsigned i = 0; rows && i < count; i++) {
        const struct atoll_peer *peer = atoll_peer_table_peer(peers, i);
        rows[i] = (struct atoll_rank_map_row){.rank = atoll_peer_table_rank(peers, i),
                                              .evaluator = i,
                                              .state = atoll_peer_state_name(peer->state),
                                              .model = peer->model,
                                              .uuid = peer->uuid,
                                              .place = &peer->place};
    }
    if (rows && !map->is_logged)
        atoll_rank_map_log(rows, count);
    if (rows)
        write_file(map, rows, count, attempt_dir);
    map->is_logged = 1;
    free(rows);
}
