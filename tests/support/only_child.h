/* only_child.h - the one child process of this thread: the spawner of a test that has started nothing else. */
#ifndef ATOLL_TESTS_SUPPORT_ONLY_CHILD_H
#define ATOLL_TESTS_SUPPORT_ONLY_CHILD_H

#include <stdio.h>
#include <sys/types.h>

#include "tests/support/expect.h"

static inline pid_t only_child(void)
{
    int child, other;
    FILE *file = fopen("/proc/thread-self/children", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d %d", &child, &other), 1);
    fclose(file);
    return child;
}

#endif
