/* spool_server.c - finds requests, leases them, publishes replies.
 *
 * Order that keeps a request from being answered twice: lease, then look for a reply, then read the request.  Whoever had the
 * lease before published its reply before it gave the lease up.  A server that stood still while its lease was taken over
 * may still publish; the first reply under the name stays. */
#include "llm-gateway/spool/spool.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "llm-gateway/spool/spool_clean.h"
#include "llm-gateway/spool/spool_file.h"
#include "llm-gateway/spool/spool_lease.h"

#define NS_PER_S        1e9
#define DEFAULT_LEASE_S 60.0
#define SWEEP_NS        2e9 /* every folder is looked into once in so long, bell or not */
#define RENEW_NS        1e9
#define CLEANED_FOLDERS 16 /* by one call */
#define REQUEST_BYTES   (6 * ATOLL_LLM_TEXT_BYTES)
#define ARENA_BYTES     (4 * ATOLL_LLM_TEXT_BYTES)
#define REPLY_BYTES     ((size_t)64 << 20)

struct atoll_spool_server {
    char root[SPOOL_ROOT_BYTES];
    struct atoll_spool_holder holder;
    double (*now_ns)(void *context);
    void *clock;
    struct atoll_spool_shelf shelves[SPOOL_FOLDER_COUNT];
    unsigned char is_due[SPOOL_FOLDER_COUNT]; /* to be looked into */
    unsigned first, next_swept, next_cleaned;
    double swept_ns, renewed_ns;
    struct atoll_spool_folder folder; /* of the moment */
    struct atoll_arena *arena;        /* of one request */
};

