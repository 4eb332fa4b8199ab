/* fields of /proc/PID/stat: proc_pid_stat(5). */
#include "mpi-eval/backend/compile/compile_patience.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 20e6 /* between two looks at a late job, at least: two ticks of the processor's account */

double atoll_compile_patience_left_ns(const struct atoll_compile_patience *patience, double running_ns,
                                      double deadline_ns)
{
    return fmax(fmax(patience->look_ns, deadline_ns) - running_ns, 0);
}

int atoll_compile_patience_is_late(const struct atoll_compile_patience *patience, double running_ns,
                                   double deadline_ns)
{
    return running_ns > fmax(patience->look_ns, deadline_ns);
}

int atoll_compile_patience_ends(struct atoll_compile_patience *patience, double running_ns,
                                double deadline_ns, double processor_ns)
{
    double left = fmin(deadline_ns - processor_ns, ATOLL_COMPILE_PATIENCE * deadline_ns - running_ns);
    patience->processor_ns = processor_ns;
    patience->look_ns = running_ns + fmax(left, LOOK_NS);
    return processor_ns < 0 || left <= 0;
}

void atoll_compile_patience_tell(const struct atoll_compile_patience *patience, double deadline_ns,
                                 char *ret_text, size_t bytes)
{
    if (patience->processor_ns >= 0 && patience->processor_ns < deadline_ns)
        snprintf(ret_text, bytes,
                 "the compiler was not done after %.3g s, of which it had a processor for %.3g s",
                 ATOLL_COMPILE_PATIENCE * deadline_ns / 1e9, patience->processor_ns / 1e9);
    else
        snprintf(ret_text, bytes, "the compiler was not done after %.3g s%s", deadline_ns / 1e9,
                 patience->processor_ns < 0 ? "" : " of processor time");
}

/* Ticks of a process of this group, its waited-for children included; 0: of another one, or gone. */
static unsigned long long ticks_of(int proc, const char *pid, pid_t group)
{
    char path[32], text[1024];
    unsigned long long used[4];
    int member = 0;
    snprintf(path, sizeof(path), "%.16s/stat", pid);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    const char *at = strrchr(text, ')'); /* a name may hold blanks and parentheses */
    if (!at || sscanf(at + 1, " %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &member,
                      &used[0], &used[1], &used[2], &used[3]) != 5)
        return 0;
    return member == group ? used[0] + used[1] + used[2] + used[3] : 0;
}

double atoll_compile_group_processor_ns(pid_t group)
{
    unsigned long long ticks = 0;
    DIR *folder = opendir("/proc");
    if (!folder)
        return -1;
    for (struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            ticks += ticks_of(dirfd(folder), e->d_name, group);
    closedir(folder);
    return (double)ticks * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

static double clock_read(clockid_t id)
{
    struct timespec used;
    return clock_gettime(id, &used) == 0 ? (double)used.tv_sec * 1e9 + (double)used.tv_nsec : -1;
}

double atoll_compile_process_processor_ns(pid_t pid)
{
    clockid_t id;
    return clock_getcpuclockid(pid, &id) == 0 ? clock_read(id) : -1;
}

double atoll_compile_thread_processor_ns(void)
{
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}
