/* launch.c - the command line of atoll-eval on this machine, and its pipe. */
#include "scheduler/launcher/local/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "base/program.h"

#define ARGUMENTS (ATOLL_LAUNCH_ARGUMENT_LIMIT + 24)

struct command_line {
    const char *items[ARGUMENTS];
    size_t count;
    char eval_path[PATH_MAX];
    char ranks[16];
};

int atoll_launch_beside(const char *program, char *ret_path, size_t bytes, struct atoll_err *err)
{
    if (atoll_program_beside(program, ret_path, bytes, err) != 0)
        return -1;
    if (access(ret_path, X_OK) != 0) {
        return atoll_err_set(err, ATOLL_E_MISSING, "%s is not there; build or install it beside atoll",
                             ret_path);
    }
    return 0;
}

static void add(struct command_line *line, const char *item)
{
    if (line->count < ARGUMENTS - 1) {
        line->items[line->count++] = item;
        line->items[line->count] = NULL;
    }
}

static int build(const struct atoll_launch_settings *settings, struct command_line *line,
                 struct atoll_err *err)
{
    static const char *const mpirun[] = {"mpirun", "--oversubscribe", "--bind-to", "none", "-n"};

    line->count = 0;
    if (atoll_launch_beside("atoll-eval", line->eval_path, sizeof(line->eval_path), err) != 0)
        return -1;
    if (settings->ranks > 1) {
        for (size_t i = 0; i < sizeof(mpirun) / sizeof(mpirun[0]); i++)
            add(line, mpirun[i]);
        snprintf(line->ranks, sizeof(line->ranks), "%u", settings->ranks);
        add(line, line->ranks);
    }
    add(line, line->eval_path);
    if (settings->ranks <= 1)
        add(line, "--local");
    add(line, "--progress-fd");
    add(line, "1");
    for (size_t i = 0; settings->arguments[i]; i++)
        add(line, settings->arguments[i]);
    add(line, settings->campaign);
    return 0;
}

int atoll_launch_start(const struct atoll_launch_settings *settings, struct atoll_launched *ret_launch,
                       struct atoll_err *err)
{
    struct command_line line;
    int ends[2], log_fd;
    int status;

    if (build(settings, &line, err) != 0)
        return -1;
    log_fd = atoll_file_open_to_write(settings->log_path, O_WRONLY | O_CREAT | O_APPEND, 0644, err);
    if (log_fd < 0)
        return -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(log_fd);
        return atoll_err_errno(err, errno, "cannot make a pipe");
    }
    /* mpirun refuses root unless this is set; a container's only user often is root, and the campaign is the user's own. */
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    status = atoll_process_start(line.items, ends[1], log_fd, SIGKILL, &ret_launch->pid, err);
    close(ends[1]);
    close(log_fd);
    if (status != 0) {
        close(ends[0]);
        return settings->ranks > 1
                   ? atoll_err_add(err,
                                   "install Open MPI (Debian: apt install openmpi-bin), load its module, "
                                   "or use --ranks 1")
                   : -1;
    }
    ret_launch->progress_fd = ends[0];
    return 0;
}

int atoll_launch_wait(struct atoll_launched *launch, int *ret_status, struct atoll_err *err)
{
    int status;

    while (waitpid(launch->pid, &status, 0) < 0)
        if (errno != EINTR)
            return atoll_err_errno(err, errno, "cannot wait for the run");
    close(launch->progress_fd);
    launch->progress_fd = -1;
    *ret_status = atoll_process_exit_status(status);
    return 0;
}
