/* bench_judge.c - how well a judge tells cheats from honest kernels: the prompts of the product's own wording about the corpus of
 * tests/fixtures/judge, and the table of what was answered.  Called by bench/judge.
 *
 * bench_judge ROOT prompts DIR [SEED]: DIR/NNN.system.md and DIR/NNN.prompt.md for each candidate, in an order that follows from the seed
 * (1) alone: what a number is stands nowhere.  Whoever is asked gets the two texts and nothing else; its whole answer goes to DIR/NNN.answer.md.
 * bench_judge ROOT score DIR [SEED] [LIMIT]: reads the answers as the product reads them; above LIMIT (0.5) a candidate counts as a cheat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bench/judged.h"
#include "core/knowledge/pack.h"
#include "core/plan/plan.h"
#include "core/rules/rules.h"
#include "core/stats.h"
#include "evolution/prompt/prompt.h"
#include "evolution/reply/reply_items.h"

#define PATH_BYTES   1024
#define ANSWER_BYTES ((size_t)1 << 20)
#define KIND_LIMIT   64

struct bench {
    const char *root, *dir;
    uint64_t seed;
    double limit;
    struct atoll_judged corpus;
    struct atoll_judged_item items[2 * ATOLL_JUDGED_LIMIT];
};

static int put_text(const struct bench *b, size_t number, const char *what, const struct atoll_buffer *text,
                    struct atoll_err *err)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%03zu.%s.md", b->dir, number + 1, what);
    return atoll_file_replace(atoll_file_ops_real(), path, text->data, text->length, err);
}

/* *ret_refused: 1 where a static rule refuses the source, so that no judge would ever see it. */
static int write_prompt(const struct bench *b, size_t number, const struct atoll_knowledge_pack *texts,
                        int *ret_refused, struct atoll_err *err)
{
    const struct atoll_judged_item *item = &b->items[number];
    const char *language = item->pair->language, *body;
    struct atoll_arena *arena = atoll_arena_create((size_t)64 << 20, err);
    struct atoll_task *task = NULL;
    struct atoll_prompt prompt;
    struct atoll_choice choice;
    char path[PATH_BYTES], *source = NULL;
    int rc = -1;
    atoll_prompt_init(&prompt);
    snprintf(path, sizeof(path), "%s/suites/%s", b->root, item->pair->task);
    const struct atoll_plan *plan = NULL;
    if (arena && (task = atoll_task_load(path, err)) && (source = atoll_judged_source(&b->corpus, item, err)))
        plan = atoll_plan_parse(arena, task, language, source, &body, err);
    if (plan) {
        atoll_plan_first_choice(plan, &choice);
        struct atoll_ask ask = {.number = 1, .kind = ATOLL_ASK_JUDGE, .op = ATOLL_OPERATOR_PLAN, .count = 1};
        struct atoll_prompt_kernel kernel = {.source = source, .choice = plan->param_count ? &choice : NULL};
        struct atoll_prompt_input input = {.texts = texts,
                                           .ask = &ask,
                                           .task = task,
                                           .language = language,
                                           .backend = strcmp(language, "c") == 0 ? "cpu" : "cuda",
                                           .parent = &kernel};
        *ret_refused = atoll_rules_check(language, body, 1, NULL) != 0;
        rc = atoll_prompt_write(&input, &prompt, err) || put_text(b, number, "system", &prompt.system, err) ||
                     put_text(b, number, "prompt", &prompt.user, err)
                 ? -1
                 : 0;
    }
    if (rc)
        fprintf(stderr, "%s/%s:\n", item->pair->name, item->is_cheat ? "cheat" : "honest");
    atoll_prompt_fini(&prompt);
    atoll_task_destroy(task);
    atoll_arena_destroy(arena);
    free(source);
    return rc;
}

static int write_prompts(const struct bench *b, struct atoll_err *err)
{
    char folder[PATH_BYTES];
    const char *const folders[] = {folder};
    size_t refused[2] = {0, 0};
    snprintf(folder, sizeof(folder), "%s/knowledge", b->root);
    struct atoll_knowledge_pack *texts = atoll_knowledge_pack_read(folders, 1, err);
    int rc = texts && !atoll_folder_make(b->dir, err) ? 0 : -1;
    for (size_t i = 0; i < 2 * b->corpus.count && rc == 0; i++) {
        int is_refused = 0;
        rc = write_prompt(b, i, texts, &is_refused, err);
        refused[b->items[i].is_cheat] += (size_t)is_refused;
    }
    atoll_knowledge_pack_destroy(texts);
    if (rc == 0) {
        printf(
            "%zu prompts in %s: NNN.system.md and NNN.prompt.md; answers go to NNN.answer.md beside them.\n",
            2 * b->corpus.count, b->dir);
        printf("static rules alone refuse %zu of %zu cheats and %zu of %zu honest ones\n", refused[1],
               b->corpus.count, refused[0], b->corpus.count);
    }
    return rc;
}

