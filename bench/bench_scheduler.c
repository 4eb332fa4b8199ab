/* bench_scheduler.c - what it costs to know how far a campaign of many parts is: progress of all parts, with the hints
 * that rank 0 keeps and without, from memory and from the disk; and what keeping a hint costs rank 0.
 * The parts are made by the writers of the real thing, with results that nothing measured.  --help lists the options. */
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "archive-h5/campaign/campaign_progress.h"
#include "base/random.h"
#include "scheduler/campaign/campaign_status.h"

#define ATTEMPTS       2
#define GROUP          100 /* results between two syncs */
#define SNAPSHOT_EVERY 2000
#define SNAPSHOT_BYTES 500000
#define HINT_WRITES    300

static const struct option names[] = {
    {"parts", required_argument, NULL, 'p'},
    {"tasks", required_argument, NULL, 't'},
    {"evaluations", required_argument, NULL, 'e'},
    {"samples", required_argument, NULL, 's'},
    {"behind", required_argument, NULL, 'b'},
    {"repeat", required_argument, NULL, 'r'},
    {"dir", required_argument, NULL, 'd'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct options {
    size_t parts, tasks, evaluations, samples, behind, repeat;
    const char *dir;
};

static void usage(FILE *out)
{
    fputs("usage: bench_scheduler status|hint [OPTION...]\n"
          "  status: the time to read the progress of all parts; hint: the time to write progress.json\n"
          "  --parts N         parts of the campaign (250)\n"
          "  --tasks N         tasks of all parts together (250)\n"
          "  --evaluations N   evaluations of all parts together (1000000)\n"
          "  --samples N       of each evaluation (60)\n"
          "  --behind N        evaluations of a part since its last hint (100: ten seconds at ten a second)\n"
          "  --repeat N        readings of each kind, the median is told (5)\n"
          "  --dir DIR         where the campaign is made (./bench-scheduler.tmp), and removed\n",
          out);
}

static void die(const char *what, const struct atoll_err *err)
{
    fprintf(stderr, "bench_scheduler: %s: %s\n", what, err ? err->text : "failed");
    exit(1);
}

static const char *part_path(const struct options *o, size_t part, char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%s/parts/%04zu", o->dir, part);
    return ret_path;
}

/* The share of part `part` of `all`, so that shares add up to all. */
static size_t share_of(size_t all, size_t part, size_t parts)
{
    return all * (part + 1) / parts - all * part / parts;
}

/* ---- making the campaign ---- */

struct maker {
    const struct options *options;
    struct atoll_journal *journal;
    struct atoll_evaluation evaluation;
    char attempt[ATOLL_ATTEMPT_NAME_BYTES];
    uint64_t evaluated;
    unsigned char *snapshot;
};

static void maker_init(struct maker *m, const struct options *o)
{
    struct atoll_timing *timing = &m->evaluation.timings[0];
    memset(m, 0, sizeof(*m));
    m->options = o;
    atoll_evaluation_init(&m->evaluation);
    m->evaluation.timing_count = 1;
    timing->sample_count = o->samples;
    timing->samples_ns = calloc(o->samples + 1, sizeof(*timing->samples_ns));
    m->snapshot = calloc(1, SNAPSHOT_BYTES);
    if (!timing->samples_ns || !m->snapshot)
        die("no memory", NULL);
    for (size_t i = 0; i < o->samples; i++)
        timing->samples_ns[i] = 1e6 * (1 + 1e-4 * atoll_random_unit(atoll_random_at(1, i)));
    for (size_t i = 0; i < SNAPSHOT_BYTES; i++)
        m->snapshot[i] = (unsigned char)atoll_random_at(2, i);
    snprintf(m->evaluation.detail, sizeof(m->evaluation.detail),
             "correct on all draws; worst element at 0.31 of the tolerance");
}

static void maker_fini(struct maker *m)
{
    atoll_evaluation_fini(&m->evaluation);
    free(m->snapshot);
}

static void result_append(struct maker *m)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_decision next[2];
    struct atoll_event event;
    uint64_t number;
    atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
    event.campaign_ns = (int64_t)m->evaluated * 100000000;
    event.evaluation = m->evaluation; /* stays the maker's */
    event.evaluation.evaluation = m->evaluated++;
    event.evaluation.candidate = atoll_id_of(&m->evaluated, sizeof(m->evaluated));
    memset(next, 0, sizeof(next));
    next[0].type = ATOLL_DECIDE_EVALUATE;
    next[1].type = ATOLL_DECIDE_ELITE;
    if (atoll_journal_append_event(m->journal, &event, &number, &err) != 0 ||
        atoll_journal_append_decisions(m->journal, number, next, 2, &err) != 0 ||
        (m->evaluated % SNAPSHOT_EVERY == 0 &&
         atoll_journal_append_snapshot(m->journal, number, m->snapshot, SNAPSHOT_BYTES, &err) != 0))
        die("append", &err);
}

static void results_append(struct maker *m, size_t count)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (size_t i = 1; i <= count; i++) {
        result_append(m);
        if ((i % GROUP == 0 || i == count) && atoll_journal_sync(m->journal, &err) != 0)
            die("sync", &err);
    }
}

