/* allocation.h - every allocation fails once: this program's malloc, calloc and realloc are replaced by ones
 * that count and, when told to, refuse.  Include it in one source of a test program.
 *
 * allocation_each_fails() runs an operation with the first, second ... allocation refused until it succeeds,
 * and asserts that each refusal gives ATOLL_E_MEMORY and that nothing allocated meanwhile is left behind. The
 * operation must make and destroy all it needs.  Only the calling thread is counted. */
#ifndef ATOLL_TESTS_SUPPORT_ALLOCATION_H
#define ATOLL_TESTS_SUPPORT_ALLOCATION_H

#include <errno.h>
#include <stdlib.h>

#include "tests/support/expect.h"

#if defined(ATOLL_SANITIZED) || defined(__SANITIZE_ADDRESS__)
#define ALLOCATION_SKIP_REASON "a sanitizer has replaced the allocator"
#elif !defined(__GLIBC__)
#define ALLOCATION_SKIP_REASON "only glibc gives its allocator a second name"
#else

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void __libc_free(void *p);

static __thread struct {
    int armed;
    long until_failure; /* allocations that still succeed; negative: all */
    long live;          /* allocated and not freed since it was armed */
    int failed;
} allocation;

static int allocation_refused(void)
{
    if (!allocation.armed || allocation.until_failure < 0 || allocation.until_failure-- > 0)
        return 0;
    allocation.failed = 1;
    allocation.until_failure = -1;
    errno = ENOMEM;
    return 1;
}

static void *allocation_counted(void *p)
{
    allocation.live += allocation.armed && p;
    return p;
}

void *malloc(size_t bytes)
{
    return allocation_refused() ? NULL : allocation_counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return allocation_refused() ? NULL : allocation_counted(__libc_calloc(count, bytes));
}

void *realloc(void *old, size_t bytes)
{
    if (allocation_refused())
        return NULL;
    void *p = __libc_realloc(old, bytes);
    return old ? p : allocation_counted(p);
}

void free(void *p)
{
    allocation.live -= allocation.armed && p;
    __libc_free(p);
}

/* run: 0, or -1 with err filled.  Returns how many allocations a success needs. */
static long allocation_each_fails(const char *name, int (*run)(struct atoll_err *err))
{
    for (long n = 0; n < 100000; n++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        allocation.until_failure = n;
        allocation.live = allocation.failed = 0;
        allocation.armed = 1;
        int status = run(&err);
        allocation.armed = 0;
        if (allocation.live != 0) {
            fail_msg("%s: %ld allocations are left when the one of index %ld fails", name, allocation.live,
                     n);
        }
        if (!allocation.failed) {
            assert_int_equal(status, 0);
            return n;
        }
        if (status != -1 || err.code != ATOLL_E_MEMORY) {
            fail_msg("%s: status %d, code %s (%s) when the allocation of index %ld fails", name, status,
                     atoll_code_name(err.code), err.text, n);
        }
    }
    fail_msg("%s: still failing after 100000 allocations", name);
    return -1;
}
#endif

#endif
