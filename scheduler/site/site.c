/* site.c - finding, reading, keeping a profile; the table of keys is in site_keys.c. */
#include "scheduler/site/site.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/program.h"
#include "scheduler/site/site_draft.h"

/* ---- reading ---- */

static int fill(struct atoll_site_draft *draft, const char *path, const char *text, size_t length,
                struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_parse(path, text, length, err);
    struct atoll_yaml_walk walk = {yaml, draft->arena, draft, err};
    int rc = -1;

    if (yaml) {
        draft->site.path = atoll_arena_text(draft->arena, path, strlen(path), err);
        draft->text = draft->site.path ? atoll_arena_text(draft->arena, text, length, err) : NULL;
        draft->text_length = length;
        rc = draft->text ? atoll_site_read_keys(&walk, atoll_yaml_root(yaml)) : -1;
    }
    atoll_yaml_destroy(yaml);
    return rc;
}

struct atoll_site *atoll_site_parse(const char *path, const char *text, size_t length, struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create(ATOLL_SITE_ARENA_BYTES, err);
    struct atoll_site_draft *draft = arena ? atoll_arena_alloc(arena, sizeof(*draft), err) : NULL;

    if (draft) {
        draft->arena = arena;
        if (fill(draft, path, text, length, err) == 0) {
            return &draft->site;
        }
    }
    atoll_arena_destroy(arena);
    return NULL;
}

void atoll_site_destroy(struct atoll_site *site)
{
    if (site) {
        atoll_arena_destroy(((struct atoll_site_draft *)site)->arena);
    }
}

static struct atoll_site *read_stream(const char *path, FILE *stream, struct atoll_err *err)
{
    struct atoll_site *site = NULL;
    char *text = malloc(ATOLL_YAML_FILE_BYTES + 1); /* one more: parse says that it is too long */
    size_t length;

    if (!text) {
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to read it", path);
        return NULL;
    }
    length = fread(text, 1, ATOLL_YAML_FILE_BYTES + 1, stream);
    if (ferror(stream)) {
        atoll_err_errno(err, errno, "%s: cannot be read", path);
    } else {
        site = atoll_site_parse(path, text, length, err);
    }
    free(text);
    return site;
}

static struct atoll_site *read_path(const char *path, struct atoll_err *err)
{
    FILE *stream = fopen(path, "re");
    struct atoll_site *site;

    if (!stream) {
        atoll_err_errno(err, errno, "%s: cannot be opened", path);
        return NULL;
    }
    site = read_stream(path, stream, err);
    fclose(stream);
    return site;
}

/* ---- finding ---- */

struct search {
    const char *name;
    char path[PATH_MAX]; /* where it is */
    char places[640];    /* where it is not */
    size_t used;
};

/* 1 when FOLDER/NAME.yaml is there. */
static int look(struct search *search, const char *folder, size_t length)
{
    if (length == 0 || (size_t)snprintf(search->path, sizeof(search->path), "%.*s/%s.yaml", (int)length,
                                        folder, search->name) >= sizeof(search->path)) {
        return 0;
    }
    if (access(search->path, F_OK) == 0) {
        return 1;
    }
    if (search->used < sizeof(search->places)) {
        search->used += (size_t)snprintf(search->places + search->used, sizeof(search->places) - search->used,
                                         "%s%.*s", search->used ? ", " : "", (int)length, folder);
    }
    return 0;
}

static int look_in_list(struct search *search, const char *list)
{
    while (list && *list) {
        size_t length = strcspn(list, ":");

        if (look(search, list, length)) {
            return 1;
        }
        list += length + (list[length] == ':');
    }
    return 0;
}

static int look_in_user_folder(struct search *search)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char folder[PATH_MAX];
    int n;

    if (config && *config) {
        n = snprintf(folder, sizeof(folder), "%s/atoll/sites", config);
    } else {
        n = home && *home ? snprintf(folder, sizeof(folder), "%s/.config/atoll/sites", home) : 0;
    }
    return n > 0 && (size_t)n < sizeof(folder) && look(search, folder, (size_t)n);
}

static int find(struct search *search, struct atoll_err *err)
{
    char bundled[PATH_MAX];

    if (look_in_list(search, getenv("ATOLL_SITES")) || look(search, ".", 1) || look_in_user_folder(search) ||
        (atoll_program_data("jobscripts/sites", bundled, sizeof(bundled), NULL) == 0 &&
         look(search, bundled, strlen(bundled)))) {
        return 0;
    }
    return atoll_err_set(err, ATOLL_E_NOTFOUND,
                         "no site profile %s.yaml in %s; write one from jobscripts/sites/" ATOLL_SITE_DEFAULT
                         ".yaml, or name its folder in ATOLL_SITES",
                         search->name, search->places);
}

static int is_path(const char *text)
{
    size_t length = strlen(text);

    return strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".yaml") == 0);
}

struct atoll_site *atoll_site_load(const char *name_or_path, struct atoll_err *err)
{
    const char *chosen = name_or_path ? name_or_path : getenv("ATOLL_SITE");
    struct search search = {0};

    if (!chosen || !*chosen) {
        chosen = ATOLL_SITE_DEFAULT;
    }
    if (is_path(chosen)) {
        return read_path(chosen, err);
    }
    search.name = chosen;
    return find(&search, err) == 0 ? read_path(search.path, err) : NULL;
}

/* ---- keeping ---- */

const char *atoll_site_text(const struct atoll_site *site, size_t *ret_length)
{
    const struct atoll_site_draft *draft = (const struct atoll_site_draft *)site;

    *ret_length = draft->text_length;
    return draft->text;
}

static int has_bytes(const char *path, const char *text, size_t length)
{
    FILE *stream = fopen(path, "re");
    size_t at = 0;
    int c;

    if (!stream) {
        return 0;
    }
    while ((c = getc(stream)) != EOF && at < length && (unsigned char)text[at] == c) {
        at++;
    }
    fclose(stream);
    return c == EOF && at == length;
}

int atoll_site_write(const struct atoll_site *site, const char *path, struct atoll_err *err)
{
    size_t length;
    const char *text = atoll_site_text(site, &length);

    if (access(path, F_OK) == 0) {
        return has_bytes(path, text, length)
                   ? 0
                   : atoll_err_set(err, ATOLL_E_EXISTS,
                                   "%s is there already and differs from profile %s; remove it first", path,
                                   site->path);
    }
    return atoll_file_replace(NULL, path, text, length, err);
}
