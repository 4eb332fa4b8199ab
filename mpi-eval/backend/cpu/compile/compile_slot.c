/* The group's output comes through one pipe.  The group gets SIGKILL while its leader is still a zombie: the number
 * cannot be another group's. */
#include "mpi-eval/backend/cpu/compile/compile_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-eval/backend/cpu/compile/scratch.h"
#include "mpi-eval/backend/cpu/compile/toolchain.h"

#define OUTPUT_BYTES ((size_t)64 << 10) /* of diagnostics kept; the rest is read and dropped */

int atoll_compile_slot_init(struct atoll_compile_slot *slot, const char *base, unsigned index,
                            const struct atoll_landlock_path *paths, size_t path_count, struct atoll_err *err)
{
    struct atoll_landlock_path all[ATOLL_TOOLCHAIN_PATH_LIMIT + 3];
    slot->folder_fd = slot->ruleset = slot->pipe = -1;
    slot->output = malloc(OUTPUT_BYTES);
    if (!slot->output || asprintf(&slot->folder, "%s/%u", base, index) < 0)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a compile slot");
    if (mkdir(slot->folder, 0700) != 0)
        return atoll_err_errno(err, errno, "cannot make the folder %s", slot->folder);
    slot->folder_fd = open(slot->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (slot->folder_fd < 0)
        return atoll_err_errno(err, errno, "cannot open the folder %s", slot->folder);
    size_t count = path_count < ATOLL_TOOLCHAIN_PATH_LIMIT ? path_count : ATOLL_TOOLCHAIN_PATH_LIMIT;
    memcpy(all, paths, count * sizeof all[0]);
    all[count++] = (struct atoll_landlock_path){slot->folder, 1};
    all[count++] = (struct atoll_landlock_path){"/dev/null", 1};
    all[count++] = (struct atoll_landlock_path){"/dev/urandom", 0};
    return atoll_landlock_create(all, count, &slot->ruleset, err);
}

void atoll_compile_slot_kill(struct atoll_compile_slot *slot)
{
    kill(-slot->pid, SIGKILL);
    kill(-slot->pid, SIGCONT);
}

void atoll_compile_slot_fini(struct atoll_compile_slot *slot)
{
    if (slot->job) {
        atoll_compile_slot_kill(slot);
        while (waitpid(slot->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close(slot->pipe);
    }
    atoll_compile_job_destroy(slot->job);
    if (slot->folder_fd >= 0)
        close(slot->folder_fd);
    if (slot->ruleset >= 0)
        close(slot->ruleset);
    free(slot->folder);
    free(slot->output);
}

static int write_source(const struct atoll_compile_slot *slot, struct atoll_err *err)
{
    const struct atoll_compile_job *job = slot->job;
    int fd =
        openat(slot->folder_fd, job->file_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot write %s/%s", slot->folder, job->file_name);
    int status = 0;
    for (size_t done = 0; done < job->length && status == 0;) {
        ssize_t wrote = write(fd, job->text + done, job->length - done);
        if (wrote < 0 && errno != EINTR)
            status = atoll_err_errno(err, errno, "cannot write %s/%s", slot->folder, job->file_name);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    close(fd);
    return status;
}

int atoll_compile_slot_start(struct atoll_compile_slot *slot, struct atoll_spawn *spawn,
                             struct atoll_err *err)
{
    int ends[2];
    if (write_source(slot, err) != 0)
        return -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return atoll_err_errno(err, errno, "cannot make a pipe");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    spawn->folder = slot->folder;
    spawn->ruleset = slot->ruleset;
    spawn->fds[0] = -1;
    spawn->fds[1] = spawn->fds[2] = ends[1];
    spawn->fd_count = 3;
    slot->pid = atoll_spawn_start(spawn, err);
    close(ends[1]);
    if (slot->pid < 0) {
        close(ends[0]);
        return -1;
    }
    slot->pipe = ends[0];
    return 0;
}

void atoll_compile_slot_drain(struct atoll_compile_slot *slot)
{
    char rest[4096];
    for (;;) {
        size_t room = OUTPUT_BYTES - 1 - slot->output_length;
        ssize_t got = room > 0 ? read(slot->pipe, slot->output + slot->output_length, room)
                               : read(slot->pipe, rest, sizeof rest);
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
        if (got > 0 && room > 0)
            slot->output_length += (size_t)got;
    }
}

int atoll_compile_slot_reap(struct atoll_compile_slot *slot, int *ret_wait_status)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)slot->pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 || info.si_pid == 0)
        return 0;
    atoll_compile_slot_kill(slot);
    waitpid(slot->pid, ret_wait_status, 0);
    atoll_compile_slot_drain(slot);
    close(slot->pipe);
    slot->pipe = -1;
    slot->output[slot->output_length] = '\0';
    for (size_t i = 0; i < slot->output_length; i++)
        slot->output[i] = slot->output[i] ? slot->output[i] : ' ';
    return 1;
}

static void *read_all(int fd, uint64_t limit, size_t *ret_length)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > limit)
        return NULL;
    size_t length = (size_t)st.st_size, done = 0;
    void *bytes = malloc(length);
    for (ssize_t got = 1; bytes && done < length && got > 0; done += got > 0 ? (size_t)got : 0)
        got = read(fd, (char *)bytes + done, length - done);
    if (bytes && done == length) {
        *ret_length = length;
        return bytes;
    }
    free(bytes);
    return NULL;
}

int atoll_compile_slot_read_object(struct atoll_compile_slot *slot, const char *name, uint64_t limit)
{
    int fd = openat(slot->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    slot->job->result.object = read_all(fd, limit, &slot->job->result.object_length);
    close(fd);
    return slot->job->result.object ? 0 : -1;
}

struct atoll_compile_job *atoll_compile_slot_release(struct atoll_compile_slot *slot)
{
    struct atoll_compile_job *job = slot->job;
    slot->job = NULL;
    atoll_scratch_empty(slot->folder_fd, 1);
    return job;
}
