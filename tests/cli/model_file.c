/* model_file.c - a ModelNew as `atoll export --kernelbench` writes it, for tests in Python: model_file FRAME TASK KERNEL PROBLEM
 * SOURCE prints it.  KERNEL is JSON: what the archive says of the candidate, without what task.yaml says. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "scheduler/cli/model_new.h"

#define FILE_LIMIT ((size_t)4 << 20)

static void fail(const char *what)
{
    fprintf(stderr, "model_file: %s\n", what);
    exit(1);
}

static char *text_of(const char *path)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t length;
    char *text = atoll_file_read(path, FILE_LIMIT, &length, &err);

    if (!text)
        fail(err.text);
    return text;
}

int main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer out;
    char *texts[5];

    if (argc != 6)
        fail("FRAME TASK KERNEL PROBLEM SOURCE are expected");
    for (int i = 0; i < 5; i++)
        texts[i] = text_of(argv[1 + i]);
    json_t *kernel = json_loads(texts[2], 0, NULL);
    if (!kernel)
        fail("KERNEL is no JSON");
    atoll_buffer_init(&out, FILE_LIMIT);
    if (atoll_model_new_read_task(texts[1], kernel, &err) != 0 ||
        atoll_model_new_text(kernel, texts[3], texts[4], "image", 5, texts[0], &out, &err) != 0)
        fail(err.text);
    fwrite(out.data, 1, out.length, stdout);
    atoll_buffer_fini(&out);
    json_decref(kernel);
    for (int i = 0; i < 5; i++)
        free(texts[i]);
    return 0;
}
