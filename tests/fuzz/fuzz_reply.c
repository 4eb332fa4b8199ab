/* fuzz_reply.c - any bytes as a model's reply: the first byte says whether there is a parent and how many kernels are
 * wanted.  What is read is bounded, different from each other and from the parent, without NULs or odd characters; what
 * cannot be used is one source that no plan parser takes; the same reply reads alike twice. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"
#include "evolution/reply/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char parent[] = "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": "
                             "\"N\", \"args\": [\"x\", \"i64:N\"]}]} */\n"
                             "void f(long begin, long end, float *x, long n)\n{\n    for (long i = begin; i "
                             "< end; i++)\n        x[i] = 1;\n}\n";
static const struct atoll_task task = {.name = "fuzz", .dim_count = 1, .dims = {"N"}};

static void check(const struct atoll_reply *reply, int usable, const char *before, uint32_t count,
                  struct atoll_arena *arena)
{
    const char *body;
    if (reply->source_count < 1 || reply->source_count > count || (!usable && reply->source_count != 1))
        abort();
    for (uint32_t i = 0; i < reply->source_count; i++) {
        const char *text = reply->sources[i].text;
        if (strlen(text) > ATOLL_SOURCE_LIMIT || (before && strcmp(text, before) == 0))
            abort();
        for (const char *p = text; *p; p++)
            if ((unsigned char)*p < ' ' && *p != '\n' && *p != '\t')
                abort();
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(text, reply->sources[k].text) == 0)
                abort();
    }
    if (!usable &&
        (strncmp(reply->sources[0].text, ATOLL_REPLY_UNUSABLE, strlen(ATOLL_REPLY_UNUSABLE)) != 0 ||
         atoll_plan_parse(arena, &task, "c", reply->sources[0].text, &body, NULL)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *before = data[0] & 1 ? parent : NULL, *text = (const char *)data + 1;
    uint32_t count = 1 + (data[0] >> 1) % 4;
    struct atoll_reply first = {0}, second = {0};
    int usable = 0, usable_again = 1;
    struct atoll_arena *arena = atoll_arena_create((size_t)32 << 20, NULL);
    if (arena && atoll_reply_read(text, size - 1, "c", before, count, arena, &first, &usable, NULL) == 0 &&
        atoll_reply_read(text, size - 1, "c", before, count, arena, &second, &usable_again, NULL) == 0) {
        check(&first, usable, before, count, arena);
        if (usable != usable_again || first.source_count != second.source_count)
            abort();
        for (uint32_t i = 0; i < first.source_count; i++)
            if (strcmp(first.sources[i].text, second.sources[i].text) != 0)
                abort();
    }
    atoll_arena_destroy(arena);
    return 0;
}
