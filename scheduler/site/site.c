/* site.c - finding, reading, keeping a profile; the table of keys is in site_keys.c. */
#include "scheduler/site/site.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/program.h"
#include "base/spelling.h"
#include "scheduler/site/site_draft.h"

/* ---- reading ---- */

struct atoll_site *atoll_site_parse(const char *path, const char *text, size_t length, struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_parse(path, text, length, err);
    struct atoll_arena *arena = yaml ? atoll_arena_create(ATOLL_SITE_ARENA_BYTES, err) : NULL;
    struct atoll_site_draft *draft = arena ? atoll_arena_alloc(arena, sizeof(*draft), err) : NULL;
    struct atoll_yaml_walk walk = {yaml, arena, draft, err};
    int status = -1;

    if (draft) {
        draft->arena = arena;
        draft->site.path = atoll_arena_text(arena, path, strlen(path), err);
        draft->text = draft->site.path ? atoll_arena_text(arena, text, length, err) : NULL;
        draft->text_length = length;
        status = draft->text ? atoll_site_read_keys(&walk, atoll_yaml_root(yaml)) : -1;
    }
    atoll_yaml_destroy(yaml);
    if (status != 0) {
        atoll_arena_destroy(arena);
        return NULL;
    }
    return &draft->site;
}

void atoll_site_destroy(struct atoll_site *site)
{
    if (site)
        atoll_arena_destroy(((struct atoll_site_draft *)site)->arena);
}

/* ---- finding ---- */

struct search {
    const char *name;
    char path[PATH_MAX]; /* where it is */
    char near[PATH_MAX]; /* one that is spelt like it */
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
    if (access(search->path, F_OK) == 0)
        return 1;
    if (!*search->near && strcmp(folder, ".") != 0) { /* this folder holds other files, too */
        search->path[strlen(search->path) - strlen(".yaml")] = '\0';
        if (!atoll_spelling_near_path(search->path, ".yaml", search->near, sizeof(search->near)))
            search->near[0] = '\0';
    }
    if (search->used < sizeof(search->places)) {
        search->used += (size_t)snprintf(search->places + search->used, sizeof(search->places) - search->used,
                                         "%s%.*s", search->used ? ", " : "", (int)length, folder);
    }
    return 0;
}

/* FOLDER/NAME.yaml in the folders that site.h lists. */
static int find(struct search *search, struct atoll_err *err)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char folder[PATH_MAX] = "";

    for (const char *list = getenv("ATOLL_SITES"); list && *list;) {
        size_t length = strcspn(list, ":");

        if (look(search, list, length))
            return 0;
        list += length + (list[length] == ':');
    }
    if (look(search, ".", 1))
        return 0;
    if (config && *config)
        snprintf(folder, sizeof(folder), "%s/atoll/sites", config);
    else if (home && *home)
        snprintf(folder, sizeof(folder), "%s/.config/atoll/sites", home);
    if (look(search, folder, strlen(folder)) ||
        (atoll_program_data("jobscripts/sites", folder, sizeof(folder), NULL) == 0 &&
         look(search, folder, strlen(folder)))) {
        return 0;
    }
    if (*search->near) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "no site profile %s.yaml in %s; did you mean '%s'?",
                             search->name, search->places, strrchr(search->near, '/') + 1);
    }
    return atoll_err_set(err, ATOLL_E_NOTFOUND,
                         "no site profile %s.yaml in %s; write one from jobscripts/sites/" ATOLL_SITE_DEFAULT
                         ".yaml, or name its folder in ATOLL_SITES",
                         search->name, search->places);
}

struct atoll_site *atoll_site_load(const char *name_or_path, struct atoll_err *err)
{
    const char *chosen = name_or_path ? name_or_path : getenv("ATOLL_SITE"), *path;
    struct search search = {0};
    struct atoll_site *site;
    size_t length;
    char *text;

    search.name = path = chosen && *chosen ? chosen : ATOLL_SITE_DEFAULT;
    length = strlen(path);
    if (!strchr(path, '/') && !(length > 5 && strcmp(path + length - 5, ".yaml") == 0)) {
        if (find(&search, err) != 0)
            return NULL;
        path = search.path;
    }
    text = atoll_file_read(path, ATOLL_YAML_FILE_BYTES, &length, err);
    site = text ? atoll_site_parse(path, text, length, err) : NULL;
    free(text);
    return site;
}

int atoll_site_named(struct atoll_site **ret_site, struct atoll_err *err)
{
    const char *name = getenv("ATOLL_SITE");
    struct atoll_site *site = name && *name ? atoll_site_load(name, err) : NULL;
    if (name && *name && !site)
        return -1;
    *ret_site = site;
    return 0;
}

const char *atoll_site_text(const struct atoll_site *site, size_t *ret_length)
{
    const struct atoll_site_draft *draft = (const struct atoll_site_draft *)site;

    *ret_length = draft->text_length;
    return draft->text;
}
