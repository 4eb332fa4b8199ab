#include "evolution/strategy/wording.h"

#include <stdlib.h>
#include <string.h>

int atoll_wording_is_on(const struct atoll_engine *e)
{
    return e->search.prompt_evolution && e->search.strategy != ATOLL_STRATEGY_REPEATED;
}

/* Position of the task that holds the versions. */
static uint32_t pool_at(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    for (uint32_t i = 0; e->search.prompt_share == ATOLL_PROMPT_SHARED && i < e->task_count; i++)
        if (e->tasks[i].model == t->model)
            return i;
    return atoll_task_position(e, t);
}

struct atoll_prompts *atoll_wording_pool(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return &e->tasks[pool_at(e, t)].prompts;
}

enum atoll_language atoll_wording_language(const char *name)
{
    unsigned language = 0;
    while (language < ATOLL_PROMPT_LANGUAGES &&
           strcmp(atoll_language_name((enum atoll_language)language), name) != 0)
        language++;
    return (enum atoll_language)language;
}

static const char *language_of(const struct atoll_engine *e, uint32_t individual)
{
    return e->sources.items[e->individuals.items[individual].source].language;
}

enum atoll_language atoll_wording_language_of_ask(const struct atoll_engine *e,
                                                  const struct atoll_asked *asked)
{
    const char *parent = asked->parent == ATOLL_NONE ? NULL : language_of(e, asked->parent);
    return atoll_wording_language(atoll_language_of_ask(e->search.language, parent, asked->ask.number));
}

/* Whose system text holds the language's. */
static int has_text(enum atoll_ask_kind kind)
{
    return kind == ATOLL_ASK_WRITE || kind == ATOLL_ASK_PLAN || kind == ATOLL_ASK_ANALYSE;
}

/* A step, or a stage's issues; who is only told what an analyser found may be told it in other words. */
static int carries_out(const struct atoll_ask *ask)
{
    return ask->op == ATOLL_OPERATOR_EXECUTE || ask->op == ATOLL_OPERATOR_STAGED ||
           ask->op == ATOLL_OPERATOR_EXTRACT;
}

static const struct atoll_prompt_author *author_of(const struct atoll_prompts *p, uint64_t ask)
{
    for (uint32_t i = 0; ask && i < p->author_count; i++)
        if (p->authors[i].ask == ask)
            return &p->authors[i];
    return NULL;
}

static int remember(struct atoll_prompts *p, const struct atoll_ask *ask, struct atoll_err *err)
{
    if (atoll_array_reserve(&p->authors, &p->author_capacity, p->author_count + 1, sizeof(*p->authors), err))
        return -1;
    if (p->author_count == ATOLL_WORDING_AUTHORS)
        memmove(p->authors, p->authors + 1, --p->author_count * sizeof(*p->authors));
    p->authors[p->author_count++] = (struct atoll_prompt_author){ask->number, ask->prompt};
    return 0;
}

int atoll_wording_choose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_asked *asked,
                         struct atoll_err *err)
{
    enum atoll_language language = atoll_wording_language_of_ask(e, asked);
    if (!atoll_wording_is_on(e) || !has_text(asked->ask.kind) || language >= ATOLL_PROMPT_LANGUAGES)
        return 0;
    struct atoll_prompt_archive *archive = &atoll_wording_pool(e, t)->archives[language];
    const struct atoll_prompt_author *author =
        carries_out(&asked->ask) ? author_of(&t->prompts, asked->ask.plan) : NULL;
    asked->ask.prompt = author ? author->version : atoll_prompt_archive_draw(archive, &e->search, &t->random);
    atoll_prompt_archive_use(archive, asked->ask.prompt);
    return asked->ask.kind == ATOLL_ASK_WRITE ? 0 : remember(&t->prompts, &asked->ask, err);
}

uint32_t atoll_wording_mark(const struct atoll_engine *e, const struct atoll_ask *ask)
{
    return atoll_wording_is_on(e) && ask->kind == ATOLL_ASK_WRITE ? ask->prompt + 1 : 0;
}
