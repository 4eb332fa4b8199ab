/* process_id.c - a number, the tick at which the process began and the machine's start: together they never come twice. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process_id.h"

#define START_FIELD 20 /* of /proc/<pid>/stat, counted from the state behind the name */

/* The whole of a small file; "" when it is not there. */
static void read_text(const char *path, char *ret_text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, ret_text, bytes - 1) : 0;

    ret_text[length > 0 ? length : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

struct atoll_process_id atoll_process_id_of(pid_t pid)
{
    struct atoll_process_id id = {.pid = pid};
    char path[64], text[1024], *at;

    read_text("/proc/sys/kernel/random/boot_id", id.boot_id, sizeof(id.boot_id));
    id.boot_id[strcspn(id.boot_id, "\n")] = '\0';
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    read_text(path, text, sizeof(text));
    at = strrchr(text, ')'); /* the name may hold blanks and brackets */
    for (int i = 0; at && i < START_FIELD; i++) {
        at = strchr(at + 1, ' ');
    }
    if (!at || sscanf(at, "%llu", &id.start_ticks) != 1) {
        id.start_ticks = 0;
    }
    return id;
}

struct atoll_process_id atoll_process_id_self(void)
{
    return atoll_process_id_of(getpid());
}

int atoll_process_id_is_alive(const struct atoll_process_id *process)
{
    struct atoll_process_id now;
    char path[64], text[256], *state;

    if (process->pid <= 0 || process->start_ticks == 0) {
        return 0;
    }
    now = atoll_process_id_of(process->pid);
    if (now.start_ticks != process->start_ticks || strcmp(now.boot_id, process->boot_id) != 0) {
        return 0;
    }
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)process->pid);
    read_text(path, text, sizeof(text));
    state = strrchr(text, ')');
    return state && state[1] == ' ' && state[2] != 'Z';
}