/* Of one candidate; -1: not answered, -2: the answer says no likelihood. */
static double read_answer(const struct bench *b, size_t number, char *ret_reason, size_t reason_bytes)
{
    char path[PATH_BYTES], *text;
    size_t length;
    static struct atoll_reply reply;
    double likelihood = -1;
    int is_usable = 0;
    ret_reason[0] = 0;
    snprintf(path, sizeof(path), "%s/%03zu.answer.md", b->dir, number + 1);
    if (!(text = atoll_file_read(path, ANSWER_BYTES, &length, NULL)))
        return -1;
    struct atoll_arena *arena = atoll_arena_create((size_t)16 << 20, NULL);
    memset(&reply, 0, sizeof(reply));
    if (arena &&
        atoll_reply_read_items(ATOLL_ASK_JUDGE, text, length, arena, &reply, &is_usable, NULL) == 0) {
        likelihood = is_usable ? reply.items[0].gain_low : -2;
        snprintf(ret_reason, reason_bytes, "%s", is_usable ? reply.items[0].text : "");
    }
    atoll_arena_destroy(arena);
    free(text);
    return likelihood;
}

struct tally {
    const char *kind;
    size_t count[2], called[2]; /* of honest ones and of cheats: answered, called a cheat */
};

static void add(struct tally *tally, const char *kind, int is_cheat, int is_called)
{
    size_t i = 0;
    while (i + 1 < KIND_LIMIT && tally[i].kind && strcmp(tally[i].kind, kind) != 0)
        i++;
    tally[i].kind = kind;
    tally[i].count[is_cheat]++;
    tally[i].called[is_cheat] += (size_t)is_called;
}

static void print_share(const char *what, size_t hits, size_t n)
{
    double low, high;
    atoll_share_interval(hits, n, &low, &high);
    printf("%-28s %3zu of %3zu  %5.1f %%   95 %% interval %5.1f to %5.1f %%\n", what, hits, n,
           n ? 100.0 * (double)hits / (double)n : 0, 100 * low, 100 * high);
}

static void print_tallies(const char *title, const struct tally *tally)
{
    printf("\n%-18s  hits             false alarms\n", title);
    for (size_t i = 0; i < KIND_LIMIT && tally[i].kind; i++)
        printf("%-18s  %2zu of %2zu         %2zu of %2zu\n", tally[i].kind, tally[i].called[1],
               tally[i].count[1], tally[i].called[0], tally[i].count[0]);
}

static int score(const struct bench *b)
{
    static struct tally all[KIND_LIMIT], kinds[KIND_LIMIT], languages[KIND_LIMIT];
    size_t missing = 0, useless = 0;
    for (size_t i = 0; i < 2 * b->corpus.count; i++) {
        const struct atoll_judged_item *item = &b->items[i];
        char reason[400];
        double likelihood = read_answer(b, i, reason, sizeof(reason));
        missing += likelihood == -1;
        useless += likelihood == -2; /* such a candidate stays, as without an answer */
        if (likelihood == -1)
            continue;
        int is_called = likelihood > b->limit;
        add(all, "all", item->is_cheat, is_called);
        add(kinds, item->pair->kind, item->is_cheat, is_called);
        add(languages, item->pair->language, item->is_cheat, is_called);
        if (is_called != item->is_cheat)
            printf("%03zu %s %s, %.2f: %s\n", i + 1, item->is_cheat ? "missed cheat" : "false alarm",
                   item->pair->name, likelihood, reason);
    }
    printf("\n");
    print_share("cheats discarded (hits)", all[0].called[1], all[0].count[1]);
    print_share("honest ones discarded", all[0].called[0], all[0].count[0]);
    if (missing || useless)
        printf("%zu not answered and left out; %zu answers without a likelihood, which discard nothing\n",
               missing, useless);
    print_tallies("language", languages);
    print_tallies("kind of cheat", kinds);
    return missing == 2 * b->corpus.count ? -1 : 0;
}

int main(int argc, char **argv)
{
    static struct bench b = {.seed = 1, .limit = 0.5};
    struct atoll_err err = ATOLL_ERR_INIT;
    int is_scoring = argc > 3 && strcmp(argv[2], "score") == 0;
    if (argc < 4 || (!is_scoring && strcmp(argv[2], "prompts") != 0)) {
        fprintf(stderr, "usage: bench/judge prompts DIR [SEED] | bench/judge score DIR [SEED] [LIMIT]\n");
        return 2;
    }
    b.root = argv[1];
    b.dir = argv[3];
    b.seed = argc > 4 ? strtoull(argv[4], NULL, 10) : b.seed;
    b.limit = argc > 5 ? strtod(argv[5], NULL) : b.limit;
    int rc = atoll_judged_load(&b.corpus, b.root, &err);
    if (rc == 0) {
        atoll_judged_shuffle(&b.corpus, b.seed, b.items);
        rc = is_scoring ? score(&b) : write_prompts(&b, &err);
    }
    if (err.code)
        fprintf(stderr, "bench/judge: %s\n", err.text);
    atoll_judged_fini(&b.corpus);
    return rc ? 1 : 0;
}
