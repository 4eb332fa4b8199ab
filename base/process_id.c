/* process_id.c - a number, the tick at which the process began and the machine's boot: together they never come twice.
 * The boot id is drawn anew by each kernel that starts, one for all containers of a machine. */
#include "base/process_id.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#define LEAST_BOOT_BYTES 32 /* a UUID has 36 */

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

int atoll_boot_id(char ret_boot[ATOLL_BOOT_BYTES])
{
    unsigned char random[16];

    read_text("/proc/sys/kernel/random/boot_id", ret_boot, ATOLL_BOOT_BYTES);
    ret_boot[strcspn(ret_boot, "\n")] = '\0';
    if (strlen(ret_boot) >= LEAST_BOOT_BYTES) {
        return 1;
    }
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(ret_boot, ATOLL_BOOT_BYTES, random, sizeof(random));
    return 0;
}

int atoll_process_stat(pid_t pid, unsigned long long *ret_start_ticks, char *ret_state)
{
    char path[64], text[1024];

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    read_text(path, text, sizeof(text));
    const char *at =
        strrchr(text, ')'); /* the name may hold blanks and parentheses, so fields count from its end */

    return at &&
           sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                  ret_state, ret_start_ticks) == 2;
}
