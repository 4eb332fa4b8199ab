/* bench_knowledge.c - a kernel beside its rivals, shape by shape, a line of JSON each, for bench/knowledge/measure.
 * [ATOLL_PYTHON=FILE] bench_knowledge [--backend cpu|cuda] [--modes eager,compile,max-autotune] [--rounds N] [--choices N] KERNEL TASK_DIR SHAPE_DIR...
 *
 * TASK_DIR is the task with its own bench variants: the kernel's params are chosen there, one after the other from the
 * default on, each by the value that is fastest over all of them.  Every SHAPE_DIR is the same task with one bench variant: there the
 * kernel as it was chosen and the fastest rival are timed in alternating blocks, rounds times; what is printed of each side is its
 * least median of a round, so that other work on the machine speaks against both alike.  Every choice that was tried is a line on stderr,
 * with its times. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "bench/solo.h"
#include "core/rival.h"
#include "core/task/task_describe.h"
#include "mpi-eval/referee/rival.h"

#define ROUND_LIMIT  50
#define TRY_LIMIT    40
#define CHOICE_LIMIT 1000
#define PLAN_BYTES   (4u << 20)
#define SOURCE_BYTES (1u << 20)

struct options {
    const char *backend, *modes;
    unsigned rounds, choices;
};

struct bench {
    struct options o;
    struct atoll_solo solo;
    const char *language;
    char *source;
    struct atoll_choice choice;
    char choice_text[512];
    uint64_t evaluation;
    uint32_t task_count;
};

/* One shape: the task, the kernel compiled for it, and what was seen. */
struct shape {
    struct atoll_task *task;
    uint32_t number;
    struct atoll_kernel kernel;
    struct atoll_evaluation evaluation;
    struct atoll_rival_times rivals;
    struct atoll_fastest_rival fastest;
    double time_ns, rival_ns; /* least medians of the rounds; 0: none */
    double ratios[ROUND_LIMIT];
    unsigned round_count;
    char detail[256], versions[ATOLL_RIVAL_VERSIONS_BYTES];
};

static const char *language_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    const char *end = dot ? dot + 1 : "";
    return strcmp(end, "cu") == 0 ? "cuda" : strcmp(end, "py") == 0 ? "triton" : "c";
}

static int task_open(struct bench *b, const char *dir, struct shape *s, struct atoll_err *err)
{
    s->number = b->task_count++;
    s->task = atoll_task_load(dir, err);
    return s->task ? atoll_referee_add_task(b->solo.device.referee, s->number, s->task, err) : -1;
}

static int evaluate(struct bench *b, struct shape *s, const struct atoll_choice *choice,
                    struct atoll_err *err)
{
    if (atoll_kernel_make(&b->solo, s->task, b->language, b->source, choice, &s->kernel, err) != 0)
        return -1;
    for (unsigned i = 0;; i++) { /* other programs on the machine are no fault of the kernel's */
        struct atoll_err inner = ATOLL_ERR_INIT;
        if (atoll_kernel_evaluate(&b->solo, s->number, &s->kernel, ++b->evaluation, &s->evaluation, &inner) ==
            0)
            return 0;
        if (s->evaluation.verdict != ATOLL_V_UNSTABLE || i + 1 >= TRY_LIMIT)
            return atoll_err_set(err, inner.code, "%s", inner.text);
        atoll_evaluation_fini(&s->evaluation);
        atoll_evaluation_init(&s->evaluation);
    }
}

static void choice_print(const struct shape *s, const struct atoll_plan *plan,
                         const struct atoll_choice *choice, const char *refused)
{
    char text[512];
    atoll_choice_text(plan, choice, text, sizeof(text));
    fprintf(stderr, "%s:", text);
    for (size_t i = 0; i < s->evaluation.timing_count; i++)
        fprintf(stderr, " %s %.1f us", s->task->variants[s->evaluation.timings[i].variant].name,
                s->evaluation.timings[i].summary.median / 1e3);
    fprintf(stderr, "%s%s\n", refused ? " " : "", refused ? refused : "");
}

/* The time of one choice over all bench variants of the task; infinite when it is not right. */
static double choice_time(struct bench *b, struct shape *all, const struct atoll_plan *plan,
                          const struct atoll_choice *choice, struct atoll_err *err)
{
    struct shape s = {.task = all->task, .number = all->number};
    atoll_evaluation_init(&s.evaluation);
    int right = evaluate(b, &s, choice, err) == 0;
    double ns = right ? atoll_evaluation_time_ns(&s.evaluation, s.task) : INFINITY;
    choice_print(&s, plan, choice, right ? NULL : err->text);
    atoll_evaluation_fini(&s.evaluation);
    atoll_kernel_fini(&s.kernel);
    return ns;
}

