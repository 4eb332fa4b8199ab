/* spool_server.c - finds requests, publishes replies, and cleans up behind those who left.
 *
 * A spool has one server at a time: the holder of the lease in SPOOL/lease (base/lease.h).  Whoever comes second and finds a
 * holder that lives is told who it is (BUSY); one whose holder may be dead on another machine watches its beat, and takes
 * the spool over when it has stood still.  A server that stood still itself for so long may yet publish what it is about to:
 * the first reply under the name stays.  What a server has taken it remembers by name; after a kill all that has no reply is
 * taken anew, and the gateway's store answers what was asked before. */
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
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lease.h"
#include "llm-gateway/spool/spool_files.h"

#define NS_PER_S        1e9
#define SWEEP_NS        2e9   /* every folder is looked into once in so long, bell or not */
#define CHECK_NS        1e9   /* how often it is looked whether what was taken is still wanted */
#define CLEANED_FOLDERS 16    /* by one call */
#define LEFTOVER_S      600.0 /* nobody writes a file for so long */
#define REQUEST_BYTES   (6 * ATOLL_LLM_TEXT_BYTES)
#define ARENA_BYTES     (4 * ATOLL_LLM_TEXT_BYTES)
#define REPLY_BYTES     ((size_t)64 << 20)

/* Requests of one folder that the server has taken and not answered. */
struct taken {
    char (*names)[ATOLL_SPOOL_NAME_BYTES]; /* owned */
    uint32_t count, capacity;
};

struct atoll_spool_server {
    char root[SPOOL_ROOT_BYTES], tag[SPOOL_TAG_BYTES];
    double (*now_ns)(void *context);
    void *clock;
    struct atoll_lease_holder self;
    struct atoll_lease *lease; /* NULL: its holder is watched still */
    struct atoll_lease_watch watch;
    uint64_t watched_beat; /* of the first look */
    double beaten_ns;
    struct taken taken[SPOOL_FOLDER_COUNT];
    unsigned char is_due[SPOOL_FOLDER_COUNT]; /* to be looked into; 2: a bell was rung */
    unsigned first, next_swept, next_cleaned;
    double swept_ns, checked_ns;
    struct atoll_spool_folder folder; /* of the moment */
    struct atoll_arena *arena;        /* of one request */
};

static double monotonic_ns(void *context)
{
    return atoll_clock_mono_ns();
}

/* ---- the lease ---- */

/* 1: the lease is ours and beats; 0: its holder is watched, nothing may be done yet; -1: BUSY another gateway has it. */
static int hold_lease(struct atoll_spool_server *server, struct atoll_err *err)
{
    double now_ns = server->now_ns(server->clock);
    struct atoll_lease_seen seen;
    if (server->lease) {
        if (now_ns - server->beaten_ns < ATOLL_LEASE_BEAT_S * NS_PER_S)
            return 1;
        if (atoll_lease_renew(server->lease, err) != 0)
            return -1;
        server->beaten_ns = now_ns;
        return 1;
    }
    if (atoll_lease_look(server->root, &server->self, &seen, err) != 0)
        return -1;
    int is_held = seen.state == ATOLL_LEASE_HELD;
    double silent_s = atoll_lease_watch_note(&server->watch, &seen, now_ns);
    int is_here = is_held && *server->self.boot && strcmp(seen.holder.boot, server->self.boot) == 0;
    if (!server->watched_beat)
        server->watched_beat = seen.beat + 1;
    if (is_here || (is_held && seen.beat + 1 != server->watched_beat)) {
        /* It lives: here its process is there, elsewhere its count has moved. */
        return atoll_err_set(
            err, ATOLL_E_BUSY,
            "spool %s: another gateway serves it: pid %lld on host %s, job %s; stop that one, "
            "or name another folder",
            server->root, (long long)seen.holder.pid, *seen.holder.host ? seen.holder.host : "?",
            *seen.holder.job ? seen.holder.job : "?");
    }
    if (is_held && silent_s < ATOLL_LEASE_TIME_S)
        return 0;
    server->lease = atoll_lease_claim(server->root, &server->self, is_held ? seen.epoch : 0, NULL, err);
    server->beaten_ns = now_ns;
    return server->lease ? 1 : -1;
}

