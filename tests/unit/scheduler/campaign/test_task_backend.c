#include "tests/support/expect.h"

#include <string.h>

#include "scheduler/campaign/run_tasks.h"

static void test_suits(void **state)
{
    static const struct {
        const char *language, *check, *bench; /* of the one seed; backends of the two variants, NULL any */
        const char *backend, *why;            /* NULL: it suits */
        enum atoll_triton triton;
    } rows[] = {
        {"c", NULL, NULL, "cpu", NULL, ATOLL_TRITON_NONE},
        {"c", NULL, NULL, "cpu", NULL, ATOLL_TRITON_ALONE},
        {"cuda", NULL, NULL, "cuda", NULL, ATOLL_TRITON_NONE},
        {"cuda", "cuda", "cuda", "cuda", NULL, ATOLL_TRITON_BESIDE},
        {"triton", NULL, NULL, "cuda", NULL, ATOLL_TRITON_BESIDE},
        {"triton", NULL, NULL, "cuda", NULL, ATOLL_TRITON_ALONE},
        {"triton", NULL, NULL, "cuda", "seeds/NAME.cu, or search those in Triton with --set triton=alone",
         ATOLL_TRITON_NONE},
        {"triton", NULL, NULL, "cpu", "no seed in the language c; add one as seeds/NAME.c",
         ATOLL_TRITON_ALONE},
        {"cuda", NULL, NULL, "cuda", "no seed in the language triton; add one as seeds/NAME.py",
         ATOLL_TRITON_ALONE},
        {"c", NULL, NULL, "cuda", "no seed in the language cuda; add one as seeds/NAME.cu",
         ATOLL_TRITON_NONE},
        {"cuda", NULL, NULL, "cpu", "no seed in the language c; add one as seeds/NAME.c", ATOLL_TRITON_NONE},
        {"cuda", NULL, "cpu", "cuda", "bench variant for the backend cuda", ATOLL_TRITON_NONE},
        {"c", "cuda", NULL, "cpu", "no check or no bench variant for the backend cpu", ATOLL_TRITON_NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct atoll_task task;
        char why[256] = "";

        memset(&task, 0, sizeof(task));
        task.seeds[0].language = rows[i].language;
        task.seed_count = 1;
        task.variants[0].kind = ATOLL_VARIANT_CHECK;
        task.variants[0].backend = rows[i].check;
        task.variants[1].kind = ATOLL_VARIANT_BENCH;
        task.variants[1].backend = rows[i].bench;
        task.variant_count = 2;
        assert_int_equal(atoll_task_fits_backend(&task, rows[i].backend, rows[i].triton, 1, why, sizeof(why)),
                         rows[i].why == NULL);
        if (rows[i].why && !strstr(why, rows[i].why))
            fail_msg("row %zu: %s", i, why);
    }
}

/* The first kernel may come from elsewhere where there is something to compare it with. */
static void test_without_seeds(void **state)
{
    static const struct {
        size_t rivals;
        int are_written;
        const char *why;
    } rows[] = {{1, 1, NULL},
                {0, 1, "add one as seeds/NAME.c"},
                {1, 0, "seeds/NAME.c, or ask a model for the first kernel (--model)"},
                {0, 0, "add one as seeds/NAME.c"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct atoll_task task;
        char why[256] = "";
        memset(&task, 0, sizeof(task));
        task.rival_count = rows[i].rivals;
        task.variants[0].kind = ATOLL_VARIANT_CHECK;
        task.variants[1].kind = ATOLL_VARIANT_BENCH;
        task.variant_count = 2;
        assert_int_equal(
            atoll_task_fits_backend(&task, "cpu", ATOLL_TRITON_NONE, rows[i].are_written, why, sizeof(why)),
            rows[i].why == NULL);
        assert_true(!rows[i].why || strstr(why, rows[i].why));
        assert_int_equal(!rows[i].rivals && strstr(why, "--model"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_suits), cmocka_unit_test(test_without_seeds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
