/* rank_map_keep.c - the rank map as the coordinator keeps it: rows out of its peers, said once, written whenever they change. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/clock.h"
#include "mpi-eval/coordinator/coordinator_state.h"
#include "mpi-eval/coordinator/rank_map.h"

#define LOOK_NS   0.5e9
#define STARTS_NS 10e9 /* after the first: whoever is not there then is said to be not there */
#define MAP_BYTES ((size_t)16 << 20)

static const char *const state_names[PEER_STATE_COUNT] = {
    [PEER_ABSENT] = "absent", [PEER_GREETED] = "starting", [PEER_READY] = "ready", [PEER_SURPLUS] = "surplus",
    [PEER_SILENT] = "silent", [PEER_FAILED] = "failed",    [PEER_GONE] = "lost",
};

static struct atoll_rank_map_row row_of(const struct coordinator *c, unsigned peer)
{
    const struct peer *p = &c->peers[peer];
    return (struct atoll_rank_map_row){.rank = c->settings->peers.are_ranks ? (int)peer + 1 : -1,
                                       .evaluator = peer,
                                       .state = state_names[p->state],
                                       .model = p->model,
                                       .uuid = p->uuid,
                                       .place = &p->place};
}

/* 1: nobody is expected to tell a place any more. */
static int all_are_known(const struct coordinator *c)
{
    for (unsigned i = 0; i < c->settings->peers.count; i++)
        if (c->peers[i].state == PEER_ABSENT || c->peers[i].state == PEER_GREETED)
            return 0;
    return 1;
}

static int somebody_told(const struct coordinator *c)
{
    for (unsigned i = 0; i < c->settings->peers.count; i++)
        if (c->peers[i].state == PEER_READY || c->peers[i].state == PEER_SURPLUS)
            return 1;
    return 0;
}

static void line_say(struct atoll_buffer *line)
{
    atoll_buffer_put_u8(line, '\0');
    if (!line->failed)
        atoll_log(ATOLL_LOG_INFO, "eval.ranks", "%s", (const char *)line->data);
    atoll_buffer_clear(line);
}

static void map_say(const struct atoll_rank_map_row *rows, unsigned count)
{
    struct atoll_buffer line;
    atoll_buffer_init(&line, 1u << 16);
    for (unsigned i = 0; i < count; i++) {
        atoll_rank_map_line(&rows[i], &line);
        line_say(&line);
    }
    atoll_rank_map_summary(rows, count, &line);
    line_say(&line);
    atoll_buffer_fini(&line);
}

static void map_write(struct coordinator *c, const struct atoll_rank_map_row *rows, unsigned count)
{
    struct atoll_buffer text;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    atoll_buffer_init(&text, MAP_BYTES);
    atoll_rank_map_json(rows, count, 0, &text); /* the time alone is no change */
    uint32_t digest = atoll_crc32c(1, text.data, text.length);
    int n = snprintf(path, sizeof path, "%s/%s", c->attempt_dir, ATOLL_RANK_MAP_FILE);
    if (digest == c->ranks.digest || n < 0 || (size_t)n >= sizeof path) {
        atoll_buffer_fini(&text);
        return;
    }
    c->ranks.digest = digest;
    atoll_buffer_clear(&text);
    atoll_rank_map_json(rows, count, atoll_clock_unix_ns(), &text);
    if (atoll_buffer_check(&text, &err) != 0 ||
        atoll_file_replace(NULL, path, text.data, text.length, &err) != 0)
        atoll_log_err(ATOLL_LOG_WARNING, "eval.ranks.file", &err);
    atoll_buffer_fini(&text);
}

void atoll_rank_map_keep_step(struct coordinator *c, int is_last)
{
    struct ranks *m = &c->ranks;
    double now = atoll_coordinator_now_ns(c);
    unsigned count = c->settings->peers.count;
    if (!is_last && now - m->looked_ns < LOOK_NS && m->looked_ns > 0)
        return;
    m->looked_ns = now;
    if (m->first_ns <= 0 && somebody_told(c))
        m->first_ns = now;
    int is_time = all_are_known(c) || (m->first_ns > 0 && now - m->first_ns > STARTS_NS) || is_last;
    if (!m->is_said && !is_time)
        return;
    struct atoll_rank_map_row *rows = calloc(count ? count : 1, sizeof *rows);
    for (unsigned i = 0; rows && i < count; i++)
        rows[i] = row_of(c, i);
    if (rows && !m->is_said)
        map_say(rows, count);
    if (rows)
        map_write(c, rows, count);
    m->is_said = 1;
    free(rows);
}