struct atoll_spool_server *atoll_spool_server_open(const char *folder, double (*now_ns)(void *context),
                                                   void *context, struct atoll_err *err)
{
    const char *job = getenv("SLURM_JOB_ID"), *restarts = getenv("SLURM_RESTART_COUNT");
    if (atoll_spool_tree_open(folder, err) != 0)
        return NULL;
    struct atoll_spool_server *server = calloc(1, sizeof(*server));
    if (!server) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a server of the spool %s", folder);
        return NULL;
    }
    memcpy(server->root, folder, strlen(folder) + 1); /* the tree's opening has checked its length */
    atoll_spool_tag_draw(server->tag);
    server->now_ns = now_ns ? now_ns : monotonic_ns;
    server->clock = context;
    server->swept_ns = server->checked_ns = -INFINITY;
    atoll_lease_holder_self(job ? job : "local", restarts ? (uint32_t)strtoul(restarts, NULL, 10) : 0,
                            &server->self);
    server->arena = atoll_arena_create(ARENA_BYTES, err);
    if (!server->arena || hold_lease(server, err) < 0) {
        atoll_spool_server_close(server);
        return NULL;
    }
    return server;
}

void atoll_spool_server_close(struct atoll_spool_server *server)
{
    if (!server)
        return;
    atoll_lease_release(server->lease);
    for (size_t i = 0; i < SPOOL_FOLDER_COUNT; i++)
        free(server->taken[i].names);
    atoll_spool_folder_fini(&server->folder);
    atoll_arena_destroy(server->arena);
    free(server);
}

/* ---- what was taken ---- */

/* Its place, or the count where it is not there. */
static size_t taken_find(const struct taken *taken, const char *name)
{
    size_t i = 0;
    while (i < taken->count && strcmp(taken->names[i], name) != 0)
        i++;
    return i;
}

static int taken_add(struct taken *taken, const char *name, struct atoll_err *err)
{
    if (atoll_array_reserve(&taken->names, &taken->capacity, taken->count + 1, sizeof(*taken->names), err))
        return atoll_err_add(err, "requests of a spool's folder");
    snprintf(taken->names[taken->count++], ATOLL_SPOOL_NAME_BYTES, "%s", name);
    return 0;
}

static void taken_remove(struct taken *taken, const char *name)
{
    size_t i = taken_find(taken, name);
    if (i < taken->count)
        memmove(taken->names[i], taken->names[--taken->count], sizeof(*taken->names));
}

/* ---- replies ---- */

