/* Headers of another toolkit than NVRTC's own would compile half the time: the first folder that has them counts, and
 * those beside the library come first.  Layouts: a toolkit (lib64 or targets/<arch>/lib beside include), Python packages
 * (nvidia/cuda_nvrtc/lib beside nvidia/cuda_runtime/include; nvidia/cu13/lib beside nvidia/cu13/include). */
#include "mpi-eval/backend/cuda/compile/toolkit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/program.h"
#include "mpi-eval/backend/compile/toolchain.h"
#include "mpi-eval/backend/sandbox/spawn.h"

#define PROGRAM_NAME           "atoll-compile-cuda"
#define DESCRIPTION_BYTES      8192
#define DESCRIPTION_TIMEOUT_MS 60000 /* a parallel file system may take its time for 100 MB */

static int is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* ---- headers ---- */

/* 1: added, or there already. */
static int add_include(struct atoll_toolkit *t, const char *root, const char *below)
{
    char path[PATH_MAX], resolved[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s%s%s", root, below[0] ? "/" : "", below);
    if (n <= 0 || (size_t)n >= sizeof(path) || !realpath(path, resolved) || stat(resolved, &st) != 0 ||
        !S_ISDIR(st.st_mode))
        return 0;
    for (size_t i = 0; i < t->include_count; i++)
        if (strcmp(t->includes[i], resolved) == 0)
            return 1;
    if (t->include_count == ATOLL_TOOLKIT_FOLDER_LIMIT || !(t->includes[t->include_count] = strdup(resolved)))
        return 0;
    t->include_count++;
    return 1;
}

/* Adds root/below, with what lies beside or in it, where it has the toolkit's headers. */
static int add_headers(struct atoll_toolkit *t, const char *root, const char *below)
{
    char path[PATH_MAX], header[PATH_MAX];
    int n = snprintf(header, sizeof(header), "%s/%s/cuda_fp16.h", root, below);
    if (n <= 0 || (size_t)n >= sizeof(header) || access(header, R_OK) != 0)
        return 0;
    snprintf(path, sizeof(path), "%.*s", (int)(strrchr(header, '/') - header), header);
    if (!add_include(t, path, ""))
        return 0;
    add_include(t, path, "cccl");
    add_include(t, path, "../../cuda_cccl/include");
    t->toolkit_include_count = t->include_count;
    return 1;
}

void atoll_toolkit_find_headers(struct atoll_toolkit *t, const char *library_path)
{
    static const char *const beside[] = {"../include", "../../include", "../../cuda_runtime/include",
                                         "../../../include"};
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    const char *slash = strrchr(library_path, '/');
    char folder[PATH_MAX];
    int n = snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - library_path) : 0, library_path);
    for (size_t i = 0; n > 0 && i < sizeof(beside) / sizeof(beside[0]); i++)
        if (add_headers(t, folder, beside[i]))
            return;
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
        if (roots[i] && roots[i][0] == '/' && add_headers(t, roots[i], "include"))
            return;
}

static int add_user_folder(struct atoll_toolkit *t, const char *folder, struct atoll_err *err)
{
    if (!add_include(t, folder, ""))
        return atoll_err_set(err, ATOLL_E_INPUT, "include path: %s is no folder, or more than %d folders",
                             folder, ATOLL_TOOLKIT_FOLDER_LIMIT);
    add_include(t, folder, "include");
    add_include(t, folder, "tools/util/include");
    return 0;
}

int atoll_toolkit_add_folders(struct atoll_toolkit *t, const char *list, struct atoll_err *err)
{
    while (list && *list) {
        char folder[PATH_MAX];
        size_t length = strcspn(list, ":");
        int n = snprintf(folder, sizeof(folder), "%.*s", (int)length, list);
        if (length > 0 && (n <= 0 || (size_t)n >= sizeof(folder) || add_user_folder(t, folder, err) != 0))
            return err && err->code ? -1
                                    : atoll_err_set(err, ATOLL_E_INPUT, "include path: a name is too long");
        list += length + (list[length] == ':');
    }
    return 0;
}

/* ---- the compile child's description ---- */

static char *find_child(const char *program)
{
    static const char *const places[] = {PROGRAM_NAME, "../" PROGRAM_NAME, "../../" PROGRAM_NAME};
    char path[PATH_MAX];
    const char *chosen = program ? program : getenv("ATOLL_COMPILE_CUDA");
    if (chosen && chosen[0])
        return is_program(chosen) ? realpath(chosen, NULL) : NULL;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (atoll_program_beside(places[i], path, sizeof(path), NULL) == 0 && is_program(path))
            return realpath(path, NULL);
    return NULL;
}

