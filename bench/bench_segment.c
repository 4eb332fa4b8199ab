/* bench_segment.c - rows per second into a verified HDF5 segment and back: evaluations with 100 samples and a
 * detail each. bench_segment [FOLDER] [EVALUATIONS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "archive-h5/hdf5/segment.h"
#include "base/random.h"

#define SAMPLES 100u

static int add_evaluation(struct atoll_tables *t, uint64_t n, struct atoll_err *err)
{
    struct atoll_row_evaluation e;
    struct atoll_row_sample s;
    char detail[64];
    memset(&e, 0, sizeof(e));
    memset(&s, 0, sizeof(s));
    e.event = e.evaluation = s.event = s.evaluation = n;
    e.candidate = atoll_id_of(&n, sizeof(n));
    e.time_ns = 1e6 + (double)n;
    int length = snprintf(detail, sizeof(detail), "evidence of evaluation %llu", (unsigned long long)n);
    if (atoll_tables_add_text(t, detail, (size_t)length, &e.detail, err) != 0 ||
        atoll_tables_append(t, ATOLL_TABLE_EVALUATIONS, &e, err) != 0)
        return -1;
    for (s.number = 0; s.number < SAMPLES; s.number++) {
        s.time_ns = 1e6 + atoll_random_unit(atoll_random_at(n, s.number)) * 1e4;
        if (atoll_tables_append(t, ATOLL_TABLE_SAMPLES, &s, err) != 0)
            return -1;
    }
    return 0;
}

static int measure(const char *path, const struct atoll_tables *t, struct atoll_err *err)
{
    struct stat st;
    double rows =
        (double)(atoll_tables_count(t, ATOLL_TABLE_EVALUATIONS) + atoll_tables_count(t, ATOLL_TABLE_SAMPLES));
    double begin = atoll_clock_mono_s();
    if (atoll_segment_write(path, t, NULL, NULL, err) != 0 || stat(path, &st) != 0)
        return -1;
    double written = atoll_clock_mono_s();
    struct atoll_tables *again = atoll_segment_read(path, err);
    double read = atoll_clock_mono_s();
    if (!again)
        return -1;
    printf("write, verify, rename  %10.0f rows/s  %.2f s  %.1f MB\n", rows / (written - begin),
           written - begin, (double)st.st_size * 1e-6);
    printf("read                   %10.0f rows/s  %.2f s\n", rows / (read - written), read - written);
    atoll_tables_destroy(again);
    return 0;
}

int main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
    char path[4096];
    snprintf(path, sizeof(path), "%.4000s/bench-%ld.h5", argc > 1 ? argv[1] : ".", (long)getpid());
    struct atoll_tables *t = atoll_tables_create((size_t)8 << 30, &err);
    struct atoll_row_campaign campaign;
    memset(&campaign, 0, sizeof(campaign));
    int failed = !t || atoll_tables_append(t, ATOLL_TABLE_CAMPAIGN, &campaign, &err) != 0;
    double begin = atoll_clock_mono_s();
    for (uint64_t i = 0; !failed && i < count; i++)
        failed = add_evaluation(t, i, &err);
    if (!failed)
        printf("rows in memory         %10.0f rows/s\n",
               (double)count * (SAMPLES + 1) / (atoll_clock_mono_s() - begin));
    if (failed || measure(path, t, &err) != 0)
        fprintf(stderr, "%s\n", err.text);
    atoll_tables_destroy(t);
    unlink(path);
    return err.code != ATOLL_OK;
}
