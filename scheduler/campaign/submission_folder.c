/* submission_folder.c - a folder under a name of its own, read back, then renamed.  rename(2) takes the place of an empty
 * folder and of nothing else, so of two that make the same campaign one is told. */
#include "scheduler/campaign/submission.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static int parts_make(struct atoll_submission *s, const char *draft, struct atoll_err *err)
{
    size_t first = 0;

    for (size_t i = 0; i < s->sweep.part_count; i++) {
        struct atoll_plan_part part = atoll_submission_part(s, i, first);
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/parts/%s", draft, s->sweep.parts[i].name) >= (int)sizeof(path)) {
            return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
        }
        if (atoll_campaign_plan_create(&s->plan, &part, path, err) != 0) {
            return -1;
        }
        first += part.count;
    }
    return 0;
}

static int file_make(const char *draft, const char *name, const void *bytes, size_t length,
                     struct atoll_err *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", draft, name) >= (int)sizeof(path)) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
    }
    return atoll_file_replace(atoll_file_ops_real(), path, bytes, length, err);
}

/* What sweep.yaml says is what will be read: a campaign that nobody can open is never put in place. */
static int sweep_make(const struct atoll_submission *s, const char *draft, struct atoll_err *err)
{
    struct atoll_sweep *sweep;
    int is_same;

    if (atoll_sweep_write(&s->sweep, draft, err) != 0) {
        return -1;
    }
    sweep = atoll_sweep_open(draft, err);
    if (!sweep) {
        return -1;
    }
    is_same = sweep->part_count == s->sweep.part_count && sweep->after_count == s->sweep.after_count &&
              strcmp(sweep->id, s->sweep.id) == 0;
    atoll_sweep_close(sweep);
    return is_same ? 0
                   : atoll_err_set(err, ATOLL_E_INTERNAL, "%s/%s does not say what was written", draft,
                                   ATOLL_SWEEP_FILE);
}

static int draft_fill(struct atoll_submission *s, const char *draft, struct atoll_err *err)
{
    char log[PATH_MAX];
    size_t length;
    const char *site = atoll_site_text(s->site, &length);

    if (snprintf(log, sizeof(log), "%s/log", draft) >= (int)sizeof(log)) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
    }
    return atoll_folder_make(log, err) != 0 || parts_make(s, draft, err) != 0 ||
                   file_make(draft, ATOLL_SITE_FILE, site, length, err) != 0 ||
                   file_make(draft, ATOLL_SWEEP_SCRIPT, s->script.data, s->script.length, err) != 0 ||
                   sweep_make(s, draft, err) != 0
               ? -1
               : 0;
}

/* ---- its place ---- */

static int is_empty(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    for (struct dirent *e; dir && (e = readdir(dir));) {
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    if (dir) {
        closedir(dir);
    }
    return dir && count == 0;
}

static int is_taken(const struct atoll_submission *s, struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_EXISTS, "%s: is there already%s", s->settings->out,
                         atoll_sweep_is(s->out) ? "; go on with `atoll resume`, or choose another folder"
                                                : " and is no empty folder; choose another one");
}

/* Of submissions that were killed.  One that is under way looks the same, so nothing is removed here. */
static void drafts_tell(const char *out)
{
    char parent[PATH_MAX], start[NAME_MAX + 8];
    const char *name = strrchr(out, '/') + 1;
    DIR *dir;

    snprintf(parent, sizeof(parent), "%.*s", (int)(name - out), out);
    if (snprintf(start, sizeof(start), "%s.new-", name) >= (int)sizeof(start)) {
        return;
    }
    dir = opendir(parent);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strncmp(e->d_name, start, strlen(start)) == 0) {
            fprintf(stderr,
                    "atoll: warning: %s%s is left of a submission that did not come to its end; remove it "
                    "unless one is under way\n",
                    parent, e->d_name);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

static int place(struct atoll_submission *s, const char *draft, struct atoll_err *err)
{
    if (rename(draft, s->out) == 0) {
        return atoll_file_sync_parent(atoll_file_ops_real(), s->out, err);
    }
    return errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR
               ? is_taken(s, err)
               : atoll_err_errno(err, errno, "cannot rename %s to %s", draft, s->out);
}

int atoll_submission_make(struct atoll_submission *s, struct atoll_err *err)
{
    char draft[PATH_MAX];
    struct stat st;

    if (snprintf(draft, sizeof(draft), "%s.new-%.8s", s->out, s->sweep.id) >= (int)sizeof(draft)) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
    }
    if (lstat(s->out, &st) == 0 && !is_empty(s->out)) {
        return is_taken(s, err);
    }
    if (atoll_folder_make_parents(s->out, err) != 0) {
        return -1;
    }
    drafts_tell(s->out);
    if (mkdir(draft, 0777) != 0) {
        return atoll_err_errno(err, errno, "cannot make the folder %s", draft);
    }
    return draft_fill(s, draft, err) != 0 || place(s, draft, err) != 0
               ? atoll_err_add(err, "while making %s, which can be removed", draft)
               : 0;
}
