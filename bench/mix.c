#include "bench/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"

#define PLAN_BYTES   (4u << 20)
#define CHOICE_TRIES 1000

/* ---- tasks ---- */

struct adding {
    struct atoll_mix_tasks *tasks;
    const char *only;
};

static int task_add(void *context, const char *dir, struct atoll_err *err)
{
    struct adding *adding = context;
    size_t seeds[ATOLL_TASK_SEED_LIMIT];
    struct atoll_task *task = atoll_task_load(dir, err);
    if (!task)
        return -1;
    if ((adding->only && strcmp(adding->only, task->name) != 0) || atoll_mix_seeds(task, seeds) == 0) {
        atoll_task_destroy(task);
        return 0;
    }
    if (adding->tasks->count == ATOLL_MIX_TASK_LIMIT) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d tasks", ATOLL_MIX_TASK_LIMIT);
    }
    adding->tasks->tasks[adding->tasks->count++] = task;
    return 0;
}

int atoll_mix_tasks_add(struct atoll_mix_tasks *tasks, const char *dir, const char *only,
                        struct atoll_err *err)
{
    struct adding adding = {tasks, only};
    return atoll_suite_visit(dir, task_add, &adding, err);
}

void atoll_mix_tasks_fini(struct atoll_mix_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++)
        atoll_task_destroy(tasks->tasks[i]);
    tasks->count = 0;
}

size_t atoll_mix_seeds(const struct atoll_task *task, size_t *ret_seeds)
{
    size_t count = 0;
    for (size_t i = 0; i < task->seed_count; i++)
        if (strcmp(task->seeds[i].language, "cuda") == 0)
            ret_seeds[count++] = i;
    return count;
}

/* ---- one candidate ---- */

static int choice_is_good(const struct atoll_task *task, const struct atoll_plan *plan,
                          const struct atoll_choice *choice)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    return atoll_plan_choice_legal(task, plan, choice, &err) == 1 &&
           atoll_plan_choice_check(task, plan, choice, &err) == 0;
}

static void choice_draw(const struct atoll_task *task, const struct atoll_plan *plan, uint64_t draw,
                        struct atoll_choice *ret_choice)
{
    uint64_t at = 0;
    atoll_plan_first_choice(plan, ret_choice);
    if (draw == 0)
        return;
    for (int tries = 0; tries < CHOICE_TRIES; tries++) {
        struct atoll_choice choice = {.count = plan->param_count};
        for (size_t i = 0; i < plan->param_count; i++)
            choice.values[i] =
                plan->params[i].values[atoll_random_at(draw, at++) % plan->params[i].value_count];
        if (choice_is_good(task, plan, &choice)) {
            *ret_choice = choice;
            return;
        }
    }
}

size_t atoll_mix_triton_seed(const struct atoll_task *task)
{
    size_t i = 0;
    while (i < task->seed_count && strcmp(task->seeds[i].language, "triton") != 0)
        i++;
    return i;
}

static int identify(const struct atoll_task *task, struct atoll_mix_candidate *c, uint64_t draw,
                    struct atoll_err *err)
{
    const char *language = task->seeds[c->seed].language;
    const char *body;
    struct atoll_arena *arena = atoll_arena_create(PLAN_BYTES, err);
    const struct atoll_plan *plan =
        arena ? atoll_plan_parse(arena, task, language, c->source, &body, err) : NULL;
    if (plan) {
        choice_draw(task, plan, draw, &c->choice);
        c->id = atoll_candidate_id(task, language, plan, body, &c->choice);
    }
    atoll_arena_destroy(arena);
    return plan ? 0 : -1;
}

int atoll_mix_candidate_make(const struct atoll_mix_tasks *tasks, uint32_t task, size_t seed,
                             enum atoll_mutant mutant, unsigned number, uint64_t draw,
                             struct atoll_mix_candidate *ret_candidate, struct atoll_err *err)
{
    const struct atoll_task *of = tasks->tasks[task];
    struct atoll_mix_candidate c = {.task = task, .seed = seed, .mutant = mutant};
    c.language = of->seeds[seed].language;
    if (strcmp(c.language, "triton") != 0)
        c.source = atoll_mutant_make(of->seeds[seed].source, mutant, number, err);
    else if (asprintf(&c.source, "%s\n# %u\n", of->seeds[seed].source, number) < 0)
        c.source = NULL;
    if (!c.source || identify(of, &c, draw, err) != 0) {
        free(c.source);
        return atoll_err_add(err, "in seed %s of task %s", of->seeds[seed].name, of->name);
    }
    *ret_candidate = c;
    return 0;
}

