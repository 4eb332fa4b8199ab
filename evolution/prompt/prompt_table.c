/* prompt_table.c - what the tuner found about the parent's template (papers/000 3.4): the best value of each param, the fastest
 * combinations, the slowest ones, and which failed. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "evolution/prompt/prompt_kernel.h"

#define ARENA_BYTES   ((size_t)8 << 20)
#define FASTEST_SHOWN 16
#define SLOWEST_SHOWN 4
#define FAILED_SHOWN  12
#define TABLE_LIMIT   4096 /* combinations that are looked at */

struct table {
    const struct atoll_plan *plan;
    const struct atoll_prompt_combination **rows; /* correct ones, the fastest first, then what failed */
    size_t count, correct;                        /* of rows */
    size_t more_correct, more_failed;             /* that are not among them */
};

static int is_timed(const struct atoll_prompt_combination *c)
{
    return c->verdict == ATOLL_V_CORRECT && c->time_ns > 0;
}

/* By time, then by values: the order in which they came does not show. */
static int compare(const void *a, const void *b)
{
    const struct atoll_prompt_combination *x = *(const struct atoll_prompt_combination *const *)a,
                                          *y = *(const struct atoll_prompt_combination *const *)b;
    if (is_timed(x) != is_timed(y))
        return is_timed(x) ? -1 : 1;
    if (is_timed(x) && (x->time_ns < y->time_ns || x->time_ns > y->time_ns))
        return x->time_ns < y->time_ns ? -1 : 1;
    for (size_t i = 0; i < x->choice->count && i < y->choice->count; i++)
        if (x->choice->values[i] != y->choice->values[i])
            return x->choice->values[i] < y->choice->values[i] ? -1 : 1;
    return 0;
}

static void put_row(struct atoll_prompt_text *t, const struct table *table, size_t i)
{
    char time[32];
    for (size_t p = 0; p < table->plan->param_count; p++)
        atoll_prompt_put(t, "| %lld ", (long long)table->rows[i]->choice->values[p]);
    atoll_prompt_put(t, "| %s |\n", atoll_duration_text(table->rows[i]->time_ns, time, sizeof(time)));
}

static void put_fastest(struct atoll_prompt_text *t, const struct table *table)
{
    size_t params = table->plan->param_count,
           shown = table->correct < FASTEST_SHOWN ? table->correct : FASTEST_SHOWN;
    size_t slow = table->correct > shown + SLOWEST_SHOWN ? table->correct - SLOWEST_SHOWN : shown;
    atoll_prompt_put(t, "\n");
    for (size_t p = 0; p < params; p++)
        atoll_prompt_put(t, "| %s ", table->plan->params[p].name);
    atoll_prompt_put(t, "| time |\n");
    for (size_t p = 0; p <= params; p++)
        atoll_prompt_put(t, "|---");
    atoll_prompt_put(t, "|\n");
    for (size_t i = 0; i < shown; i++)
        put_row(t, table, i);
    if (slow > shown)
        atoll_prompt_put(t, "| ... %zu between%.*s |\n", slow - shown, (int)params, "||||||||||||||||");
    for (size_t i = slow; i < table->correct; i++)
        put_row(t, table, i);
    if (table->more_correct)
        atoll_prompt_put(t, "| ... %zu more, slower than the %zu first%.*s |\n", table->more_correct, shown,
                         (int)params, "||||||||||||||||");
}

static void put_values(struct atoll_prompt_text *t, const struct table *table, size_t p)
{
    const struct atoll_param *param = &table->plan->params[p];
    atoll_prompt_put(t, "- %s:", param->name);
    for (size_t v = 0; v < param->value_count; v++) {
        char time[32];
        size_t best = 0, failed = 0;
        while (best < table->correct && table->rows[best]->choice->values[p] != param->values[v])
            best++;
        for (size_t i = table->correct; i < table->count; i++)
            failed += table->rows[i]->choice->values[p] == param->values[v];
        atoll_prompt_put(t, "%s %lld ", v ? "," : "", (long long)param->values[v]);
        if (best < table->correct)
            atoll_prompt_put(t, "%s", atoll_duration_text(table->rows[best]->time_ns, time, sizeof(time)));
        else
            atoll_prompt_put(t, failed ? "failed" : "-");
    }
    atoll_prompt_put(t, "\n");
}

static void put_failed(struct atoll_prompt_text *t, const struct table *table)
{
    for (size_t i = table->correct; i < table->count && i - table->correct < FAILED_SHOWN; i++) {
        char choice[512];
        atoll_prompt_put(t, "%s%s (%s)", i == table->correct ? "\nFailed: " : "; ",
                         atoll_choice_text(table->plan, table->rows[i]->choice, choice, sizeof(choice)),
                         atoll_verdict_name(table->rows[i]->verdict));
    }
    size_t failed = table->count - table->correct, shown = failed < FAILED_SHOWN ? failed : FAILED_SHOWN;
    if (failed && failed - shown + table->more_failed)
        atoll_prompt_put(t, "; and %zu more", failed - shown + table->more_failed);
    atoll_prompt_put(t, failed ? ".\n" : "");
}

static void put_table(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                      struct table *table)
{
    for (size_t i = 0; i < input->combination_count && table->count < TABLE_LIMIT; i++) {
        const struct atoll_prompt_combination *c = &input->table[i];
        if (c->choice && c->choice->count == table->plan->param_count)
            table->rows[table->count++] = c;
    }
    qsort(table->rows, table->count, sizeof(*table->rows), compare);
    while (table->correct < table->count && is_timed(table->rows[table->correct]))
        table->correct++;
    if (!table->count)
        return;
    size_t tried = input->tried_count > table->count ? input->tried_count : table->count, most = tried;
    most -= table->count - table->correct; /* that can be correct, whatever was said */
    size_t correct = input->correct_count > table->correct ? input->correct_count : table->correct;
    correct = correct < most ? correct : most;
    table->more_correct = correct - table->correct;
    table->more_failed = tried - correct - (table->count - table->correct);
    atoll_prompt_put(t, "%zu combinations of its params were measured: %zu correct, %zu failed.", tried,
                     correct, tried - correct);
    if (tried > table->count)
        atoll_prompt_put(t, " Shown are %zu, the %zu fastest and %zu that failed.", table->count,
                         table->correct, table->count - table->correct);
    atoll_prompt_put(t, " The best time among %s with each value (-: none has it):\n\n",
                     tried > table->count ? "those shown" : "them");
    for (size_t p = 0; p < table->plan->param_count; p++)
        put_values(t, table, p);
    if (table->correct)
        put_fastest(t, table);
    put_failed(t, table);
}

void atoll_prompt_write_table(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (!input->parent || !input->table || !input->combination_count ||
        atoll_prompt_is_unusable(input->parent))
        return;
    struct atoll_arena *arena = atoll_arena_create(ARENA_BYTES, NULL);
    struct table table = {
        .rows = arena ? atoll_arena_alloc_array(arena, TABLE_LIMIT, sizeof(*table.rows), NULL) : NULL};
    if (!table.rows)
        t->text.failed = ATOLL_E_MEMORY;
    else
        table.plan = atoll_prompt_plan(input, t, input->parent->source, arena);
    if (table.plan && table.plan->param_count)
        put_table(input, t, &table);
    atoll_arena_destroy(arena);
}