static double monotonic_ns(void *context)
{
    struct timespec t;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int check_holder(const char *holder, struct atoll_err *err)
{
    size_t length = holder ? strlen(holder) : 0;
    for (size_t i = 0; i < length; i++) {
        if (!isascii((unsigned char)holder[i]) ||
            (!isalnum((unsigned char)holder[i]) && !strchr("._-", holder[i])))
            length = 0;
    }
    if (length >= 1 && length < SPOOL_HOLDER_BYTES)
        return 0;
    return atoll_err_set(err, ATOLL_E_INPUT,
                         "holder of a spool '%.80s': 1 to 63 letters, digits, '.', '_' and '-' are expected",
                         holder ? holder : "");
}

struct atoll_spool_server *atoll_spool_server_open(const char *folder, const char *holder, double lease_s,
                                                   struct atoll_err *err)
{
    if (check_holder(holder, err) != 0 || atoll_spool_tree_open(folder, err) != 0)
        return NULL;
    struct atoll_spool_server *server = calloc(1, sizeof *server);
    if (!server || !(server->arena = atoll_arena_create(ARENA_BYTES, err))) {
        if (!server)
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a server of the spool %s", folder);
        free(server);
        return NULL;
    }
    memcpy(server->root, folder, strlen(folder) + 1); /* the tree's opening has checked its length */
    server->holder.root = server->root;
    memcpy(server->holder.name, holder, strlen(holder) + 1);
    atoll_spool_tag_draw(server->holder.tag);
    server->holder.lease_ns = (lease_s > 0.0 ? lease_s : DEFAULT_LEASE_S) * NS_PER_S;
    server->now_ns = monotonic_ns;
    server->swept_ns = server->renewed_ns = -INFINITY;
    return server;
}

void atoll_spool_server_close(struct atoll_spool_server *server)
{
    if (!server)
        return;
    for (size_t i = 0; i < SPOOL_FOLDER_COUNT; i++)
        atoll_spool_shelf_fini(&server->shelves[i]);
    atoll_spool_folder_fini(&server->folder);
    atoll_arena_destroy(server->arena);
    free(server);
}

void atoll_spool_server_clock(struct atoll_spool_server *server, double (*now_ns)(void *context),
                              void *context)
{
    server->now_ns = now_ns;
    server->clock = context;
}

/* ---- replies ---- */

static int publish_reply(struct atoll_spool_server *server, const char *name,
                         const struct atoll_llm_outcome *outcome, struct atoll_err *err)
{
    char path[PATH_MAX], temporary[PATH_MAX];
    struct atoll_buffer bytes;
    atoll_spool_path(server->root, name, ATOLL_SPOOL_REPLY, 0, path);
    atoll_spool_path_temporary(server->root, name, server->holder.tag, temporary);
    atoll_buffer_init(&bytes, REPLY_BYTES);
    int failed = atoll_llm_outcome_json(outcome, &bytes, err) != 0 ||
                 atoll_spool_file_publish(temporary, path, bytes.data, bytes.length, err) < 0;
    atoll_buffer_fini(&bytes);
    return failed ? -1 : 0;
}

int atoll_spool_server_reply(struct atoll_spool_server *server, const char *name,
                             const struct atoll_llm_outcome *outcome, struct atoll_err *err)
{
    char path[PATH_MAX];
    if (!atoll_spool_name_is_valid(name))
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.80s' is no name of a request", name);
    atoll_spool_path(server->root, name, ATOLL_SPOOL_REQUEST, 0, path);
    if (atoll_spool_file_is_there(path) && publish_reply(server, name, outcome, err) != 0)
        return -1;
    struct atoll_spool_shelf *shelf = &server->shelves[atoll_spool_name_folder(name)];
    struct atoll_spool_note *note = atoll_spool_shelf_find(shelf, name);
    if (note && note->is_held)
        atoll_spool_lease_end(&server->holder, shelf, note);
    return 0;
}

static int reply_invalid(struct atoll_spool_server *server, const char *name, const char *why,
                         struct atoll_err *err)
{
    struct atoll_llm_outcome outcome;
    atoll_llm_outcome_init(&outcome);
    atoll_llm_outcome_set(&outcome, ATOLL_LLM_INVALID, "request %s: %s", name, why);
    int failed = atoll_spool_server_reply(server, name, &outcome, err);
    atoll_llm_outcome_fini(&outcome);
    return failed;
}

/* ---- requests ---- */

/* One call of scan. */
struct scan {
    struct atoll_spool_server *server;
    size_t left;
    int is_over; /* the sink wants no more */
    atoll_spool_sink *sink;
    void *context;
};

/* Its lease is held.  1: the sink has it; 0: it needs nobody any more, or is left for later; -1. */
static int hand_over(struct scan *scan, const char *name, const struct atoll_buffer *bytes,
                     struct atoll_err *err)
{
    struct atoll_llm_request request;
    struct atoll_err why = ATOLL_ERR_INIT;
    atoll_arena_reset(scan->server->arena);
    atoll_llm_request_init(&request);
    if (atoll_llm_request_decode(bytes->data, bytes->length, scan->server->arena, &request, &why) != 0) {
        if (why.code == ATOLL_E_MEMORY)
            return atoll_err_set(err, ATOLL_E_MEMORY, "%s", why.text);
        return reply_invalid(scan->server, name, why.text, err);
    }
    if (scan->sink(scan->context, name, &request) == 0)
        return 1;
    scan->is_over = 1;
    return 0;
}

/* 1: there is a request without a reply, in bytes; 0: there is none; -1. */
static int read_request(struct atoll_spool_server *server, const char *name, struct atoll_buffer *bytes,
                        struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_err why = ATOLL_ERR_INIT;
    atoll_spool_path(server->root, name, ATOLL_SPOOL_REPLY, 0, path);
    if (atoll_spool_file_is_there(path))
        return 0;
    atoll_spool_path(server->root, name, ATOLL_SPOOL_REQUEST, 0, path);
    int found = atoll_spool_file_read(path, bytes, &why);
    if (found >= 0)
        return found;
    if (why.code == ATOLL_E_INPUT || why.code == ATOLL_E_LIMIT)
        return reply_invalid(server, name, why.text, err);
    if (err)
        *err = why;
    return -1;
}

static int take(struct scan *scan, const struct atoll_spool_entry *entry, struct atoll_err *err)
{
    struct atoll_spool_server *server = scan->server;
    struct atoll_spool_shelf *shelf = &server->shelves[atoll_spool_name_folder(entry->name)];
    struct atoll_spool_note *note;
    struct atoll_buffer bytes;
    double now_ns = server->now_ns(server->clock);
    int taken = atoll_spool_lease_take(&server->holder, shelf, entry, now_ns, &note, err);
    if (taken <= 0)
        return taken;
    atoll_buffer_init(&bytes, REQUEST_BYTES);
    int result = read_request(server, entry->name, &bytes, err);
    if (result > 0)
        result = hand_over(scan, entry->name, &bytes, err);
    atoll_buffer_fini(&bytes);
    note = atoll_spool_shelf_find(shelf, entry->name);
    if (result <= 0 && note)
        atoll_spool_lease_end(&server->holder, shelf, note);
    scan->left -= result > 0;
    return result < 0 ? -1 : 0;
}

/* The folder stays due when not all of it could be taken. */
static int scan_folder(struct scan *scan, unsigned index, struct atoll_err *err)
{
    struct atoll_spool_server *server = scan->server;
    char bell[PATH_MAX];
    atoll_spool_path_bell(server->root, index, bell);
    if (server->is_due[index] > 1)
        atoll_spool_file_remove(bell); /* before the names are read: what is rung for later rings again */
    server->is_due[index] = 1;
    if (atoll_spool_folder_read(&server->folder, server->root, index, err) != 0)
        return -1;
    atoll_spool_shelf_prune(&server->shelves[index], &server->folder);
    for (size_t i = 0; i < server->folder.count; i++) {
        const struct atoll_spool_entry *entry = &server->folder.entries[i];
        if (!entry->has_request || entry->has_reply)
            continue;
        if (scan->left == 0)
            return 0;
        if (take(scan, entry, err) != 0)
            return -1;
        if (scan->is_over)
            return 0;
    }
    server->is_due[index] = 0;
    return 0;
}

/* 2: a bell. */
static void hear_bells(struct atoll_spool_server *server)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/bell", server->root);
    DIR *directory = opendir(path);
    if (!directory)
        return; /* the sweep finds all */
    for (const struct dirent *e; (e = readdir(directory));) {
        char *end;
        unsigned long index = strtoul(e->d_name, &end, 16);
        if (strlen(e->d_name) == 2 && !*end && isxdigit((unsigned char)*e->d_name))
            server->is_due[index] = 2;
    }
    closedir(directory);
}

