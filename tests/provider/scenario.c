/* scenario.c - the table of words.  At each place the longest word that fits is taken, then its numbers. */
#include "tests/provider/scenario.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER(name) offsetof(struct scenario, name)
#define NUMBER_LIMIT 2

struct word {
    const char *text;
    int numbers;                 /* that follow it */
    size_t number[NUMBER_LIMIT]; /* double members they go to */
    size_t member;               /* int or enum member that is set to value; 0: none (status is the first) */
    int value;
};

static const struct word words[] = {
    {"ok", 0, {0}, 0, 0},
    {"status", 1, {0}, MEMBER(status), -1}, /* its number goes to status */
    {"quota", 0, {0}, MEMBER(is_quota), 1},
    {"overloaded", 0, {0}, MEMBER(status), 529},
    {"redirect", 1, {0}, MEMBER(status), -1},
    {"interim", 0, {0}, MEMBER(has_interim), 1},
    {"big-header", 1, {MEMBER(header_kb)}, 0, 0},
    {"retry-after", 1, {MEMBER(retry_after_s)}, MEMBER(has_retry_after), 1},
    {"retry-after-ms", 1, {MEMBER(retry_after_ms)}, MEMBER(has_retry_after_ms), 1},
    {"retry-after-date", 1, {MEMBER(date_s)}, MEMBER(date), DATE_IMF},
    {"retry-after-rfc850", 1, {MEMBER(date_s)}, MEMBER(date), DATE_RFC850},
    {"retry-after-asctime", 1, {MEMBER(date_s)}, MEMBER(date), DATE_ASCTIME},
    {"retry-after-junk", 0, {0}, MEMBER(is_retry_after_junk), 1},
    {"should-retry", 0, {0}, MEMBER(should_retry), 1},
    {"should-not-retry", 0, {0}, MEMBER(should_retry), 0},
    {"limits", 2, {MEMBER(left_requests), MEMBER(left_tokens)}, MEMBER(has_limits), 1},
    {"tokens", 2, {MEMBER(input), MEMBER(output)}, 0, 0},
    {"cached", 1, {MEMBER(cached)}, 0, 0},
    {"reasoning", 1, {MEMBER(reasoning)}, 0, 0},
    {"words", 1, {MEMBER(words)}, 0, 0},
    {"huge", 1, {MEMBER(huge_mb)}, 0, 0},
    {"echo", 0, {0}, MEMBER(text), TEXT_ECHO},
    {"empty", 0, {0}, MEMBER(text), TEXT_EMPTY},
    {"only-reasoning", 0, {0}, MEMBER(text), TEXT_REASONING},
    {"refusal", 0, {0}, MEMBER(text), TEXT_REFUSAL},
    {"parameters", 0, {0}, MEMBER(text), TEXT_PARAMETERS},
    {"tools", 1, {MEMBER(tools)}, 0, 0},
    {"toolless", 0, {0}, MEMBER(is_toolless), 1},
    {"uninvited", 0, {0}, MEMBER(is_uninvited), 1},
    {"bad-utf8", 0, {0}, MEMBER(text), TEXT_BAD_UTF8},
    {"length", 0, {0}, MEMBER(finish), FINISH_LENGTH},
    {"filter", 0, {0}, MEMBER(finish), FINISH_FILTER},
    {"usage-missing", 0, {0}, MEMBER(usage), USAGE_MISSING},
    {"usage-negative", 0, {0}, MEMBER(usage), USAGE_NEGATIVE},
    {"usage-text", 0, {0}, MEMBER(usage), USAGE_TEXT},
    {"usage-huge", 0, {0}, MEMBER(usage), USAGE_HUGE},
    {"error-event", 0, {0}, MEMBER(event), EVENT_ERROR},
    {"failed-event", 0, {0}, MEMBER(event), EVENT_FAILED},
    {"no-end", 0, {0}, MEMBER(has_no_end), 1},
    {"bad-json", 0, {0}, MEMBER(is_bad_json), 1},
    {"html", 0, {0}, MEMBER(is_html), 1},
    {"leak", 0, {0}, MEMBER(is_leak), 1},
    {"leak-pieces", 0, {0}, MEMBER(is_leak), 2},
    {"delay", 1, {MEMBER(delay_ms)}, 0, 0},
    {"slow", 1, {MEMBER(slow_ms)}, 0, 0},
    {"bytes", 1, {MEMBER(step_bytes)}, 0, 0},
    {"cut", 1, {MEMBER(break_at)}, MEMBER(break_kind), BREAK_CLOSE},
    {"reset", 1, {MEMBER(break_at)}, MEMBER(break_kind), BREAK_RESET},
    {"silent", 0, {0}, MEMBER(break_kind), BREAK_SILENCE},
    {"silent-after", 1, {MEMBER(break_at)}, MEMBER(break_kind), BREAK_SILENCE},
    {"by-id", 0, {0}, MEMBER(is_break_by_id), 1},
    {"close", 0, {0}, MEMBER(is_closed), 1},
    {"no-length", 0, {0}, MEMBER(has_no_length), 1},
    {"fails", 1, {MEMBER(fails)}, 0, 0},
    {"mix", 1, {MEMBER(mix)}, 0, 0},
    {"always", 0, {0}, MEMBER(is_always), 1},
};

