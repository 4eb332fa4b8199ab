/* compilers.c - units wait until everything is queued.  Then those of Triton begin, whose process takes a while to stand, and beside
 * them the longest, so that none of these is left alone at the end; no compiler has more at once than the machine has cores, all
 * together twice as many. */
#include "scheduler/knowledge/compilers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "core/rules/rules.h"
#include "mpi-eval/backend/compile/compiler_driver.h"
#include "mpi-eval/backend/compile/toolchain.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cpu/compile/object.h"
#include "mpi-eval/backend/cuda/compile/compile.h"
#include "mpi-eval/backend/cuda/compile/compile_cache.h"
#include "mpi-eval/backend/cuda/triton/triton.h"
#include "mpi-eval/coordinator/setup.h"

#define DEADLINE_NS  120e9
#define MEMORY_BYTES ((uint64_t)16 << 30)
#define OUTPUT_BYTES ((uint64_t)64 << 20)
#define FD_LIMIT     256
#define LOOK_MS      20
#define BREATH_NS    1000000 /* between two looks */
#define SLOTS_MOST   64
#define LIMIT        48 /* compilers */
#define KEY_BYTES    ((size_t)2 << 20)
#define DRIVERS      2 /* cc, clang */
#define AT_ONCE      2 /* units for each core, of all compilers together */
/* Whether it compiles shows with less work than candidates are given, to whom speed matters. */
#define LESS_WORK "-O1"
/* The same for NVRTC: a third less.  More than "mid" saves no more and changes what is said of some wrong code. */
#define LESS_WORK_CUDA "--Ofast-compile=mid"

static const char *const kind_names[ATOLL_CHECK_COMPILER_KIND_COUNT] = {
    "cc", "clang", "clang for another processor", "clang for OpenCL", "NVRTC", "Triton"};

const char *atoll_check_compiler_name(enum atoll_check_compiler_kind kind)
{
    return (unsigned)kind < ATOLL_CHECK_COMPILER_KIND_COUNT ? kind_names[kind] : "unknown";
}

/* ---- clang beside cc, which has judged rules and object of the same text, and clang for what this machine cannot run: one process
 * each, to an object that is linked to nothing ---- */

static int any_object(const void *object, size_t length, struct atoll_err *err)
{
    (void)object;
    return length > 0 ? 0 : atoll_err_set(err, ATOLL_E_MISSING, "an empty object");
}

static const char *const none[] = {NULL};
static const char *const cross_flags[] = {"-c", "-O1", "-w", "-fdiagnostics-color=never", NULL};
static const char *const opencl_flags[] = {
    "-c", "-O1",           "-w",      "-fdiagnostics-color=never", "-x",
    "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header",  "-emit-llvm",
    NULL};
static const char *const clang_flags[] = {"-c", "-fPIC", "-w", "-fdiagnostics-color=never", NULL};
static const struct atoll_compiler_style clang_style = {
    .flags = clang_flags,
    .tail = none,
    .suffix = ".c",
    .object_name = "object.o",
    .probe_name = "probe.c",
    .probe_text = "void atoll_probe(double *x) { *x = 1; }\n",
    .check = any_object,
    .kind = "object",
    .remedy = "Debian: apt install clang",
};
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

/* A unit that waits, is on its way, or whose verdict is known. */
struct unit {
    uint64_t number;
    struct atoll_check_compiler *compiler;
    struct atoll_id key; /* zero: its verdict is not kept */
    int may_be_mutable, is_known, is_kept;
    char *name, *text; /* owned, until it is on its way */
    size_t length;
    enum atoll_compile_status status; /* once it is known */
    char *said;                       /* owned */
};

struct atoll_check_compiler {
    enum atoll_check_compiler_kind kind;
    char flags[ATOLL_CHECK_FLAG_BYTES];
    char version[256];                  /* "": not known, so nothing is kept */
    struct atoll_compiler *compiler;    /* NULL: not needed yet, or there is none */
    char trouble[ATOLL_ERR_TEXT_BYTES]; /* why there is none */
    size_t pending, at_work;            /* units without a verdict, and those of them that are on their way */
};

