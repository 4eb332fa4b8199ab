/* Kills of the asking and the answering side of a spool at random instants.  A server and a client share a folder; each round
 * one of them is killed and started anew: the next server takes the dead one's lease at once.  What a client knows to be
 * durable lives in memory that all share, as a journal would.  Every answer carries the life that gave it, so that two
 * answers to one request cannot look the same. */
#include "tests/support/expect.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "llm-gateway/spool/spool.h"

#define ROUNDS      150
#define KEYS        200000 /* more than can be asked in that time */
#define WINDOW      256    /* open requests of the client */
#define TAKEN       32     /* by a server at once */
#define ROLES       2      /* a server, a client */
#define LATE_MS     1000.0
#define THINK_MS    8 /* of a server, with what it has taken in its hands */
#define COMPLETE_MS 60000

struct shared {
    char answers[KEYS][64]; /* durable: "" not yet */
    volatile int asked;     /* keys below it */
    volatile int is_ending; /* nothing new is asked */
    volatile unsigned recorded, differing, replies;
};

static struct shared *shared;
static char folder[64];

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void pause_ms(double ms)
{
    struct timespec t = {0, (long)(ms * 1e6)};
    nanosleep(&t, NULL);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

_Noreturn static void broken(const struct atoll_err *err, const char *who)
{
    fprintf(stderr, "%s: %s\n", who, err->text);
    _exit(3);
}

/* ---- the answering side ---- */

struct taken {
    size_t count;
    char names[TAKEN][ATOLL_SPOOL_NAME_BYTES], keys[TAKEN][32];
};

static int take(void *context, const char *name, const struct atoll_llm_request *request)
{
    struct taken *taken = context;
    if (taken->count == TAKEN)
        return -1;
    snprintf(taken->names[taken->count], ATOLL_SPOOL_NAME_BYTES, "%s", name);
    snprintf(taken->keys[taken->count++], 32, "%.31s", request->key);
    return 0;
}

static void reply_all(struct atoll_spool_server *server, struct taken *taken)
{
    for (size_t i = 0; i < taken->count; i++) {
        struct atoll_llm_outcome outcome;
        struct atoll_err err = ATOLL_ERR_INIT;
        char text[64];
        int length = snprintf(text, sizeof(text), "%s by life %d %u", taken->keys[i], (int)getpid(),
                              __atomic_add_fetch(&shared->replies, 1, __ATOMIC_RELAXED));
        atoll_llm_outcome_init(&outcome);
        atoll_buffer_put_bytes(&outcome.text, text, (size_t)length + 1);
        outcome.text.length--;
        if (atoll_spool_server_reply(server, taken->names[i], &outcome, &err) != 0)
            broken(&err, "reply");
        atoll_llm_outcome_fini(&outcome);
    }
    taken->count = 0;
}

/* What was withdrawn meanwhile gets no reply: nothing else is to be done. */
static void gone(void *context, const char *name)
{
}

_Noreturn static void serve(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct taken taken = {0};
    struct atoll_spool_server *server = atoll_spool_server_open(folder, NULL, NULL, &err);
    if (!server)
        broken(&err, "server");
    for (unsigned i = 1;; i++) {
        if (atoll_spool_server_scan(server, TAKEN - taken.count, take, &taken, &err) != 0)
            broken(&err, "scan");
        if (atoll_spool_server_check(server, gone, NULL, &err) != 0)
            broken(&err, "check");
        if (i % 16 == 0 && atoll_spool_server_clean(server, 3600, &err) != 0)
            broken(&err, "clean");
        pause_ms(THINK_MS);
        reply_all(server, &taken);
    }
}

/* ---- the asking side ---- */

struct open_call {
    int key;       /* -1: free */
    double due_ms; /* when a reply that was seen is looked at once more; 0: none was */
    char name[ATOLL_SPOOL_NAME_BYTES];
};

static void ask_key(struct atoll_spool_client *client, struct open_call *call, int key)
{
    struct atoll_llm_request request;
    struct atoll_err err = ATOLL_ERR_INIT;
    char text[32];
    snprintf(text, sizeof(text), "key-%d", key);
    atoll_llm_request_init(&request);
    request.model = "any";
    request.key = text;
    request.message_count = 1;
    request.messages[0].role = ATOLL_LLM_USER;
    request.messages[0].text = text;
    if (atoll_spool_client_ask(client, &request, call->name, &err) != 0)
        broken(&err, "ask");
    call->key = key;
    call->due_ms = 0.0;
}

static void record(int key, const char *text)
{
    char prefix[32];
    int length = snprintf(prefix, sizeof(prefix), "key-%d by ", key);
    if (strncmp(text, prefix, (size_t)length) != 0 ||
        (*shared->answers[key] && strcmp(shared->answers[key], text) != 0))
        shared->differing++;
    if (!*shared->answers[key])
        shared->recorded++;
    memcpy(shared->answers[key], text, 63); /* durable from here on */
}

/* Some replies stay for a while: the next server must not replace them. */
static void keep(struct open_call *call)
{
    call->due_ms = now_ms() + (call->key % 8 == 0 ? LATE_MS : 0.0);
}

static void look_at(struct atoll_spool_client *client, struct open_call *call)
{
    struct atoll_llm_outcome outcome;
    struct atoll_err err = ATOLL_ERR_INIT;
    char text[64] = "";
    if (now_ms() < call->due_ms)
        return;
    atoll_llm_outcome_init(&outcome);
    int found = atoll_spool_client_look(client, call->name, &outcome, &err);
    if (found < 0)
        broken(&err, "look");
    if (found) {
        if (outcome.text.length < sizeof(text))
            memcpy(text, outcome.text.data, outcome.text.length);
        record(call->key, text);
        if (!(call->due_ms > 0.0)) {
            keep(call);
        } else {
            if (atoll_spool_client_done(client, call->name, &err) != 0)
                broken(&err, "done");
            call->key = -1;
        }
    } else if (call->due_ms > 0.0) {
        shared->differing++; /* it was there */
    }
    atoll_llm_outcome_fini(&outcome);
}

_Noreturn static void ask_all(void)
{
    struct open_call calls[WINDOW];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spool_client *client = atoll_spool_client_open(folder, NULL, NULL, &err);
    if (!client)
        broken(&err, "client");
    for (int i = 0; i < WINDOW; i++)
        calls[i].key = -1;
    for (int key = 0, open = 1; !shared->is_ending || key < shared->asked || open;) {
        open = 0;
        for (int i = 0; i < WINDOW; i++) {
            int limit = shared->is_ending ? shared->asked : KEYS;
            if (calls[i].key >= 0)
                look_at(client, &calls[i]);
            while (calls[i].key < 0 && key < limit && *shared->answers[key])
                key++;
            if (calls[i].key < 0 && key < limit) {
                shared->asked = key >= shared->asked
                                    ? key + 1
                                    : shared->asked; /* before: it may be killed while it asks */
                ask_key(client, &calls[i], key++);
            }
            open |= calls[i].key >= 0;
        }
        pause_ms(2);
    }
    _exit(0);
}

/* ---- the rounds ---- */

static pid_t start(int role)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (role == 1)
        ask_all();
    serve();
}

