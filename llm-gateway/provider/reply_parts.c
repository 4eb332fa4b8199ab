#include "llm-gateway/provider/reply_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "llm-gateway/request/outcome_text.h"

#define TOKENS_ABSURD 1e9 /* no context of any model is near it */

void atoll_reply_parts_init(struct atoll_reply_parts *parts)
{
    memset(parts, 0, sizeof *parts);
    atoll_buffer_init(&parts->text, OUTCOME_TEXT_BYTES + 1);
    atoll_buffer_init(&parts->reasoning, OUTCOME_TEXT_BYTES + 1);
    atoll_buffer_init(&parts->refusal, OUTCOME_TEXT_BYTES + 1);
}

void atoll_reply_parts_fini(struct atoll_reply_parts *parts)
{
    atoll_buffer_fini(&parts->text);
    atoll_buffer_fini(&parts->reasoning);
    atoll_buffer_fini(&parts->refusal);
    atoll_reply_parts_init(parts);
}

int atoll_reply_parts_failed(const struct atoll_reply_parts *parts)
{
    if (parts->text.failed) {
        return parts->text.failed;
    }
    return parts->reasoning.failed ? parts->reasoning.failed : parts->refusal.failed;
}

void atoll_reply_add(struct atoll_buffer *text, const json_t *string)
{
    const char *from = json_string_value(string);
    size_t left = json_string_length(string);
    while (from && left) {
        const char *nul = memchr(from, 0, left);
        size_t length = nul ? (size_t)(nul - from) : left;
        atoll_outcome_text_put(text, from, length);
        if (nul) {
            atoll_outcome_text_put(text, "\xef\xbf\xbd", 3);
            length++;
        }
        from += length;
        left -= length;
    }
}

void atoll_reply_count(struct atoll_reply_parts *parts, const json_t *object, const char *key,
                       uint64_t *ret_count)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value)) {
        return;
    }
    double v = json_is_number(value) ? json_number_value(value) : -1;
    if (!(v >= 0 && v <= TOKENS_ABSURD) || v != floor(v)) {
        parts->is_usage_wrong = 1;
        return;
    }
    *ret_count = (uint64_t)v;
}

/* ---- what became of it ---- */

/* How an answer ended, in the words of all dialects; what is not here ended as it should. */
static const struct {
    const char *finish;
    enum atoll_llm_status status;
} finishes[] = {
    {"length", ATOLL_LLM_TRUNCATED},
    {"max_tokens", ATOLL_LLM_TRUNCATED},
    {"max_output_tokens", ATOLL_LLM_TRUNCATED},
    {"model_length", ATOLL_LLM_TRUNCATED},
    {"model_context_window_exceeded", ATOLL_LLM_TRUNCATED},
    {"pause_turn", ATOLL_LLM_TRUNCATED},
    {"incomplete", ATOLL_LLM_TRUNCATED},
    {"content_filter", ATOLL_LLM_REFUSED},
    {"refusal", ATOLL_LLM_REFUSED},
    {"safety", ATOLL_LLM_REFUSED},
    {"recitation", ATOLL_LLM_REFUSED},
    {"error", ATOLL_LLM_STREAM},
    {"abort", ATOLL_LLM_STREAM},
    {"failed", ATOLL_LLM_STREAM},
    {"cancelled", ATOLL_LLM_STREAM},
    {"insufficient_system_resource", ATOLL_LLM_OVERLOADED},
};

static enum atoll_llm_status status_of(const char *finish)
{
    for (size_t i = 0; i < sizeof finishes / sizeof *finishes; i++) {
        if (strcasecmp(finishes[i].finish, finish) == 0) {
            return finishes[i].status;
        }
    }
    return ATOLL_LLM_OK;
}

static int is_blank(const struct atoll_buffer *text)
{
    for (size_t i = 0; i < text->length; i++) {
        if (!text->data[i] || !strchr(" \t\r\n", text->data[i])) {
            return 0;
        }
    }
    return 1;
}

static void swap(struct atoll_buffer *a, struct atoll_buffer *b)
{
    struct atoll_buffer was = *a;
    *a = *b;
    *b = was;
}

