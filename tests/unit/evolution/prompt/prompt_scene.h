/* prompt_scene.h - one prompt of a task with all that it borrows. */
#ifndef ATOLL_TESTS_UNIT_EVOLUTION_PROMPT_PROMPT_SCENE_H
#define ATOLL_TESTS_UNIT_EVOLUTION_PROMPT_PROMPT_SCENE_H

#include "tests/support/expect.h"
#include "tests/support/combinations.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/issue.h"
#include "core/candidate.h"
#include "core/rules/rules.h"
#include "core/search.h"
#include "evolution/reply/reply.h"
#include "evolution/prompt/prompt.h"
#include "evolution/prompt/prompt_text.h"
#include "tests/support/evaluation.h"
#include "tests/support/texts.h"

#define STARTER  ATOLL_SOURCE_DIR "/suites/starter/"
#define EXAMPLE  ATOLL_SOURCE_DIR "/knowledge/prompts/example"
#define FIXTURES ATOLL_SOURCE_DIR "/tests/fixtures/prompt/"

/* One prompt with all that it borrows. */
struct scene {
    struct atoll_task *task;
    struct atoll_ask ask;
    struct atoll_device_info device;
    struct atoll_evaluation parent_evaluation, failure_evaluation;
    struct atoll_choice choice;
    struct atoll_prompt_kernel parent, inspirations[2], failures[2];
    struct atoll_prompt_input input;
    struct atoll_prompt prompt;
};

static inline const char *seed_of(const struct atoll_task *task, const char *language, size_t which)
{
    for (size_t i = 0; i < task->seed_count; i++)
        if (strcmp(task->seeds[i].language, language) == 0 && which-- == 0)
            return task->seeds[i].source;
    fail_msg("no seed in %s", language);
    return NULL;
}

static inline void fill_device(struct atoll_device_info *d, int is_cuda)
{
    *d = (struct atoll_device_info){.key = 77,
                                    .uuid = "GPU-SECRET-UUID",
                                    .node = "secretnode17",
                                    .threads = is_cuda ? 0 : 3,
                                    .bandwidth_bytes_per_s = is_cuda ? 4.2e12 : 1.2e10,
                                    .empty_launch_ns = is_cuda ? 2200 : 900};
    snprintf(d->backend, sizeof(d->backend), "%s", is_cuda ? "cuda" : "cpu");
    snprintf(d->model, sizeof(d->model), "%s", is_cuda ? "NVIDIA H200" : "Intel(R) Xeon(R) Processor");
    snprintf(d->toolchain, sizeof(d->toolchain), "%s",
             is_cuda ? "nvrtc 13.0 sm_90a"
                     : "gcc 12.2.0 -std=gnu11 -O3 -march=native -I/home/someone/include");
    d->peak_flops[ATOLL_F32] = is_cuda ? 6.1e13 : 9e10;
    if (is_cuda) {
        d->limits = (struct atoll_device_limits){.compute_capability = 90,
                                                 .multiprocessors = 132,
                                                 .warp_size = 32,
                                                 .threads_per_block = 1024,
                                                 .threads_per_multiprocessor = 2048,
                                                 .shared_bytes_per_block = 232448,
                                                 .cluster_blocks = 8,
                                                 .cooperative = 1};
    }
}

static inline size_t first_bench(const struct atoll_task *task, const char *backend)
{
    for (size_t i = 0; i < task->variant_count; i++) {
        if (task->variants[i].kind == ATOLL_VARIANT_BENCH &&
            (!task->variants[i].backend || strcmp(task->variants[i].backend, backend) == 0)) {
            return i;
        }
    }
    return 0;
}

static inline void scene_init(struct scene *s, const char *dir, const char *language)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int is_cuda = strcmp(language, "cuda") == 0;
    memset(s, 0, sizeof(*s));
    s->task = atoll_task_load(dir, &err);
    if (!s->task)
        fail_msg("%s", err.text);
    fill_device(&s->device, is_cuda);
    atoll_evaluation_init(&s->parent_evaluation);
    atoll_evaluation_init(&s->failure_evaluation);
    s->ask = (struct atoll_ask){
        .number = 1, .op = ATOLL_OPERATOR_UNIVERSAL, .count = 1, .role = ATOLL_ISLAND_ROLE_COUNT};
    s->input = (struct atoll_prompt_input){.texts = source_texts(),
                                           .ask = &s->ask,
                                           .task = s->task,
                                           .language = language,
                                           .backend = is_cuda ? "cuda" : "cpu",
                                           .device = &s->device,
                                           .threads = is_cuda ? 0 : 3};
    atoll_prompt_init(&s->prompt);
}

static inline void scene_fini(struct scene *s)
{
    atoll_prompt_fini(&s->prompt);
    atoll_evaluation_fini(&s->parent_evaluation);
    atoll_evaluation_fini(&s->failure_evaluation);
    atoll_task_destroy(s->task);
}

static inline void add_parent(struct scene *s, const char *source, enum atoll_verdict verdict,
                              const char *detail)
{
    s->parent_evaluation.verdict = verdict;
    snprintf(s->parent_evaluation.detail, sizeof(s->parent_evaluation.detail), "%s", detail);
    s->parent = (struct atoll_prompt_kernel){.source = source, .evaluation = &s->parent_evaluation};
    s->input.parent = &s->parent;
    if (verdict != ATOLL_V_CORRECT)
        return;
    struct atoll_timing *t = &s->parent_evaluation.timings[0];
    size_t variant = first_bench(s->task, s->input.backend);
    *t = (struct atoll_timing){.variant = (uint32_t)variant,
                               .floor_ns = 310000,
                               .summary = {.count = 41, .median = 812345, .lo95 = 809000, .hi95 = 816500}};
    s->parent_evaluation.timing_count = 1;
    s->parent_evaluation.worst_error = 0.01;
    s->parent_evaluation.behaviour = (struct atoll_behaviour){1, 2, 0};
    s->parent.time_ns = 812345;
    s->parent.speedup = 2.5;
    s->ask.baseline_ns = s->input.baseline_ns = 2030862;
    s->input.best_ns = 700000;
    s->input.floor_ns = 310000;
}

static inline const char *written(struct scene *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_prompt_write(&s->input, &s->prompt, &err))
        fail_msg("%s", err.text);
    atoll_buffer_put_u8(&s->prompt.user, 0); /* a text for strstr */
    s->prompt.user.length--;
    return (const char *)s->prompt.user.data;
}

#endif
