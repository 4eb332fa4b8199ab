/* archive.c - what a journal's good bytes are never changes, and the last attempt's header seals all others:
 * so its name and length name the content of all. */
#include "archive-h5/hdf5/archive.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "archive-h5/campaign/campaign_state.h"
#include "archive-h5/table/project.h"
#include "archive-h5/hdf5/segment.h"

static void made_of(const struct atoll_replay_report *report, char *ret_text)
{
    snprintf(ret_text, ATOLL_MADE_OF_BYTES, "%.63s/%s up to %llu, by Atoll %s", report->last,
             ATOLL_JOURNAL_FILE, (unsigned long long)report->last_good_bytes, ATOLL_VERSION);
}

int atoll_archive_build(const struct atoll_campaign *campaign, const char *out,
                        const struct atoll_file_ops *ops, struct atoll_replay_report *ret_report,
                        struct atoll_err *err)
{
    struct atoll_replay_report report;
    char origin[ATOLL_MADE_OF_BYTES];
    struct atoll_projection *p = atoll_projection_of_campaign(campaign, &report, err);
    if (!p)
        return -1;
    made_of(&report, origin);
    int failed = atoll_segment_write(out, atoll_projection_tables(p), origin, ops, err);
    atoll_projection_destroy(p);
    if (!failed && ret_report)
        *ret_report = report;
    return failed;
}

int atoll_archive_refresh(const struct atoll_campaign *campaign, const char *out,
                          const struct atoll_file_ops *ops, struct atoll_err *err)
{
    struct atoll_replay_report report;
    char want[ATOLL_MADE_OF_BYTES], have[ATOLL_MADE_OF_BYTES];
    if (atoll_segment_made_of(out, &atoll_campaign_config(campaign)->id, have) == 0) {
        if (atoll_campaign_replay(campaign, NULL, NULL, &report, err) != 0)
            return -1;
        made_of(&report, want);
        if (!strcmp(want, have))
            return 1;
    }
    return atoll_archive_build(campaign, out, ops, NULL, err);
}

/* ---- the end of an attempt ---- */

struct sealing {
    const struct atoll_campaign *campaign;
    struct atoll_projection *projection;
    char attempt[ATOLL_ATTEMPT_NAME_BYTES]; /* being visited, "" before the first */
};

static int seal_visit(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                      struct atoll_err *err)
{
    struct sealing *s = context;
    if (strcmp(s->attempt, attempt->name) != 0) {
        if (*s->attempt && atoll_campaign_has_segment(s->campaign, s->attempt))
            atoll_projection_mark(s->projection);
        memcpy(s->attempt, attempt->name, sizeof(s->attempt));
    }
    return atoll_projection_visit(s->projection, attempt, record, err);
}

/* Where no segment came before, it holds what the archive holds. */
static int files_make(const struct sealing *s, const char *origin, const char *dir, const char *archive,
                      const struct atoll_file_ops *ops, struct atoll_err *err)
{
    char path[PATH_MAX];
    const struct atoll_tables *all = atoll_projection_tables(s->projection);
    if (atoll_segment_name(dir, path, sizeof(path), err) != 0)
        return -1;
    if (atoll_projection_is_whole(s->projection))
        return atoll_segment_write_twice(path, archive, all, origin, ops, err);
    struct atoll_tables *cut = atoll_projection_cut(s->projection, err);
    int failed = cut ? atoll_segment_write(path, cut, origin, ops, err) : -1;
    atoll_tables_destroy(cut);
    atoll_campaign_show_life(s->campaign);
    return failed ? -1 : atoll_segment_write(archive, all, origin, ops, err);
}

int atoll_archive_seal(const struct atoll_campaign *campaign, const char *attempt_dir,
                       const struct atoll_file_ops *ops, struct atoll_err *err)
{
    char path[PATH_MAX], origin[ATOLL_MADE_OF_BYTES];
    struct atoll_replay_report report;
    struct sealing s = {.campaign = campaign};
    if (atoll_campaign_path(campaign, path, sizeof(path), "archive.h5", err) != 0 ||
        !(s.projection = atoll_projection_create(atoll_campaign_config(campaign), err))) {
        return -1;
    }
    int failed = atoll_projection_knowledge(s.projection, campaign, err);
    if (!failed)
        failed = atoll_campaign_replay(campaign, seal_visit, &s, &report, err);
    if (!failed)
        failed = atoll_projection_definitions(s.projection, atoll_campaign_config(campaign), err);
    if (!failed) {
        made_of(&report, origin);
        atoll_campaign_show_life(campaign);
        failed = files_make(&s, origin, attempt_dir, path, ops, err);
        atoll_campaign_show_life(campaign);
    }
    atoll_projection_destroy(s.projection);
    return failed;
}
