/* bench_engine.c - CPU of the engine per event: a suite's tasks over and over, null evaluators that answer at
 * once; printed at growing numbers of archived candidates.  Usage: bench_engine [SUITE [tasks [islands
 * [candidates]]]], from the repository root. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/random.h"
#include "evolution/engine.h"

#define ORDERS 4096

struct bench {
    struct atoll_engine *engine;
    struct atoll_decision orders[ORDERS];
    size_t head, count;
    uint64_t events, decisions, elites, duels;
    double cpu_ns, worst_ns;
    struct atoll_random random;
};

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void die(const struct atoll_err *err)
{
    fprintf(stderr, "bench_engine: %s\n", err->text);
    exit(1);
}

static void sink(void *context, const struct atoll_decision *d)
{
    struct bench *b = context;
    b->decisions++;
    b->elites += d->type == ATOLL_DECIDE_ELITE;
    b->duels += d->type == ATOLL_DECIDE_DUEL;
    if (d->type != ATOLL_DECIDE_EVALUATE && d->type != ATOLL_DECIDE_DUEL)
        return;
    if (b->count == ORDERS) {
        fprintf(stderr, "bench_engine: more than %d orders under way\n", ORDERS);
        exit(1);
    }
    b->orders[(b->head + b->count++) % ORDERS] = *d;
}

static void step(struct bench *b, const struct atoll_event *event)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    double begin = cpu_ns();
    if (atoll_engine_step(b->engine, event, sink, b, &err))
        die(&err);
    double spent = cpu_ns() - begin;
    b->cpu_ns += spent;
    b->events++;
    if (spent > b->worst_ns)
        b->worst_ns = spent;
}

static void fill_timings(struct atoll_evaluation *e, const struct atoll_task *task, double time_ns)
{
    for (size_t i = 0; i < task->variant_count; i++) {
        if (task->variants[i].kind != ATOLL_VARIANT_BENCH)
            continue;
        struct atoll_timing *t = &e->timings[e->timing_count++];
        t->variant = (uint32_t)i;
        t->floor_ns = 5e5;
        t->summary.median = time_ns;
        t->summary.count = 7;
    }
}

static void answer_evaluate(struct bench *b, const struct atoll_decision *order)
{
    static struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
    struct atoll_evaluation *e = &event.evaluation;
    uint64_t hash = atoll_mix64(atoll_id_u64(&order->candidate));
    double time_ns = 1e6 * (1 + 9 * atoll_random_unit(hash));
    e->evaluation = order->evaluation;
    e->candidate = order->candidate;
    e->verdict = hash % 10 == 0 && order->op != ATOLL_OPERATOR_SEED ? ATOLL_V_WRONG : ATOLL_V_CORRECT;
    e->behaviour = (struct atoll_behaviour){(unsigned char)(hash >> 8 & 3), (unsigned char)(hash >> 10 & 3),
                                            (unsigned char)(hash >> 12 & 3)};
    e->occupied_ns = 1e7;
    fill_timings(e, atoll_engine_task(b->engine, order->task), time_ns);
    step(b, &event);
}

static void answer_duel(struct bench *b, const struct atoll_decision *order)
{
    static struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_DUELLED);
    event.duel.evaluation = order->evaluation;
    event.duel.purpose = order->purpose;
    event.duel.better = atoll_random_next(&b->random) & 1;
    event.duel.ratio = 1.05;
    event.duel.occupied_ns = 2e7;
    step(b, &event);
}

static void answer(struct bench *b)
{
    struct atoll_decision order = b->orders[b->head];
    b->head = (b->head + 1) % ORDERS;
    b->count--;
    if (order.type == ATOLL_DECIDE_EVALUATE)
        answer_evaluate(b, &order);
    else
        answer_duel(b, &order);
}

static long resident_kib(void)
{
    long pages = 0, ignored;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &ignored, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void add_task(struct bench *b, uint32_t number, const struct atoll_buffer *bytes)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_TASK);
    event.task = number;
    event.task_bytes = bytes->data;
    event.task_length = bytes->length;
    step(b, &event);
}

static void start(struct bench *b, uint32_t islands)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_START);
    atoll_search_defaults(&event.search);
    event.search.islands = islands;
    event.search.stagnation_limit = 0;
    step(b, &event);
}

/* The bundled tasks, over and over: real plans and sources. */
static uint32_t add_tasks(struct bench *b, const char *suite, uint32_t wanted)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char **dirs;
    size_t count;
    if (atoll_suite_list(suite, &dirs, &count, &err))
        die(&err);
    for (uint32_t i = 0; i < wanted; i++) {
        struct atoll_buffer bytes;
        atoll_buffer_init(&bytes, 1u << 26);
        struct atoll_task *task = atoll_task_load(dirs[i % count], &err);
        if (!task || atoll_task_encode(task, &bytes, &err))
            die(&err);
        add_task(b, i, &bytes);
        atoll_task_destroy(task);
        atoll_buffer_fini(&bytes);
    }
    atoll_suite_free(dirs, count);
    return wanted;
}

static void report(struct bench *b, uint64_t candidates)
{
    if (!b->events)
        return;
    printf("%9llu candidates  %8.2f us/event  worst %9.1f us  %6.2f decisions/event  %llu elites  %llu duels "
           " %ld KiB\n",
           (unsigned long long)candidates, b->cpu_ns / (double)b->events / 1e3, b->worst_ns / 1e3,
           (double)b->decisions / (double)b->events, (unsigned long long)b->elites,
           (unsigned long long)b->duels, resident_kib());
    b->cpu_ns = b->worst_ns = 0;
    b->events = b->decisions = 0;
}

static void report_snapshot(struct bench *b)
{
    struct atoll_buffer bytes;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&bytes, (size_t)1 << 34);
    double begin = cpu_ns();
    if (atoll_engine_save(b->engine, &bytes, &err))
        die(&err);
    double saved = cpu_ns();
    struct atoll_engine *loaded = atoll_engine_load(bytes.data, bytes.length, &err);
    if (!loaded)
        die(&err);
    printf("snapshot %zu bytes, saved in %.2f ms, loaded in %.2f ms\n", bytes.length, (saved - begin) / 1e6,
           (cpu_ns() - saved) / 1e6);
    atoll_engine_destroy(loaded);
    atoll_buffer_fini(&bytes);
}

static uint64_t evaluated(const struct bench *b)
{
    struct atoll_engine_status status;
    atoll_engine_status(b->engine, &status);
    return status.evaluated;
}

int main(int argc, char **argv)
{
    const char *suite = argc > 1 ? argv[1] : "suites/starter";
    uint32_t tasks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100;
    uint32_t islands = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 16;
    uint64_t candidates = argc > 4 ? strtoull(argv[4], NULL, 10) : 20000;
    static struct bench b;
    struct atoll_event event;
    b.engine = atoll_engine_create(NULL);
    if (!b.engine)
        return 1;
    start(&b, islands);
    tasks = add_tasks(&b, suite, tasks);
    printf("%u tasks, %u islands, 64 slots\n", tasks, islands);
    report(&b, 0);
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = 64;
    step(&b, &event);
    uint64_t next = 1250;
    while (b.count && evaluated(&b) < candidates) {
        answer(&b);
        if (evaluated(&b) < next)
            continue;
        report(&b, next);
        next *= 2;
    }
    report(&b, evaluated(&b));
    report_snapshot(&b);
    atoll_engine_destroy(b.engine);
    return 0;
}
