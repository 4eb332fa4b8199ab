#include "mpi-eval/backend/cuda/compile/compile_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_option(struct atoll_compile_options *o, const char *prefix, const char *text, size_t length,
                      struct atoll_err *err)
{
    char *option = NULL;
    if (o->count == ATOLL_COMPILE_OPTION_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d compiler options", ATOLL_COMPILE_OPTION_LIMIT);
    if (asprintf(&option, "%s%.*s", prefix, (int)length, text) < 0)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for compiler options");
    o->texts[o->count++] = option;
    return 0;
}

/* Options that change the code and name no file. */
static int flag_allowed(const char *flag, size_t length)
{
    static const struct {
        const char *text;
        int whole;
    } allowed[] = {
        {"--std=", 0},
        {"-std=", 0},
        {"--use_fast_math", 1},
        {"-use_fast_math", 1},
        {"--fmad=", 0},
        {"-fmad=", 0},
        {"--ftz=", 0},
        {"-ftz=", 0},
        {"--prec-div=", 0},
        {"-prec-div=", 0},
        {"--prec-sqrt=", 0},
        {"-prec-sqrt=", 0},
        {"--maxrregcount=", 0},
        {"-maxrregcount=", 0},
        {"--restrict", 1},
        {"-restrict", 1},
        {"-D", 0},
        {"-U", 0},
        {"--diag-suppress=", 0},
        {"-diag-suppress=", 0},
        {"--device-int128", 1},
        {"-device-int128", 1},
        {"--ptxas-options=-O", 0},
        {"-Xptxas=-O", 0},
        {"--split-compile=", 0},
        {"-split-compile=", 0},
        {"--extra-device-vectorization", 1},
    };
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        size_t known = strlen(allowed[i].text);
        if (length >= known && strncmp(flag, allowed[i].text, known) == 0 &&
            (!allowed[i].whole || length == known))
            return 1;
    }
    return 0;
}

static int add_flags(struct atoll_compile_options *o, const char *flags, struct atoll_err *err)
{
    for (const char *at = flags ? flags : ""; *at;) {
        size_t blank = strspn(at, " \t\n"), length = strcspn(at + blank, " \t\n");
        const char *flag = at + blank;
        if (length > 0 && !flag_allowed(flag, length))
            return atoll_err_set(
                err, ATOLL_E_INPUT,
                "the compiler flag %.*s is not one that NVRTC may be given; use options on precision, "
                "language, macros or registers",
                (int)(length < 200 ? length : 200), flag);
        if (length > 0 && add_option(o, "", flag, length, err) != 0)
            return -1;
        at += blank + length;
    }
    return 0;
}

int atoll_compile_options_init(struct atoll_compile_options *o,
                               const struct atoll_compiler_settings *settings,
                               const struct atoll_toolkit *toolkit, struct atoll_err *err)
{
    const char *flags = settings->flags ? settings->flags : "";
    o->count = 0;
    if (add_option(o, "--gpu-architecture=", settings->target, strlen(settings->target), err) != 0 ||
        add_option(o, "", "--ptxas-options=-v", 18, err) != 0 ||
        (!strstr(flags, "-std=") && add_option(o, "", "--std=c++17", 11, err) != 0))
        return -1;
    for (size_t i = 0; i < toolkit->include_count; i++) {
        if (add_option(o, "-I", toolkit->includes[i], strlen(toolkit->includes[i]), err) != 0)
            return -1;
    }
    return add_flags(o, flags, err);
}

void atoll_compile_options_fini(struct atoll_compile_options *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->texts[i]);
    o->count = 0;
}
