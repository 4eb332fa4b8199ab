/* cheats.h - the corpus of cheating CUDA kernels in tests/fixtures/exploits/cuda: what must stop each of them, and the
 * way of a source through levels 1 to 3.  A cheat NAME.cu lies beside an honest twin NAME.honest.cu that must pass.
 * Needs no device. */
#ifndef ATOLL_TESTS_SUPPORT_CHEATS_H
#define ATOLL_TESTS_SUPPORT_CHEATS_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/candidate.h"
#include "core/plan/plan.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"
#include "mpi-eval/backend/backends.h"

#define CHEATS_FOLDER     ATOLL_SOURCE_DIR "/tests/fixtures/exploits/cuda/"
#define CHEATS_TEXT_BYTES ((size_t)1 << 16)

enum cheats_task { CHEATS_BLEND, CHEATS_PRODUCT, CHEATS_LSE, CHEATS_CORNER, CHEATS_TASK_COUNT };
static const char *const cheats_task_names[CHEATS_TASK_COUNT] = {"blend", "product", "lse", "corner"};

/* Where a cheat may be stopped; several: whichever comes first. */
enum {
    AT_PLAN = 1,      /* level 1 */
    AT_RULES = 2,     /* level 2 */
    AT_COMPILE = 4,   /* level 3 */
    AT_IMAGE = 8,     /* what the image says of itself */
    AT_DEVICE = 16,   /* levels 4 to 6, or nowhere: then it gains nothing over its twin */
    AT_FINAL = 32,    /* hidden variants of a finalist's duel */
    AT_ONCE_OPEN = 64 /* level 1 as soon as the device is known: without one it passes levels 1 to 3 */
};

#define CHEATS_VERDICT(name) (1u << ATOLL_V_##name)

/* verdicts: those that are right, as bits of CHEATS_VERDICT.  CORRECT means that it gains nothing: its evaluation is
 * correct and its time no better than the twin's by more than 3 %.  says: part of the detail. */
struct cheat {
    const char *name;
    enum cheats_task task;
    unsigned at, verdicts;
    const char *says;
};

#include "tests/support/cheats_table.h"

#define CHEATS_COUNT (sizeof(cheats) / sizeof(cheats[0]))

struct cheats_built {
    struct atoll_prepared *prepared;
    struct atoll_compiled compiled;
    unsigned
        at; /* where it was stopped; 0: it passed levels 1 to 3 and its image is one that may be loaded */
    enum atoll_verdict verdict;
    char detail[ATOLL_DETAIL_BYTES];
};

static inline struct atoll_task *cheats_task_load(enum cheats_task task, struct atoll_err *err)
{
    char path[1024];
    snprintf(path, sizeof(path), CHEATS_FOLDER "tasks/%s", cheats_task_names[task]);
    return atoll_task_load(path, err);
}

/* NULL with err; owned by the caller. */
static inline char *cheats_read(const char *name, const char *tail, struct atoll_err *err)
{
    char path[1024];
    snprintf(path, sizeof(path), CHEATS_FOLDER "%s%s", name, tail);
    FILE *f = fopen(path, "r");
    char *text = f ? calloc(1, CHEATS_TEXT_BYTES) : NULL;
    size_t length = text ? fread(text, 1, CHEATS_TEXT_BYTES - 1, f) : 0;
    if (f)
        fclose(f);
    if (length > 0)
        return text;
    free(text);
    atoll_err_set(err, ATOLL_E_MISSING, "%s cannot be read", path);
    return NULL;
}

static inline void cheats_stop(struct cheats_built *b, unsigned at, enum atoll_verdict verdict,
                               const char *detail)
{
    b->at = at;
    b->verdict = verdict;
    snprintf(b->detail, sizeof(b->detail), "%s", detail);
}

static inline int cheats_compile(struct cheats_built *b, struct atoll_compiler *compiler,
                                 struct atoll_err *err)
{
    static const struct {
        const char *text;
        enum atoll_verdict verdict;
    } states[] = {[ATOLL_COMPILE_ERROR] = {"", ATOLL_V_COMPILE_ERROR},
                  [ATOLL_COMPILE_TIMEOUT] = {"past the deadline; ", ATOLL_V_COMPILE_ERROR},
                  [ATOLL_COMPILE_MEMORY] = {"out of memory; ", ATOLL_V_COMPILE_ERROR},
                  [ATOLL_COMPILE_BROKEN] = {"no compiler; ", ATOLL_V_INFRASTRUCTURE},
                  [ATOLL_COMPILE_FORBIDDEN] = {"", ATOLL_V_FORBIDDEN}};
    struct atoll_compiled *o = &b->compiled;
    char detail[ATOLL_DETAIL_BYTES];
    if (atoll_compiler_run(compiler, "candidate.cu", b->prepared->unit_text, b->prepared->unit_length, NULL,
                           0, o, err) != 0)
        return -1;
    if (o->status == ATOLL_COMPILE_OK)
        return 0;
    snprintf(detail, sizeof(detail), "%s%s", states[o->status].text, o->diagnostics);
    cheats_stop(b, AT_COMPILE, states[o->status].verdict, detail);
    return 0;
}

