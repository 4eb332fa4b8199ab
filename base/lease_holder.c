/* lease_holder.c - who a process is, in words that another one on the same kernel can check.
 * `boot` joins the kernel's boot id and the process's pid namespace: a pid means something in one namespace only. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/lease_record.h"

#define BOOT_ID_BYTES 32u /* of boot; its namespace follows */

/* Of /proc/PID/stat: start in clock ticks and state; 0 when it cannot be read.  The name in it may hold anything, so
 * fields are counted from its last parenthesis. */
static int process_stat(int64_t pid, uint64_t *ret_start, char *ret_state)
{
    char path[48], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    unsigned long long start;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strrchr(text, ')');
    if (!at ||
        sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               ret_state, &start) != 2)
        return 0;
    *ret_start = start;
    return 1;
}

/* 32 digits of the boot id without hyphens, a hyphen, 6 of the namespace; "" when the kernel does not say. */
static void boot_read(char ret_boot[40])
{
    char id[64] = "", link[64] = "", digits[33];
    unsigned long inode = 0;
    size_t count = 0;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, id, sizeof id - 1) : -1;
    if (fd >= 0)
        close(fd);
    for (ssize_t i = 0; i < n && count < 32; i++)
        if (strchr("0123456789abcdef", id[i]))
            digits[count++] = id[i];
    digits[count] = '\0';
    ret_boot[0] = '\0';
    if (count == 32 && readlink("/proc/self/ns/pid", link, sizeof link - 1) > 0 &&
        sscanf(link, "pid:[%lu]", &inode) == 1)
        snprintf(ret_boot, 40, "%s-%06lx", digits, inode & 0xfffffful);
}

void atoll_lease_holder_self(const char *job, uint32_t restarts, struct atoll_lease_holder *ret_holder)
{
    char state;
    *ret_holder = (struct atoll_lease_holder){.restarts = restarts, .pid = getpid()};
    snprintf(ret_holder->job, sizeof ret_holder->job, "%s", job);
    gethostname(ret_holder->host, sizeof ret_holder->host - 1);
    boot_read(ret_holder->boot);
    if (!process_stat(ret_holder->pid, &ret_holder->pid_start, &state))
        ret_holder->pid_start = 0;
}

static int process_is_gone(const struct atoll_lease_holder *h)
{
    uint64_t start;
    char state;
    if (h->pid <= 0)
        return 0;
    if (kill((pid_t)h->pid, 0) != 0 && errno == ESRCH)
        return 1;
    if (!process_stat(h->pid, &start, &state))
        return 0; /* hidden from us, or ended just now */
    if (state == 'Z' || state == 'X')
        return 1; /* its parent has not been told yet */
    return h->pid_start != 0 && start != h->pid_start;
}

/* The machine was started again since.  A name that any machine may have says nothing. */
static int is_rebooted(const struct atoll_lease_holder *h, const struct atoll_lease_holder *self)
{
    return *self->boot && h->boot[0] != '-' && strncmp(h->boot, self->boot, BOOT_ID_BYTES) != 0 &&
           strcmp(h->host, self->host) == 0 && *h->host &&
           strncmp(h->host, "localhost", strlen("localhost")) != 0;
}

int atoll_lease_holder_is_dead(const struct atoll_lease_holder *holder, const struct atoll_lease_holder *self)
{
    if (!self)
        return 0;
    if (*self->boot && strcmp(holder->boot, self->boot) == 0 && process_is_gone(holder))
        return 1;
    if (is_rebooted(holder, self))
        return 1;
    return *self->job && strcmp(holder->job, self->job) == 0 && holder->restarts < self->restarts;
}