struct atoll_check_compilers {
    const char *python;
    unsigned slots;                    /* of each */
    struct atoll_compile_cache *cache; /* NULL: none */
    char drivers[DRIVERS][256];        /* versions; "": not looked for yet */
    size_t count;
    struct atoll_check_compiler compilers[LIMIT];
    struct unit *units;
    uint32_t unit_count, unit_capacity;
};

struct atoll_check_compilers *atoll_check_compilers_create(const char *python, int cache,
                                                           struct atoll_err *err)
{
    struct atoll_check_compilers *all = calloc(1, sizeof(*all));
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!all) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compilers of a check");
        return NULL;
    }
    all->python = python;
    all->slots = cores < 1 ? 1 : cores > SLOTS_MOST ? SLOTS_MOST : (unsigned)cores;
    if (cache)
        all->cache = atoll_compile_cache_create(NULL, ATOLL_COMPILE_CACHE_BYTES, NULL);
    return all;
}

static void unit_fini(struct unit *unit)
{
    free(unit->name);
    free(unit->text);
    free(unit->said);
}

void atoll_check_compilers_destroy(struct atoll_check_compilers *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++)
        atoll_compiler_destroy(all->compilers[i].compiler);
    for (uint32_t i = 0; i < all->unit_count; i++)
        unit_fini(&all->units[i]);
    atoll_compile_cache_destroy(all->cache);
    free(all->units);
    free(all);
}

static struct atoll_compiler *make(const struct atoll_check_compilers *all,
                                   const struct atoll_check_compiler *one, struct atoll_err *err)
{
    char flags[ATOLL_CHECK_FLAG_BYTES + sizeof(ATOLL_SETUP_COMPILE_FLAGS) + sizeof(LESS_WORK) + 1];
    struct atoll_compiler_settings settings = {.command = one->kind == ATOLL_CHECK_CC ? "cc" : "clang",
                                               .flags = one->flags,
                                               .slots = all->slots,
                                               .deadline_ns = DEADLINE_NS,
                                               .memory_bytes = MEMORY_BYTES,
                                               .output_bytes = OUTPUT_BYTES};
    switch (one->kind) {
    case ATOLL_CHECK_CC:
    case ATOLL_CHECK_CLANG: /* a later -march= overrides the machine's own */
        snprintf(flags, sizeof(flags), "%s %s %s", ATOLL_SETUP_COMPILE_FLAGS, LESS_WORK, one->flags);
        settings.flags = flags;
        return one->kind == ATOLL_CHECK_CC ? atoll_cc_create(&settings, err)
                                           : atoll_compiler_driver_create(&clang_style, &settings, err);
    case ATOLL_CHECK_CROSS: return atoll_compiler_driver_create(&cross_style, &settings, err);
    case ATOLL_CHECK_OPENCL: return atoll_compiler_driver_create(&opencl_style, &settings, err);
    default: break;
    }
    settings.command = "nvrtc";
    settings.flags = one->kind == ATOLL_CHECK_CUDA ? LESS_WORK_CUDA : "";
    settings.target = one->flags;
    const struct atoll_nvrtc_settings cuda = {.compiler = settings, .cache = all->cache ? NULL : ""};
    const struct atoll_triton_settings triton = {.compiler = settings, .python = all->python};
    return one->kind == ATOLL_CHECK_CUDA ? atoll_nvrtc_create(&cuda, err) : atoll_triton_create(&triton, err);
}

static void make_now(const struct atoll_check_compilers *all, struct atoll_check_compiler *one)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    if (one->compiler || one->trouble[0])
        return;
    one->compiler = make(all, one, &why);
    if (!one->compiler)
        snprintf(one->trouble, sizeof(one->trouble), "%s", why.text);
}

