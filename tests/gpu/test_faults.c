/* Kernels that damage the process they run in, past the rules: the source that was looked at is honest, the image that
 * is loaded is not.  After each fault the verdict is the right one, the lost process was replaced (and only a lost one),
 * an honest kernel is correct and as fast as before, and over all rounds the evaluator's own process keeps its
 * descriptors and its memory. */
#include "tests/gpu/device.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "mpi-eval/backend/backends.h"
#include "base/clock.h"
#include "mpi-eval/backend/cuda/measure/device.h"
#include "mpi-eval/referee/time_account.h"
#include "tests/gpu/faults.h"
#include "tests/gpu/referee.h"

#define ROUNDS         30
#define SAME_RATIO     1.05
#define SAME_TRIES     4 /* a time that differs is taken again */
#define MEMORY_GROWTH  ((size_t)8 << 20)
#define MODULE_SLOT    (ATOLL_DEVICE_COMMAND_MODULE_LIMIT - 1)
#define FUNCTION_SLOT  (ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT - 1)
#define STEPS_LIMIT_NS 5e9

static struct atoll_task *blend_task, *product_task;
static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static uint64_t next_evaluation = 1;
static struct cheats_built good;
static double good_ns;
static size_t failed_count;

/* ---- compiling ---- */

static void must(int failed, const char *what, const struct atoll_err *err)
{
    if (failed)
        fail_msg("%s: %s", what, err->text);
}

static struct atoll_compiled image_of(const char *name, const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiled o = {0};
    must(atoll_compiler_run(compiler, "fault.cu", text, strlen(text), NULL, 0, &o, &err), name, &err);
    if (o.status != ATOLL_COMPILE_OK)
        fail_msg("%s does not compile: %s", name, o.diagnostics);
    return o;
}

/* ---- one honest kernel ---- */

struct outcome {
    enum atoll_verdict verdict;
    unsigned level;
    double ns;
    char detail[ATOLL_DETAIL_BYTES];
};

static void evaluate(uint32_t number, const struct atoll_task *task, const struct atoll_prepared *prepared,
                     const struct atoll_compiled *image, struct outcome *ret)
{
    struct atoll_order order = {.evaluation = next_evaluation++, .baseline_ns = 1};
    struct atoll_evaluation e;
    atoll_evaluation_init(&e);
    atoll_referee_evaluate(referee, number, &order, prepared, image->object, image->object_length, &e);
    *ret = (struct outcome){.verdict = e.verdict, .level = e.level, .ns = atoll_evaluation_time_ns(&e, task)};
    snprintf(ret->detail, sizeof(ret->detail), "%s", e.detail);
    atoll_evaluation_fini(&e);
}

static void good_evaluate(struct outcome *ret)
{
    evaluate(CHEATS_PRODUCT, product_task, good.prepared, &good.compiled, ret);
}

/* 1: correct, and as fast as in the beginning. */
static int good_is_well(struct outcome *o)
{
    for (int i = 0; i < SAME_TRIES; i++) {
        good_evaluate(o);
        if (o->verdict != ATOLL_V_CORRECT && o->verdict != ATOLL_V_UNSTABLE)
            return 0;
        if (o->verdict == ATOLL_V_CORRECT && o->ns <= SAME_RATIO * good_ns && good_ns <= SAME_RATIO * o->ns)
            return 1;
    }
    return 0;
}

/* The least of some: what the others are compared with. */
static void good_begin(void)
{
    struct outcome o;
    for (int i = 0; i < SAME_TRIES; i++) {
        good_evaluate(&o);
        if (o.verdict != ATOLL_V_CORRECT)
            fail_msg("the honest kernel: %s: %s", atoll_verdict_name(o.verdict), o.detail);
        good_ns = i == 0 ? o.ns : fmin(good_ns, o.ns);
    }
    printf("an honest kernel before any fault: %.1f us\n", good_ns / 1e3);
}

/* ---- the evaluator's own process ---- */

static size_t descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