/* A role that ended by itself may only be the client, with everything answered. */
static void check_end(int role, int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return;
    if (role != 1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("role %d ended with status %x", role, (unsigned)status);
}

static void end_role(pid_t pid, int role)
{
    int status;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    check_end(role, status);
}

static void kill_role(pid_t *pid, int role)
{
    end_role(*pid, role);
    *pid = start(role);
}

static size_t file_count;

static int count_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    if (kind == FTW_F && walk->level == 2 && !strstr(path, "/bell/") && !strstr(path, "/lease/")) {
        file_count++;
        fprintf(stderr, "left: %s\n", path);
    }
    return 0;
}

static void expect_empty(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spool_server *server = atoll_spool_server_open(folder, NULL, NULL, &err);
    assert_non_null(server);
    for (int i = 0; i < 16; i++)
        if (atoll_spool_server_clean(server, 0, &err) != 0)
            fail_msg("%s", err.text);
    atoll_spool_server_close(server);
    file_count = 0;
    nftw(folder, count_one, 16, FTW_PHYS);
    assert_int_equal(file_count, 0);
}

static void test_kills(void **state)
{
    struct atoll_random random = {(atoll_u64)getpid(), 0};
    pid_t pids[ROLES];
    for (int role = 0; role < ROLES; role++)
        pids[role] = start(role);
    for (int round = 1; round <= ROUNDS; round++) {
        pause_ms(1.0 + 50.0 * atoll_random_unit(atoll_random_next(&random)));
        int role = (int)atoll_random_below(atoll_random_next(&random), ROLES);
        kill_role(&pids[role], role);
    }
    shared->is_ending = 1;
    kill_role(&pids[0], 0); /* what it had taken the next one must take over */
    for (double end = now_ms() + COMPLETE_MS; shared->recorded < (unsigned)shared->asked && now_ms() < end;)
        pause_ms(5);
    end_role(pids[0], 0);
    end_role(pids[1], 1);
    print_message("%d rounds: %u of %d requests answered by %u replies\n", ROUNDS, shared->recorded,
                  shared->asked, shared->replies);
    assert_int_equal(shared->recorded, shared->asked);
    assert_in_range(shared->asked, ROUNDS, KEYS - 1);
    assert_int_equal(shared->differing, 0);
    expect_empty();
}

static int make_folder(void **state)
{
    static const char *const places[] = {"/dev/shm/atoll-spool-XXXXXX", "/tmp/atoll-spool-XXXXXX"};
    memcpy(folder, places[0], strlen(places[0]) + 1);
    if (!mkdtemp(folder)) {
        memcpy(folder, places[1], strlen(places[1]) + 1);
        assert_non_null(mkdtemp(folder));
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    return 0;
}

static int remove_folder(void **state)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    munmap(shared, sizeof(*shared));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kills, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
