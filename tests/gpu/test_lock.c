/* One evaluator per device, with real campaigns: who comes second is told who measures and leaves without a sample; of
 * two that start together exactly one measures; a device is free again after its holder ended, was interrupted or was
 * killed outright. */
#include "tests/gpu/device.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S     120
#define LOG_BYTES  ((size_t)1 << 16)
#define PATH_BYTES 128

/* One `atoll run`, in a folder of its own. */
struct campaign {
    pid_t pid;
    int is_over, status;
    char dir[PATH_BYTES], log[PATH_BYTES], acks[PATH_BYTES];
};

static char folder[64];
static pid_t started[8];
static size_t started_count;

/* ---- processes ---- */

static void campaign_exec(const struct campaign *c, const char *evaluations)
{
    int out = open(c->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody behind */
    if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
        _exit(126);
    execl(ATOLL_BUILD_DIR "/atoll", "atoll", "run", ATOLL_SOURCE_DIR "/suites/starter", "--only",
          "prefix_sum", "-o", c->dir, "--backend", "cuda", "--counters", "none", "--seconds", "100",
          "--evaluations", evaluations, "--ack-log", c->acks, "-q", (char *)NULL);
    _exit(127);
}

static void campaign_start(struct campaign *c, const char *name, const char *evaluations)
{
    memset(c, 0, sizeof(*c));
    snprintf(c->dir, sizeof(c->dir), "%s/%s", folder, name);
    snprintf(c->log, sizeof(c->log), "%s/%s.log", folder, name);
    snprintf(c->acks, sizeof(c->acks), "%s/%s.acks", folder, name);
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0)
        campaign_exec(c, evaluations);
    assert_true(started_count < sizeof(started) / sizeof(*started));
    started[started_count++] = c->pid;
}

static int has_ended(struct campaign *c)
{
    if (!c->is_over)
        c->is_over = waitpid(c->pid, &c->status, WNOHANG) == c->pid;
    return c->is_over;
}

/* An evaluation of it is durable. */
static int has_measured(const struct campaign *c)
{
    struct stat st;
    return stat(c->acks, &st) == 0 && st.st_size > 0;
}

static const char *log_of(const struct campaign *c)
{
    static char text[LOG_BYTES];
    int fd = open(c->log, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return text;
}

static void look_again(time_t *began)
{
    const struct timespec pause = {0, 20000000};
    if (!*began)
        *began = time(NULL);
    if (time(NULL) - *began > WAIT_S)
        fail_msg("nothing happened for %d s", WAIT_S);
    nanosleep(&pause, NULL);
}

static void await_measuring(struct campaign *c)
{
    time_t began = 0;
    while (!has_measured(c)) {
        if (has_ended(c))
            fail_msg("%s ended without a sample: %s", c->dir, log_of(c));
        look_again(&began);
    }
}

static void await_end(struct campaign *c)
{
    time_t began = 0;
    while (!has_ended(c))
        look_again(&began);
}

static void expect_success(struct campaign *c)
{
    await_end(c);
    if (!WIFEXITED(c->status) || WEXITSTATUS(c->status) != 0 || !has_measured(c))
        fail_msg("%s: status %#x\n%s", c->dir, (unsigned)c->status, log_of(c));
}

/* The process that it names is alive, and the campaign is the holder's. */
static void expect_refusal(struct campaign *c, const struct campaign *holder)
{
    static const char said[] = "is measured already by process ";
    char host[80] = "", on[96];
    await_end(c);
    const char *at = strstr(log_of(c), said);
    if (!at || !WIFEXITED(c->status) || WEXITSTATUS(c->status) == 0)
        fail_msg("%s: status %#x\n%s", c->dir, (unsigned)c->status, log_of(c));
    if (!at)
        return;
    printf("refused: %.*s\n", (int)strcspn(at, "\n"), at);
    assert_false(has_measured(c));
    assert_non_null(strstr(at, holder->dir));
    gethostname(host, sizeof(host) - 1);
    snprintf(on, sizeof(on), " on %s, ", host);
    assert_non_null(strstr(at, on));
    long pid = strtol(at + strlen(said), NULL, 10);
    assert_true(pid > 1 && kill((pid_t)pid, 0) == 0);
}

/* ---- tests ---- */

static int is_here(void)
{
    static int known = -1;
    if (known < 0) {
        struct atoll_cuda_worker *w = gpu_open();
        known = w != NULL;
        atoll_cuda_worker_destroy(w);
    }
    return known;
}

static void the_second_is_refused(void **state)
{
    struct campaign first, second, next;
    (void)state;
    if (!is_here())
        skip();
    campaign_start(&first, "first", "100000");
    await_measuring(&first);
    campaign_start(&second, "second", "1");
    expect_refusal(&second, &first);
    assert_false(has_ended(&first));
    kill(first.pid, SIGKILL); /* nobody says goodbye; what it started ends with it */
    await_end(&first);
    assert_true(WIFSIGNALED(first.status));
    campaign_start(&next, "after-kill", "2");
    expect_success(&next);
}

static void one_of_two_measures(void **state)
{
    struct campaign both[2], next;
    time_t began = 0;
    (void)state;
    if (!is_here())
        skip();
    campaign_start(&both[0], "left", "100000");
    campaign_start(&both[1], "right", "100000");
    while (!has_ended(&both[0]) && !has_ended(&both[1]))
        look_again(&began);
    struct campaign *refused = has_ended(&both[0]) ? &both[0] : &both[1];
    struct campaign *holder = refused == &both[0] ? &both[1] : &both[0];
    assert_false(has_ended(holder));
    expect_refusal(refused, holder);
    await_measuring(holder);
    kill(holder->pid, SIGTERM);
    await_end(holder);
    campaign_start(&next, "after-end", "2");
    expect_success(&next);
}

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/atoll-gpu-lock-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* What a failed test left running must not hold the device of the next one. */
static int end_all(void **state)
{
    (void)state;
    while (started_count > 0) {
        pid_t pid = started[--started_count];
        if (waitpid(pid, NULL, WNOHANG) == 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(the_second_is_refused, end_all),
                                       cmocka_unit_test_teardown(one_of_two_measures, end_all)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