static size_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    int got = f ? fscanf(f, "%*u %lu", &pages) : 0;
    if (f)
        fclose(f);
    return got == 1 ? pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static size_t children(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char path[288];
        int parent = 0;
        snprintf(path, sizeof(path), "/proc/%.200s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        int got = f ? fscanf(f, "%*d (%*[^)]) %*c %d", &parent) : 0;
        if (f)
            fclose(f);
        count += got == 1 && parent == getpid();
    }
    if (dir)
        closedir(dir);
    return count;
}

/* A process that stands ready, or none: both are as they should be. */
static size_t spares(void)
{
    return atoll_cuda_device_of(referee)->spare.worker != NULL;
}

/* ---- one fault ---- */

static void line(const char *name, const char *wanted, const char *got, unsigned replaced, const char *detail,
                 int is_good)
{
    failed_count += !is_good;
    printf("%s  %-40s expected %-34s got %-14s processes replaced %u  %.140s\n", is_good ? "ok  " : "FAIL",
           name, wanted, got, replaced, detail);
    fflush(stdout);
}

static void good_line(const char *after)
{
    struct outcome o;
    char name[96], detail[128];
    int is_well = good_is_well(&o);
    snprintf(name, sizeof(name), "... an honest kernel after %.60s", after);
    snprintf(detail, sizeof(detail), "%.1f us, before %.1f us; ratio %.3f (limit %.2f); %.40s", o.ns / 1e3,
             good_ns / 1e3, o.ns / good_ns, SAME_RATIO, o.detail);
    if (!is_well)
        line(name, "correct, as fast as before", atoll_verdict_name(o.verdict), 0, detail, 0);
}

static uint32_t generation(void)
{
    return atoll_cuda_device_of(referee)->generation;
}

/* A lost process is replaced when the next one is needed. */
static unsigned replaced_since(uint32_t before)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    must(atoll_cuda_device_ready(atoll_cuda_device_of(referee), &err), "the device after a fault", &err);
    return generation() - before;
}

static void fault_run(const struct fault *f)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order_candidate c = {.language = "cuda", .source = f->source};
    struct atoll_prepared *p = atoll_prepared_create(blend_task, &atoll_backend_cuda, &c, NULL, &err);
    char wanted[128];
    struct outcome o;
    must(!p, f->name, &err);
    if (p->verdict != ATOLL_V_CORRECT)
        fail_msg("%s: %s", f->name, p->detail);
    struct atoll_compiled image = image_of(f->name, f->image);
    uint32_t before = generation();
    evaluate(CHEATS_BLEND, blend_task, p, &image, &o);
    unsigned replaced = replaced_since(before);
    int is_good = f->verdicts >> o.verdict & 1u && strstr(o.detail, f->says) &&
                  (f->loses < 0 || (f->loses ? replaced >= 1 : replaced == 0));
    line(f->name, cheats_verdicts_text(f->verdicts, wanted, sizeof(wanted)), atoll_verdict_name(o.verdict),
         replaced, o.detail, is_good);
    atoll_compiled_fini(&image);
    atoll_prepared_destroy(p);
}

static struct atoll_device_command_launch launch_of(const struct batch *b)
{
    struct atoll_device_command_launch l = {.function = FUNCTION_SLOT,
                                            .grid = {b->grid, 1, 1},
                                            .block = {b->block, 1, 1},
                                            .shared_bytes = b->shared_bytes,
                                            .cooperative = b->cooperative};
    uint64_t pointer = atoll_cuda_device_of(referee)->areas[ATOLL_AREA_ARENA].address;
    if (b->cluster) {
        l.cluster[0] = b->cluster;
        l.cluster[1] = l.cluster[2] = 1;
    }
    atoll_device_command_param(&l, &pointer, 8);
    return l;
}

static const char *status_name(enum atoll_command_batch_status status)
{
    static const char *const names[] = {"done", "refused", "fault", "timeout", "lost"};
    return names[status];
}

