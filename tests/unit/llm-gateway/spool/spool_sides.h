/* spool_sides.h - a client and a server of one spool, and what they take and give. */
#ifndef ATOLL_TESTS_UNIT_LLM_GATEWAY_SPOOL_SPOOL_SIDES_H
#define ATOLL_TESTS_UNIT_LLM_GATEWAY_SPOOL_SPOOL_SIDES_H

#include "tests/support/expect.h"

#include <fcntl.h>
#include <time.h>

#include "base/lease.h"
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/llm-gateway/spool_scene.h"

#define S 1e9

static inline struct atoll_spool_client *client_of(struct scene *scene)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spool_client *client = atoll_spool_client_open(scene->folder, scene_clock, scene, &err);
    if (!client)
        fail_msg("%s", err.text);
    return client;
}

static inline struct atoll_spool_server *server_of(struct scene *scene)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spool_server *server = atoll_spool_server_open(scene->folder, scene_clock, scene, &err);
    if (!server)
        fail_msg("%s", err.text);
    return server;
}

static inline void ask(struct atoll_spool_client *client, const char *key, char name[ATOLL_SPOOL_NAME_BYTES])
{
    struct atoll_llm_request request;
    struct atoll_err err = ATOLL_ERR_INIT;
    scene_request(&request, key);
    if (atoll_spool_client_ask(client, &request, name, &err) != 0)
        fail_msg("%s", err.text);
}

/* What a sink was given. */
struct taken {
    size_t count, refusals;
    char names[64][ATOLL_SPOOL_NAME_BYTES];
    char keys[64][64];
};

static inline int take(void *context, const char *name, const struct atoll_llm_request *request)
{
    struct taken *taken = context;
    if (taken->refusals) {
        taken->refusals--;
        return -1;
    }
    assert_in_range(taken->count, 0, 63);
    snprintf(taken->names[taken->count], ATOLL_SPOOL_NAME_BYTES, "%s", name);
    snprintf(taken->keys[taken->count++], 64, "%.63s", request->key);
    return 0;
}

/* A scan that looks into every folder. */
static inline size_t scan(struct scene *scene, struct atoll_spool_server *server, size_t limit,
                          struct taken *taken)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    taken->count = 0;
    scene->now_ns += 2 * S;
    if (atoll_spool_server_scan(server, limit, take, taken, &err) != 0)
        fail_msg("%s", err.text);
    return taken->count;
}

static inline void answer(struct atoll_spool_server *server, const char *name, const char *text)
{
    struct atoll_llm_outcome outcome;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_llm_outcome_init(&outcome);
    atoll_buffer_put_bytes(&outcome.text, text, strlen(text) + 1);
    outcome.text.length--;
    if (atoll_spool_server_reply(server, name, &outcome, &err) != 0)
        fail_msg("%s", err.text);
    atoll_llm_outcome_fini(&outcome);
}

/* 1 and the text that came, after a time in which views grow old. */
static inline int look(struct scene *scene, struct atoll_spool_client *client, const char *name,
                       enum atoll_llm_status status, const char *text)
{
    struct atoll_llm_outcome outcome;
    struct atoll_err err = ATOLL_ERR_INIT;
    scene->now_ns += S;
    atoll_llm_outcome_init(&outcome);
    int found = atoll_spool_client_look(client, name, &outcome, &err);
    if (found < 0)
        fail_msg("%s", err.text);
    if (found) {
        if (outcome.status != status)
            fail_msg("%s: %s", atoll_llm_status_name(outcome.status), outcome.detail);
        if (!strstr(status == ATOLL_LLM_OK ? (const char *)outcome.text.data : outcome.detail, text))
            fail_msg("'%s' without '%s'", outcome.detail, text);
    }
    atoll_llm_outcome_fini(&outcome);
    return found;
}

static inline void gone(void *context, const char *name)
{
    struct taken *taken = context;
    snprintf(taken->names[taken->count++], ATOLL_SPOOL_NAME_BYTES, "%s", name);
}

static inline size_t check(struct scene *scene, struct atoll_spool_server *server, struct taken *taken)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    taken->count = 0;
    scene->now_ns += S;
    if (atoll_spool_server_check(server, gone, taken, &err) != 0)
        fail_msg("%s", err.text);
    return taken->count;
}

static inline void clean(struct atoll_spool_server *server, double keep_s)
{
    for (int i = 0; i < 16; i++)
        assert_int_equal(atoll_spool_server_clean(server, keep_s, NULL), 0);
}

static inline void make_old(const char *path, time_t seconds)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

#endif
