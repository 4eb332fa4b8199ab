/* boot.c - /proc/sys/kernel/random/boot_id: drawn anew by each kernel that starts, one for all containers of a machine. */
#include "base/boot.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#define LEAST_BYTES 32 /* a UUID has 36 */

void atoll_boot_id(char ret_boot[ATOLL_BOOT_BYTES])
{
    unsigned char random[16];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, ret_boot, ATOLL_BOOT_BYTES - 1) : -1;
    if (fd >= 0)
        close(fd);
    ret_boot[n > 0 ? n : 0] = '\0';
    ret_boot[strcspn(ret_boot, "\n")] = '\0';
    if (strlen(ret_boot) >= LEAST_BYTES)
        return;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(ret_boot, ATOLL_BOOT_BYTES, random, sizeof random);
}