static void batch_run(const struct batch *b)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_compiled image = image_of(b->name, b->image);
    must(atoll_cuda_device_ready(d, &err), b->name, &err);
    uint32_t before = generation();
    struct atoll_device_command_launch l = launch_of(b);
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_module_load(&d->batch, MODULE_SLOT, image.object, image.object_length);
    atoll_command_batch_function(&d->batch, FUNCTION_SLOT, MODULE_SLOT, "f");
    atoll_command_batch_launch(&d->batch, &l);
    atoll_command_batch_sync(&d->batch);
    must(atoll_cuda_device_run(d, STEPS_LIMIT_NS, &err) < 0, b->name, &err);
    enum atoll_command_batch_status status = d->reply.status;
    char text[256];
    snprintf(text, sizeof(text), "command %u: %.200s", d->reply.command, d->reply.text);
    if (d->worker) {
        atoll_command_batch_clear(&d->batch);
        atoll_command_batch_module_unload(&d->batch, MODULE_SLOT);
        must(atoll_cuda_device_run_own(d, "unloading", &err) < 0, b->name, &err);
    }
    unsigned replaced = replaced_since(before);
    int is_lost = b->status != ATOLL_COMMAND_BATCH_DONE && b->status != ATOLL_COMMAND_BATCH_REFUSED;
    line(b->name, status_name(b->status), status_name(status), replaced, text,
         status == b->status && (replaced > 0) == is_lost);
    atoll_compiled_fini(&image);
}

/* ---- killed from outside ---- */

struct kill {
    pid_t pid;
    double after_ns;
};

static void *kill_soon(void *context)
{
    const struct kill *k = context;
    struct timespec t = {.tv_nsec = (long)k->after_ns};
    nanosleep(&t, NULL);
    kill(k->pid, SIGKILL);
    return NULL;
}

/* After a third of the time that an evaluation took before: the device process, or that of the sealed memory. */
static void killed_run(int is_keeper)
{
    const struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct outcome o;
    struct kill k = {.pid = 0};
    pthread_t thread;
    uint32_t before = generation();
    double begin_ns = atoll_referee_now_ns();
    good_evaluate(&o);
    k.after_ns = fmin((atoll_referee_now_ns() - begin_ns) / 3, 9e8);
    const struct atoll_cuda_worker *victim = is_keeper ? d->sealed.worker : d->worker;
    if (!victim && is_keeper) {
        printf("sealed memory has no process of its own here: nothing to kill\n");
        return;
    }
    k.pid = victim ? atoll_cuda_worker_pid(victim) : 0;
    if (k.pid <= 0)
        fail_msg("there is no device process to kill");
    assert_int_equal(pthread_create(&thread, NULL, kill_soon, &k), 0);
    good_evaluate(&o);
    pthread_join(thread, NULL);
    unsigned replaced = replaced_since(before);
    line(is_keeper ? "sealed memory's process killed" : "killed by signal 9 in an evaluation", "correct",
         atoll_verdict_name(o.verdict), replaced, o.detail,
         o.verdict == ATOLL_V_CORRECT && (is_keeper ? replaced <= 1 : replaced == 1));
}

/* ---- the tests ---- */

static void a_round(size_t number)
{
    size_t k = number % (FAULT_COUNT + BATCH_COUNT + 1);
    if (k < FAULT_COUNT) {
        fault_run(&faults[k]);
        good_line(faults[k].name);
    } else if (k < FAULT_COUNT + BATCH_COUNT) {
        batch_run(&batches[k - FAULT_COUNT]);
        good_line(batches[k - FAULT_COUNT].name);
    } else {
        killed_run(0);
        good_line("a kill");
        killed_run(1);
        good_line("a kill of the other");
    }
}

