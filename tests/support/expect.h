/* expect.h - the first include of every test: cmocka with what it needs before it, and what several tests assert. */
#ifndef ATOLL_TESTS_SUPPORT_EXPECT_H
#define ATOLL_TESTS_SUPPORT_EXPECT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/err.h"

#ifdef main /* the name of this test in the program of all (one_of_many.c) */
int main(void);
#endif

/* For tests that judge how good decisions are: others go the same ways under sanitizers, which make these ten times as slow. */
#ifdef ATOLL_SANITIZED
#define SKIP_UNDER_SANITIZERS() skip()
#else
#define SKIP_UNDER_SANITIZERS() ((void)0)
#endif

/* So many random cases; a third under sanitizers: a fault of memory shows in the first ones, and the plain build judges all. */
#ifdef ATOLL_SANITIZED
#define RANDOM_CASES(count) (((count) + 2) / 3)
#else
#define RANDOM_CASES(count) (count)
#endif

/* Damage at every byte; under sanitizers at every third one, which meets each byte of words of eight all the same. */
#ifdef ATOLL_SANITIZED
#define EVERY_BYTE 3
#else
#define EVERY_BYTE 1
#endif

/* err has this code and part in its one line of text. */
static inline void expect_err(const struct atoll_err *err, enum atoll_code code, const char *part)
{
    if (err->code != code || !strstr(err->text, part)) {
        fail_msg("code %s, text '%s'; expected code %s and '%s'", atoll_code_name(err->code), err->text,
                 atoll_code_name(code), part);
    }
    assert_null(strchr(err->text, '\n'));
}

/* |a - b| <= tolerance * max(1, |b|) */
static inline void expect_close(double a, double b, double tolerance)
{
    double scale = b < 0 ? -b : b, distance = a < b ? b - a : a - b;
    if (!(distance <= tolerance * (scale < 1 ? 1 : scale)))
        fail_msg("%.17g is not within %g of %.17g", a, tolerance, b);
}

#endif
