/* finalize.c - checks, merges, writes done.json last. */
#include "scheduler/campaign/finalize.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "archive-h5/hdf5/archive.h"
#include "base/file.h"
#include "base/lease.h"
#include "archive-h5/hdf5/merge.h"
#include "archive-h5/report/report.h"
#include "archive-h5/hdf5/segment.h"
#include "archive-h5/campaign/campaign_progress.h"
#include "base/clock.h"

enum part_state {
    PART_ENDED,
    PART_OPEN,
    PART_DAMAGED /* open for good, and left out of what is made meanwhile */
};

struct finalizer {
    const struct atoll_sweep *sweep;
    size_t open_count;
    uint64_t evaluated, duelled, quarantined;
    enum part_state *states; /* of each part */
    char (*archives)[PATH_MAX];
    const char **paths;
    size_t path_count;
    struct atoll_lease *lease;
};

/* Longer than the merge of the largest archives takes between two beats. */
#define SILENCE_S   600.0
#define OPEN_WAIT_S 15.0

static int part_look(struct finalizer *f, size_t part, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_campaign_progress progress;
    char path[PATH_MAX];

    if (atoll_sweep_part_path(f->sweep, part, path, sizeof(path), err) != 0)
        return -1;
    if (atoll_campaign_progress_read(path, &progress, &own) != 0) {
        f->open_count++;
        f->states[part] = PART_DAMAGED;
        if (!atoll_sweep_is_damage(own.code)) {
            *err = own;
            return -1;
        }
        return 0;
    }
    f->states[part] = progress.phase == ATOLL_CAMPAIGN_PROGRESS_ENDED ? PART_ENDED : PART_OPEN;
    f->open_count += f->states[part] == PART_OPEN;
    f->evaluated += progress.evaluated;
    f->duelled += progress.duelled;
    atoll_campaign_progress_fini(&progress);
    return 0;
}

/* What lost owners wrote after others had taken their part over is in no archive: the history says so. */
static int quarantined_record(struct finalizer *f, size_t part, const struct atoll_campaign *campaign,
                              struct atoll_err *err)
{
    struct atoll_replay_report report;

    if (atoll_campaign_replay(campaign, NULL, NULL, &report, err) != 0)
        return -1;
    f->quarantined += report.quarantined_records;
    for (size_t i = 0; f->open_count == 0 && i < report.quarantined_count; i++) {
        atoll_sweep_record(
            f->sweep->dir, report.quarantined[i].attempt, "quarantined",
            "part %s: %llu records that attempt %s wrote after its lease was lost are kept aside",
            f->sweep->parts[part].name, (unsigned long long)report.quarantined[i].records,
            report.quarantined[i].attempt);
    }
    return 0;
}

/* A part on which nobody began has nothing to merge. */
static int part_archive(struct finalizer *f, size_t part, struct atoll_err *err)
{
    char dir[PATH_MAX];
    char *archive = f->archives[f->path_count];
    struct atoll_campaign *campaign;
    struct atoll_attempt *attempts;
    size_t count = 0;
    int status = -1;

    if (atoll_sweep_part_path(f->sweep, part, dir, sizeof(dir), err) != 0)
        return -1;
    if (snprintf(archive, PATH_MAX, "%s/archive.h5", dir) >= PATH_MAX)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", dir);
    campaign = atoll_campaign_open(dir, NULL, err);
    if (campaign && atoll_campaign_attempts(campaign, &attempts, &count, err) == 0) {
        free(attempts);
        status = count == 0 ? 0 : atoll_archive_refresh(campaign, archive, NULL, err);
        if (status >= 0 && count > 1 && quarantined_record(f, part, campaign, err) != 0)
            status = -1;
    }
    atoll_campaign_close(campaign);
    if (status >= 0 && count > 0) {
        f->paths[f->path_count] = archive;
        f->path_count++;
    }
    return status < 0 ? -1 : 0;
}

static int merge(struct finalizer *f, struct atoll_err *err)
{
    char archive[PATH_MAX], report[PATH_MAX];
    struct atoll_tables *tables;
    int status;

    for (size_t i = 0; i < f->sweep->part_count; i++) {
        if ((f->states[i] != PART_DAMAGED && part_archive(f, i, err) != 0) ||
            atoll_lease_renew(f->lease, err) != 0) {
            return -1;
        }
    }
    if (f->path_count == 0)
        return 0;
    if (atoll_sweep_path(f->sweep, "archive.h5", archive, sizeof(archive), err) != 0 ||
        atoll_sweep_path(f->sweep, "report.html", report, sizeof(report), err) != 0 ||
        atoll_merge_files(f->paths, f->path_count, archive, NULL, err) != 0) {
        return -1;
    }
    tables = atoll_segment_read(archive, err);
    status = tables ? atoll_report_write(tables, report, NULL, err) : -1;
    atoll_tables_destroy(tables);
    return status;
}

static int done_write(const struct finalizer *f, struct atoll_err *err)
{
    char path[PATH_MAX], text[512];
    int length = snprintf(
        text, sizeof(text),
        "{\"parts\": %zu, \"evaluated\": %llu, \"comparisons\": %llu, \"quarantined_records\": %llu, "
        "\"unix_s\": %lld}\n",
        f->sweep->part_count, (unsigned long long)f->evaluated, (unsigned long long)f->duelled,
        (unsigned long long)f->quarantined, (long long)time(NULL));

    if (atoll_sweep_path(f->sweep, "done.json", path, sizeof(path), err) != 0)
        return -1;
    if (atoll_file_replace(atoll_file_ops_real(), path, text, (size_t)length, err) != 0)
        return -1;
    atoll_sweep_record(f->sweep->dir, "finalizer", "done",
                       "every part has ended; archive and report are written");
    return 0;
}

