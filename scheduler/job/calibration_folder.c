#include "scheduler/job/calibration_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "mpi-eval/backend/kept_calibration.h"
#include "mpi-eval/backend/sandbox/scratch.h"

#define PREFIX ".calibration-"

/* Of the folder and of the last record that came into it, as the file system's clock has it. */
static int changed_s(const char *path, int64_t *ret_s)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return 0;
    *ret_s = st.st_mtim.tv_sec;
    return 1;
}

/* Those that changed last before that time; a record of a later one may count. */
static void remove_older(const char *campaign, int64_t before_s)
{
    DIR *dir = opendir(campaign);
    char path[PATH_MAX];
    int64_t s;

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            (size_t)snprintf(path, sizeof(path), "%s/%s", campaign, e->d_name) < sizeof(path) &&
            changed_s(path, &s) && s < before_s) {
            atoll_calibration_folder_remove(path);
        }
    }
    if (dir)
        closedir(dir);
}

void atoll_calibration_folder_make(const char *campaign, const char *job, char *ret_path, size_t bytes)
{
    int n = snprintf(ret_path, bytes, "%s/" PREFIX "%.60s", campaign, job);
    int64_t s;

    if (n < 0 || (size_t)n >= bytes || (mkdir(ret_path, 0700) != 0 && errno != EEXIST)) {
        atoll_log(ATOLL_LOG_WARNING, "pilot.calibration",
                  "%s/" PREFIX "%s: %s; each step calibrates its devices", campaign, job, strerror(errno));
        *ret_path = '\0';
    } else if (changed_s(ret_path, &s)) {
        remove_older(campaign, s - (int64_t)ATOLL_KEPT_CALIBRATION_S);
    }
}

void atoll_calibration_folder_remove(const char *path)
{
    int fd = *path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    atoll_scratch_empty(fd, 0);
    close(fd);
    rmdir(path);
}

void atoll_calibration_folder_remove_all(const char *campaign)
{
    remove_older(campaign, INT64_MAX);
}
