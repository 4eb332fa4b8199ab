/* counting.c - who is counted: the fastest of a task always, what may enter a cell while the share of the device's time lasts,
 * what is only near while half of it does. */
#include "mpi-eval/referee/counting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/referee/time_account.h"
#include "mpi-eval/referee/trial.h"

#define FIRST_START_NS 0.2e9 /* with the profiler's own set-up, which is once in a device process */
#define RUNS           8.0   /* of the candidate: passes of the largest set, and one more for its inputs */
#define LEARNING       0.25
#define NEAR_SHARE     0.5 /* of the budget, for what enters no cell */

enum atoll_counting atoll_counting_choose(const struct atoll_setup *setup,
                                          const struct atoll_counting_facts *facts)
{
    if (!(setup->profile_ratio > 0))
        return ATOLL_COUNTING_OFF;
    if (facts->is_known)
        return ATOLL_COUNTING_KNOWN;
    if (setup->profile_all || facts->is_fastest)
        return ATOLL_COUNTING_READ;
    if (facts->behind > setup->profile_ratio)
        return ATOLL_COUNTING_FAR;
    double share = setup->profile_budget * (facts->behind < 1 ? 1 : NEAR_SHARE);
    return facts->counting_ns + facts->cost_ns <= share * (facts->device_ns + facts->cost_ns)
               ? ATOLL_COUNTING_READ
               : ATOLL_COUNTING_SPENT;
}

const char *atoll_counting_reason(enum atoll_counting choice)
{
    static const char *const reasons[] = {
        [ATOLL_COUNTING_OFF] = "counters are switched off",
        [ATOLL_COUNTING_KNOWN] = "",
        [ATOLL_COUNTING_FAR] = "too far behind the elite of its cell",
        [ATOLL_COUNTING_SPENT] = "counters had used up their share of the device's time",
        [ATOLL_COUNTING_READ] = "",
    };
    return reasons[choice];
}

/* ---- the book ---- */

void atoll_counting_book_fini(struct atoll_counting_book *book)
{
    free(book->counted);
    memset(book, 0, sizeof(*book));
}

double atoll_counting_cost_ns(const struct atoll_counting_book *book, double time_ns)
{
    return (book->start_ns > 0 ? book->start_ns : FIRST_START_NS) + RUNS * time_ns;
}

void atoll_counting_paid(struct atoll_counting_book *book, double time_ns, double wall_ns)
{
    double start_ns = fmax(wall_ns - RUNS * time_ns, 1);
    book->counting_ns += wall_ns;
    book->start_ns += (book->start_ns > 0 ? LEARNING : 1) * (start_ns - book->start_ns);
}

const struct atoll_counted *atoll_counting_find(const struct atoll_counting_book *book, uint32_t task,
                                                uint32_t variant, const struct atoll_id *binary)
{
    if (atoll_id_is_zero(binary))
        return NULL;
    for (size_t i = 0; i < book->count; i++) {
        const struct atoll_counted *c = &book->counted[i];
        if (c->task == task && c->variant == variant && atoll_id_equal(&c->binary, binary))
            return c;
    }
    return NULL;
}

void atoll_counting_put(struct atoll_counting_book *book, const struct atoll_counted *counted)
{
    if (!book->counted)
        book->counted = calloc(ATOLL_COUNTED_LIMIT, sizeof(*book->counted));
    if (!book->counted || atoll_id_is_zero(&counted->binary))
        return;
    book->counted[book->next] = *counted;
    book->next = (book->next + 1) % ATOLL_COUNTED_LIMIT;
    book->count += book->count < ATOLL_COUNTED_LIMIT;
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

static void known_take(const struct atoll_counted *counted, struct atoll_profile *p)
{
    memcpy(p->counters, counted->counters, sizeof(p->counters));
    p->intensity_flops_per_byte = counted->intensity_flops_per_byte;
    p->tier = ATOLL_TIER_COUNTERS;
    snprintf(p->reason, sizeof(p->reason), "counters of evaluation %llu, which has the same binary",
             (unsigned long long)counted->evaluation);
}

static void counters_read(struct atoll_referee *referee, struct atoll_case *known,
                          struct atoll_loaded_candidate *candidate, const struct atoll_order *order,
                          const struct atoll_timing *timing, struct atoll_evaluation *e)
{
    struct atoll_profile *p = &e->profile;
    double begin = atoll_clock_mono_ns();
    enum atoll_time_part before = atoll_time_account_enter(referee->account, ATOLL_TIME_COUNTERS);
    referee->backend->profile(referee, known, candidate, timing->variant, p);
    atoll_time_account_enter(referee->account, before);
    p->wall_ns = atoll_clock_mono_ns() - begin;
    atoll_counting_paid(&referee->counting, timing->summary.median, p->wall_ns);
    if (p->tier == ATOLL_TIER_COUNTERS) {
        struct atoll_counted counted = {.task = known->number,
                                        .variant = timing->variant,
                                        .binary = e->binary,
                                        .evaluation = order->evaluation,
                                        .intensity_flops_per_byte = p->intensity_flops_per_byte};
        memcpy(counted.counters, p->counters, sizeof(counted.counters));
        atoll_counting_put(&referee->counting, &counted);
    }
}

void atoll_counting_run(struct atoll_referee *referee, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, const struct atoll_order *order,
                        struct atoll_evaluation *e)
{
    struct atoll_profile *p = &e->profile;
    const struct atoll_timing *timing = &e->timings[0];
    struct atoll_counting_book *book = &referee->counting;
    const struct atoll_counted *counted =
        atoll_counting_find(book, known->number, timing->variant, &e->binary);
    double time_ns = atoll_evaluation_time_ns(e, known->task);
    p->resources = candidate->resources;
    p->tier = p->resources.kernel_count ? ATOLL_TIER_STATIC
              : p->clock_hz > 0         ? ATOLL_TIER_MONITOR
                                        : ATOLL_TIER_TIMES;
    struct atoll_counting_facts facts = {.is_known = counted != NULL,
                                         .is_fastest =
                                             !(known->counted_ns > 0) || time_ns < known->counted_ns,
                                         .behind = behind_of(order, known->task, e),
                                         .cost_ns = atoll_counting_cost_ns(book, timing->summary.median),
                                         .device_ns = book->device_ns + e->check_ns + e->sampling_ns,
                                         .counting_ns = book->counting_ns};
    enum atoll_counting choice = atoll_counting_choose(&referee->setup, &facts);
    if (!referee->backend->profile)
        snprintf(p->reason, sizeof(p->reason), "this backend has no counters");
    else if (choice == ATOLL_COUNTING_READ)
        counters_read(referee, known, candidate, order, timing, e);
    else if (choice == ATOLL_COUNTING_KNOWN && counted)
        known_take(counted, p);
    else
        snprintf(p->reason, sizeof(p->reason), "%s", atoll_counting_reason(choice));
    if (facts.is_fastest && (choice == ATOLL_COUNTING_READ || choice == ATOLL_COUNTING_KNOWN))
        known->counted_ns = time_ns;
    p->limiter = atoll_limiter_of(p, timing->summary.median, referee->info.empty_launch_ns);
}