static void faults_leave_nothing(void **state)
{
    size_t fds = 0, bytes = 0, processes = 0, settled = FAULT_COUNT + BATCH_COUNT + 1;
    uint32_t before;
    if (!referee)
        skip();
    (void)state;
    good_begin();
    before = generation();
    for (size_t i = 0; i < ROUNDS; i++) {
        a_round(i);
        if (i + 1 == settled) { /* every fault once: caches and buffers have their sizes */
            fds = descriptors() - spares();
            bytes = resident_bytes();
            processes = children() - spares();
        }
    }
    size_t fds_now = descriptors() - spares(), bytes_now = resident_bytes(),
           processes_now = children() - spares();
    printf(
        "SUMMARY %d rounds, %zu failed, %u device processes replaced; descriptors %zu -> %zu, children %zu "
        "-> %zu, resident %zu -> %zu KiB\n",
        ROUNDS, failed_count, generation() - before, fds, fds_now, processes, processes_now, bytes >> 10,
        bytes_now >> 10);
    assert_int_equal(failed_count, 0);
    assert_int_equal(fds_now, fds);
    assert_int_equal(processes_now, processes);
    assert_true(bytes_now <= bytes + MEMORY_GROWTH);
    assert_false(atoll_cuda_device_of(referee)->is_quarantined);
}

/* All of the device's time is in some part, whatever becomes of its process; what starts it again is no candidate's input. */
static void the_time_is_accounted_for(void **state)
{
    static const enum atoll_time_part some[] = {ATOLL_TIME_CANDIDATES, ATOLL_TIME_INPUTS,
                                                ATOLL_TIME_FLUSH,      ATOLL_TIME_CHECKS,
                                                ATOLL_TIME_COMPILING,  ATOLL_TIME_START};
    struct atoll_time_report report;
    char text[ATOLL_DEVICE_TIME_TEXT];
    if (!referee)
        skip();
    (void)state;
    double begin_ns = atoll_clock_mono_ns();
    struct atoll_time_account *account = atoll_time_account_create(NULL, NULL, NULL);
    assert_non_null(account);
    atoll_referee_set_account(referee, account);
    atoll_time_account_begin(account, ATOLL_TIME_OTHER, CHEATS_PRODUCT);
    for (size_t i = 0; i < FAULT_COUNT; i++)
        a_round(i);
    double elapsed_ns = atoll_clock_mono_ns() - begin_ns;
    assert_int_equal(atoll_time_account_report(account, 1, &report, NULL), 0);
    const struct atoll_device_time *time = &report.times[0].time;
    double whole_ns = 0;
    for (size_t i = 0; i < report.count; i++)
        whole_ns += atoll_device_time_whole_ns(&report.times[i].time);
    printf("TIMES %.2f s, %.2f s told: %s\n", elapsed_ns / 1e9, whole_ns / 1e9,
           atoll_device_time_text(time, whole_ns, text, sizeof(text)));
    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
        if (!(time->ns[some[i]] > 0))
            fail_msg("no time for %s", atoll_time_part_name(some[i]));
    expect_close(whole_ns, elapsed_ns, 0.02);
    free(report.times);
    atoll_referee_set_account(referee, NULL);
    atoll_time_account_destroy(account);
}

/* ---- set-up ---- */

static int tasks_open(struct atoll_err *err)
{
    blend_task = cheats_task_load(CHEATS_BLEND, err);
    product_task = cheats_task_load(CHEATS_PRODUCT, err);
    if (!blend_task || !product_task || atoll_referee_add_task(referee, CHEATS_BLEND, blend_task, err) != 0 ||
        atoll_referee_add_task(referee, CHEATS_PRODUCT, product_task, err) != 0)
        return -1;
    char *source = cheats_read("d12_tf32", ".honest.cu", err);
    int rc = source ? cheats_build(source, product_task, NULL, compiler, &good, err) : -1;
    free(source);
    return rc == 0 && good.at ? atoll_err_set(err, ATOLL_E_INPUT, "%.500s", good.detail) : rc;
}

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    int rc = gpu_referee_open(&compiler, &referee);
    if (rc != 0)
        return rc > 0 ? 0 : -1;
    if (tasks_open(&err) != 0)
        print_error("%s\n", err.text);
    return err.code == ATOLL_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    cheats_built_fini(&good);
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    atoll_task_destroy(blend_task);
    atoll_task_destroy(product_task);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(faults_leave_nothing),
                                       cmocka_unit_test(the_time_is_accounted_for)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
