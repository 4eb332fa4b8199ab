#include "scheduler/local/reap.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REAP_ROUNDS 50

/* Children of ours: the shell, and what outlived its parent. */
static int kill_children(int number)
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
        if (at && strtol(at + 4, NULL, 10) == getpid()) { /* ") S parent" */
            kill(pid, number);
            count++;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}

/* Until nothing of the job is left: each killed process hands its own children to us. */
void atoll_local_reap(void)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    for (int i = 0; i < REAP_ROUNDS && kill_children(SIGKILL) > 0; i++) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
            /* all of them */
        }
        nanosleep(&pause, NULL);
    }
}
