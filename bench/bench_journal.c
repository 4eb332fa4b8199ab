/* bench_journal.c - journal records per second: a result of about 3.5 KB with its decisions, synced every 1,
 * 32, 100. bench_journal [FOLDER] [SECONDS per line] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "archive-h5/journal/journal.h"
#include "archive-h5/journal/journal_reader.h"

#define SAMPLES 180

static void make_event(struct atoll_event *e)
{
    atoll_event_init(e, ATOLL_EVENT_EVALUATED);
    struct atoll_timing *t = &e->evaluation.timings[0];
    e->evaluation.timing_count = 1;
    t->samples_ns = calloc(SAMPLES, sizeof(*t->samples_ns));
    t->sample_count = t->samples_ns ? SAMPLES : 0;
    for (size_t i = 0; i < t->sample_count; i++)
        t->samples_ns[i] = 1e6 + (double)i;
    memset(e->evaluation.detail, 'x', 1600);
}

/* Events and decisions until the time is up; -1 on failure. */
static int fill(struct atoll_journal *j, const struct atoll_event *e, unsigned sync_every, double seconds,
                struct atoll_err *err)
{
    struct atoll_decision d[2];
    memset(d, 0, sizeof(d));
    d[0].type = ATOLL_DECIDE_EVALUATE;
    d[1].type = ATOLL_DECIDE_ELITE;
    double begin = atoll_clock_mono_s(), cpu = 1e-9 * atoll_clock_cpu_ns();
    uint64_t records = 0, number, bytes = atoll_journal_durable_bytes(j);
    for (unsigned n = 1; atoll_clock_mono_s() - begin < seconds; n++) {
        if (atoll_journal_append_event(j, e, &number, err) != 0 ||
            atoll_journal_append_decisions(j, number, d, 2, err) != 0)
            return -1;
        records += 2;
        if (n % sync_every == 0 && atoll_journal_sync(j, err) != 0)
            return -1;
    }
    if (atoll_journal_sync(j, err) != 0)
        return -1;
    double took = atoll_clock_mono_s() - begin;
    printf("write, sync every %3u results  %9.0f records/s  %8.1f MB/s  %6.2f us of processor per record\n",
           sync_every, (double)records / took, (double)(atoll_journal_durable_bytes(j) - bytes) / took * 1e-6,
           (1e-9 * atoll_clock_cpu_ns() - cpu) / (double)records * 1e6);
    return 0;
}

static int read_all(const char *path, struct atoll_err *err)
{
    const struct atoll_record *record;
    struct atoll_journal_reader *r = atoll_journal_reader_open(path, err);
    uint64_t records = 0;
    int got = -1;
    double begin = atoll_clock_mono_s();
    while (r && (got = atoll_journal_reader_next(r, &record, err)) == 1)
        records++;
    double took = atoll_clock_mono_s() - begin;
    atoll_journal_reader_close(r);
    if (got == 0)
        printf("read                          %9.0f records/s\n", (double)records / took);
    return got;
}

int main(int argc, char **argv)
{
    static const unsigned intervals[] = {1, 32, 100};
    struct atoll_journal_header h = {.engine_version = 1, .name = "bench.0"};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_event e;
    char path[4096];
    double seconds = argc > 2 ? atof(argv[2]) : 1;
    int failed = 0;
    snprintf(path, sizeof(path), "%.4000s/bench-%ld.atl", argc > 1 ? argv[1] : ".", (long)getpid());
    make_event(&e);
    struct atoll_journal *j = atoll_journal_create(path, &h, NULL, &err);
    for (size_t i = 0; j && !failed && i < 3; i++)
        failed = fill(j, &e, intervals[i], seconds, &err);
    if (!j || failed || read_all(path, &err) != 0)
        fprintf(stderr, "%s\n", err.text);
    atoll_journal_destroy(j);
    atoll_event_fini(&e);
    unlink(path);
    return !j || failed;
}