/* Whether a step may still write files of the part: it holds the lease while it does.  One that stands still is lost.  For an
 * open part, whose step was cancelled or works on, nobody waits long. */
static int is_written(const struct finalizer *f, size_t part, struct atoll_lease_watch *watch,
                      double waited_s)
{
    struct atoll_lease_holder self;
    struct atoll_lease_seen seen;
    char path[PATH_MAX];

    atoll_lease_holder_self("finalizer", 0, &self);
    if (f->states[part] == PART_DAMAGED || (f->states[part] == PART_OPEN && waited_s > OPEN_WAIT_S) ||
        atoll_sweep_part_path(f->sweep, part, path, sizeof(path), NULL) != 0 ||
        atoll_lease_look(path, &self, &seen, NULL) != 0) {
        return 0;
    }
    return seen.state == ATOLL_LEASE_HELD &&
           atoll_lease_watch_note(watch, &seen, atoll_clock_mono_ns()) < ATOLL_LEASE_TIME_S;
}

static int writers_wait(struct finalizer *f, struct atoll_err *err)
{
    const struct timespec pause = {.tv_nsec = 500000000};
    double begin_ns = atoll_clock_mono_ns();
    struct atoll_lease_watch *watches = calloc(f->sweep->part_count, sizeof(*watches));
    size_t writers = watches ? 1 : 0;
    int status =
        watches ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu parts", f->sweep->part_count);

    while (status == 0 && writers > 0) {
        double waited_s = (atoll_clock_mono_ns() - begin_ns) / 1e9;

        writers = 0;
        for (size_t i = 0; i < f->sweep->part_count; i++)
            writers += (size_t)is_written(f, i, &watches[i], waited_s);
        if (writers > 0) {
            status = atoll_lease_renew(f->lease, err);
            nanosleep(&pause, NULL);
        }
    }
    free(watches);
    return status;
}

static int finalize_locked(struct finalizer *f, int is_partial, struct atoll_err *err)
{
    int status = 0;

    f->archives = calloc(f->sweep->part_count, sizeof(*f->archives));
    f->paths = calloc(f->sweep->part_count, sizeof(*f->paths));
    f->states = calloc(f->sweep->part_count, sizeof(*f->states));
    if (!f->archives || !f->paths || !f->states)
        status = atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu parts", f->sweep->part_count);
    for (size_t i = 0; status == 0 && i < f->sweep->part_count; i++)
        status = part_look(f, i, err);
    if (status == 0 && (f->open_count == 0 || is_partial)) {
        status = writers_wait(f, err) != 0 || merge(f, err) != 0 ? -1 : 0;
        status = status == 0 && f->open_count == 0 ? done_write(f, err) : status;
    }
    free(f->archives);
    free(f->paths);
    free(f->states);
    return status != 0 ? -1 : f->open_count == 0;
}

/* Done, and what was made then is still there. */
static int is_complete(const struct atoll_sweep *sweep)
{
    char path[PATH_MAX];

    return atoll_sweep_is_done(sweep->dir) &&
           atoll_sweep_path(sweep, "archive.h5", path, sizeof(path), NULL) == 0 && access(path, F_OK) == 0 &&
           atoll_sweep_path(sweep, "report.html", path, sizeof(path), NULL) == 0 && access(path, F_OK) == 0;
}

/* Waits while another process is at it, and takes over from one that is lost. */
static struct atoll_lease *lease_claim(const struct atoll_sweep *sweep, struct atoll_err *err)
{
    struct atoll_lease_watch watch = {0};
    struct atoll_lease_holder self;
    struct atoll_lease_seen seen;
    struct atoll_lease *lease = NULL;
    uint32_t silent = 0;

    atoll_lease_holder_self("finalizer", 0, &self);
    while (!lease && !is_complete(sweep)) {
        struct atoll_err own = ATOLL_ERR_INIT;
        const struct timespec pause = {.tv_sec = 1};

        lease = atoll_lease_claim(sweep->dir, &self, silent, NULL, &own);
        if (!lease && (own.code != ATOLL_E_BUSY || atoll_lease_look(sweep->dir, &self, &seen, &own) != 0)) {
            *err = own;
            return NULL;
        }
        if (!lease && atoll_lease_watch_note(&watch, &seen, atoll_clock_mono_ns()) > SILENCE_S)
            silent = seen.epoch;
        else if (!lease)
            nanosleep(&pause, NULL);
    }
    return lease;
}

int atoll_finalize(const struct atoll_sweep *sweep, int is_partial, struct atoll_err *err)
{
    struct finalizer finalizer = {.sweep = sweep};
    int status;

    if (is_complete(sweep))
        return 1;
    finalizer.lease = lease_claim(sweep, err);
    if (!finalizer.lease)
        return is_complete(sweep) ? 1 : -1;
    status = finalize_locked(&finalizer, is_partial, err);
    atoll_lease_release(finalizer.lease);
    return status;
}
