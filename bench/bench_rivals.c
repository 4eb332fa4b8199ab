/* bench_rivals.c - the rivals of tasks as the referee measures them, a line of JSON each, for bench/torch's scripts.
 * The device is opened and calibrated once; with --times each rival is measured so many times, built once. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "bench/solo.h"
#include "core/task/init.h"
#include "core/task/task_describe.h"
#include "mpi-eval/referee/rival.h"

#define TIMES_LIMIT 100

struct options {
    const char *backend, *modes;
    unsigned times;
    int describe_only;
};

/* How the values of an input are made, for who makes such ones by other means. */
static json_t *inits_describe(const struct atoll_task *task, const struct atoll_variant *variant)
{
    json_t *all = json_object();
    for (size_t i = 0; i < task->tensor_count; i++) {
        struct atoll_init_part part = {0};
        if (task->tensors[i].role == ATOLL_ROLE_OUT ||
            atoll_init_settle(task, i, 0, variant, 1, ATOLL_DRAW_BASE, &part, NULL) != 0)
            continue;
        const struct atoll_init_params *p = &part.params;
        json_object_set_new(all, task->tensors[i].name,
                            json_pack("{s:i, s:f, s:f, s:f, s:I, s:I}", "form", p->form, "a", p->a, "step",
                                      p->step, "deviation",
                                      p->step / (p->words == 1 ? ATOLL_BELL4_STEP : ATOLL_BELL8_STEP), "low",
                                      (json_int_t)p->low, "span", (json_int_t)p->span));
    }
    return all;
}

static int line_print(const struct atoll_task *task, const struct atoll_rival *r, size_t timing)
{
    const struct atoll_rival_spec *spec = &task->rivals[r->number];
    const struct atoll_timing *t = &r->timings[timing];
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *description = NULL, *line;
    int is_right = r->verdict == ATOLL_V_CORRECT; /* or described alone */
    const struct atoll_variant *v = is_right ? &task->variants[t->variant] : NULL;
    if (v && atoll_task_describe(task, v, &description, &err) != 0) {
        fprintf(stderr, "bench_rivals: %s\n", err.text);
        return -1;
    }
    line = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:o, s:f, s:s}", "task", task->name, "rival", spec->name,
                     "number", (int)r->number, "mode", atoll_torch_mode_name(spec->mode), "verdict",
                     atoll_verdict_name(r->verdict), "versions", r->versions, "detail",
                     atoll_json_text(r->detail), "compile_ns", r->compile_ns, "variant", v ? v->name : "");
    json_object_set_new(line, "occupied_ns", json_real(r->occupied_ns));
    if (v)
        json_object_update_new(line, json_pack("{s:f, s:f, s:f, s:i, s:f, s:o, s:o}", "median_ns",
                                               t->summary.median, "lo_ns", t->summary.lo95, "hi_ns",
                                               t->summary.hi95, "samples", (int)t->sample_count, "host_ns",
                                               r->host_ns[timing], "description", description, "inits",
                                               inits_describe(task, v)));
    atoll_json_print(line, JSON_COMPACT, stdout);
    fflush(stdout);
    return 0;
}

static int is_asked(const struct options *o, const struct atoll_task *task, uint32_t rival)
{
    return !o->modes || strstr(o->modes, atoll_torch_mode_name(task->rivals[rival].mode)) != NULL;
}

static int task_measure(struct atoll_solo *solo, const struct options *o, uint32_t number,
                        const struct atoll_task *task, uint64_t *evaluation)
{
    int rc = 0;
    for (uint32_t k = 0; k < task->rival_count; k++) {
        if (!is_asked(o, task, k))
            continue;
        for (unsigned i = 0; rc == 0 && i < o->times; i++) {
            struct atoll_order order = {
                .evaluation = ++*evaluation, .task = number, .kind = ATOLL_ORDER_RIVAL, .rival = k};
            struct atoll_rival r;
            atoll_rival_init(&r);
            atoll_referee_rival(solo->device.referee, number, &order, &r);
            for (size_t t = 0; rc == 0 && t < (r.timing_count ? r.timing_count : 1); t++)
                rc = line_print(task, &r, t);
            int is_over = r.verdict != ATOLL_V_CORRECT;
            atoll_rival_fini(&r);
            if (is_over)
                break;
        }
    }
    return rc;
}