/* As many folders as the time since the last call asks for; all at first. */
static void sweep(struct atoll_spool_server *server)
{
    double now_ns = server->now_ns(server->clock);
    double share = (now_ns - server->swept_ns) / SWEEP_NS * SPOOL_FOLDER_COUNT;
    unsigned count = share < SPOOL_FOLDER_COUNT ? (unsigned)fmax(share, 0.0) : SPOOL_FOLDER_COUNT;
    if (count == 0)
        return;
    for (unsigned i = 0; i < count; i++) {
        unsigned char *is_due = &server->is_due[(server->next_swept + i) % SPOOL_FOLDER_COUNT];
        if (!*is_due)
            *is_due = 1;
    }
    server->next_swept = (server->next_swept + count) % SPOOL_FOLDER_COUNT;
    server->swept_ns = now_ns;
}

int atoll_spool_server_scan(struct atoll_spool_server *server, size_t limit, atoll_spool_sink *sink,
                            void *context, struct atoll_err *err)
{
    struct scan scan = {server, limit, 0, sink, context};
    int failed = 0;
    if (limit == 0)
        return 0;
    hear_bells(server);
    sweep(server);
    for (unsigned i = 0; i < SPOOL_FOLDER_COUNT && scan.left > 0 && !scan.is_over; i++) {
        unsigned index = (server->first + i) % SPOOL_FOLDER_COUNT;
        struct atoll_err why = ATOLL_ERR_INIT;
        if (!server->is_due[index] || scan_folder(&scan, index, &why) == 0)
            continue;
        if (!failed && err) /* one bad folder holds up no other */
            *err = why;
        failed = 1;
    }
    server->first =
        (server->first + 1) % SPOOL_FOLDER_COUNT; /* where the limit ends it, not always the same are left */
    return failed ? -1 : 0;
}

/* ---- leases ---- */

static int has_gone(const struct atoll_spool_entry *entry, const struct atoll_spool_note *note)
{
    return !entry || !entry->has_request || entry->has_reply || entry->lease > note->epoch;
}

static int renew_folder(struct atoll_spool_server *server, unsigned index,
                        void (*withdrawn)(void *context, const char *name), void *context,
                        struct atoll_err *err)
{
    struct atoll_spool_shelf *shelf = &server->shelves[index];
    double now_ns = server->now_ns(server->clock);
    if (atoll_spool_folder_read(&server->folder, server->root, index, err) != 0)
        return -1;
    for (size_t i = shelf->count; i-- > 0;) {
        struct atoll_spool_note *note = &shelf->notes[i];
        if (!note->is_held)
            continue;
        int is_ours = !has_gone(atoll_spool_folder_find(&server->folder, note->name), note);
        if (is_ours)
            is_ours = atoll_spool_lease_renew(&server->holder, note, now_ns, err);
        if (is_ours < 0)
            return -1;
        if (is_ours)
            continue;
        char name[ATOLL_SPOOL_NAME_BYTES];
        memcpy(name, note->name, sizeof name);
        atoll_spool_lease_end(&server->holder, shelf, note);
        if (withdrawn)
            withdrawn(context, name);
        i = i < shelf->count ? i : shelf->count; /* the sink may have ended others */
    }
    return 0;
}

static size_t count_held(const struct atoll_spool_shelf *shelf)
{
    size_t count = 0;
    for (size_t i = 0; i < shelf->count; i++)
        count += shelf->notes[i].is_held != 0;
    return count;
}

int atoll_spool_server_renew(struct atoll_spool_server *server,
                             void (*withdrawn)(void *context, const char *name), void *context,
                             struct atoll_err *err)
{
    double now_ns = server->now_ns(server->clock);
    int failed = 0;
    if (now_ns - server->renewed_ns < fmin(RENEW_NS, server->holder.lease_ns / 6.0))
        return 0;
    server->renewed_ns = now_ns;
    for (unsigned index = 0; index < SPOOL_FOLDER_COUNT; index++) {
        struct atoll_err why = ATOLL_ERR_INIT;
        if (!count_held(&server->shelves[index]) ||
            renew_folder(server, index, withdrawn, context, &why) == 0)
            continue;
        if (!failed && err)
            *err = why;
        failed = 1;
    }
    return failed ? -1 : 0;
}

int atoll_spool_server_clean(struct atoll_spool_server *server, double keep_s, struct atoll_err *err)
{
    double now_s;
    if (atoll_spool_clean_clock(server->root, server->holder.tag, &now_s, err) != 0)
        return -1;
    for (unsigned i = 0; i < CLEANED_FOLDERS; i++) {
        unsigned index = server->next_cleaned;
        server->next_cleaned = (index + 1) % SPOOL_FOLDER_COUNT;
        if (atoll_spool_clean_folder(server->root, index, keep_s, now_s, &server->shelves[index], err) != 0)
            return -1;
    }
    return 0;
}