int atoll_spool_server_reply(struct atoll_spool_server *server, const char *name,
                             const struct atoll_llm_outcome *outcome, struct atoll_err *err)
{
    struct atoll_buffer bytes;
    int failed = 0;
    if (!atoll_spool_name_is_valid(name))
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.80s' is no name of a request", name);
    if (server->lease && hold_lease(server, err) < 0)
        return -1;
    if (atoll_spool_is_there(server->root, name, ATOLL_SPOOL_REQUEST)) {
        atoll_buffer_init(&bytes, REPLY_BYTES);
        failed = atoll_llm_outcome_json(outcome, &bytes, err) != 0 ||
                 atoll_spool_publish(server->root, server->tag, name, ATOLL_SPOOL_REPLY, bytes.data,
                                     bytes.length, err) < 0;
        atoll_buffer_fini(&bytes);
    }
    if (!failed)
        taken_remove(&server->taken[atoll_spool_name_folder(name)], name);
    return failed ? -1 : 0;
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

/* Reads a request and hands it to the sink; one that cannot be read gets a reply that says so. */
static int take(struct scan *scan, const char *name, struct atoll_err *err)
{
    struct atoll_spool_server *server = scan->server;
    struct taken *taken = &server->taken[atoll_spool_name_folder(name)];
    struct atoll_llm_request request;
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_buffer bytes;
    int failed = 0;
    atoll_buffer_init(&bytes, REQUEST_BYTES);
    int found = atoll_spool_read(server->root, name, ATOLL_SPOOL_REQUEST, &bytes, &why);
    if (found > 0) {
        atoll_arena_reset(server->arena);
        atoll_llm_request_init(&request);
        found =
            atoll_llm_request_decode(bytes.data, bytes.length, server->arena, &request, &why) == 0 ? 1 : -1;
    }
    if (found < 0) {
        failed = why.code == ATOLL_E_INPUT || why.code == ATOLL_E_LIMIT
                     ? reply_invalid(server, name, why.text, err)
                     : atoll_err_set(err, why.code, "%s", why.text);
    } else if (found > 0 && taken_add(taken, name, err) != 0) {
        failed = -1;
    } else if (found > 0 && scan->sink(scan->context, name, &request) != 0) {
        taken_remove(taken, name);
        scan->is_over = 1;
    } else {
        scan->left -= found > 0;
    }
    atoll_buffer_fini(&bytes);
    return failed;
}

/* The folder stays due when not all of it could be taken. */
static int scan_folder(struct scan *scan, unsigned index, struct atoll_err *err)
{
    struct atoll_spool_server *server = scan->server;
    if (server->is_due[index] > 1)
        atoll_spool_bell_remove(server->root,
                                index); /* before the names are read: what is rung for later rings again */
    server->is_due[index] = 1;
    int failed = 0;
    if (atoll_spool_folder_read(&server->folder, server->root, index, err) != 0)
        return -1;
    for (size_t i = 0; i < server->folder.count; i++) {
        const struct atoll_spool_entry *entry = &server->folder.entries[i];
        const struct taken *taken = &server->taken[index];
        if (!entry->has_request || entry->has_reply || taken_find(taken, entry->name) < taken->count)
            continue;
        if (scan->left == 0)
            return failed ? -1 : 0;
        if (take(scan, entry->name, failed ? NULL : err) != 0) /* one bad request holds up no other */
            failed = 1;
        if (scan->is_over)
            return failed ? -1 : 0;
    }
    server->is_due[index] = failed ? 1 : 0;
    return failed ? -1 : 0;
}

static DIR *open_names(const char *root, const char *part)
{
    int fd = atoll_spool_part_open(root, part);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory && fd >= 0)
        close(fd);
    return directory;
}

/* Where a bell was rung, and as many folders as the time since the last call asks for; all at first. */
static void find_due(struct atoll_spool_server *server)
{
    DIR *directory = open_names(server->root, "bell"); /* where it cannot be read the sweep finds all */
    for (const struct dirent *e; directory && (e = readdir(directory));) {
        char *end;
        unsigned long index = strtoul(e->d_name, &end, 16);
        if (strlen(e->d_name) == 2 && !*end && isxdigit((unsigned char)*e->d_name))
            server->is_due[index] = 2;
    }
    if (directory)
        closedir(directory);
    double now_ns = server->now_ns(server->clock);
    double share = (now_ns - server->swept_ns) / SWEEP_NS * SPOOL_FOLDER_COUNT;
    unsigned count = share < SPOOL_FOLDER_COUNT ? (unsigned)fmax(share, 0.0) : SPOOL_FOLDER_COUNT;
    for (unsigned i = 0; i < count; i++) {
        unsigned char *is_due = &server->is_due[(server->next_swept + i) % SPOOL_FOLDER_COUNT];
        *is_due = *is_due ? *is_due : 1;
    }
    if (count > 0) {
        server->next_swept = (server->next_swept + count) % SPOOL_FOLDER_COUNT;
        server->swept_ns = now_ns;
    }
}