static inline void cheats_check_image(struct cheats_built *b)
{
    struct atoll_cubin *cubin = calloc(1, sizeof(*cubin));
    char detail[ATOLL_DETAIL_BYTES] = "";
    if (!cubin)
        abort();
    b->prepared->report = b->compiled.report;
    enum atoll_verdict v =
        atoll_cuda_image_check(b->prepared, b->compiled.object, b->compiled.object_length,
                               b->compiled.report ? b->compiled.report : "", cubin, detail);
    if (v != ATOLL_V_CORRECT)
        cheats_stop(b, AT_IMAGE, v, detail);
    free(cubin);
}

/* Levels 1 to 3 and the image.  device: NULL without one.  -1: a failure of ours. */
static inline int cheats_build(const char *source, const struct atoll_task *task,
                               const struct atoll_device_info *device, struct atoll_compiler *compiler,
                               struct cheats_built *b, struct atoll_err *err)
{
    struct atoll_order_candidate c = {
        .id = atoll_source_id("cuda", source), .language = "cuda", .source = source};
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 22, NULL);
    const char *body;
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, c.language, source, &body, NULL);
    if (plan) /* of a template the first values */
        atoll_plan_first_choice(plan, &c.choice);
    atoll_arena_destroy(arena);
    memset(b, 0, sizeof(*b));
    b->verdict = ATOLL_V_CORRECT;
    b->prepared = atoll_prepared_create(task, &atoll_backend_cuda, &c, device, err);
    if (!b->prepared)
        return -1;
    if (b->prepared->verdict != ATOLL_V_CORRECT) {
        cheats_stop(b, b->prepared->verdict == ATOLL_V_FORBIDDEN ? AT_RULES : AT_PLAN, b->prepared->verdict,
                    b->prepared->detail);
        return 0;
    }
    if (cheats_compile(b, compiler, err) != 0)
        return -1;
    if (!b->at)
        cheats_check_image(b);
    return 0;
}

static inline void cheats_built_fini(struct cheats_built *b)
{
    atoll_prepared_destroy(b->prepared);
    atoll_compiled_fini(&b->compiled);
    memset(b, 0, sizeof(*b));
}

/* The names of verdicts in a set, with '|' between. */
static inline const char *cheats_verdicts_text(unsigned verdicts, char *text, size_t bytes)
{
    size_t n = 0;
    text[0] = 0;
    for (unsigned v = 0; v < ATOLL_VERDICT_COUNT; v++)
        if (verdicts >> v & 1u && n < bytes)
            n += (size_t)snprintf(text + n, bytes - n, "%s%s", n ? "|" : "",
                                  v == ATOLL_V_CORRECT ? "gains nothing"
                                                       : atoll_verdict_name((enum atoll_verdict)v));
    return text;
}

/* The same of a cheat, with what its detail must say. */
static inline const char *cheats_wanted(const struct cheat *c, char *text, size_t bytes)
{
    cheats_verdicts_text(c->verdicts, text, bytes);
    size_t n = strlen(text);
    if (c->says[0])
        snprintf(text + n, bytes - n, " \"%s\"", c->says);
    return text;
}

/* Every fixture has a row and a twin, every row its files: how many do not. */
static inline size_t cheats_strays(void)
{
    size_t files = 0, missing = 0;
    DIR *dir = opendir(CHEATS_FOLDER);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        size_t n = strlen(e->d_name);
        files += n > 3 && strcmp(e->d_name + n - 3, ".cu") == 0;
    }
    if (dir)
        closedir(dir);
    for (size_t i = 0; i < CHEATS_COUNT; i++)
        for (int twin = 0; twin < 2; twin++) {
            struct atoll_err err = ATOLL_ERR_INIT;
            char *text = cheats_read(cheats[i].name, twin ? ".honest.cu" : ".cu", &err);
            if (!text)
                printf("FAIL  %s\n", err.text);
            missing += !text;
            free(text);
        }
    if (files != 2 * CHEATS_COUNT)
        printf("FAIL  %zu files, %zu rows with two each\n", files, CHEATS_COUNT);
    return missing + (files != 2 * CHEATS_COUNT);
}

#endif
