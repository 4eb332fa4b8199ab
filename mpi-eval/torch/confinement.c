/* confinement.c - paths of a system, of an interpreter and of what it was installed with. */
#include "mpi-eval/torch/confinement.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

static void place_add(struct atoll_python_places *p, const char *path, int kind)
{
    char *copy = path && path[0] == '/' && strcmp(path, "/") != 0 && p->count < ATOLL_PYTHON_PLACE_LIMIT
                     ? strdup(path)
                     : NULL;
    if (copy)
        p->paths[p->count++] = (struct atoll_landlock_path){copy, kind};
}

void atoll_python_places_fini(struct atoll_python_places *p)
{
    for (size_t i = 0; i < p->count; i++)
        free((char *)(uintptr_t)p->paths[i].path);
}

static void place_add_matches(struct atoll_python_places *p, const char *pattern, int kind)
{
    glob_t found = {0};
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            place_add(p, found.gl_pathv[i], kind);
    globfree(&found);
}

static void place_add_list(struct atoll_python_places *p, const char *list)
{
    while (list && *list) {
        char folder[PATH_MAX];
        size_t length = strcspn(list, ":");
        snprintf(folder, sizeof(folder), "%.*s", (int)length, list);
        place_add(p, folder, ATOLL_LANDLOCK_READ);
        list += length + (list[length] != '\0');
    }
}

/* What a compiler outside of the system's folders was installed with ("/opt/gcc" of "/opt/gcc/bin/gcc"); never a home. */
static void place_add_prefix(struct atoll_python_places *p, const char *program)
{
    const char *home = getenv("HOME");
    char prefix[PATH_MAX];
    snprintf(prefix, sizeof(prefix), "%s", program);
    for (int up = 0; up < 2; up++)
        *(strrchr(prefix, '/') ? strrchr(prefix, '/') : prefix) = '\0';
    if (!home || strcmp(prefix, home) != 0)
        place_add(p, prefix, ATOLL_LANDLOCK_READ);
}

static void place_add_compiler(struct atoll_python_places *p, const char *program)
{
    char path[PATH_MAX];
    if (!program || program[0] != '/' || !realpath(program, path))
        return;
    place_add_prefix(p, program);
    place_add_prefix(p, path);
}

void atoll_python_places_make(struct atoll_python_places *p, const json_t *interpreter, const char *script,
                              const char *folder, int has_gpu, int starts_programs)
{
    static const char *const read[] = {"/usr",
                                       "/lib",
                                       "/lib32",
                                       "/lib64",
                                       "/bin",
                                       "/sbin",
                                       "/etc/alternatives",
                                       "/etc/ld.so.cache",
                                       "/etc/ld.so.conf",
                                       "/etc/ld.so.conf.d",
                                       "/etc/localtime",
                                       "/etc/passwd",
                                       "/etc/group",
                                       "/etc/nsswitch.conf",
                                       "/proc",
                                       "/sys",
                                       "/dev/urandom",
                                       "/dev/random",
                                       "/dev/zero"};
    char own[PATH_MAX];
    json_t *value;
    size_t i;
    for (i = 0; i < sizeof(read) / sizeof(*read); i++)
        place_add(p, read[i], ATOLL_LANDLOCK_READ);
    place_add_matches(p, "/etc/python3*", ATOLL_LANDLOCK_READ);
    json_array_foreach(json_object_get(interpreter, "folders"), i, value)
        place_add(p, json_string_value(value), 0);
    snprintf(own, sizeof(own), "%s", script);
    *strrchr(own, '/') = '\0';
    place_add(p, own, ATOLL_LANDLOCK_READ);
    place_add_list(p, getenv("LD_LIBRARY_PATH"));
    place_add(p, getenv("CUDA_HOME"), ATOLL_LANDLOCK_READ);
    if (starts_programs) {
        place_add_list(p, getenv("PATH"));
        place_add_compiler(p, getenv("CC"));
        place_add_compiler(p, getenv("CXX"));
    }
    place_add(p, "/dev/null", ATOLL_LANDLOCK_WRITE);
    place_add(p, folder, ATOLL_LANDLOCK_FOLDER);
    if (!has_gpu)
        return;
    /* the driver names its threads (/proc/self/task) and asks /sys for the machine's shape */
    place_add(p, "/proc", ATOLL_LANDLOCK_WRITE);
    place_add(p, "/proc", ATOLL_LANDLOCK_DEVICES);
    place_add(p, "/sys", ATOLL_LANDLOCK_DEVICES);
    place_add(p, "/dev",
              ATOLL_LANDLOCK_DEVICES); /* its own nodes alone are not enough: the driver then finds no GPU */
}

int atoll_python_filter_file(enum atoll_filter_kind kind, struct atoll_err *err)
{
    struct atoll_filter filter = {0};
    if (atoll_filter_init(&filter, kind, err) != 0)
        return -1;
    int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        atoll_err_errno(err, errno, "cannot make a memory file for a seccomp filter");
    else if (atoll_write_all(fd, filter.code, atoll_filter_bytes(&filter)) != 0) {
        atoll_err_errno(err, errno, "cannot write a seccomp filter");
        close(fd);
        fd = -1;
    }
    atoll_filter_fini(&filter);
    return fd;
}