static int read_description(struct atoll_toolkit *t, char *description, struct atoll_err *err)
{
    for (char *rest = description, *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "error ", 6) == 0)
            return atoll_err_set(err, ATOLL_E_MISSING, "%s", line + 6);
        if (strncmp(line, "nvrtc /", 7) == 0 && !t->nvrtc)
            t->nvrtc = strdup(line + 6);
        if (strncmp(line, "version ", 8) == 0)
            snprintf(t->version, sizeof(t->version), "%s", line + 8);
    }
    if (!t->nvrtc || !t->version[0])
        return atoll_err_set(err, ATOLL_E_MISSING, "%s does not tell what NVRTC there is", t->program);
    t->library = strndup(t->nvrtc, (size_t)(strrchr(t->nvrtc, '/') - t->nvrtc));
    return t->library ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the toolkit's folders");
}

int atoll_toolkit_init(struct atoll_toolkit *t, const char *program, const char *include_path,
                       struct atoll_err *err)
{
    char description[DESCRIPTION_BYTES];
    memset(t, 0, sizeof(*t));
    t->program = find_child(program);
    if (!t->program)
        return atoll_err_set(err, ATOLL_E_MISSING,
                             "no program " PROGRAM_NAME "%s%s; it is installed beside atoll-eval",
                             program ? " at " : "", program ? program : "");
    char describe[] = "describe";
    char *argv[] = {t->program, describe, NULL};
    if (atoll_spawn_output(argv, NULL, DESCRIPTION_TIMEOUT_MS, description, sizeof(description), err) == 0 &&
        read_description(t, description, err) == 0) {
        atoll_toolkit_find_headers(t, t->nvrtc);
        if (atoll_toolkit_add_folders(t, include_path, err) == 0)
            return 0;
    }
    atoll_toolkit_fini(t);
    return -1;
}

void atoll_toolkit_fini(struct atoll_toolkit *t)
{
    free(t->program);
    free(t->nvrtc);
    free(t->library);
    for (size_t i = 0; i < t->include_count; i++)
        free(t->includes[i]);
    memset(t, 0, sizeof(*t));
}

/* ---- programs ---- */

char *atoll_toolkit_find_program(const char *command)
{
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    char *found = atoll_toolchain_find_program(command);
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && !found && !strchr(command, '/'); i++) {
        char path[PATH_MAX];
        int n = roots[i] ? snprintf(path, sizeof(path), "%s/bin/%s", roots[i], command) : 0;
        if (n > 0 && (size_t)n < sizeof(path) && path[0] == '/' && is_program(path))
            found = strdup(path);
    }
    return found;
}

/* ---- the options of every job ---- */

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

#define FAST_COMPILE       "--Ofast-compile="
#define FAST_COMPILE_SINCE 13 /* of NVRTC; nobody tried an older one */

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
        {FAST_COMPILE, 0},
        {"--split-compile=", 0},
        {"-split-compile=", 0},
        {"--extra-device-vectorization", 1},
    };
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        size_t known = strlen(allowed[i].text);
        if (length >= known && strncmp(flag, allowed[i].text, known) == 0 &&
            (!allowed[i].whole || length == known))
            return 1;
    }
    return 0;
}

static int is_too_new(const char *flag, const struct atoll_toolkit *toolkit)
{
    return strncmp(flag, FAST_COMPILE, strlen(FAST_COMPILE)) == 0 &&
           strtol(toolkit->version, NULL, 10) < FAST_COMPILE_SINCE;
}

static int add_flags(struct atoll_compile_options *o, const char *flags, const struct atoll_toolkit *toolkit,
                     struct atoll_err *err)
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
        if (length > 0 && !is_too_new(flag, toolkit) && add_option(o, "", flag, length, err) != 0)
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
    for (size_t i = 0; i < toolkit->include_count; i++)
        if (add_option(o, "-I", toolkit->includes[i], strlen(toolkit->includes[i]), err) != 0)
            return -1;
    return add_flags(o, flags, toolkit, err);
}

void atoll_compile_options_fini(struct atoll_compile_options *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->texts[i]);
    o->count = 0;
}