static void say_error(const struct atoll_reply_parts *p, const struct atoll_reply_end *end,
                      struct atoll_llm_outcome *o)
{
    char place[32] = "error inside the reply";
    int is_failed = end->http_status && (end->http_status < 200 || end->http_status >= 300);
    if (is_failed) {
        snprintf(place, sizeof place, "HTTP %d", end->http_status);
    }
    atoll_llm_outcome_set(o, atoll_reply_classify(p, end->http_status ? end->http_status : 200),
                          "%s%s%s%s%s%s%s", place, *p->error_type ? ": " : "", p->error_type,
                          *p->error_code ? ": " : "", p->error_code, *p->error_message ? ": " : "",
                          p->error_message);
}

static void say_refused(struct atoll_reply_parts *p, struct atoll_llm_outcome *o)
{
    int has_words = !is_blank(&p->refusal);
    atoll_llm_outcome_set(o, ATOLL_LLM_REFUSED, "refused (%s)%s%s", *p->finish ? p->finish : "no reason said",
                          *p->error_message ? ": " : "", p->error_message);
    if (is_blank(&p->text) && has_words) {
        swap(&p->text, &p->refusal);
    }
}

/* Nothing stands in the text. */
static void say_empty(const struct atoll_reply_parts *p, int is_cut, struct atoll_llm_outcome *o)
{
    const char *finish = *p->finish ? p->finish : "no finish reason";
    if (!p->reasoning.length) {
        atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY, "answered without any text (%s)", finish);
    } else if (is_cut) {
        atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY,
                              "ended inside its reasoning, %zu bytes of it, before any text (%s)",
                              p->reasoning.length, finish);
    } else {
        atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY, "%zu bytes in the reasoning channel, none in the text (%s)",
                              p->reasoning.length, finish);
    }
}

static void say_answer(struct atoll_reply_parts *p, const struct atoll_reply_end *end,
                       struct atoll_llm_outcome *o)
{
    enum atoll_llm_status status = status_of(p->finish);
    if (end->is_embedding) {
        int is_there = p->is_embedded;
        atoll_llm_outcome_set(o, is_there ? ATOLL_LLM_OK : ATOLL_LLM_PROTOCOL, "%s",
                              is_there ? "" : "no embeddings in the reply");
    } else if (!p->is_ended) {
        atoll_llm_outcome_set(o, ATOLL_LLM_STREAM,
                              "the stream ended before its %s, after %zu bytes of text%s", end->terminator,
                              p->text.length, end->is_whole ? "" : " (connection lost)");
    } else if (status == ATOLL_LLM_REFUSED || p->refusal.length) {
        say_refused(p, o);
    } else if (status == ATOLL_LLM_STREAM || status == ATOLL_LLM_OVERLOADED) {
        atoll_llm_outcome_set(o, status, "the provider ended it as '%s'", p->finish);
    } else if (is_blank(&p->text)) {
        say_empty(p, status == ATOLL_LLM_TRUNCATED, o);
    } else if (status == ATOLL_LLM_TRUNCATED) {
        atoll_llm_outcome_set(o, status, "ended by a limit (%s)", p->finish);
    } else {
        atoll_llm_outcome_set(o, ATOLL_LLM_OK, "%s", "");
    }
}

/* A count that contradicts another one, or a text that cost nothing, is no usage. */
static int is_usage_sound(const struct atoll_reply_parts *p, const struct atoll_reply_end *end)
{
    const struct atoll_llm_usage *u = &p->usage;
    int has_output = p->text.length || p->reasoning.length || p->refusal.length;
    return p->has_usage && !p->is_usage_wrong && u->cached_input <= u->input &&
           u->cache_write <= u->input - u->cached_input && u->reasoning <= u->output &&
           (u->output || !has_output || end->is_embedding);
}

void atoll_reply_conclude(struct atoll_reply_parts *p, const struct atoll_reply_end *end,
                          struct atoll_llm_outcome *o)
{
    int is_failed = end->http_status && (end->http_status < 200 || end->http_status >= 300);
    o->http_status = end->http_status;
    if (p->has_error || is_failed) {
        say_error(p, end, o);
    } else if (end->fault) {
        atoll_llm_outcome_set(o, ATOLL_LLM_PROTOCOL, "%s", end->fault);
    } else {
        say_answer(p, end, o);
    }
    o->usage = is_usage_sound(p, end) ? p->usage : (struct atoll_llm_usage){.is_estimated = 1};
    p->text.failed = p->reasoning.failed = 0; /* what is there is whole up to its limit */
    swap(&o->text, &p->text);
    swap(&o->reasoning, &p->reasoning);
    snprintf(o->model, sizeof o->model, "%s", p->model);
    snprintf(o->finish, sizeof o->finish, "%s", p->finish);
}