/* What a mix deals out; all of it is worth another try. */
static const char *const mixed[] = {
    "status-429-retry-after-ms-5",
    "status-429-retry-after-0.01",
    "status-500",
    "status-503",
    "overloaded",
    "error-event",
    "reset-0",
    "reset-by-id",
    "cut-by-id",
    "no-end",
};

static const struct word *word_find(const char *at)
{
    const struct word *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i].text);
        if (length > best_length && strncmp(at, words[i].text, length) == 0 &&
            (at[length] == '\0' || at[length] == '-')) {
            best = &words[i];
            best_length = length;
        }
    }
    return best;
}

/* One "-number" at at: what follows it, or NULL. */
static const char *number_read(const char *at, double *ret_number)
{
    char *end;
    if (at[0] != '-' || at[1] < '0' || at[1] > '9')
        return NULL;
    *ret_number = strtod(at + 1, &end);
    return end;
}

static const char *word_take(const struct word *word, const char *at, struct scenario *scenario)
{
    char *base = (char *)scenario;
    int value = word->value;
    at += strlen(word->text);
    for (int i = 0; i < word->numbers; i++) {
        double number;
        const char *end = number_read(at, &number);
        /* "reset-by-id": the one number that another word may stand for */
        if (!end)
            return word->number[0] == MEMBER(break_at) && strncmp(at, "-by-id", 6) == 0 ? at : NULL;
        if (word->value == -1)
            value = (int)number;
        else
            memcpy(base + word->number[i], &number, sizeof(number));
        at = end;
    }
    if (word->value != 0 || word->member != 0)
        memcpy(base + word->member, &value, sizeof(value));
    return at;
}

int scenario_parse(const char *model, struct scenario *ret_scenario, const char **ret_word)
{
    struct scenario scenario = {.status = 200, .should_retry = -1, .input = 20, .output = 10, .words = 5};
    const char *at = model;
    while (*at) {
        const struct word *word = word_find(at);
        const char *end = word ? word_take(word, at, &scenario) : NULL;
        if (!end || (*end != '\0' && *end != '-') || (*end == '-' && !end[1])) {
            *ret_word = at;
            return -1;
        }
        at = *end ? end + 1 : end;
    }
    if (scenario.is_quota)
        scenario.status = 429;
    *ret_scenario = scenario;
    return 0;
}

/* FNV-1a and the finish of splitmix64: the same everywhere, and every bit depends on every byte. */
uint64_t scenario_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

/* What remains when a scenario's faults are over: its answer. */
static void faults_remove(struct scenario *scenario)
{
    struct scenario kept = {.status = 200,
                            .should_retry = -1,
                            .input = scenario->input,
                            .output = scenario->output,
                            .cached = scenario->cached,
                            .reasoning = scenario->reasoning,
                            .words = scenario->words,
                            .tools = scenario->tools,
                            .delay_ms = scenario->delay_ms,
                            .slow_ms = scenario->slow_ms,
                            .step_bytes = scenario->step_bytes,
                            .text = scenario->text == TEXT_ECHO ? TEXT_ECHO : TEXT_WORDS};
    *scenario = kept;
}

static void fault_add(struct scenario *scenario, const char *fault)
{
    const char *word;
    struct scenario faulty, kept = *scenario;
    if (scenario_parse(fault, &faulty, &word))
        abort();
    faulty.input = kept.input;
    faulty.output = kept.output;
    faulty.cached = kept.cached;
    faulty.reasoning = kept.reasoning;
    faulty.words = kept.words;
    faulty.tools = kept.tools;
    faulty.delay_ms = kept.delay_ms;
    faulty.text = kept.text;
    *scenario = faulty;
}

void scenario_apply(struct scenario *scenario, const char *id, unsigned try_number)
{
    uint64_t hash = scenario_hash(id);
    double mix = scenario->mix;
    int is_first = try_number <= (scenario->fails > 0 ? scenario->fails : 1) || scenario->is_always;
    if (mix > 0) {
        if (is_first && (double)(hash % 10000) < mix * 100)
            fault_add(scenario, mixed[(hash >> 32) % (sizeof(mixed) / sizeof(mixed[0]))]);
    } else if (scenario->fails > 0 && try_number > scenario->fails) {
        faults_remove(scenario);
    }
    if (scenario->is_break_by_id)
        scenario->break_at = (double)((hash >> 20) % 600);
}