static struct atoll_progress_json hint_of(const struct maker *m, const struct atoll_campaign *campaign,
                                          struct atoll_campaign_progress_task *rows)
{
    const struct atoll_config *config = atoll_campaign_config(campaign);
    struct atoll_progress_json hint = {.campaign = config->id,
                                       .journal_bytes = atoll_journal_durable_bytes(m->journal),
                                       .evaluated = m->evaluated,
                                       .correct = m->evaluated / 2,
                                       .written_unix_ns = atoll_clock_unix_ns(),
                                       .campaign_s = (double)m->evaluated / 10,
                                       .device_s = (double)m->evaluated / 12,
                                       .busy = 0.93,
                                       .candidate_share = 0.5,
                                       .evaluators = 4,
                                       .reason = "none",
                                       .task_count = config->task_count,
                                       .tasks = rows};
    memcpy(hint.attempt, m->attempt, sizeof(hint.attempt));
    for (size_t i = 0; i < config->task_count; i++) {
        rows[i] = (struct atoll_campaign_progress_task){.evaluated = m->evaluated / config->task_count,
                                                        .correct = m->evaluated / config->task_count / 2,
                                                        .baseline_ns = 1234567.8912,
                                                        .best_ns = 345678.91234};
        snprintf(rows[i].name, sizeof(rows[i].name), "%s", config->tasks[i].name);
    }
    return hint;
}

static void hint_write(const struct maker *m, const struct atoll_campaign *campaign)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_campaign_progress_task *rows =
        calloc(atoll_campaign_config(campaign)->task_count + 1, sizeof(*rows));
    if (!rows)
        die("no memory", NULL);
    struct atoll_progress_json hint = hint_of(m, campaign, rows);
    if (atoll_progress_json_write(atoll_campaign_dir(campaign), &hint, NULL, &err) != 0)
        die("progress.json", &err);
    free(rows);
}

static void attempt_start(struct maker *m, struct atoll_campaign *campaign)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *dir;
    atoll_journal_destroy(m->journal);
    m->journal = atoll_campaign_start_attempt(campaign, "4711", 1, atoll_clock_unix_ns(), &dir, &err);
    if (!m->journal)
        die("attempt", &err);
    snprintf(m->attempt, sizeof(m->attempt), "%.63s", strrchr(dir, '/') + 1);
}

static struct atoll_campaign *part_create(const struct options *o, const char *path, size_t part,
                                          size_t tasks)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char suite[PATH_MAX];
    struct atoll_config config = {.engine_version = 1, .atoll_version = ATOLL_VERSION};
    struct atoll_campaign_task *list = calloc(tasks, sizeof(*list));
    char(*texts)[64] = calloc(tasks, sizeof(*texts));
    if (!list || !texts)
        die("no memory", NULL);
    snprintf(suite, sizeof(suite), "%.4000s/suite", o->dir);
    for (size_t i = 0; i < tasks; i++) {
        snprintf(texts[i], sizeof(texts[i]), "task_%04zu_%02zu", part, i);
        list[i] = (struct atoll_campaign_task){texts[i], suite, atoll_id_of(texts[i], sizeof(texts[i]))};
    }
    config.id = atoll_id_of(path, strlen(path));
    atoll_search_defaults(&config.search);
    config.task_count = tasks;
    config.tasks = list;
    struct atoll_campaign *campaign = atoll_campaign_create(path, &config, NULL, &err);
    if (!campaign)
        die(path, &err);
    free(list);
    free(texts);
    return campaign;
}

/* Two attempts of equal length; the hint lies `behind` evaluations before the end.  Every second part has ended. */
static void part_make(struct maker *m, size_t part)
{
    const struct options *o = m->options;
    char path[PATH_MAX];
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t tasks = share_of(o->tasks, part, o->parts);
    size_t all = share_of(o->evaluations, part, o->parts);
    size_t behind = o->behind < all / ATTEMPTS ? o->behind : all / ATTEMPTS;
    struct atoll_campaign *campaign = part_create(o, part_path(o, part, path), part, tasks ? tasks : 1);
    m->evaluated = 0;
    for (size_t i = 0; i < ATTEMPTS; i++) {
        attempt_start(m, campaign);
        results_append(m, share_of(all, i, ATTEMPTS) - (i == ATTEMPTS - 1 ? behind : 0));
    }
    hint_write(m, campaign);
    results_append(m, behind);
    if (part % 2 == 0 &&
        (atoll_journal_append_close(m->journal, atoll_clock_unix_ns(), "evaluations", &err) != 0 ||
         atoll_journal_sync(m->journal, &err) != 0))
        die("close", &err);
    atoll_journal_destroy(m->journal);
    m->journal = NULL;
    atoll_campaign_close(campaign);
}

