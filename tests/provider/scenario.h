/* scenario.h - what a request's model name asks of the fault server: words with numbers, joined by '-' (README.md).
 * Layer: tests.  Plain value. */
#ifndef ATOLL_TESTS_PROVIDER_SCENARIO_H
#define ATOLL_TESTS_PROVIDER_SCENARIO_H

#include <stdint.h>

enum scenario_break { BREAK_NONE, BREAK_CLOSE, BREAK_RESET, BREAK_SILENCE };
enum scenario_text {
    TEXT_WORDS,
    TEXT_ECHO,
    TEXT_EMPTY,
    TEXT_REASONING,
    TEXT_REFUSAL,
    TEXT_BAD_UTF8,
    TEXT_PARAMETERS
};
enum scenario_finish { FINISH_STOP, FINISH_LENGTH, FINISH_FILTER };
enum scenario_usage { USAGE_RIGHT, USAGE_MISSING, USAGE_NEGATIVE, USAGE_TEXT, USAGE_HUGE };
enum scenario_event { EVENT_NONE, EVENT_ERROR, EVENT_FAILED };
enum scenario_date { DATE_NONE, DATE_IMF, DATE_RFC850, DATE_ASCTIME };

struct scenario {
    /* ---- the head ---- */
    int status; /* 200: an answer */
    double retry_after_s, retry_after_ms;
    int has_retry_after, has_retry_after_ms, is_retry_after_junk;
    enum scenario_date date;
    double date_s;
    int should_retry; /* -1 unsaid, 0 false, 1 true */
    int has_limits;
    double left_requests, left_tokens;
    int is_quota, has_interim;
    double header_kb;
    /* ---- the expected values ---- */
    double input, output, cached, reasoning, words, huge_mb, tools;
    enum scenario_text text;
    enum scenario_finish finish;
    enum scenario_usage usage;
    enum scenario_event event;
    int is_toolless;  /* offered tools are a 400 */
    int is_uninvited; /* it calls a tool whatever is offered */
    int has_no_end, is_bad_json, is_html, is_leak;
    /* ---- how it goes out ---- */
    double delay_ms, slow_ms, step_bytes, break_at;
    enum scenario_break break_kind;
    int is_break_by_id; /* break_at follows from the id */
    int is_closed, has_no_length;
    /* ---- which requests it is for ---- */
    double fails; /* tries of an id that go wrong; 0: all */
    double mix;   /* percent of ids */
    int is_always;
};

/* 0, or -1: a word is unknown; ret_word: from where, in model. */
int scenario_parse(const char *model, struct scenario *ret_scenario, const char **ret_word);
/* What the try-th request (from 1) of an id gets: faults that are over, or not for this id, are taken out. */
void scenario_apply(struct scenario *scenario, const char *id, unsigned try_number);
uint64_t scenario_hash(const char *text);

#endif
