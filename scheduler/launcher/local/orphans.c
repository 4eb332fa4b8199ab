#include "scheduler/launcher/local/orphans.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/launcher/local/job_folder.h"

#define REAP_ROUNDS 50

/* A job that was submitted inside of this one is no part of it, though its supervisor came to be a child of ours. */
static int is_supervisor(const char *root, pid_t pid)
{
    char(*ids)[ATOLL_JOB_ID_BYTES] = NULL;
    struct atoll_local_state state;
    size_t count = 0;
    int found = 0;

    if (atoll_local_ids(root, NULL, &ids, &count, NULL) != 0) {
        return 0;
    }
    for (size_t i = count; i > 0 && !found; i--) {
        found = atoll_local_state_read(root, ids[i - 1], &state, NULL) == 0 && state.supervisor.pid == pid &&
                atoll_process_id_is_alive(&state.supervisor);
    }
    free(ids);
    return found;
}

/* Children of ours: the shell, and what outlived its parent. */
static int kill_children(const char *root, int number)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    while (dir && (entry = readdir(dir)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        char path[64], text[512];
        const char *at;
        int fd;
        ssize_t length;

        if (pid <= 0) {
            continue;
        }
        snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
        if (fd >= 0) {
            close(fd);
        }
        text[length > 0 ? length : 0] = '\0';
        at = strrchr(text, ')');
        if (at && strtol(at + 4, NULL, 10) == getpid() && !is_supervisor(root, pid)) { /* ") S parent" */
            kill(pid, number);
            count++;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}

/* Each killed process hands its own children to us. */
void atoll_orphans_clear(const char *root)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    for (int i = 0; i < REAP_ROUNDS && kill_children(root, SIGKILL) > 0; i++) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        nanosleep(&pause, NULL);
    }
}