/* Every value of every param once, beside the best of the others so far. */
static void descend(struct bench *b, struct shape *all, const struct atoll_plan *plan, double best_ns)
{
    unsigned left = b->o.choices;
    for (size_t p = 0; p < plan->param_count; p++) {
        const struct atoll_param *param = &plan->params[p];
        int64_t kept = b->choice.values[p];
        for (size_t v = 0; v < param->value_count && left > 0; v++) {
            struct atoll_choice try = b->choice;
            struct atoll_err ignored = ATOLL_ERR_INIT;
            try.values[p] = param->values[v];
            if (try.values[p] == kept || atoll_plan_choice_legal(all->task, plan, &try, &ignored) != 1)
                continue;
            left--;
            double ns = choice_time(b, all, plan, &try, &ignored);
            if (ns < best_ns) {
                best_ns = ns;
                b->choice = try;
            }
        }
    }
}

/* The kernel as a seed of the task is: with its definitions. */
static int define(struct bench *b, const struct atoll_task *task, struct atoll_err *err)
{
    size_t place = atoll_task_definitions_place(task, b->source);
    struct atoll_buffer whole;
    if (!place)
        return 0;
    atoll_buffer_init(&whole, SOURCE_BYTES);
    atoll_buffer_printf(&whole, "%.*s %s%s", (int)place, b->source, task->definitions, b->source + place);
    int rc = atoll_buffer_check(&whole, err);
    if (rc == 0) {
        free(b->source);
        b->source = (char *)whole.data;
    } else {
        atoll_buffer_fini(&whole);
    }
    return rc;
}

static int choose(struct bench *b, const char *dir, struct atoll_err *err)
{
    struct shape all = {0};
    const char *body;
    struct atoll_arena *arena = atoll_arena_create(PLAN_BYTES, err);
    int rc = arena ? task_open(b, dir, &all, err) : -1;
    rc = rc == 0 ? define(b, all.task, err) : rc;
    const struct atoll_plan *plan =
        rc == 0 ? atoll_plan_parse(arena, all.task, b->language, b->source, &body, err) : NULL;
    if (plan) {
        atoll_plan_first_choice(plan, &b->choice);
        double ns = choice_time(b, &all, plan, &b->choice, err);
        rc = isfinite(ns) ? 0 : -1;
        if (rc == 0)
            descend(b, &all, plan, ns);
        atoll_choice_text(plan, &b->choice, b->choice_text, sizeof(b->choice_text));
    }
    atoll_arena_destroy(arena);
    return plan ? rc : -1; /* the task stays: the referee has it */
}

static void rivals_measure(struct bench *b, struct shape *s)
{
    for (uint32_t k = 0; k < s->task->rival_count; k++) {
        struct atoll_order order = {
            .evaluation = ++b->evaluation, .task = s->number, .kind = ATOLL_ORDER_RIVAL, .rival = k};
        struct atoll_rival r;
        if (b->o.modes && !strstr(b->o.modes, atoll_torch_mode_name(s->task->rivals[k].mode)))
            continue;
        atoll_rival_init(&r);
        for (unsigned i = 0; i < TRY_LIMIT && (i == 0 || r.verdict == ATOLL_V_UNSTABLE); i++) {
            atoll_rival_fini(&r);
            atoll_rival_init(&r);
            atoll_referee_rival(b->solo.device.referee, s->number, &order, &r);
        }
        if (r.verdict != ATOLL_V_CORRECT)
            snprintf(s->detail, sizeof(s->detail), "%s: %.200s", s->task->rivals[k].name, r.detail);
        else
            snprintf(s->versions, sizeof(s->versions), "%s", r.versions);
        atoll_rival_times_add(&s->rivals, &r);
        atoll_rival_fini(&r);
    }
    s->fastest = atoll_rival_times_fastest(&s->rivals, s->task);
}

static void duel(struct bench *b, struct shape *s)
{
    struct atoll_duel d = {0};
    struct atoll_order order = {.evaluation = ++b->evaluation,
                                .task = s->number,
                                .kind = ATOLL_ORDER_DUEL,
                                .purpose = ATOLL_DUEL_RIVAL,
                                .candidate = s->kernel.candidate,
                                .rival = s->fastest.number,
                                .alpha = 0.01,
                                .margin = log(1.01),
                                .pair_limit = 16};
    memcpy(order.rivals, s->fastest.numbers, sizeof(order.rivals));
    atoll_referee_rival_duel(b->solo.device.referee, s->number, &order, s->kernel.prepared,
                             s->kernel.compiled.object, s->kernel.compiled.object_length, &d);
    if (d.verdict != ATOLL_V_CORRECT || !(d.challenger_ns > 0)) {
        snprintf(s->detail, sizeof(s->detail), "%s: %.200s", atoll_verdict_name(d.verdict), d.detail);
        return;
    }
    s->ratios[s->round_count++] = d.ratio;
    if (s->time_ns == 0 || d.challenger_ns < s->time_ns)
        s->time_ns = d.challenger_ns;
    if (s->rival_ns == 0 || d.elite_ns < s->rival_ns)
        s->rival_ns = d.elite_ns;
}

