#include "mpi-eval/backend/cuda/compile/toolkit.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define INCLUDE_LIMIT 32

static int starts(const char *line, size_t length, const char *words)
{
    size_t n = strlen(words);
    return length >= n && memcmp(line, words, n) == 0;
}

static int has(const char *line, size_t length, const char *words)
{
    return memmem(line, length, words, strlen(words)) != NULL;
}

/* "ptxas info    : Used 8 registers", "ptxas         .     0 bytes stack frame", "ptxas warning : ...", and from nvcc
 * also "    0 bytes stack frame" under such a line.  A candidate's lines start with its name or two blanks. */
static int is_report(const char *line, size_t length, int after_report)
{
    if (starts(line, length, "ptxas info") || starts(line, length, "ptxas warning") ||
        starts(line, length, "ptxas   "))
        return 1;
    return after_report && length > 4 && starts(line, length, "    ") && isdigit((unsigned char)line[4]) &&
           has(line, length, " bytes stack frame");
}

void atoll_compile_report_split(char *output, char ret_report[ATOLL_COMPILE_REPORT_BYTES])
{
    size_t kept = 0, reported = 0;
    int after_report = 0;
    for (size_t at = 0; output[at];) {
        size_t length = strcspn(output + at, "\n");
        size_t with_end = length + (output[at + length] == '\n');
        after_report = is_report(output + at, length, after_report);
        if (!after_report) {
            memmove(output + kept, output + at, with_end);
            kept += with_end;
        } else if (!has(output + at, length, "Compile time =") &&
                   reported + length + 2 <= ATOLL_COMPILE_REPORT_BYTES) {
            memcpy(ret_report + reported, output + at, length);
            reported += length;
            ret_report[reported++] = '\n';
        }
        at += with_end;
    }
    output[kept] = '\0';
    ret_report[reported] = '\0';
}

static int check_cubin(const void *object, size_t length, struct atoll_err *err)
{
    if (length >= 4 && memcmp(object, "\177ELF", 4) == 0)
        return 0;
    return atoll_err_set(err, ATOLL_E_CHILD, "what it makes is no cubin");
}

struct atoll_compiler *atoll_nvcc_create(const char *path, const struct atoll_compiler_settings *settings,
                                         char *const *includes, size_t include_count, struct atoll_err *err)
{
    static const char *const flags[] = {"-cubin", "-std=c++17", "-Xptxas=-v", "-w", NULL};
    static const char *const none[] = {NULL};
    const char *folders[INCLUDE_LIMIT + 2] = {NULL};
    char root[PATH_MAX];
    struct atoll_buffer all;
    size_t count = 0;
    /* The toolkit that nvcc belongs to: the folder above bin. */
    char resolved[PATH_MAX];
    snprintf(root, (sizeof(root)), "%s", realpath(path, resolved) ? resolved : path);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(root, '/');
        if (slash && slash != root)
            *slash = '\0';
    }
    folders[count++] = root;
    atoll_buffer_init(&all, (size_t)64 << 10);
    atoll_buffer_printf(&all, "-arch=%s", settings->target);
    for (size_t i = 0; i < include_count && i < INCLUDE_LIMIT; i++) {
        folders[count++] = includes[i];
        atoll_buffer_printf(&all, " -I%s", includes[i]);
    }
    atoll_buffer_printf(&all, " %s", settings->flags ? settings->flags : "");
    const struct atoll_compiler_style style = {
        .flags = flags,
        .tail = none,
        .suffix = ".cu",
        .object_name = "object.cubin",
        .folders = folders,
        .report = atoll_compile_report_split,
        .probe_name = "probe.cu",
        .probe_text = "extern \"C\" __global__ void probe(float *x) { x[threadIdx.x] *= 2; }\n",
        .check = check_cubin,
        .kind = "cubin",
        .remedy = "load the module of a complete CUDA toolkit",
    };
    struct atoll_compiler_settings own = *settings;
    struct atoll_compiler *compiler = NULL;
    atoll_buffer_put_u8(&all, 0);
    own.command = path;
    own.flags = (const char *)all.data;
    if (atoll_buffer_check(&all, err) == 0)
        compiler = atoll_compiler_driver_create(&style, &own, err);
    atoll_buffer_fini(&all);
    return compiler;
}
