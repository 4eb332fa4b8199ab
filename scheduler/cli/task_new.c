/* task_new.c - `atoll task new`: a skeleton that `atoll task check` admits as it stands. */
#include "scheduler/cli/command.h"

#include "base/file.h"
#include "base/print.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct new_settings {
    int unused;
};

static const struct atoll_option new_options[] = {{0}};

static const struct atoll_command new_command = {
    "task new",
    "DIR",
    "write the skeleton of a task",
    "Makes DIR, and the folder around it where that is missing, with task.yaml, reference.c and two seeds of "
    "a small working task (a scaled sum of two "
    "arrays). The last part of DIR is the "
    "task's name. Change it step by step; `atoll task check DIR` says at each step what is missing.",
    "atoll task new my-suite/scaled_add\natoll task check my-suite/scaled_add",
    new_options,
    NULL};

static const char task_yaml[] =
    "version: 1\n"
    "name: %s\n"
    "summary: \"z = 2 x + y, element by element\"\n"
    "dims: [N]                        # symbols for the expressions below\n"
    "tensors:\n"
    "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {mean: 0, std: 1}}}\n"
    "  - {name: y, dtype: f32, shape: [N], role: in, init: {uniform: {low: -1, high: 1}}}\n"
    "  - {name: z, dtype: f32, shape: [N], role: out}\n"
    "reference: {file: reference.c, units: \"N\"}   # independent units of work; here one element is one "
    "unit\n"
    "work: {flops: \"2*N\"}\n"
    "precisions: [f32]\n"
    "tolerance: {rtol: 1.0e-5, atol: 1.0e-6}\n"
    "variants:\n"
    "  check: {N: 1003}               # small and odd; several are usual: check.2, check.3 ...\n"
    "  bench: {N: 2097152}            # what fitness is measured on\n"
    "  hidden: {N: 70001}             # finalists only\n"
    "baselines:\n"
    "  - {name: naive, file: seeds/naive.c}              # measured first\n"
    "  - {torch: \"2 * x + y\", compile: [none, default]}  # what a user of PyTorch runs instead, where "
    "torch is "
    "at hand\n"
    "# Where a reference.c is slow on a GPU (products, rows): device: reference.cu beside its file "
    "(docs/spec/task.md).\n";

static const char reference_c[] = "/* The definition of correct: computes one unit in double precision. */\n"
                                  "void reference(const struct atoll_reference_args *a, long unit)\n"
                                  "{\n"
                                  "    put_z(a, unit, 2.0 * get_x(a, unit) + get_y(a, unit));\n"
                                  "}\n";

static const char naive_c[] =
    "/* atoll-plan {\n"
    "  \"version\": 1,\n"
    "  \"launch\": [{\"function\": \"scaled_add\", \"units\": \"N\", \"args\": [\"x\", \"y\", \"z\"]}]\n"
    "} */\n"
    "void scaled_add(long begin, long end, const float *x, const float *y, float *z)\n"
    "{\n"
    "    for (long i = begin; i < end; i++) {\n"
    "        z[i] = 2.0f * x[i] + y[i];\n"
    "    }\n"
    "}\n";

static const char unrolled_c[] =
    "/* atoll-plan {\n"
    "  \"version\": 1,\n"
    "  \"params\": {\"STEP\": [4, 8, 16, 32]},\n"
    "  \"launch\": [{\"function\": \"scaled_add\", \"units\": \"N\", \"args\": [\"x\", \"y\", \"z\"]}]\n"
    "} */\n"
    "void scaled_add(long begin, long end, const float *restrict x, const float *restrict y, float *restrict "
    "z)\n"
    "{\n"
    "    long i = begin;\n"
    "\n"
    "    for (; i + STEP <= end; i += STEP) {\n"
    "#pragma GCC ivdep\n"
    "        for (long k = 0; k < STEP; k++) {\n"
    "            z[i + k] = 2.0f * x[i + k] + y[i + k];\n"
    "        }\n"
    "    }\n"
    "    for (; i < end; i++) {\n"
    "        z[i] = 2.0f * x[i] + y[i];\n"
    "    }\n"
    "}\n";

static int write_file(const char *dir, const char *name, const char *text, struct atoll_err *err)
{
    char path[4096];
    size_t length = strlen(text);
    int fd, failed;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot make %s", path);
    failed = write(fd, text, length) != (ssize_t)length;
    failed |= close(fd) != 0;
    return failed ? atoll_err_errno(err, errno, "cannot write %s", path) : 0;
}

static int check_name(const char *name, struct atoll_err *err)
{
    size_t length = strlen(name);
    int good = length > 0 && length <= 63 && islower((unsigned char)name[0]);

    for (size_t i = 0; good && i < length; i++)
        good = islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]) || name[i] == '_';
    return good
               ? 0
               : atoll_err_set(
                     err, ATOLL_E_USAGE,
                     "'%s' is no task name; use lower-case letters, digits and _, a letter first, at most 63",
                     name);
}

static int write_skeleton(const char *dir, const char *name, struct atoll_err *err)
{
    char yaml[6144], seeds[4096];

    snprintf(yaml, sizeof(yaml), task_yaml, name);
    snprintf(seeds, sizeof(seeds), "%s/seeds", dir);
    if (atoll_folder_make_parents(dir, err) != 0)
        return -1;
    if (mkdir(dir, 0755) != 0)
        return atoll_err_errno(err, errno, "cannot make %s; name a folder that is not there", dir);
    if (mkdir(seeds, 0755) != 0)
        return atoll_err_errno(err, errno, "cannot make %s", seeds);
    if (write_file(dir, "reference.c", reference_c, err) != 0 ||
        write_file(seeds, "naive.c", naive_c, err) != 0 ||
        write_file(seeds, "unrolled.c", unrolled_c, err) != 0) {
        return -1;
    }
    return write_file(dir, "task.yaml", yaml, err);
}

static int run_new(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const char *slash;
    char dir[3072];

    if (strlen(arguments[0]) >= sizeof(dir))
        return atoll_err_set(err, ATOLL_E_USAGE, "atoll task new: the name of the folder is too long");
    memcpy(dir, arguments[0], strlen(arguments[0]) + 1);
    for (size_t length = strlen(dir); length > 1 && dir[length - 1] == '/'; length--)
        dir[length - 1] = '\0';
    slash = strrchr(dir, '/');
    if (check_name(slash ? slash + 1 : dir, err) != 0 ||
        write_skeleton(dir, slash ? slash + 1 : dir, err) != 0) {
        return -1;
    }
    atoll_print(stdout, "%s is there; next: atoll task check %s\n", dir, dir);
    return 0;
}

const struct atoll_subcommand atoll_command_task_new = {
    .command = &new_command,
    .settings_bytes = sizeof(struct new_settings),
    .least = 1,
    .most = 1,
    .missing = "name the new folder, for example my-suite/scaled_add",
    .run = run_new};
