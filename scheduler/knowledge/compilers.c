#include "scheduler/knowledge/compilers.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mpi-eval/backend/compile/compiler_driver.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cuda/compile/compile.h"
#include "mpi-eval/backend/cuda/triton/triton.h"
#include "mpi-eval/coordinator/setup.h"

#define DEADLINE_NS  120e9
#define MEMORY_BYTES ((uint64_t)16 << 30)
#define OUTPUT_BYTES ((uint64_t)64 << 20)
#define FD_LIMIT     256
#define LOOK_MS      20
#define SLOTS_MOST   64

static const char *const kind_names[ATOLL_CHECK_COMPILER_KIND_COUNT] = {
    "cc", "clang", "clang for another processor", "clang for OpenCL", "NVRTC", "Triton"};

const char *atoll_check_compiler_name(enum atoll_check_compiler_kind kind)
{
    return (unsigned)kind < ATOLL_CHECK_COMPILER_KIND_COUNT ? kind_names[kind] : "unknown";
}

/* ---- clang for what this machine cannot run: compiled to an object, linked to nothing ---- */

static int any_object(const void *object, size_t length, struct atoll_err *err)
{
    (void)object;
    return length > 0 ? 0 : atoll_err_set(err, ATOLL_E_MISSING, "an empty object");
}

static const char *const none[] = {NULL};
static const char *const cross_flags[] = {"-c", "-O1", "-w", "-fdiagnostics-color=never", NULL};
static const char *const opencl_flags[] = {
    "-c", "-O1",           "-w",      "-fdiagnostics-color=never", "-x",
    "cl", "-cl-std=CL3.0", "-Xclang", "-finclude-default-header",  "-emit-llvm",
    NULL};
static const struct atoll_compiler_style cross_style = {
    .flags = cross_flags,
    .tail = none,
    .suffix = ".c",
    .object_name = "object.o",
    .probe_name = "probe.c",
    .probe_text = "void atoll_probe(double *x) { *x = 1; }\n",
    .check = any_object,
    .kind = "object for another processor",
    .remedy = "Debian: apt install clang",
};
static const struct atoll_compiler_style opencl_style = {
    .flags = opencl_flags,
    .tail = none,
    .suffix = ".cl",
    .object_name = "object.bc",
    .probe_name = "probe.cl",
    .probe_text = "kernel void atoll_probe(global float *x) { *x = 1; }\n",
    .check = any_object,
    .kind = "OpenCL object",
    .remedy = "Debian: apt install clang",
};

/* ---- all of them ---- */

static struct atoll_compiler *make(const struct atoll_check_compilers *all,
                                   const struct atoll_check_compiler *one, struct atoll_err *err)
{
    char flags[ATOLL_CHECK_FLAG_BYTES + sizeof(ATOLL_SETUP_COMPILE_FLAGS) + 1];
    struct atoll_compiler_settings settings = {.command = "clang",
                                               .flags = one->flags,
                                               .slots = all->slots,
                                               .deadline_ns = DEADLINE_NS,
                                               .memory_bytes = MEMORY_BYTES,
                                               .output_bytes = OUTPUT_BYTES};
    int is_host = one->kind == ATOLL_CHECK_CC || one->kind == ATOLL_CHECK_CLANG;
    if (is_host) { /* a later -march= overrides the machine's own */
        snprintf(flags, sizeof(flags), "%s %s", ATOLL_SETUP_COMPILE_FLAGS, one->flags);
        settings.flags = flags;
        settings.command = one->kind == ATOLL_CHECK_CC ? "cc" : "clang";
        return atoll_cc_create(&settings, err);
    }
    if (one->kind == ATOLL_CHECK_CROSS)
        return atoll_compiler_driver_create(&cross_style, &settings, err);
    if (one->kind == ATOLL_CHECK_OPENCL)
        return atoll_compiler_driver_create(&opencl_style, &settings, err);
    settings.command = "nvrtc";
    settings.flags = "";
    settings.target = one->flags;
    const struct atoll_nvrtc_settings cuda = {.compiler = settings};
    const struct atoll_triton_settings triton = {.compiler = settings, .python = all->python};
    return one->kind == ATOLL_CHECK_CUDA ? atoll_nvrtc_create(&cuda, err) : atoll_triton_create(&triton, err);
}

void atoll_check_compilers_init(struct atoll_check_compilers *compilers, const char *python)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    memset(compilers, 0, sizeof(*compilers));
    compilers->python = python;
    compilers->slots = cores < 1 ? 1 : cores > SLOTS_MOST ? SLOTS_MOST : (unsigned)cores;
}

void atoll_check_compilers_fini(struct atoll_check_compilers *compilers)
{
    for (size_t i = 0; i < compilers->count; i++)
        atoll_compiler_destroy(compilers->compilers[i].compiler);
}

struct atoll_check_compiler *atoll_check_compilers_get(struct atoll_check_compilers *all,
                                                       enum atoll_check_compiler_kind kind, const char *flags,
                                                       struct atoll_err *err)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->compilers[i].kind == kind && strcmp(all->compilers[i].flags, flags) == 0)
            return &all->compilers[i];
    struct atoll_check_compiler *one = &all->compilers[all->count];
    struct atoll_err why = ATOLL_ERR_INIT;
    if (all->count == ATOLL_CHECK_COMPILER_LIMIT || strlen(flags) >= sizeof(one->flags)) {
        atoll_err_set(err, ATOLL_E_LIMIT,
                      "code of knowledge for more than %d targets, or flags that are too long",
                      ATOLL_CHECK_COMPILER_LIMIT);
        return NULL;
    }
    all->count++;
    one->kind = kind;
    snprintf(one->flags, sizeof(one->flags), "%s", flags);
    one->compiler = make(all, one, &why);
    if (!one->compiler)
        snprintf(one->trouble, sizeof(one->trouble), "%s", why.text);
    return one;
}

int atoll_check_compiler_submit(struct atoll_check_compiler *one, uint64_t number, const char *unit_name,
                                const char *text, size_t length, struct atoll_err *err)
{
    if (atoll_compiler_submit(one->compiler, number, unit_name, text, length, NULL, 0, err) != 0)
        return -1;
    one->pending++;
    return 0;
}

/* What is done of one; how many. */
static size_t collect(struct atoll_check_compiler *one,
                      void (*done)(void *context, const struct atoll_compiled *compiled), void *context)
{
    struct atoll_compiled compiled;
    size_t count = 0;
    while (one->pending > 0 && atoll_compiler_collect(one->compiler, &compiled) == 1) {
        done(context, &compiled);
        atoll_compiled_fini(&compiled);
        one->pending--;
        count++;
    }
    return count;
}

void atoll_check_compilers_finish(struct atoll_check_compilers *all,
                                  void (*done)(void *context, const struct atoll_compiled *compiled),
                                  void *context)
{
    for (size_t pending = 1; pending > 0;) {
        struct pollfd fds[FD_LIMIT];
        size_t count = 0, collected = 0;
        pending = 0;
        for (size_t i = 0; i < all->count; i++) {
            struct atoll_check_compiler *one = &all->compilers[i];
            collected += one->pending ? collect(one, done, context) : 0;
            pending += one->pending;
            if (one->pending)
                count += atoll_compiler_pollfds(one->compiler, fds + count, FD_LIMIT - count);
        }
        if (pending > 0 && collected == 0)
            poll(fds, (nfds_t)count, LOOK_MS);
    }
}
