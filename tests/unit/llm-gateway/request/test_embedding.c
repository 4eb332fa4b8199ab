#include "llm-gateway/request/embedding.h"

#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

static void vectors_come_in_the_order_of_the_texts(void **state)
{
    static const struct {
        const char *raw;
        size_t count;
        const char *error; /* NULL: it is read */
        float first;
    } rows[] = {
        {"{\"data\":[{\"index\":1,\"embedding\":[3,4]},{\"index\":0,\"embedding\":[1.5,-2]}]}", 2, NULL,
         1.5f},
        {"{\"data\":[{\"embedding\":[1,2]},{\"embedding\":[3,4]}]}", 2, NULL, 1},
        {"{\"data\":[{\"index\":0,\"embedding\":[1,2]}]}", 2, "1 embeddings of 2 numbers, where 2 are wanted",
         0},
        {"{\"data\":[{\"index\":0,\"embedding\":[]}]}", 1, "of 0 numbers", 0},
        {"{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":0,\"embedding\":[1]}]}", 2, "embedding 1", 0},
        {"{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":1,\"embedding\":[1,2]}]}", 2, "embedding 1",
         0},
        {"{\"data\":[{\"index\":0,\"embedding\":[\"1\"]}]}", 1, "embedding 0", 0},
        {"{\"data\":[{\"index\":0,\"embedding\":[1e300]}]}", 1, "embedding 0", 0},
        {"{\"data\":[{\"index\":-1,\"embedding\":[1]}]}", 1, "embedding 0", 0},
        {"{\"data\":{}}", 1, "no embeddings", 0},
        {"", 1, "no embeddings", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_llm_outcome outcome;
        struct atoll_err err = ATOLL_ERR_INIT;
        size_t length = 0;
        atoll_llm_outcome_init(&outcome);
        atoll_buffer_put_bytes(&outcome.raw, rows[i].raw, strlen(rows[i].raw));
        float *vectors = atoll_llm_embedding_read(&outcome, rows[i].count, &length, &err);
        if ((vectors != NULL) != (rows[i].error == NULL))
            fail_msg("row %zu: %s", i, err.text);
        if (vectors) {
            assert_true(length == 2 && vectors[0] == rows[i].first);
            assert_true(vectors[2] == 3.0f && vectors[3] == 4.0f);
        } else if (!strstr(err.text, rows[i].error)) {
            fail_msg("row %zu: %s", i, err.text);
        }
        free(vectors);
        atoll_err_clear(&err);
        atoll_llm_outcome_fini(&outcome);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors_come_in_the_order_of_the_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
