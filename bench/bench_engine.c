/* bench_engine.c - CPU of the engine per event, and its memory: a suite's tasks over and over, null evaluators and a null
 * operator that answer at once; printed at growing numbers of archived candidates.  Usage: bench_engine [--set
 * NAME=VALUE]... [SUITE [tasks [islands [candidates]]]], from the repository root; ask_share=1: every proposal is asked.
 *
 * What reading the clock costs is taken off.  Memory is what the allocator handed out; a line is fitted through it. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "evolution/engine/engine.h"

#define ORDERS  4096
#define SAMPLES 4096

struct cost {
    uint64_t events;
    double cpu_ns, worst_ns;
};

struct bench {
    struct atoll_engine *engine;
    struct atoll_search search;
    struct atoll_decision orders[ORDERS]; /* EVALUATE, DUEL and ASK */
    size_t head, count;
    uint64_t decisions, elites, duels, replies;
    struct cost costs[ATOLL_EVENT_TYPE_COUNT]; /* since the last report */
    double clock_ns;
    struct atoll_random random;
    size_t sample_count;
    double candidates[SAMPLES], bytes[SAMPLES];
};

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
    if (d->type != ATOLL_DECIDE_EVALUATE && d->type != ATOLL_DECIDE_DUEL && d->type != ATOLL_DECIDE_ASK)
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
    double begin = atoll_clock_cpu_ns();
    if (atoll_engine_step(b->engine, event, sink, b, &err))
        die(&err);
    double spent = atoll_clock_cpu_ns() - begin - b->clock_ns;
    struct cost *cost = &b->costs[event->type];
    cost->cpu_ns += spent;
    cost->events++;
    if (spent > cost->worst_ns)
        cost->worst_ns = spent;
}

static double clock_cost_ns(void)
{
    double begin = atoll_clock_cpu_ns();
    for (unsigned i = 0; i < 10000; i++)
        atoll_clock_cpu_ns();
    return (atoll_clock_cpu_ns() - begin) / 10000;
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

/* The parent's source once more, or a seed's, with another comment: a source nobody saw. */
static void answer_ask(struct bench *b, const struct atoll_decision *order)
{
    static struct atoll_event event;
    static char text[1 << 20];
    const struct atoll_task *task = atoll_engine_task(b->engine, order->task);
    const char *language = task->seeds[0].language, *parent = task->seeds[0].source;
    struct atoll_id source;
    struct atoll_choice choice;
    if (!atoll_engine_candidate(b->engine, order->task, &order->ask.parent, &source, &choice))
        atoll_engine_source(b->engine, &source, &language, &parent);
    int body = (int)strcspn(parent, "\x01");
    snprintf(text, sizeof(text), "%.*s\x01 %llu\n", body, parent, (unsigned long long)order->ask.number);
    atoll_event_init(&event, ATOLL_EVENT_REPLY);
    event.reply.ask = order->ask.number;
    event.reply.origin = "null";
    event.reply.source_count = 1;
    event.reply.sources[0] = (struct atoll_reply_source){language, text};
    b->replies++;
    step(b, &event);
}

static void answer(struct bench *b)
{
    struct atoll_decision order = b->orders[b->head];
    b->head = (b->head + 1) % ORDERS;
    b->count--;
    if (order.type == ATOLL_DECIDE_EVALUATE)
        answer_evaluate(b, &order);
    else if (order.type == ATOLL_DECIDE_DUEL)
        answer_duel(b, &order);
    else
        answer_ask(b, &order);
}

static double allocated_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return (double)m.uordblks + (double)m.hblkhd;
}

static void sample_memory(struct bench *b, double candidates)
{
    if (b->sample_count == SAMPLES)
        return;
    b->candidates[b->sample_count] = candidates;
    b->bytes[b->sample_count++] = allocated_bytes();
}