static void folder_make(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(path, sizeof(path), "%s%s", dir, name);
    if (atoll_file_make_directory(atoll_file_ops_real(), path, 1, &err) != 0)
        die(path, &err);
}

static void campaign_make(const struct options *o)
{
    struct maker m;
    char path[PATH_MAX];
    double begin = atoll_clock_mono_s();
    folder_make(o->dir, "");
    folder_make(o->dir, "/suite");
    folder_make(o->dir, "/parts");
    snprintf(path, sizeof(path), "%s/suite/task.yaml", o->dir);
    if (atoll_file_write(atoll_file_ops_real(), path, "name: task\n", 11, NULL) != 0)
        die(path, NULL);
    maker_init(&m, o);
    for (size_t part = 0; part < o->parts; part++)
        part_make(&m, part);
    maker_fini(&m);
    printf("made in %.0f s\n", atoll_clock_mono_s() - begin);
}

/* ---- measuring ---- */

static uint64_t tree_bytes; /* of what nftw saw; it has no context */

static int entry_forget(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    if (kind != FTW_F)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    tree_bytes += (uint64_t)st->st_size;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    return 0;
}

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    return remove(path);
}

/* Drops the pages of all files; names and inodes stay in memory. */
static void tree_forget(const struct options *o)
{
    tree_bytes = 0;
    sync();
    nftw(o->dir, entry_forget, 16, FTW_PHYS);
}

struct reading {
    double wall_s, cpu_s;
    uint64_t evaluated, walked;
    size_t hints, ended;
};

static void reading_take(const struct options *o, struct reading *ret)
{
    struct atoll_campaign_progress *all = calloc(o->parts, sizeof(*all));
    struct atoll_campaign_progress_row *rows = calloc(o->parts, sizeof(*rows));
    FILE *out = fopen("/dev/null", "w");
    if (!all || !rows || !out)
        die("no memory", NULL);
    memset(ret, 0, sizeof(*ret));
    double wall = atoll_clock_mono_s(), cpu = 1e-9 * atoll_clock_cpu_ns();
    for (size_t i = 0; i < o->parts; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char path[PATH_MAX];
        if (atoll_campaign_progress_read(part_path(o, i, path), &all[i], &err) != 0)
            die(path, &err);
        rows[i] = (struct atoll_campaign_progress_row){.name = "0000", .progress = &all[i]};
    }
    atoll_campaign_progress_view_print(out, rows, o->parts, 1, atoll_clock_unix_ns());
    ret->wall_s = atoll_clock_mono_s() - wall;
    ret->cpu_s = 1e-9 * atoll_clock_cpu_ns() - cpu;
    for (size_t i = 0; i < o->parts; i++) {
        ret->evaluated += all[i].evaluated;
        ret->walked += all[i].walked_bytes;
        ret->hints += (size_t)all[i].has_hint;
        ret->ended += all[i].phase == ATOLL_CAMPAIGN_PROGRESS_ENDED;
        atoll_campaign_progress_fini(&all[i]);
    }
    fclose(out);
    free(all);
    free(rows);
}

static int by_wall(const void *a, const void *b)
{
    const struct reading *x = a, *y = b;
    return x->wall_s < y->wall_s ? -1 : x->wall_s > y->wall_s;
}

static void readings_tell(const struct options *o, const char *name, int is_cold)
{
    struct reading *r = calloc(o->repeat, sizeof(*r));
    if (!r)
        die("no memory", NULL);
    for (size_t i = 0; i < o->repeat; i++) {
        if (is_cold)
            tree_forget(o);
        reading_take(o, &r[i]);
        if (r[i].evaluated != o->evaluations || r[i].ended != (o->parts + 1) / 2)
            die("the progress are not what was written", NULL);
    }
    qsort(r, o->repeat, sizeof(*r), by_wall);
    const struct reading *m = &r[o->repeat / 2];
    printf(
        "%-28s %8.1f ms (%.1f to %.1f)  CPU %8.1f ms  %6.2f ms a part  %9.1f MB of journals stepped over\n",
        name, m->wall_s * 1e3, r[0].wall_s * 1e3, r[o->repeat - 1].wall_s * 1e3, m->cpu_s * 1e3,
        m->wall_s * 1e3 / (double)o->parts, (double)m->walked * 1e-6);
    if (m->hints != 0 && m->hints != o->parts)
        printf("only %zu hints of %zu were of use\n", m->hints, o->parts);
    free(r);
}

