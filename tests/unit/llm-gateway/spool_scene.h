/* spool_scene.h - a spool in a fresh folder, a clock that tests turn, and requests told apart by their key. */
#ifndef ATOLL_TEST_GATEWAY_SPOOL_SCENE_H
#define ATOLL_TEST_GATEWAY_SPOOL_SCENE_H

#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm-gateway/spool/spool.h"

struct scene {
    char folder[200];
    double now_ns;
};

static inline double scene_clock(void *scene)
{
    return ((struct scene *)scene)->now_ns;
}

static int scene_remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static inline int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    static const char *const places[] = {"/dev/shm/atoll-spool-XXXXXX", /* an fsync costs nothing there */
                                         "/tmp/atoll-spool-XXXXXX"};
    memcpy(scene->folder, places[0], strlen(places[0]) + 1);
    if (!mkdtemp(scene->folder)) {
        memcpy(scene->folder, places[1], strlen(places[1]) + 1);
        assert_non_null(mkdtemp(scene->folder));
    }
    scene->now_ns = 1e12;
    *state = scene;
    return 0;
}

static inline int scene_end(void **state)
{
    struct scene *scene = *state;
    nftw(scene->folder, scene_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(scene);
    return 0;
}

static inline void scene_request(struct atoll_llm_request *r, const char *key)
{
    atoll_llm_request_init(r);
    r->model = "any";
    r->key = key;
    r->message_count = 1;
    r->messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "How wide is a warp?"};
}

static inline void scene_write(const char *path, const void *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

/* The file of a kind: "request", "reply". */
static inline void scene_path(const struct scene *scene, const char *name, const char *kind,
                              char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%s/%.2s/%s.%s", scene->folder, name, name, kind);
}

static inline int scene_has(const struct scene *scene, const char *name, const char *kind)
{
    char path[PATH_MAX];
    struct stat status;
    scene_path(scene, name, kind, path);
    return lstat(path, &status) == 0;
}

/* How many files of the folders match "*.reply" and the like. */
static inline size_t scene_count(const struct scene *scene, const char *pattern)
{
    char path[PATH_MAX];
    glob_t found;
    snprintf(path, sizeof(path), "%s/[0-9a-f][0-9a-f]/%s", scene->folder, pattern);
    size_t count = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    if (count)
        globfree(&found);
    return count;
}

#endif
