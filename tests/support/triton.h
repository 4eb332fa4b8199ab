/* triton.h - which Python tests of Triton use: ATOLL_TRITON_PYTHON, else the one that ./setup test made; NULL: none, they skip. */
#ifndef ATOLL_TEST_SUPPORT_TRITON_H
#define ATOLL_TEST_SUPPORT_TRITON_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline const char *triton_python(void)
{
    static char path[512];
    const char *named = getenv("ATOLL_TRITON_PYTHON"), *home = getenv("HOME");
    snprintf(path, sizeof(path), "%s", named ? named : "");
    if (!named)
        snprintf(path, sizeof(path), "%s/.cache/atoll/triton-3.6.0/bin/python3", home ? home : "");
    if (access(path, X_OK) == 0)
        return path;
    printf(
        "skipped: no Python with Triton (%s); ./setup test installs one, or name it in ATOLL_TRITON_PYTHON\n",
        path);
    return NULL;
}

#endif
