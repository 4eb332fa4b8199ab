/* Prompts that evolve, on the simulator: an author whose skill depends on which advice stands in its prompt, and a prompter who knows
 * nothing and tries.  Which advice is right must be found out by what kernels gain.  With an argument, so many seeds. */
#include "tests/simulator/simulator.h"

#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/knowledge/region.h"
#include "evolution/strategy/wording.h"

#define ADVICES  8u
#define TASKS    24u
#define VERSIONS 512u
#define TEXT     2048u
#define FRONT    "<!-- region philosophy -->\nBytes first.\n<!-- end -->\n<!-- region strategies -->\n"
#define BACK                                                                                                 \
    "<!-- end -->\n<!-- region pitfalls -->\nTails.\n<!-- end -->\n<!-- region analysis -->\nThink.\n<!-- "  \
    "end -->\n"
#define COORDINATES ATOLL_AUTHOR_COORDINATES

static unsigned long seeds = 40;

struct school {
    const struct atoll_landscape *landscapes;
    struct atoll_random random;
    unsigned right;
    uint32_t count;
    uint32_t versions[VERSIONS];
    char texts[VERSIONS][TEXT], before[64], after[64];
    uint64_t asks, well_advised;
};

static unsigned below(struct school *s, unsigned bound)
{
    return (unsigned)atoll_random_below(atoll_random_next(&s->random), bound);
}

static const char *text_of(const struct school *s, uint32_t version)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->versions[i] == version)
            return s->texts[i];
    fail_msg("no version %u", version);
    return "";
}

static int has_advice(const char *text, unsigned advice)
{
    char line[64];
    snprintf(line, sizeof(line), "- advice %u\n", advice);
    return strstr(text, line) != NULL;
}

static uint8_t *coordinate_of(struct atoll_landscape_point *p, unsigned c)
{
    return c < 3 ? &p->levels[c] : &p->traits[c - 3];
}

/* Who has the right advice sees moves that pay; who has another one is told any. */
static void tell(void *context, const struct atoll_engine *engine, const struct atoll_ask *ask,
                 struct atoll_author_told *told)
{
    struct school *s = context;
    struct atoll_id source;
    struct atoll_choice choice;
    struct atoll_landscape_point parent;
    const char *language, *text;
    if (ask->kind != ATOLL_ASK_WRITE ||
        atoll_engine_candidate(engine, ask->task, &ask->parent, &source, &choice) != 0 ||
        atoll_engine_source(engine, &source, &language, &text) != 0 ||
        atoll_landscape_parse(text, &choice, &parent) != 0)
        return;
    int is_right = has_advice(text_of(s, ask->prompt), s->right);
    const struct atoll_landscape *l = &s->landscapes[ask->task];
    double now = atoll_landscape_time_ns(l, &parent);
    for (unsigned c = 0; c < COORDINATES; c++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            struct atoll_landscape_point next = parent;
            int value = *coordinate_of(&next, c) + sign;
            if (value < 0 || value >= (c < 3 ? ATOLL_BEHAVIOUR_LEVELS : ATOLL_LANDSCAPE_VALUES))
                continue;
            *coordinate_of(&next, c) = (uint8_t)value;
            if (!is_right || atoll_landscape_time_ns(l, &next) < now)
                atoll_author_told_move(told, c, sign);
        }
    }
    s->asks++;
    s->well_advised += (uint64_t)is_right;
}

/* Another advice in the place of one that stands there, at random. */
static void edit(void *context, const struct atoll_ask *ask, struct atoll_reply *reply)
{
    struct school *s = context;
    const char *text = text_of(s, ask->prompt);
    unsigned old = 0;
    while (old < ADVICES && !has_advice(text, old))
        old++;
    snprintf(s->before, sizeof(s->before), "- advice %u", old);
    snprintf(s->after, sizeof(s->after), "- advice %u", below(s, ADVICES));
    reply->item_count = 1;
    reply->items[0] = (struct atoll_reply_item){
        .kind = ATOLL_ITEM_EDIT, .title = "strategies", .before = s->before, .after = s->after};
    struct atoll_buffer out;
    atoll_buffer_init(&out, TEXT);
    if (atoll_regions_apply(text, reply->items, 1, &out, NULL, NULL) != 1) {
        reply->item_count = 0; /* the same advice again */
    } else {
        assert_true(s->count < VERSIONS);
        s->versions[s->count] = (uint32_t)ask->number;
        memcpy(s->texts[s->count++], out.data, out.length);
    }
    atoll_buffer_fini(&out);
}

