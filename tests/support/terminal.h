/* terminal.h - a terminal of a given size, for tests of what is drawn on one. */
#ifndef ATOLL_TESTS_SUPPORT_TERMINAL_H
#define ATOLL_TESTS_SUPPORT_TERMINAL_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/support/expect.h"

/* The further end of a terminal, and a stream to the near one; both are closed by the caller. */
static inline int terminal_open(unsigned short rows, unsigned short columns, FILE **ret_stream)
{
    const struct winsize size = {.ws_row = rows, .ws_col = columns};
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0 && ioctl(slave, TIOCSWINSZ, &size) == 0);
    *ret_stream = fdopen(slave, "w");
    return master;
}

/* What came out of a terminal until it said something; a terminal hands on in pieces. */
static inline void terminal_read(int fd, const char *said, char *ret_text, size_t bytes)
{
    size_t length = 0;

    ret_text[0] = '\0';
    while (!strstr(ret_text, said)) {
        ssize_t got = read(fd, ret_text + length, bytes - 1 - length);

        assert_true(got > 0);
        length += (size_t)got;
        ret_text[length] = '\0';
    }
}

#endif
