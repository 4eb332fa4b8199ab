/* task_folder.h - a folder with a good task of which a test changes a line. */
#ifndef ATOLL_TESTS_UNIT_CORE_TASK_TASK_FOLDER_H
#define ATOLL_TESTS_UNIT_CORE_TASK_TASK_FOLDER_H

#include "tests/support/expect.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/random.h"
#include "core/task/task_describe.h"

#define FIXTURES ATOLL_SOURCE_DIR "/tests/fixtures/tasks"

static char folder[160];

static inline void write_text(const char *name, const char *text)
{
    char path[320];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static inline int make_folder(void **state)
{
    char seeds[256];
    snprintf(folder, sizeof(folder), "%s/test-task-XXXXXX", ATOLL_BUILD_DIR);
    if (!mkdtemp(folder))
        return -1;
    snprintf(seeds, sizeof(seeds), "%s/seeds", folder);
    if (mkdir(seeds, 0700))
        return -1;
    write_text("reference.c",
               "void reference(const struct atoll_reference_args *a, long unit) { put_y(a, unit, 1); }\n");
    write_text("problem.py", "# a problem\n");
    write_text("seeds/naive.c", "/* naive */\n");
    write_text("seeds/a.cu", "/* device */\n");
    return 0;
}

static inline int remove_folder(void **state)
{
    static const char *const names[] = {"task.yaml",     "problem.py",    "reference.c",
                                        "seeds/naive.c", "seeds/a.cu",    "seeds/x.txt",
                                        "seeds/out.c",   "seeds/.hidden", "reference.cu"};
    char path[320];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/seeds", folder);
    rmdir(path);
    return rmdir(folder);
}

/* The text of a good task with one line replaced: line n (from 1) becomes `with`; NULL drops it. */
static const char *const good[] = {
    "version: 1",
    "name: square",
    "summary: a task",
    "dims: [N, M]",
    "tensors:",
    "  - {name: x, dtype: f32, shape: [N, M], role: in, init: {normal: {mean: 0, std: 1}}}",
    "  - {name: y, dtype: f32, shape: [\"N * M\"], role: out}",
    "reference: {file: reference.c, units: \"N * M\"}",
    "work: {flops: \"N * M\"}",
    "tolerance: {rtol: 1e-5}",
    "variants:",
    "  check: {N: 3, M: 5}",
    "  bench: {N: 30, M: 50}",
    "baselines: [{name: naive, file: seeds/naive.c}]",
};
#define GOOD_LINES (sizeof(good) / sizeof(*good))

static inline void write_task(size_t line, const char *with)
{
    char text[8192];
    size_t used = 0;
    for (size_t i = 0; i < GOOD_LINES; i++) {
        const char *l = i + 1 == line ? with : good[i];
        if (l)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", l);
    }
    assert_true(used < sizeof(text));
    write_text("task.yaml", text);
}

static inline void expect_failure(enum atoll_code code, const char *says)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (task || !strstr(err.text, says))
        fail_msg("expected '%s', got '%s'", says, task ? "a task" : err.text);
    assert_int_equal(err.code, code);
}

#endif
