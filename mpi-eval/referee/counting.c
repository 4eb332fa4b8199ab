/* counting.c - who is counted, and with which set: what is only near with the small one, what leads a cell with the full one,
 * as long as there is time for it (SHARE_...); and the book of what was. */
#include "mpi-eval/referee/counting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/kept_record.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/referee/time_account.h"
#include "mpi-eval/referee/trial.h"

#define LEARNING 0.25

/* Of one set: passes over the launches and one run more for inputs and fills, and what the first counting takes beside them:
 * 24 ms a pass, and setting the profiler up, which is once in a device process (docs/benchmarks/gpu.md). */
static const struct {
    double runs, first_ns;
} sets[ATOLL_METRICS_SET_COUNT] = {[ATOLL_METRICS_SMALL] = {2, 0.1e9}, [ATOLL_METRICS_FULL] = {6, 0.2e9}};

/* Counting goes on while it takes no more of the device's time than so many times the budget. */
#define SHARE_NEAR    0.4 /* enters no cell */
#define SHARE_CELL    0.8 /* may enter one */
#define SHARE_FASTEST 1.0 /* of its task; beyond it the small set with so much gain over what was counted: */
#define GAIN_FASTEST  1.1

static int is_affordable(const struct atoll_setup *setup, const struct atoll_counting_facts *facts,
                         enum atoll_metrics_set set, double share)
{
    double cost_ns = facts->cost_ns[set];
    return facts->counting_ns + cost_ns <= share * setup->profile_budget * (facts->device_ns + cost_ns);
}

enum atoll_counting atoll_counting_choose(const struct atoll_setup *setup,
                                          const struct atoll_counting_facts *facts)
{
    int is_fastest = facts->ahead > 1;
    int is_far = facts->behind > setup->profile_ratio && !is_fastest;
    int may_enter = is_fastest || facts->behind < 1;
    double share = is_fastest ? SHARE_FASTEST : may_enter ? SHARE_CELL : SHARE_NEAR;
    if (!(setup->profile_ratio > 0))
        return ATOLL_COUNTING_OFF;
    if (facts->known & 1u << ATOLL_METRICS_FULL)
        return ATOLL_COUNTING_KNOWN;
    if (setup->profile_all || (may_enter && is_affordable(setup, facts, ATOLL_METRICS_FULL, share)))
        return ATOLL_COUNTING_FULL;
    if (facts->known)
        return ATOLL_COUNTING_KNOWN;
    if (is_far)
        return ATOLL_COUNTING_FAR;
    return facts->ahead >= GAIN_FASTEST || is_affordable(setup, facts, ATOLL_METRICS_SMALL, share)
               ? ATOLL_COUNTING_SMALL
               : ATOLL_COUNTING_SPENT;
}

const char *atoll_counting_reason(enum atoll_counting choice)
{
    static const char *const reasons[] = {
        [ATOLL_COUNTING_OFF] = "counters are switched off",
        [ATOLL_COUNTING_KNOWN] = "",
        [ATOLL_COUNTING_FAR] = "too far behind the elite of its cell",
        [ATOLL_COUNTING_SPENT] = "counters had used up their share of the device's time",
        [ATOLL_COUNTING_SMALL] = "the small set of counters",
        [ATOLL_COUNTING_FULL] = "",
    };
    return reasons[choice];
}

/* ---- the book ---- */

void atoll_counting_book_fini(struct atoll_counting_book *book)
{
    free(book->counted);
    memset(book, 0, sizeof(*book));
}

double atoll_counting_cost_ns(const struct atoll_counting_book *book, enum atoll_metrics_set set,
                              double time_ns)
{
    double start_ns = book->start_ns[set] > 0 ? book->start_ns[set] : sets[set].first_ns;
    return start_ns + sets[set].runs * time_ns;
}

/* What is less is believed at once: the one before had the profiler to set up. */
void atoll_counting_paid(struct atoll_counting_book *book, enum atoll_metrics_set set, double time_ns,
                         double wall_ns)
{
    double start_ns = fmax(wall_ns - sets[set].runs * time_ns, 1), *known_ns = &book->start_ns[set];
    book->counting_ns += wall_ns;
    *known_ns += (start_ns > *known_ns && *known_ns > 0 ? LEARNING : 1) * (start_ns - *known_ns);
}

const struct atoll_counted_kernel *atoll_counting_find(const struct atoll_counting_book *book,
                                                       const struct atoll_id *task, uint32_t variant,
                                                       const struct atoll_id *binary)
{
    if (atoll_id_is_zero(binary))
        return NULL;
    for (size_t i = 0; i < book->count; i++) {
        const struct atoll_counted_kernel *c = &book->counted[i];
        if (atoll_id_equal(&c->task, task) && c->variant == variant && atoll_id_equal(&c->binary, binary))
            return c;
    }
    return NULL;
}