int atoll_spool_server_scan(struct atoll_spool_server *server, size_t limit, atoll_spool_sink *sink,
                            void *context, struct atoll_err *err)
{
    struct scan scan = {server, limit, 0, sink, context};
    int failed = 0, held = hold_lease(server, err);
    if (held <= 0 || limit == 0)
        return held < 0 ? -1 : 0;
    find_due(server);
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

int atoll_spool_server_check(struct atoll_spool_server *server, void (*gone)(void *context, const char *name),
                             void *context, struct atoll_err *err)
{
    double now_ns = server->now_ns(server->clock);
    int failed = 0;
    if (now_ns - server->checked_ns < CHECK_NS)
        return 0;
    if (server->lease && hold_lease(server, err) < 0)
        return -1;
    server->checked_ns = now_ns;
    for (unsigned index = 0; index < SPOOL_FOLDER_COUNT; index++) {
        struct taken *taken = &server->taken[index];
        struct atoll_err why = ATOLL_ERR_INIT;
        if (!taken->count)
            continue;
        if (atoll_spool_folder_read(&server->folder, server->root, index, &why) != 0) {
            if (!failed && err)
                *err = why;
            failed = 1;
            continue;
        }
        for (size_t i = taken->count; i-- > 0;) {
            char name[ATOLL_SPOOL_NAME_BYTES];
            const struct atoll_spool_entry *entry = atoll_spool_folder_find(&server->folder, taken->names[i]);
            if (entry && entry->has_request && !entry->has_reply)
                continue;
            memcpy(name, taken->names[i], sizeof(name));
            taken_remove(taken, name);
            gone(context, name);
            i = i < taken->count ? i : taken->count; /* the callback may have answered others */
        }
    }
    return failed ? -1 : 0;
}

/* ---- cleaning ---- */

static double modified_s(const struct stat *status)
{
    return (double)status->st_mtim.tv_sec + (double)status->st_mtim.tv_nsec * 1e-9;
}

/* The file system's time, of a file made now: neither this machine's clock nor the asker's counts. */
static int read_clock(const struct atoll_spool_server *server, double *ret_now_s, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct stat status = {.st_size = 0};
    snprintf(path, sizeof(path), "%s/.clock.%s.tmp", server->root, server->tag);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0)
        return atoll_file_write_failed(path, "create the file", errno, err);
    int failed = write(fd, "\n", 1) != 1 || fstat(fd, &status) != 0 ? errno : 0;
    close(fd);
    unlink(path);
    if (failed)
        return atoll_file_write_failed(path, "write the file", failed, err);
    *ret_now_s = modified_s(&status);
    return 0;
}

/* Open requests stay for ever. */
static void clean_file(const struct atoll_spool_server *server, int folder, const char *file, double keep_s,
                       double now_s)
{
    char name[ATOLL_SPOOL_NAME_BYTES];
    enum atoll_spool_kind kind;
    struct stat status;
    size_t length = strlen(file);
    int is_temporary = file[0] == '.' && length > 4 && strcmp(file + length - 4, ".tmp") == 0;
    int is_reply = atoll_spool_name_parse(file, name, &kind) && kind == ATOLL_SPOOL_REPLY;
    double life_s = is_temporary ? fmin(LEFTOVER_S, keep_s) : keep_s;
    if ((!is_temporary && !is_reply) || fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        now_s - modified_s(&status) < life_s)
        return;
    if (is_reply) /* the request first: without its reply it would be answered again */
        atoll_spool_remove(server->root, name, ATOLL_SPOOL_REQUEST);
    unlinkat(folder, file, 0);
}

int atoll_spool_server_clean(struct atoll_spool_server *server, double keep_s, struct atoll_err *err)
{
    double now_s = 0.0;
    if (!server->lease)
        return 0;
    if (read_clock(server, &now_s, err) != 0)
        return -1;
    for (unsigned i = 0; i < CLEANED_FOLDERS; i++) {
        char part[8];
        snprintf(part, sizeof(part), "%02x", server->next_cleaned & 0xff);
        DIR *directory = open_names(server->root, part);
        server->next_cleaned = (server->next_cleaned + 1) % SPOOL_FOLDER_COUNT;
        if (!directory)
            return atoll_err_errno(err, errno, "%s/%s: cannot read the spool's folder", server->root, part);
        for (const struct dirent *e; (e = readdir(directory));)
            clean_file(server, dirfd(directory), e->d_name, fmax(keep_s, 0.0), now_s);
        closedir(directory);
    }
    return 0;
}
