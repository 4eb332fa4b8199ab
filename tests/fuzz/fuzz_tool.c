/* What a model calls, and what an evaluator answers: names, JSON, patterns, words, frames. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_excerpt.h"
#include "base/utf8.h"
#include "core/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void arguments(const char *text, struct atoll_arena *arena)
{
    struct atoll_tool_arguments a;
    for (int tool = 0; tool < ATOLL_TOOL_COUNT; tool++)
        if (atoll_tool_arguments_read((enum atoll_tool)tool, text, arena, &a, NULL) == 0 && a.line == 0)
            abort();
    atoll_tool_find(text);
}

/* The first line is a pattern and words, the rest is what is looked through. */
static void search(const char *text, size_t length)
{
    struct atoll_text_query query;
    struct atoll_pattern pattern;
    struct atoll_buffer out;
    struct atoll_text_hit hits[4];
    char *first = strndup(text, strcspn(text, "\n"));
    uint64_t work = 1u << 20;
    struct atoll_text_wanted wanted = {&query, NULL, &work};
    struct atoll_text_index *index = atoll_text_index_create(1000, NULL);
    atoll_buffer_init(&out, 1u << 20);
    atoll_text_query_init(&query, text, length);
    atoll_text_excerpt(text, length, &wanted, 4, 1, &out);
    if (first && atoll_pattern_parse(first, &pattern, NULL) == 0) {
        wanted.pattern = &pattern;
        atoll_text_excerpt(text, length, &wanted, 4, 1, &out);
    }
    if (index) {
        atoll_text_index_add(index, text, length, NULL);
        atoll_text_index_add(index, text, length / 2, NULL);
        atoll_text_index_find(index, &query, hits, 4);
    }
    atoll_text_index_destroy(index);
    atoll_buffer_fini(&out);
    free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char cut[ATOLL_TOOL_RESULT_LIMIT + 1];
    struct atoll_arena *arena = atoll_arena_create(4 << 20, NULL);
    char *text = malloc(size + 1);
    struct atoll_tool_order order;
    struct atoll_tool_answer answer;
    if (arena && text) {
        memcpy(text, data, size);
        text[size] = '\0';
        arguments(text, arena);
        search(text, size);
        atoll_tool_order_decode(data, size, arena, &order, NULL);
        atoll_tool_answer_decode(data, size, arena, &answer, NULL);
        atoll_tool_result_cut(text, size, cut);
        if (atoll_utf8_valid_bytes(cut, strlen(cut)) != strlen(cut))
            abort();
    }
    free(text);
    atoll_arena_destroy(arena);
    return 0;
}
