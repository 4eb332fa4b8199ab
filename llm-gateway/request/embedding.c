#include "llm-gateway/request/embedding.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"

#define VALUE_LIMIT 4000000

static int take(const json_t *vector, size_t length, float *out)
{
    for (size_t i = 0; i < length; i++) {
        const json_t *number = json_array_get(vector, i);
        double value = json_number_value(number);
        if (!json_is_number(number) || !isfinite(value) || fabs(value) > 1e30)
            return -1;
        out[i] = (float)value;
    }
    return 0;
}

/* Entries may come in any order; each says whose it is. */
static float *read_list(const json_t *list, size_t count, size_t *ret_length, struct atoll_err *err)
{
    size_t length = json_array_size(json_object_get(json_array_get(list, 0), "embedding"));
    unsigned char *is_there = calloc(count ? count : 1, 1);
    float *vectors = NULL;
    if (count == 0 || json_array_size(list) != count || length == 0 || length > ATOLL_LLM_EMBEDDING_LENGTH) {
        atoll_err_set(err, ATOLL_E_INPUT, "%zu embeddings of %zu numbers, where %zu are wanted",
                      json_array_size(list), length, count);
    } else if (!is_there || !(vectors = calloc(count, length * sizeof(*vectors)))) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for embeddings");
    }
    for (size_t i = 0; vectors && i < count; i++) {
        const json_t *entry = json_array_get(list, i), *vector = json_object_get(entry, "embedding"),
                     *index = json_object_get(entry, "index");
        json_int_t at = json_is_integer(index) ? json_integer_value(index) : (json_int_t)i;
        if (at < 0 || (size_t)at >= count || is_there[at] || json_array_size(vector) != length ||
            take(vector, length, vectors + (size_t)at * length) != 0) {
            atoll_err_set(err, ATOLL_E_INPUT, "embedding %zu of a reply is not as the others", i);
            free(vectors);
            vectors = NULL;
            break;
        }
        is_there[at] = 1;
    }
    free(is_there);
    if (vectors)
        *ret_length = length;
    return vectors;
}

float *atoll_llm_embedding_read(const struct atoll_llm_outcome *outcome, size_t count, size_t *ret_length,
                                struct atoll_err *err)
{
    json_t *document = outcome->raw.length ? atoll_json_load(outcome->raw.data, outcome->raw.length,
                                                             VALUE_LIMIT, JSON_REJECT_DUPLICATES, err)
                                           : NULL;
    const json_t *list = json_object_get(document, "data");
    float *vectors = NULL;
    if (json_is_array(list))
        vectors = read_list(list, count, ret_length, err);
    else
        atoll_err_set(err, ATOLL_E_INPUT, "the reply holds no embeddings");
    json_decref(document);
    return vectors;
}