/* Without making it, where that costs a trial.  Triton keeps what it compiled itself. */
static void find_version(struct atoll_check_compilers *all, struct atoll_check_compiler *one)
{
    struct atoll_toolchain toolchain;
    char *driver = all->drivers[one->kind != ATOLL_CHECK_CC];
    if (one->kind == ATOLL_CHECK_TRITON)
        return;
    if (one->kind == ATOLL_CHECK_CUDA) {
        make_now(all, one);
        if (one->compiler)
            snprintf(one->version, sizeof(one->version), "%s", atoll_compiler_version(one->compiler));
        return;
    }
    if (!driver[0] &&
        atoll_toolchain_init(&toolchain, one->kind == ATOLL_CHECK_CC ? "cc" : "clang", NULL) == 0) {
        snprintf(driver, sizeof(all->drivers[0]), "%s", toolchain.version);
        atoll_toolchain_fini(&toolchain);
    }
    snprintf(one->version, sizeof(one->version), "%s", driver);
}

struct atoll_check_compiler *atoll_check_compilers_get(struct atoll_check_compilers *all,
                                                       enum atoll_check_compiler_kind kind, const char *flags,
                                                       struct atoll_err *err)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->compilers[i].kind == kind && strcmp(all->compilers[i].flags, flags) == 0)
            return &all->compilers[i];
    if (all->count == LIMIT || strlen(flags) >= ATOLL_CHECK_FLAG_BYTES) {
        atoll_err_set(err, ATOLL_E_LIMIT,
                      "code of knowledge for more than %d targets, or flags that are too long", LIMIT);
        return NULL;
    }
    struct atoll_check_compiler *one = &all->compilers[all->count++];
    one->kind = kind;
    snprintf(one->flags, sizeof(one->flags), "%s", flags);
    if (all->cache)
        find_version(all, one);
    return one;
}

/* ---- verdicts that are kept ---- */

/* What is judged changes with the rows of the static rules. */
static void find_key(const struct atoll_check_compilers *all, const struct atoll_check_compiler *one,
                     const struct atoll_check_unit *unit, struct atoll_id *ret_key)
{
    struct atoll_buffer b;
    const char *const *own = one->kind == ATOLL_CHECK_CLANG    ? clang_flags
                             : one->kind == ATOLL_CHECK_CROSS  ? cross_flags
                             : one->kind == ATOLL_CHECK_OPENCL ? opencl_flags
                                                               : NULL;
    memset(ret_key, 0, sizeof(*ret_key));
    if (!all->cache || !one->version[0])
        return;
    atoll_buffer_init(&b, KEY_BYTES);
    atoll_buffer_put_text(&b, "knowledge check 4");
    atoll_buffer_put_u32(&b, one->kind);
    atoll_buffer_put_text(&b, one->version);
    atoll_buffer_put_text(&b, ATOLL_SETUP_COMPILE_FLAGS);
    atoll_buffer_put_text(&b, one->flags);
    for (size_t i = 0; own && own[i]; i++)
        atoll_buffer_put_text(&b, own[i]);
    for (unsigned i = 0; i < atoll_rules_count(unit->language); i++) {
        atoll_buffer_put_text(&b, atoll_rules_id(unit->language, i));
        atoll_buffer_put_text(&b, atoll_rules_why(unit->language, i));
    }
    atoll_buffer_put_u32(&b, (uint32_t)unit->may_be_mutable);
    atoll_buffer_put_text(&b, unit->expected);
    atoll_buffer_put_text(&b, unit->name);
    atoll_buffer_put_blob(&b, unit->text, unit->length);
    if (!b.failed)
        *ret_key = atoll_id_of(b.data, b.length);
    atoll_buffer_fini(&b);
}