void atoll_counting_put(struct atoll_counting_book *book, const struct atoll_counted_kernel *counted)
{
    const struct atoll_counted_kernel *known =
        atoll_counting_find(book, &counted->task, counted->variant, &counted->binary);
    if (!book->counted)
        book->counted = calloc(ATOLL_COUNTED_LIMIT, sizeof(*book->counted));
    if (!book->counted || atoll_id_is_zero(&counted->binary))
        return;
    if (known) {
        book->counted[known - book->counted] = *counted;
        return;
    }
    book->counted[book->next] = *counted;
    book->next = (book->next + 1) % ATOLL_COUNTED_LIMIT;
    book->count += book->count < ATOLL_COUNTED_LIMIT;
}

/* ---- what is kept of it ---- */

#define KEPT_AS      "counters 1"
#define KEPT_BYTES   ((size_t)512 << 10)
#define TIME_MAX     1e18
#define KERNEL_BYTES 100 /* at least */

static void kernel_put(const struct atoll_counted_kernel *c, struct atoll_buffer *out)
{
    atoll_buffer_put_bytes(out, c->task.bytes, sizeof(c->task.bytes));
    atoll_buffer_put_u32(out, c->variant);
    atoll_buffer_put_bytes(out, c->binary.bytes, sizeof(c->binary.bytes));
    atoll_buffer_put_u64(out, c->evaluation);
    atoll_buffer_put_u32(out, (uint32_t)c->set);
    for (size_t i = 0; i < ATOLL_COUNTER_COUNT; i++)
        atoll_buffer_put_f64(out, c->counters[i]); /* NaN: not measured */
    atoll_buffer_put_f64(out, c->intensity_flops_per_byte);
}

static void kernel_take(struct atoll_reader *r, struct atoll_counted_kernel *c)
{
    atoll_reader_bytes(r, c->task.bytes, sizeof(c->task.bytes));
    c->variant = atoll_reader_u32_in(r, 0, ATOLL_TASK_VARIANT_LIMIT - 1);
    atoll_reader_bytes(r, c->binary.bytes, sizeof(c->binary.bytes));
    c->evaluation = atoll_reader_u64(r);
    c->set = (enum atoll_metrics_set)atoll_reader_u32_in(r, 0, ATOLL_METRICS_SET_COUNT - 1);
    for (size_t i = 0; i < ATOLL_COUNTER_COUNT; i++)
        c->counters[i] = atoll_reader_f64(r);
    c->intensity_flops_per_byte = atoll_reader_f64(r);
    c->is_earlier = 1;
}

void atoll_counting_keep(const struct atoll_counting_book *book, const struct atoll_device_info *info,
                         int64_t now_unix_ns)
{
    struct atoll_buffer out;
    if (!book->count)
        return;
    atoll_buffer_init(&out, KEPT_BYTES);
    atoll_buffer_put_f64(&out, book->device_ns);
    atoll_buffer_put_f64(&out, book->counting_ns);
    for (size_t i = 0; i < ATOLL_METRICS_SET_COUNT; i++)
        atoll_buffer_put_f64(&out, book->start_ns[i]);
    atoll_buffer_put_u32(&out, (uint32_t)book->count);
    for (size_t i = 0; i < book->count; i++)
        kernel_put(&book->counted[(book->next + i) % book->count], &out);
    atoll_kept_record_write(info, KEPT_AS, now_unix_ns, &out);
    atoll_buffer_fini(&out);
}

void atoll_counting_remember(struct atoll_counting_book *book, const struct atoll_device_info *info,
                             int64_t now_unix_ns)
{
    struct atoll_buffer bytes;
    struct atoll_reader r;
    struct atoll_counting_book found = {0};
    atoll_buffer_init(&bytes, 2 * KEPT_BYTES);
    if (atoll_kept_record_read(info, KEPT_AS, now_unix_ns, &bytes, &r)) {
        found.device_ns = atoll_reader_f64_in(&r, 0, TIME_MAX);
        found.counting_ns = atoll_reader_f64_in(&r, 0, TIME_MAX);
        for (size_t i = 0; i < ATOLL_METRICS_SET_COUNT; i++)
            found.start_ns[i] = atoll_reader_f64_in(&r, 0, TIME_MAX);
        for (uint32_t left = atoll_reader_count(&r, KERNEL_BYTES); left && !r.failed; left--) {
            struct atoll_counted_kernel counted = {0};
            kernel_take(&r, &counted);
            if (!r.failed)
                atoll_counting_put(&found, &counted);
        }
        if (atoll_reader_finish(&r, "kept counters", NULL) == 0) {
            *book = found;
            found = (struct atoll_counting_book){0};
        }
    }
    atoll_counting_book_fini(&found);
    atoll_buffer_fini(&bytes);
}

/* ---- a candidate ---- */