static const struct atoll_variant *bench_variant(const struct shape *s)
{
    return s->evaluation.timing_count ? &s->task->variants[s->evaluation.timings[0].variant] : NULL;
}

static void shape_print(const struct bench *b, const struct shape *s)
{
    const struct atoll_variant *v = bench_variant(s);
    const struct atoll_device_info *device = atoll_referee_device(b->solo.device.referee);
    const struct atoll_timing *t = s->evaluation.timings;
    json_t *dims = json_object(), *ratios = json_array();
    for (size_t i = 0; v && i < s->task->dim_count; i++)
        json_object_set_new(dims, s->task->dims[i], json_integer(v->dims[i]));
    for (unsigned i = 0; i < s->round_count; i++)
        json_array_append_new(ratios, json_real(s->ratios[i]));
    json_t *line = json_pack(
        "{s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:o, s:o}", "task", s->task->name, "variant",
        v ? v->name : "", "dims", dims, "device", device->model, "torch", s->versions, "choice",
        b->choice_text, "rival", s->fastest.time_ns > 0 ? s->task->rivals[s->fastest.number].name : "",
        "alone_ns", v ? t->summary.median : 0.0, "floor_ns", v ? t->floor_ns : 0.0, "time_ns", s->time_ns,
        "rival_ns", s->rival_ns, "ratios", ratios, "detail", atoll_json_text(s->detail));
    atoll_json_print(line, JSON_COMPACT, stdout);
    fflush(stdout);
}

static int shape_measure(struct bench *b, const char *dir, struct atoll_err *err)
{
    struct shape s = {0};
    atoll_evaluation_init(&s.evaluation);
    int rc = task_open(b, dir, &s, err);
    if (rc == 0)
        rc = evaluate(b, &s, &b->choice, err);
    if (rc == 0) {
        rivals_measure(b, &s);
        for (unsigned i = 0;
             s.fastest.time_ns > 0 && s.round_count < b->o.rounds && i < b->o.rounds * TRY_LIMIT; i++)
            duel(b, &s);
        shape_print(b, &s);
    }
    atoll_kernel_fini(&s.kernel);
    atoll_evaluation_fini(&s.evaluation);
    return rc;
}

static int measure(struct bench *b, char **args, int count, struct atoll_err *err)
{
    size_t length;
    b->language = language_of(args[0]);
    b->source = atoll_file_read(args[0], SOURCE_BYTES, &length, err);
    int rc = b->source ? atoll_solo_open(&b->solo, b->o.backend, err) : -1;
    if (rc == 0)
        rc = choose(b, args[1], err);
    for (int i = 2; rc == 0 && i < count; i++)
        rc = shape_measure(b, args[i], err);
    atoll_solo_close(&b->solo);
    free(b->source);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"backend", required_argument, NULL, 'b'},
                                          {"modes", required_argument, NULL, 'm'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {"choices", required_argument, NULL, 'c'},
                                          {NULL, 0, NULL, 0}};
    static struct bench b = {.o = {.backend = "cpu", .rounds = 3, .choices = CHOICE_LIMIT}};
    struct atoll_err err = ATOLL_ERR_INIT;
    int key;
    while ((key = getopt_long(argc, argv, "", names, NULL)) != -1)
        if (key == 'b')
            b.o.backend = optarg;
        else if (key == 'm')
            b.o.modes = optarg;
        else if (key == 'r')
            b.o.rounds = (unsigned)strtoul(optarg, NULL, 10);
        else if (key == 'c')
            b.o.choices = (unsigned)strtoul(optarg, NULL, 10);
        else
            return 2;
    if (argc - optind < 3 || b.o.rounds < 1 || b.o.rounds > ROUND_LIMIT || b.o.choices > CHOICE_LIMIT) {
        fprintf(stderr,
                "bench_knowledge: a kernel, its task's folder, and a folder for each shape; 1 to %d rounds\n",
                ROUND_LIMIT);
        return 2;
    }
    int rc = measure(&b, argv + optind, argc - optind, &err);
    if (rc != 0)
        fprintf(stderr, "bench_knowledge: %s\n", err.text);
    return rc != 0;
}
