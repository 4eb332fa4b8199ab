/* recorded.h - files of recorded spaces for one load each. */
#ifndef ATOLL_TESTS_BENCH_RECORDED_H
#define ATOLL_TESTS_BENCH_RECORDED_H

#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/t4.h"

struct recorded_file {
    char folder[40], path[120];
};

static inline void recorded_write(struct recorded_file *file, const char *name, const void *bytes,
                                  size_t count)
{
    strcpy(file->folder, "/tmp/atoll-recorded-XXXXXX");
    assert_non_null(mkdtemp(file->folder));
    snprintf(file->path, sizeof(file->path), "%s/%s", file->folder, name);
    FILE *out = fopen(file->path, "we");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    assert_int_equal(fclose(out), 0);
}

static inline void recorded_remove(const struct recorded_file *file)
{
    unlink(file->path);
    rmdir(file->folder);
}

static inline struct atoll_t4 *recorded_load(const char *text, struct atoll_err *err)
{
    struct recorded_file file;
    recorded_write(&file, "small-device_T4.json", text, strlen(text));
    struct atoll_t4 *t4 = atoll_t4_load(file.path, err);
    recorded_remove(&file);
    return t4;
}

/* A space of A = 0..side-1, B = 0..side-1 without the corner where both are the last: time 10 + A + side * B ms, and
 * two runs 1.25 ms beside it; A = 0, B = 0 fails. */
static inline struct atoll_t4 *recorded_grid(int side)
{
    size_t room = (size_t)side * (size_t)side * 300 + 200, used = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    char *text = malloc(room);
    used += (size_t)snprintf(text, room, "{\"metadata\": {\"timeunit\": \"milliseconds\"}, \"results\": [");
    for (int i = 0; i < side * side - 1; i++)
        used += (size_t)snprintf(
            text + used, room - used,
            "%s{\"configuration\": {\"A\": %d, \"B\": %d}, \"invalidity\": \"%s\", \"objectives\": "
            "[\"time\"], "
            "\"times\": {\"runtimes\": [%g, %g]}, \"measurements\": [{\"name\": \"time\", \"value\": %d}]}",
            i ? "," : "", i % side, i / side, i ? "correct" : "runtime", 8.75 + i, 11.25 + i, 10 + i);
    snprintf(text + used, room - used, "]}");
    struct atoll_t4 *t4 = recorded_load(text, &err);
    if (!t4)
        fail_msg("%s", err.text);
    free(text);
    return t4;
}

#endif