struct scene {
    const char *what;
    int is_default;
    double hardness, obvious; /* of the landscapes; of the author */
    double least, least_asks; /* shares of the seeds that must find it, of the asks that must have it */
};

/* Steep landscapes, for what is to be told apart is worth something only as long as there is something to gain.  1: the fittest version
 * that had its share of answers holds the right advice. */
static int campaign(uint64_t seed, const struct scene *scene, double *ret_share)
{
    struct atoll_simulator_settings *s = malloc(sizeof(*s));
    struct school *school = calloc(1, sizeof(*school));
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_true(s && school);
    atoll_simulator_defaults(s);
    s->seed = s->search.seed = seed;
    s->author.heeds = 0.8;
    s->author.obvious = scene->obvious;
    s->rank_count = 2;
    s->search.asks = 2; /* the default of a campaign; the simulator's is another */
    if (scene->is_default) {
        s->search.evaluation_budget = 4800;
        s->task_count = 1;
    } else {
        s->search.evaluation_budget = 2400;
        s->search.memory = s->search.distil = s->search.template_rounds = 0;
        s->search.prompt_interval = 3;
        s->search.prompt_share = ATOLL_PROMPT_SHARED;
        s->task_count = TASKS;
    }
    for (uint32_t i = 0; i < s->task_count; i++)
        s->landscapes[i] =
            (struct atoll_landscape){ATOLL_LANDSCAPE_SMOOTH, seed * TASKS + i, scene->hardness};
    s->briefer = (struct atoll_simulator_briefer){.tell = tell, .edit = edit, .context = school};
    school->landscapes = s->landscapes;
    school->random = (struct atoll_random){atoll_random_at(seed, 40), 0};
    school->right = 1 + below(school, ADVICES - 1);
    school->count = 1;
    snprintf(school->texts[0], TEXT, FRONT "- advice 0\n" BACK);
    struct atoll_simulator *simulator = atoll_simulator_create(s, &err);
    if (!simulator || atoll_simulator_run(simulator, 0, &err) < 0)
        fail_msg("%s", err.text);
    const struct atoll_engine *engine = atoll_simulator_engine(simulator);
    const struct atoll_prompt_archive *a =
        &atoll_wording_pool(engine, &engine->tasks[0])->archives[ATOLL_LANGUAGE_C];
    uint32_t best = 0;
    for (uint32_t i = 1; i < a->count; i++)
        if (a->versions[i].answers >= ATOLL_PROMPT_LEAST &&
            a->versions[i].fitness > a->versions[best].fitness)
            best = i;
    int found = a->count && has_advice(text_of(school, a->versions[best].version), school->right);
    *ret_share += (double)school->well_advised / (double)school->asks;
    atoll_simulator_destroy(simulator);
    free(school);
    free(s);
    return found;
}

static void expect_found(const struct scene *scene, unsigned long count)
{
    unsigned found = 0;
    double share = 0;
    for (uint64_t seed = 1; seed <= count; seed++)
        found += (unsigned)campaign(seed, scene, &share);
    print_message("%s: the right advice of %u is found with %u of %lu seeds; %.0f %% of all asks had it\n",
                  scene->what, ADVICES, found, count, 100 * share / (double)count);
    assert_true(found >= (double)count * scene->least && share >= (double)count * scene->least_asks);
}

static void the_right_advice_is_found(void **state)
{
    (void)state;
    expect_found(&(struct scene){"24 tasks that share their prompts", 0, 8, 0, 0.9, 0}, seeds);
}

/* Own prompts, an edit every ten generations, and all other lessons beside it: one task has to have the answers itself. */
static void it_is_found_with_default_settings(void **state)
{
    (void)state;
    expect_found(&(struct scene){"one task, every setting as it comes", 1, 8, 0, 0.9, 0}, seeds);
}

/* Most parents are so slow that everybody knows what to do, and what they give says nothing of the text: fewer answers tell advice
 * from advice, and which version drew such a parent is luck (docs/benchmarks/2026-11-28-meta-prompter.md). */
static void naive_parents_do_not_decide(void **state)
{
    (void)state;
    expect_found(&(struct scene){"one task, naive parents gain whatever is told", 1, 1, 2, 0, 0.3},
                 (seeds + 1) / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_right_advice_is_found),
                                       cmocka_unit_test(it_is_found_with_default_settings),
                                       cmocka_unit_test(naive_parents_do_not_decide)};
    if (argc > 1)
        seeds = strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
