/* fuzz_plan.c - any text as a candidate: what parses as a plan must have a canonical form that parses to
 * itself. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/candidate.h"
#include "core/plan/plan_cover.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two dims, two tensors, two variants: enough for names to be right or wrong. */
static const struct atoll_task task = {
    .name = "fuzz",
    .dim_count = 2,
    .dims = {"N", "M"},
    .tensor_count = 2,
    .tensors = {{.name = "x", .dtype = ATOLL_F32, .role = ATOLL_ROLE_IN},
                {.name = "y", .dtype = ATOLL_F32, .role = ATOLL_ROLE_OUT}},
    .variant_count = 2,
    .variants = {{.name = "check", .kind = ATOLL_VARIANT_CHECK, .dims = {7, 1}},
                 {.name = "bench", .kind = ATOLL_VARIANT_BENCH, .dims = {4096, 33}}}};

static void use(struct atoll_arena *arena, const char *language, const struct atoll_plan *plan,
                const char *body)
{
    struct atoll_choice choice;
    char text[256];
    size_t length = strlen(plan->canonical) + 64;
    char *source = malloc(length);
    const char *rest = NULL;
    if (!source)
        return;
    atoll_plan_first_choice(plan, &choice);
    atoll_plan_choice_legal(&task, plan, &choice, NULL);
    atoll_plan_choice_check(&task, plan, &choice, NULL);
    struct atoll_plan_cover cover;
    if (atoll_plan_cover(&task, plan, &choice, plan->launch_count, &cover, NULL) == 0)
        for (size_t i = 0; i < cover.count; i++) {
            size_t path = 0;
            if (atoll_plan_path_at(&task, plan, &cover.variants[i], &path, NULL) != 0 ||
                path != cover.paths[i])
                abort();
        }
    atoll_choice_text(plan, &choice, text, sizeof(text));
    atoll_candidate_id(&task, language, plan, body, &choice);
    snprintf(source, length, "/* atoll-plan %s */", plan->canonical);
    const struct atoll_plan *again = atoll_plan_parse(arena, &task, language, source, &rest, NULL);
    /* A text with the end of a comment inside cannot stand in a comment, nor can one that grew beyond the
     * limit. */
    if (again && strcmp(again->canonical, plan->canonical) != 0)
        abort();
    free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const languages[] = {"c", "cuda", "opencl"};
    char *source = malloc(size + 1);
    if (!source)
        return 0;
    memcpy(source, data, size);
    source[size] = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *body = NULL;
        struct atoll_arena *arena = atoll_arena_create((size_t)8 << 20, NULL);
        const struct atoll_plan *plan =
            arena ? atoll_plan_parse(arena, &task, languages[i], source, &body, NULL) : NULL;
        if (plan)
            use(arena, languages[i], plan, body);
        atoll_arena_destroy(arena);
    }
    free(source);
    return 0;
}
