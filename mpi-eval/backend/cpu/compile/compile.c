#include "mpi-eval/backend/cpu/compile/compile.h"

#include <stddef.h>

#include "core/rules/rules.h"
#include "mpi-eval/backend/compile/compiler_driver.h"
#include "mpi-eval/backend/cpu/compile/assembly.h"
#include "mpi-eval/backend/cpu/compile/object.h"
#include "mpi-eval/backend/cpu/compile/vector_headers.h"

/* Compile, link with libm, pass the object check. */
static int check_object(const void *object, size_t length, struct atoll_err *err)
{
    static const char *const symbols[] = {"atoll_probe"};
    return atoll_object_check(object, length, 0, symbols, 1, err);
}

static int judge(const char *preprocessed, struct atoll_err *err)
{
    static const struct atoll_rules_unit unit = {ATOLL_CC_CANDIDATE, "candidate", ATOLL_CC_HARNESS};
    return atoll_rules_check_preprocessed("c", preprocessed, &unit, err);
}

/* For models that compile before they answer. */
static void look(const char *assembly, char ret_report[ATOLL_COMPILE_REPORT_BYTES])
{
    atoll_assembly_hot_loop(assembly, ret_report, ATOLL_COMPILE_REPORT_BYTES);
}

/* No start files: they bring constructors.  -z defs: what is not there is a compile error.  -save-temps leaves the
 * preprocessed text that was compiled, and the assembler text.  Assertions are not compiled: they would import a function that aborts.
 * Nothing takes a function's place at load time, so that gcc may inline one that is not static: the reference into its loop
 * (docs/benchmarks/2026-11-24-first-minutes.md), helpers of a candidate. */
static const char *const cc_flags[] = {
    "-shared",
    "-fPIC",
    "-fno-semantic-interposition",
    "-nostartfiles",
    "-save-temps=cwd",
    "-DNDEBUG",
    "-w",
    "-fmax-errors=5",
    "-fdiagnostics-color=never",
    "-frandom-seed=atoll",
    "-Wl,-z,now",
    "-Wl,-z,relro",
    "-Wl,-z,noexecstack",
    "-Wl,-z,defs",
    "-Wl,-Bsymbolic-functions", /* a function is its own, whatever the C library calls by that name */
    "-Wl,--build-id=none",
    "-Wl,--hash-style=gnu",
    "-Wl,-s",
    NULL,
};
static const char *const cc_tail[] = {"-lm", NULL};
static const struct atoll_compiler_style cc_style = {
    .headers = atoll_vector_headers,
    .flags = cc_flags,
    .tail = cc_tail,
    .suffix = ".c",
    .object_name = "object.so",
    .probe_name = "probe.c",
    .probe_text = "#include <math.h>\n"
                  "void atoll_probe(double *x, long n) { for (long i = 0; i < n; i++) x[i] = exp(x[i]); }\n",
    .check = check_object,
    .judged_name = ATOLL_CC_CANDIDATE,
    .judge = judge,
    .look = look,
    .kind = "shared object",
    .remedy = "Debian: apt install gcc libc6-dev",
};

struct atoll_compiler *atoll_cc_create(const struct atoll_compiler_settings *settings, struct atoll_err *err)
{
    return atoll_compiler_driver_create(&cc_style, settings, err);
}
