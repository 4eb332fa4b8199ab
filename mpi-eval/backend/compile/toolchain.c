/* Folders that cc, cc1, as and ld read: the system's, those that the compiler names itself, and those of
 * LD_LIBRARY_PATH (compilers from modules and Spack need it). */
#include "mpi-eval/backend/compile/toolchain.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-eval/backend/sandbox/spawn.h"

#define OUTPUT_BYTES      8192
#define OUTPUT_TIMEOUT_MS 20000

static const char *const system_paths[] = {"/usr",
                                           "/lib",
                                           "/lib32",
                                           "/lib64",
                                           "/libx32",
                                           "/bin",
                                           "/sbin",
                                           "/etc/alternatives",
                                           "/etc/ld.so.cache",
                                           "/etc/ld.so.conf",
                                           "/etc/ld.so.conf.d"};
static const char *const kept_variables[] = {"PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "COMPILER_PATH",
                                             "GCC_EXEC_PREFIX"};

static int is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *atoll_toolchain_find_program(const char *command)
{
    if (strchr(command, '/'))
        return is_program(command) ? realpath(command, NULL) : NULL;
    const char *search = getenv("PATH");
    for (const char *at = search ? search : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%.*s/%s", (int)length, at, command);
        if (length > 0 && at[0] == '/' && n < (int)sizeof(path) && is_program(path))
            return strdup(path); /* not resolved: compilers look at the name they were called by */
        at += length + (at[length] == ':');
    }
    return NULL;
}

/* Runs the compiler with one option and gives what it prints. */
static int compiler_output(const struct atoll_toolchain *t, const char *option, char *ret_text, size_t bytes,
                           struct atoll_err *err)
{
    char argument[64];
    char *argv[] = {t->path, argument, NULL};
    snprintf(argument, sizeof(argument), "%s", option);
    return atoll_spawn_output(argv, t->environment, OUTPUT_TIMEOUT_MS, ret_text, bytes, err);
}

static void add_path(struct atoll_toolchain *t, const char *path, size_t length)
{
    char copy[PATH_MAX], resolved[PATH_MAX];
    if (length == 0 || length >= sizeof(copy) || path[0] != '/' ||
        t->path_count == ATOLL_TOOLCHAIN_PATH_LIMIT)
        return;
    memcpy(copy, path, length);
    copy[length] = '\0';
    if (!realpath(copy, resolved) || strcmp(resolved, "/") == 0)
        return;
    for (size_t i = 0; i < t->path_count; i++) {
        size_t known = strlen(t->paths[i].path);
        if (strncmp(resolved, t->paths[i].path, known) == 0 &&
            (resolved[known] == '/' || resolved[known] == '\0'))
            return;
    }
    char *kept = strdup(resolved);
    if (kept)
        t->paths[t->path_count++] = (struct atoll_landlock_path){kept, 0};
}

static void add_list(struct atoll_toolchain *t, const char *list)
{
    while (list && *list) {
        size_t length = strcspn(list, ":\n");
        add_path(t, list, length);
        list += length + (list[length] != '\0');
    }
}

static int describe(struct atoll_toolchain *t, struct atoll_err *err)
{
    char text[OUTPUT_BYTES];
    if (compiler_output(t, "--version", text, sizeof(text), err) != 0)
        return -1;
    const char *line = strstr(text, "Cuda compilation tools"); /* nvcc starts with its name and copyright */
    line = line ? line : text;
    t->version = line[0] ? strndup(line, strcspn(line, "\n")) : strdup("unknown compiler");
    if (compiler_output(t, "-print-search-dirs", text, sizeof(text), err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++)
        add_path(t, system_paths[i], strlen(system_paths[i]));
    char *real = realpath(t->path, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    if (slash)
        add_path(t, real, (size_t)(slash - real));
    free(real);
    /* "install: /usr/lib/gcc/x/", "programs: =/a:/b", "libraries: =/c:/d". */
    for (char *next = strtok(text, "\n"); next; next = strtok(NULL, "\n"))
        add_list(t, strchr(next, '/'));
    add_list(t, getenv("LD_LIBRARY_PATH"));
    return t->version ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler's version");
}

void atoll_toolchain_add_folder(struct atoll_toolchain *t, const char *folder)
{
    add_path(t, folder, strlen(folder));
}

int atoll_toolchain_init(struct atoll_toolchain *t, const char *command, struct atoll_err *err)
{
    memset(t, 0, sizeof(*t));
    t->path = atoll_toolchain_find_program(command);
    if (!t->path)
        return atoll_err_set(
            err, ATOLL_E_MISSING,
            "no C compiler \"%s\" here; install one (Debian: apt install gcc libc6-dev) or name another "
            "with --compiler",
            command);
    size_t count = 0;
    t->environment[count++] = strdup("LC_ALL=C");
    for (size_t i = 0; i < sizeof(kept_variables) / sizeof(kept_variables[0]); i++) {
        const char *value = getenv(kept_variables[i]);
        if (value && asprintf(&t->environment[count], "%s=%s", kept_variables[i], value) >= 0)
            count++;
    }
    t->environment[count] = NULL;
    int failed = t->environment[0]
                     ? 0
                     : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler's environment");
    if (failed || describe(t, err) != 0) {
        atoll_toolchain_fini(t);
        return -1;
    }
    return 0;
}

void atoll_toolchain_fini(struct atoll_toolchain *t)
{
    free(t->path);
    free(t->version);
    for (size_t i = 0; i < t->path_count; i++)
        free((char *)(uintptr_t)t->paths[i].path);
    for (size_t i = 0; i < sizeof(t->environment) / sizeof(t->environment[0]); i++)
        free(t->environment[i]);
    memset(t, 0, sizeof(*t));
}