/* Least squares; the residual is relative to the fitted value, the largest counts. */
static void report_memory(const struct bench *b)
{
    double n = (double)b->sample_count, x = 0, y = 0, xx = 0, xy = 0, worst = 0;
    for (size_t i = 0; i < b->sample_count; i++) {
        x += b->candidates[i];
        y += b->bytes[i];
        xx += b->candidates[i] * b->candidates[i];
        xy += b->candidates[i] * b->bytes[i];
    }
    double slope = (n * xy - x * y) / (n * xx - x * x), base = (y - slope * x) / n;
    for (size_t i = 0; i < b->sample_count; i++) {
        double fitted = base + slope * b->candidates[i], off = (b->bytes[i] - fitted) / fitted;
        worst = off > worst ? off : -off > worst ? -off : worst;
    }
    printf("memory: %.0f bytes + %.0f bytes per candidate, no sample further off than %.1f %%\n", base, slope,
           100 * worst);
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

static void start(struct bench *b)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_START);
    event.search = b->search;
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
    static const struct {
        enum atoll_event_type type;
        const char *name;
    } kinds[] = {{ATOLL_EVENT_TASK, "task"},
                 {ATOLL_EVENT_EVALUATED, "evaluated"},
                 {ATOLL_EVENT_DUELLED, "duelled"},
                 {ATOLL_EVENT_REPLY, "reply"}};
    struct cost all = {0, 0, 0};
    printf("%llu candidates:", (unsigned long long)candidates);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const struct cost *cost = &b->costs[kinds[i].type];
        all.events += cost->events;
        all.cpu_ns += cost->cpu_ns;
        all.worst_ns = cost->worst_ns > all.worst_ns ? cost->worst_ns : all.worst_ns;
        if (cost->events)
            printf("  %s %.2f", kinds[i].name, cost->cpu_ns / (double)cost->events / 1e3);
    }
    if (all.events)
        printf("  all %.2f us/event, worst %.1f us, %.2f decisions/event, %llu elites, %llu duels, %llu "
               "replies, "
               "%.0f KiB\n",
               all.cpu_ns / (double)all.events / 1e3, all.worst_ns / 1e3,
               (double)b->decisions / (double)all.events, (unsigned long long)b->elites,
               (unsigned long long)b->duels, (unsigned long long)b->replies, allocated_bytes() / 1024);
    memset(b->costs, 0, sizeof(b->costs));
    b->decisions = 0;
}

static void report_snapshot(struct bench *b)
{
    struct atoll_buffer bytes;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&bytes, (size_t)1 << 34);
    double begin = atoll_clock_cpu_ns();
    if (atoll_engine_save(b->engine, &bytes, &err))
        die(&err);
    double saved = atoll_clock_cpu_ns();
    struct atoll_engine *loaded = atoll_engine_load(bytes.data, bytes.length, &err);
    if (!loaded)
        die(&err);
    printf("snapshot %zu bytes, saved in %.2f ms, loaded in %.2f ms\n", bytes.length, (saved - begin) / 1e6,
           (atoll_clock_cpu_ns() - saved) / 1e6);
    atoll_engine_destroy(loaded);
    atoll_buffer_fini(&bytes);
}

static uint64_t evaluated(const struct bench *b)
{
    struct atoll_engine_status status;
    atoll_engine_status(b->engine, &status);
    return status.evaluated;
}

/* The end: finals of all tasks at once. */
static void report_finish(struct bench *b)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_FINISH);
    step(b, &event);
    while (b->count)
        answer(b);
    printf("finish %.2f ms; ", b->costs[ATOLL_EVENT_FINISH].cpu_ns / 1e6);
    report(b, evaluated(b));
}

static void set(struct bench *b, const char *setting)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char name[64];
    const char *value = strchr(setting, '=');
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(setting, "="), setting);
    const struct atoll_search_field *field = atoll_search_field(name);
    if (!value || !field) {
        fprintf(stderr, "bench_engine: no setting %s\n", setting);
        exit(1);
    }
    if (atoll_search_set(&b->search, field, value + 1, &err))
        die(&err);
}

/* Options before the arguments; returns how many words they were. */
static int options(struct bench *b, int argc, char **argv)
{
    int at = 1;
    for (; at + 1 < argc && strcmp(argv[at], "--set") == 0; at += 2)
        set(b, argv[at + 1]);
    return at;
}

static void run(struct bench *b, uint64_t candidates)
{
    uint64_t next = 1250, sample = 0;
    while (b->count && evaluated(b) < candidates) {
        answer(b);
        if (evaluated(b) >= sample) {
            sample_memory(b, (double)evaluated(b));
            sample = evaluated(b) + candidates / 200 + 1;
        }
        if (evaluated(b) < next && evaluated(b) < candidates)
            continue;
        report(b, evaluated(b));
        next *= 2;
    }
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct atoll_event event;
    atoll_search_defaults(&b.search);
    b.search.stagnation_limit = 0;
    int at = options(&b, argc, argv);
    const char *suite = at < argc ? argv[at++] : "suites/starter";
    uint32_t tasks = at < argc ? (uint32_t)strtoul(argv[at++], NULL, 10) : 100;
    b.search.islands = at < argc ? (uint32_t)strtoul(argv[at++], NULL, 10) : 16;
    uint64_t candidates = at < argc ? strtoull(argv[at++], NULL, 10) : 20000;
    b.engine = atoll_engine_create(NULL);
    b.clock_ns = clock_cost_ns();
    if (!b.engine)
        return 1;
    start(&b);
    tasks = add_tasks(&b, suite, tasks);
    printf("%u tasks, %u islands, 64 slots\n", tasks, b.search.islands);
    report(&b, 0);
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = 64;
    step(&b, &event);
    run(&b, candidates);
    report_memory(&b);
    report_snapshot(&b);
    report_finish(&b);
    atoll_engine_destroy(b.engine);
    return 0;
}
