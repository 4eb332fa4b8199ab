/* fuzz_hints.c - any bytes as a file of hints: hints within their bounds that read back as they were written, or an error with file and
 * line; and as the texts of a hint that a model distilled. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/experience/hint_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_written(const struct atoll_hint_file *file)
{
    struct atoll_buffer first, second;
    struct atoll_hint_file back;
    atoll_buffer_init(&first, (size_t)16 << 20);
    atoll_buffer_init(&second, (size_t)16 << 20);
    atoll_hint_file_write_yaml(file, &first);
    if (first.failed || first.length > (1u << 20)) {
        atoll_buffer_fini(&first);
        return; /* a file holds at most that */
    }
    if (atoll_hint_file_parse("b", (const char *)first.data, first.length, &back, NULL) != 0)
        abort();
    atoll_hint_file_write_yaml(&back, &second);
    if (second.length != first.length || memcmp(first.data, second.data, first.length) != 0)
        abort();
    atoll_hint_file_fini(&back);
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
}

static void check_item(const uint8_t *data, size_t size)
{
    char text[2048];
    struct atoll_hint_words words;
    struct atoll_experience_hint hint;
    size_t length = size < sizeof(text) ? size : sizeof(text) - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    const struct atoll_reply_item items[] = {
        {.kind = ATOLL_ITEM_HINT, .title = "limiter dram", .text = text, .why = text},
        {.kind = ATOLL_ITEM_HINT, .title = text, .text = "Do it."}};
    for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++)
        if (atoll_experience_hint_of_item(&items[i], "cuda", "hopper", &words, &hint) &&
            atoll_experience_hint_check(&hint, NULL) != 0) {
            abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_hint_file file;
    check_item(data, size);
    if (atoll_hint_file_parse("f", (const char *)data, size, &file, &err) != 0) {
        if (err.code != ATOLL_E_LIMIT && (err.code != ATOLL_E_INPUT || strncmp(err.text, "f:", 2) != 0))
            abort();
        return 0;
    }
    check_written(&file);
    atoll_hint_file_fini(&file);
    return 0;
}