/* Its time over what it is held against, a mean over the variants where each has a bar of its own; 0: nothing is there. */
static double behind_of(const struct atoll_order *order, const struct atoll_task *task,
                        const struct atoll_evaluation *e)
{
    double log_sum = 0, weights = 0;
    for (size_t i = 0; i < e->timing_count; i++) {
        const struct atoll_timing *t = &e->timings[i];
        if (order->bars_ns[t->variant] > 0 && t->summary.median > 0) {
            double weight = task->variants[t->variant].weight;
            log_sum += weight * log(t->summary.median / order->bars_ns[t->variant]);
            weights += weight;
        }
    }
    if (weights > 0)
        return exp(log_sum / weights);
    return order->incumbent_ns > 0 ? atoll_evaluation_time_ns(e, task) / order->incumbent_ns : 0;
}

static void known_take(const struct atoll_counted_kernel *counted, struct atoll_profile *p)
{
    memcpy(p->counters, counted->counters, sizeof(p->counters));
    p->intensity_flops_per_byte = counted->intensity_flops_per_byte;
    p->tier = ATOLL_TIER_COUNTERS;
    snprintf(p->reason, sizeof(p->reason), "counters of evaluation %llu%s, which has the same binary",
             (unsigned long long)counted->evaluation, counted->is_earlier ? " of an earlier run" : "");
}

static void counters_read(struct atoll_referee *referee, struct atoll_case *known,
                          struct atoll_loaded_candidate *candidate, const struct atoll_order *order,
                          const struct atoll_timing *timing, enum atoll_metrics_set set,
                          struct atoll_evaluation *e)
{
    struct atoll_profile *p = &e->profile;
    double begin = atoll_clock_mono_ns();
    enum atoll_time_part before = atoll_time_account_enter(referee->account, ATOLL_TIME_COUNTERS);
    referee->backend->profile(referee, known, candidate, timing->variant, set, p);
    atoll_time_account_enter(referee->account, before);
    p->wall_ns = atoll_clock_mono_ns() - begin;
    atoll_counting_paid(&referee->counting, set, timing->summary.median, p->wall_ns);
    if (p->tier == ATOLL_TIER_COUNTERS) {
        struct atoll_counted_kernel counted = {.task = known->task->id,
                                               .variant = timing->variant,
                                               .binary = e->binary,
                                               .evaluation = order->evaluation,
                                               .set = set,
                                               .intensity_flops_per_byte = p->intensity_flops_per_byte};
        memcpy(counted.counters, p->counters, sizeof(counted.counters));
        atoll_counting_put(&referee->counting, &counted);
        if (set == ATOLL_METRICS_SMALL)
            snprintf(p->reason, sizeof(p->reason), "%s", atoll_counting_reason(ATOLL_COUNTING_SMALL));
    }
}

void atoll_counting_run(struct atoll_referee *referee, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, const struct atoll_order *order,
                        struct atoll_evaluation *e)
{
    struct atoll_profile *p = &e->profile;
    const struct atoll_timing *timing = &e->timings[0];
    struct atoll_counting_book *book = &referee->counting;
    const struct atoll_counted_kernel *counted =
        atoll_counting_find(book, &known->task->id, timing->variant, &e->binary);
    double time_ns = atoll_evaluation_time_ns(e, known->task);
    p->resources = candidate->resources;
    p->tier = p->resources.kernel_count ? ATOLL_TIER_STATIC
              : p->clock_hz > 0         ? ATOLL_TIER_MONITOR
                                        : ATOLL_TIER_TIMES;
    struct atoll_counting_facts facts = {.known = counted ? 1u << counted->set : 0,
                                         .ahead =
                                             known->counted_ns > 0 ? known->counted_ns / time_ns : HUGE_VAL,
                                         .behind = behind_of(order, known->task, e),
                                         .device_ns = book->device_ns + e->check_ns + e->sampling_ns,
                                         .counting_ns = book->counting_ns};
    for (unsigned set = 0; set < ATOLL_METRICS_SET_COUNT; set++)
        facts.cost_ns[set] =
            atoll_counting_cost_ns(book, (enum atoll_metrics_set)set, timing->summary.median);
    enum atoll_counting choice = atoll_counting_choose(&referee->setup, &facts);
    if (!referee->backend->profile)
        snprintf(p->reason, sizeof(p->reason), "this backend has no counters");
    else if (choice == ATOLL_COUNTING_SMALL || choice == ATOLL_COUNTING_FULL)
        counters_read(referee, known, candidate, order, timing,
                      choice == ATOLL_COUNTING_FULL ? ATOLL_METRICS_FULL : ATOLL_METRICS_SMALL, e);
    else if (choice == ATOLL_COUNTING_KNOWN && counted)
        known_take(counted, p);
    else
        snprintf(p->reason, sizeof(p->reason), "%s", atoll_counting_reason(choice));
    if (facts.ahead > 1 && choice != ATOLL_COUNTING_OFF && choice != ATOLL_COUNTING_SPENT)
        known->counted_ns = time_ns;
    p->limiter = atoll_limiter_of(p, timing->summary.median, referee->info.empty_launch_ns);
}