void atoll_mix_candidate_fini(struct atoll_mix_candidate *candidate)
{
    free(candidate->source);
    candidate->source = NULL;
}

void atoll_mix_order(const struct atoll_mix_candidate *candidate, uint64_t evaluation,
                     struct atoll_order *ret_order)
{
    memset(ret_order, 0, sizeof(*ret_order));
    ret_order->evaluation = evaluation;
    ret_order->task = candidate->task;
    ret_order->candidate.id = candidate->id;
    ret_order->candidate.language = candidate->language;
    ret_order->candidate.source = candidate->source;
    ret_order->candidate.choice = candidate->choice;
}

/* ---- the mix ---- */

int atoll_mix_is_as_meant(enum atoll_mutant mutant, enum atoll_verdict verdict)
{
    switch (mutant) {
    case ATOLL_MUTANT_BROKEN: return verdict == ATOLL_V_COMPILE_ERROR;
    case ATOLL_MUTANT_SKIPS_FIRST:
    case ATOLL_MUTANT_SKIPS_LAST:
    case ATOLL_MUTANT_SKIPS_LATE: return verdict == ATOLL_V_WRONG;
    case ATOLL_MUTANT_HANGS: return verdict == ATOLL_V_TIMEOUT;
    case ATOLL_MUTANT_FAULTS: return verdict == ATOLL_V_CRASH;
    case ATOLL_MUTANT_COMMENT:
    case ATOLL_MUTANT_RENAME: return verdict == ATOLL_V_CORRECT;
    case ATOLL_MUTANT_COUNT: break;
    }
    return 0;
}

static enum atoll_mutant mutant_at(size_t place, size_t count)
{
    static const enum atoll_mutant wrong[] = {ATOLL_MUTANT_SKIPS_FIRST, ATOLL_MUTANT_SKIPS_LAST,
                                              ATOLL_MUTANT_SKIPS_LATE};
    size_t tenth = count / 10;
    if (place < tenth)
        return ATOLL_MUTANT_BROKEN;
    if (place < 2 * tenth)
        return wrong[place % 3];
    if (tenth && place == 2 * tenth)
        return ATOLL_MUTANT_HANGS;
    if (tenth && place == 2 * tenth + 1)
        return ATOLL_MUTANT_FAULTS;
    return ATOLL_MUTANT_COMMENT;
}

/* Flaws go into the first seed, which is the plain one; the others take turns. */
static int place_fill(const struct atoll_mix_tasks *tasks, size_t place, size_t count, uint64_t seed,
                      struct atoll_mix_candidate *ret_candidate, struct atoll_err *err)
{
    size_t seeds[ATOLL_TASK_SEED_LIMIT], task = place % tasks->count, turn = place / tasks->count;
    size_t seed_count = atoll_mix_seeds(tasks->tasks[task], seeds);
    enum atoll_mutant mutant = mutant_at(place, count);
    size_t chosen = mutant == ATOLL_MUTANT_COMMENT ? seeds[turn % seed_count] : seeds[0];
    size_t other = atoll_mix_triton_seed(tasks->tasks[task]);
    if (tasks->has_triton && mutant == ATOLL_MUTANT_COMMENT && turn % 2 &&
        other < tasks->tasks[task]->seed_count)
        chosen = other;
    return atoll_mix_candidate_make(tasks, (uint32_t)task, chosen, mutant, (unsigned)place,
                                    atoll_random_at(seed, place) | 1u, ret_candidate, err);
}

static void shuffle(struct atoll_mix_candidate *candidates, size_t count, uint64_t seed)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = atoll_random_at(~seed, i) % i;
        struct atoll_mix_candidate other = candidates[i - 1];
        candidates[i - 1] = candidates[j];
        candidates[j] = other;
    }
}

int atoll_mix_make(const struct atoll_mix_tasks *tasks, size_t count, uint64_t seed,
                   struct atoll_mix_candidate **ret_candidates, struct atoll_err *err)
{
    struct atoll_mix_candidate *candidates = calloc(count + 1, sizeof(*candidates));
    if (!candidates)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu candidates", count);
    for (size_t i = 0; i < count; i++) {
        if (place_fill(tasks, i, count, seed, &candidates[i], err) != 0) {
            atoll_mix_fini(candidates, count);
            return -1;
        }
    }
    shuffle(candidates, count, seed);
    *ret_candidates = candidates;
    return 0;
}

void atoll_mix_fini(struct atoll_mix_candidate *candidates, size_t count)
{
    for (size_t i = 0; candidates && i < count; i++)
        atoll_mix_candidate_fini(&candidates[i]);
    free(candidates);
}