static int take_kept(const struct atoll_check_compilers *all, struct unit *unit)
{
    void *object = NULL;
    size_t length = 0;
    if (atoll_id_is_zero(&unit->key) ||
        !atoll_compile_cache_get(all->cache, &unit->key, &object, &length, &unit->said)) {
        return 0;
    }
    unit->is_known = unit->is_kept = length == 1;
    unit->status =
        unit->is_known ? (enum atoll_compile_status) * (const unsigned char *)object : ATOLL_COMPILE_OK;
    free(object);
    return unit->is_known;
}

static void keep(const struct atoll_check_compilers *all, const struct unit *unit)
{
    unsigned char status = (unsigned char)unit->status;
    int is_lasting = unit->status == ATOLL_COMPILE_OK || unit->status == ATOLL_COMPILE_ERROR ||
                     unit->status == ATOLL_COMPILE_FORBIDDEN || unit->status == ATOLL_COMPILE_PLAN;
    if (is_lasting && !unit->is_kept && !atoll_id_is_zero(&unit->key))
        atoll_compile_cache_put(all->cache, &unit->key, &status, 1, unit->said ? unit->said : "");
}

/* ---- units ---- */

int atoll_check_compilers_submit(struct atoll_check_compilers *all, struct atoll_check_compiler *one,
                                 const struct atoll_check_unit *given, struct atoll_err *err)
{
    if (atoll_array_reserve(&all->units, &all->unit_capacity, all->unit_count + 1, sizeof(*all->units),
                            err) != 0) {
        return -1;
    }
    struct unit *unit = &all->units[all->unit_count];
    *unit = (struct unit){.number = given->number, .compiler = one, .may_be_mutable = given->may_be_mutable};
    find_key(all, one, given, &unit->key);
    all->unit_count++;
    if (take_kept(all, unit))
        return 0;
    unit->name = strdup(given->name);
    unit->text = malloc(given->length + 1);
    unit->length = given->length;
    if (!unit->name || !unit->text)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for code of knowledge");
    memcpy(unit->text, given->text, given->length);
    unit->text[given->length] = '\0';
    one->pending++;
    return 0;
}

/* Cooperative groups bring the C++ library's traits, 0.7 s of a compilation of 0.05 s, which nothing of the first header's own
 * functions needs (cooperative_groups/details/info.h). */
static size_t find_defines(const struct unit *unit, const char *ret_defines[1])
{
    ret_defines[0] = "_CG_LIMIT_INCLUDED_DEPENDENCIES=1";
    return unit->compiler->kind == ATOLL_CHECK_CUDA && strstr(unit->text, "<cooperative_groups.h>") &&
           !strstr(unit->text, "cooperative_groups/") && !strstr(unit->text, "<cuda/");
}

/* It goes to its compiler; where there is none its verdict is known. */
static void send(struct atoll_check_compilers *all, struct unit *unit)
{
    struct atoll_check_compiler *one = unit->compiler;
    struct atoll_err why = ATOLL_ERR_INIT;
    const char *defines[1];
    size_t define_count = find_defines(unit, defines);
    make_now(all, one);
    int is_sent =
        one->compiler && atoll_compiler_submit(one->compiler, (uint64_t)(unit - all->units), unit->name,
                                               unit->text, unit->length, defines, define_count, &why) == 0;
    free(unit->name);
    free(unit->text);
    unit->name = unit->text = NULL;
    if (is_sent) {
        one->at_work++;
        return;
    }
    one->pending--;
    unit->is_known = 1;
    unit->status = ATOLL_COMPILE_BROKEN;
    unit->said = strdup(one->compiler ? why.text : one->trouble);
}

static void conclude(struct unit *unit, const struct atoll_compiled *compiled)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    int is_refused = compiled->status == ATOLL_COMPILE_OK && unit->compiler->kind == ATOLL_CHECK_CC &&
                     atoll_object_check(compiled->object, compiled->object_length, unit->may_be_mutable, NULL,
                                        0, &why) != 0;
    unit->is_known = 1;
    unit->status = is_refused ? ATOLL_COMPILE_FORBIDDEN : compiled->status;
    unit->said = strdup(is_refused ? why.text : compiled->diagnostics ? compiled->diagnostics : "");
}