/* What outside.py wants to know of rivals that were measured elsewhere, of each at each bench variant. */
static int describe(const struct options *o, char **dirs, int count, struct atoll_err *err)
{
    for (int i = 0; i < count; i++) {
        struct atoll_task *task = atoll_task_load(dirs[i], err); /* lives as long as the process */
        if (!task)
            return -1;
        for (uint32_t k = 0; k < task->rival_count; k++) {
            if (!is_asked(o, task, k))
                continue;
            for (uint32_t v = 0; v < task->variant_count; v++) {
                struct atoll_rival r;
                atoll_rival_init(&r);
                r.number = k;
                r.timings[0].variant = v;
                if (task->variants[v].kind == ATOLL_VARIANT_BENCH && line_print(task, &r, 0) != 0)
                    return atoll_err_set(err, ATOLL_E_INPUT, "%s: cannot be described", dirs[i]);
            }
        }
    }
    return 0;
}

static int measure(const struct options *o, char **dirs, int count, struct atoll_err *err)
{
    struct atoll_solo solo;
    uint64_t evaluation = 0;
    int rc = atoll_solo_open(&solo, o->backend, err);
    for (int i = 0; rc == 0 && i < count; i++) {
        struct atoll_task *task = atoll_task_load(dirs[i], err); /* lives as long as the process */
        rc = task ? atoll_referee_add_task(solo.device.referee, (uint32_t)i, task, err) : -1;
        if (rc == 0)
            rc = task_measure(&solo, o, (uint32_t)i, task, &evaluation);
    }
    atoll_solo_close(&solo);
    return rc;
}

static void usage(FILE *out)
{
    fputs("usage: [ATOLL_PYTHON=FILE] [ATOLL_DEVICE=GPU] bench_rivals [OPTION...] TASK_DIR...\n"
          "  --backend cuda|cpu  where (cuda)\n"
          "  --modes M,...       of eager, compile, max-autotune (those of the task)\n"
          "  --times N           measure each so often, built once (1)\n"
          "  --describe          measure nothing: the same lines without times, one a bench variant\n"
          "  --verbose           how long answers took, and which way they came\n"
          "  --help\n",
          out);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"backend", required_argument, NULL, 'b'},
                                          {"modes", required_argument, NULL, 'm'},
                                          {"times", required_argument, NULL, 'n'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"describe", no_argument, NULL, 'd'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.backend = "cuda", .times = 1};
    struct atoll_err err = ATOLL_ERR_INIT;
    int key;
    while ((key = getopt_long(argc, argv, "", names, NULL)) != -1)
        if (key == 'b')
            o.backend = optarg;
        else if (key == 'm')
            o.modes = optarg;
        else if (key == 'n')
            o.times = (unsigned)strtoul(optarg, NULL, 10);
        else if (key == 'd')
            o.describe_only = 1;
        else if (key == 'v')
            atoll_log_setup(STDERR_FILENO, ATOLL_LOG_DEBUG, "");
        else {
            usage(key == 'h' ? stdout : stderr);
            return key == 'h' ? 0 : 2;
        }
    if (optind >= argc || o.times < 1 || o.times > TIMES_LIMIT) {
        fprintf(stderr, "bench_rivals: folders of tasks, and 1 to %d times\n", TIMES_LIMIT);
        return 2;
    }
    int rc = (o.describe_only ? describe : measure)(&o, argv + optind, argc - optind, &err);
    if (rc != 0)
        fprintf(stderr, "bench_rivals: %s\n", err.text);
    return rc != 0;
}