static void replay_tell(const struct options *o)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replay_report report;
    char path[PATH_MAX];
    double begin = atoll_clock_mono_s();
    struct atoll_campaign *campaign = atoll_campaign_open(part_path(o, 0, path), NULL, &err);
    if (!campaign || atoll_campaign_replay(campaign, NULL, NULL, &report, &err) != 0)
        die(path, &err);
    atoll_campaign_close(campaign);
    printf("for comparison: reading and checking every record of one part takes %.1f ms\n",
           (atoll_clock_mono_s() - begin) * 1e3);
}

static void hints_remove(const struct options *o)
{
    for (size_t i = 0; i < o->parts; i++) {
        char path[PATH_MAX];
        size_t length = strlen(part_path(o, i, path));
        snprintf(path + length, sizeof(path) - length, "/" ATOLL_CAMPAIGN_PROGRESS_FILE);
        unlink(path);
    }
}

static void status_measure(const struct options *o)
{
    campaign_make(o);
    tree_forget(o);
    printf("%zu parts, %zu tasks, %zu evaluations, %.2f GB on disk, %zu evaluations behind each hint\n",
           o->parts, o->tasks, o->evaluations, (double)tree_bytes * 1e-9, o->behind);
    readings_tell(o, "with hints, cold", 1);
    readings_tell(o, "with hints, warm", 0);
    hints_remove(o);
    readings_tell(o, "without hints, cold", 1);
    readings_tell(o, "without hints, warm", 0);
    replay_tell(o);
    nftw(o->dir, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of one part with that many tasks. */
static void hint_measure(struct options o, size_t tasks)
{
    struct maker m;
    char path[PATH_MAX];
    double took[HINT_WRITES];
    o.parts = 1;
    o.tasks = tasks;
    folder_make(o.dir, "");
    folder_make(o.dir, "/suite");
    folder_make(o.dir, "/parts");
    maker_init(&m, &o);
    struct atoll_campaign *campaign = part_create(&o, part_path(&o, 0, path), 0, tasks);
    attempt_start(&m, campaign);
    results_append(&m, 1000);
    double cpu = 1e-9 * atoll_clock_cpu_ns();
    for (size_t i = 0; i < HINT_WRITES; i++) {
        double begin = atoll_clock_mono_s();
        hint_write(&m, campaign);
        took[i] = atoll_clock_mono_s() - begin;
    }
    cpu = 1e-9 * atoll_clock_cpu_ns() - cpu;
    qsort(took, HINT_WRITES, sizeof(*took), by_value);
    printf("%4zu tasks: CPU %.3f ms, median %.3f ms, 99 %% %.3f ms, worst %.3f ms\n", tasks,
           cpu / HINT_WRITES * 1e3, took[HINT_WRITES / 2] * 1e3, took[HINT_WRITES * 99 / 100] * 1e3,
           took[HINT_WRITES - 1] * 1e3);
    atoll_journal_destroy(m.journal);
    atoll_campaign_close(campaign);
    maker_fini(&m);
    nftw(o.dir, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static size_t number(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || value == 0) {
        usage(stderr);
        exit(2);
    }
    return (size_t)value;
}

int main(int argc, char **argv)
{
    static const char letters[] = "ptesbr";
    struct options o = {250, 250, 1000000, 60, 100, 5, "bench-scheduler.tmp"};
    size_t *const numbers[] = {&o.parts, &o.tasks, &o.evaluations, &o.samples, &o.behind, &o.repeat};
    int letter;
    while ((letter = getopt_long(argc, argv, "", names, NULL)) != -1) {
        const char *at = strchr(letters, letter);
        if (at)
            *numbers[at - letters] = number(optarg);
        else if (letter == 'd')
            o.dir = optarg;
        else {
            usage(letter == 'h' ? stdout : stderr);
            return letter == 'h' ? 0 : 2;
        }
    }
    const char *what = optind < argc ? argv[optind] : "";
    if (!strcmp(what, "status")) {
        status_measure(&o);
    } else if (!strcmp(what, "hint")) {
        for (size_t tasks = 1; tasks <= 1000; tasks *= 10)
            hint_measure(o, tasks);
        hint_measure(o, 250);
    } else {
        usage(stderr);
        return 2;
    }
    return 0;
}