/* What is done of one; how many. */
static size_t collect(struct atoll_check_compilers *all, struct atoll_check_compiler *one)
{
    struct atoll_compiled compiled;
    size_t count = 0;
    while (one->at_work > 0 && atoll_compiler_collect(one->compiler, &compiled) == 1) {
        if (compiled.job < all->unit_count)
            conclude(&all->units[compiled.job], &compiled);
        atoll_compiled_fini(&compiled);
        one->pending--;
        one->at_work--;
        count++;
    }
    return count;
}

/* Triton's first, then the longest. */
static int compare_units(const void *a, const void *b)
{
    const struct unit *x = *(struct unit *const *)a, *y = *(struct unit *const *)b;
    int is_x = x->compiler->kind == ATOLL_CHECK_TRITON, is_y = y->compiler->kind == ATOLL_CHECK_TRITON;
    if (is_x != is_y)
        return is_y - is_x;
    if (x->length != y->length)
        return x->length < y->length ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* Sends what may go now of those that wait; how many wait still. */
static uint32_t send_some(struct atoll_check_compilers *all, struct unit **waiting, uint32_t count)
{
    uint32_t left = 0;
    size_t at_work = 0;
    for (size_t i = 0; i < all->count; i++)
        at_work += all->compilers[i].at_work;
    for (uint32_t i = 0; i < count; i++) {
        struct atoll_check_compiler *one = waiting[i]->compiler;
        if (at_work >= (size_t)AT_ONCE * all->slots || one->at_work >= all->slots) {
            waiting[left++] = waiting[i];
            continue;
        }
        size_t before = one->at_work;
        send(all, waiting[i]);
        at_work += one->at_work - before;
    }
    return left;
}

/* Until every unit has a verdict. */
static void work(struct atoll_check_compilers *all, struct unit **waiting, uint32_t count)
{
    static const struct timespec breath = {0, BREATH_NS};
    for (size_t pending = 1; pending > 0;) {
        struct pollfd fds[FD_LIMIT];
        size_t fd_count = 0, collected = 0;
        count = send_some(all, waiting, count);
        pending = 0;
        for (size_t i = 0; i < all->count; i++) {
            struct atoll_check_compiler *one = &all->compilers[i];
            collected += one->at_work ? collect(all, one) : 0;
            pending += one->pending;
            if (one->at_work)
                fd_count += atoll_compiler_pollfds(one->compiler, fds + fd_count, FD_LIMIT - fd_count);
        }
        /* An output that ends before its process does stays ready. */
        if (pending > 0 && collected == 0 && poll(fds, (nfds_t)fd_count, LOOK_MS) > 0)
            nanosleep(&breath, NULL);
    }
}

int atoll_check_compilers_finish(struct atoll_check_compilers *all,
                                 int (*done)(void *context, const struct atoll_check_verdict *verdict),
                                 void *context, struct atoll_err *err)
{
    struct unit **waiting = calloc((size_t)all->unit_count + 1, sizeof(struct unit *));
    uint32_t count = 0;
    if (!waiting)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for code of knowledge");
    for (uint32_t i = 0; i < all->unit_count; i++)
        if (!all->units[i].is_known)
            waiting[count++] = &all->units[i];
    qsort(waiting, count, sizeof(*waiting), compare_units);
    work(all, waiting, count);
    free(waiting);
    for (uint32_t i = 0; i < all->unit_count; i++) {
        const struct unit *unit = &all->units[i];
        const struct atoll_check_verdict verdict = {unit->number, unit->status, unit->said ? unit->said : ""};
        if (done(context, &verdict))
            keep(all, unit);
    }
    return 0;
}
