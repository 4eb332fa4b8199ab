/* outcome.c - the value, and its bytes for stores: u8 version, then the fields in the header's order (docs/spec/gateway.md).
 * Decoding builds an outcome aside and hands it over when all of it holds. */
#include "llm-gateway/request/outcome.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "llm-gateway/request/outcome_text.h"
#include "base/utf8.h"

#define VERSION      1u
#define LONGEST_S    1e9
#define DEAREST_USD  1e9
#define HTTP_HIGHEST 999u

static const char *const status_names[ATOLL_LLM_STATUS_COUNT] = {
    "ok",        "truncated", "empty",  "refused",    "invalid", "denied",  "notfound",
    "too_large", "quota",     "rate",   "overloaded", "stream",  "network", "protocol",
    "timeout",   "cancelled", "budget", "miss",       "unknown"};

const char *atoll_llm_status_name(enum atoll_llm_status status)
{
    return (unsigned)status < ATOLL_LLM_STATUS_COUNT ? status_names[status] : "?";
}

int atoll_llm_status_is_answer(enum atoll_llm_status status)
{
    return status == ATOLL_LLM_OK || status == ATOLL_LLM_TRUNCATED;
}

void atoll_llm_outcome_init(struct atoll_llm_outcome *outcome)
{
    memset(outcome, 0, sizeof *outcome);
    atoll_buffer_init(&outcome->text, OUTCOME_TEXT_BYTES + 1);
    atoll_buffer_init(&outcome->reasoning, OUTCOME_TEXT_BYTES + 1);
    atoll_buffer_init(&outcome->raw, OUTCOME_RAW_BYTES);
}

void atoll_llm_outcome_fini(struct atoll_llm_outcome *outcome)
{
    atoll_buffer_fini(&outcome->text);
    atoll_buffer_fini(&outcome->reasoning);
    atoll_buffer_fini(&outcome->raw);
    atoll_llm_outcome_init(outcome);
}

void atoll_outcome_text_put(struct atoll_buffer *text, const void *bytes, size_t length)
{
    size_t before = text->length;
    if (length >= text->limit_bytes - before) {
        text->failed = text->failed ? text->failed : ATOLL_E_LIMIT;
    }
    atoll_buffer_put_bytes(text, bytes, length);
    atoll_buffer_put_u8(text, 0);
    text->length = text->failed ? before : text->length - 1;
    if (text->failed && text->data) {
        text->data[before] = 0;
    }
}

static int copy_failed(const struct atoll_llm_outcome *o, struct atoll_err *err)
{
    return atoll_buffer_check(&o->text, err) || atoll_buffer_check(&o->reasoning, err) ||
           atoll_buffer_check(&o->raw, err);
}

int atoll_llm_outcome_copy(const struct atoll_llm_outcome *from, struct atoll_llm_outcome *ret_outcome,
                           struct atoll_err *err)
{
    struct atoll_llm_outcome copy = *from;
    atoll_buffer_init(&copy.text, from->text.limit_bytes);
    atoll_buffer_init(&copy.reasoning, from->reasoning.limit_bytes);
    atoll_buffer_init(&copy.raw, from->raw.limit_bytes);
    if (from->text.data) {
        atoll_outcome_text_put(&copy.text, from->text.data, from->text.length);
    }
    if (from->reasoning.data) {
        atoll_outcome_text_put(&copy.reasoning, from->reasoning.data, from->reasoning.length);
    }
    atoll_buffer_put_bytes(&copy.raw, from->raw.data, from->raw.length);
    if (copy_failed(&copy, err)) {
        atoll_llm_outcome_fini(&copy);
        return -1;
    }
    atoll_llm_outcome_fini(ret_outcome);
    *ret_outcome = copy;
    return 0;
}

void atoll_llm_outcome_set(struct atoll_llm_outcome *outcome, enum atoll_llm_status status,
                           const char *format, ...)
{
    char text[2 * sizeof outcome->detail]; /* longer than what is kept: no cut character gets there */
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    outcome->status = status;
    atoll_utf8_line(outcome->detail, sizeof outcome->detail, text, length < 0 ? 0 : strlen(text));
}

/* ---- bytes ---- */

static void put_usage(const struct atoll_llm_usage *u, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, u->input);
    atoll_buffer_put_u64(out, u->cached_input);
    atoll_buffer_put_u64(out, u->cache_write);
    atoll_buffer_put_u64(out, u->output);
    atoll_buffer_put_u64(out, u->reasoning);
    atoll_buffer_put_u8(out, u->is_estimated != 0);
}

/* What decode would refuse must not get into a store: a clock that went back is no reason to lose an answer. */
static double sane(double v, double high)
{
    return !(v > 0) ? 0 : v < high ? v : high;
}

void atoll_llm_outcome_encode(const struct atoll_llm_outcome *o, struct atoll_buffer *out)
{
    assert((unsigned)o->status < ATOLL_LLM_STATUS_COUNT);
    atoll_buffer_put_u8(out, VERSION);
    atoll_buffer_put_u8(out, (uint8_t)o->status);
    atoll_buffer_put_u32(out, (unsigned)o->http_status > HTTP_HIGHEST ? 0 : (uint32_t)o->http_status);
    atoll_buffer_put_text(out, o->detail);
    atoll_buffer_put_text(out, o->model);
    atoll_buffer_put_text(out, o->name);
    atoll_buffer_put_text(out, o->endpoint);
    atoll_buffer_put_text(out, o->finish);
    atoll_buffer_put_blob(out, o->text.data, o->text.length);
    atoll_buffer_put_blob(out, o->reasoning.data, o->reasoning.length);
    atoll_buffer_put_blob(out, o->raw.data, o->raw.length);
    put_usage(&o->usage, out);
    atoll_buffer_put_f64(out, sane(o->cost_usd, DEAREST_USD));
    atoll_buffer_put_u32(out, o->tries);
    atoll_buffer_put_i64(out, o->started_unix_ns);
    atoll_buffer_put_f64(out, sane(o->first_byte_s, LONGEST_S));
    atoll_buffer_put_f64(out, sane(o->elapsed_s, LONGEST_S));
    atoll_buffer_put_u8(out, o->is_from_store != 0);
    atoll_buffer_put_bytes(out, o->request.bytes, sizeof o->request.bytes);
}

static int read_u8_in(struct atoll_reader *r, uint8_t limit)
{
    uint8_t v = atoll_reader_u8(r);
    if (v >= limit) {
        r->failed = r->failed ? r->failed : ATOLL_E_PROTOCOL;
    }
    return r->failed ? 0 : v;
}

static void read_usage(struct atoll_reader *r, struct atoll_llm_usage *u)
{
    u->input = atoll_reader_u64(r);
    u->cached_input = atoll_reader_u64(r);
    u->cache_write = atoll_reader_u64(r);
    u->output = atoll_reader_u64(r);
    u->reasoning = atoll_reader_u64(r);
    u->is_estimated = read_u8_in(r, 2);
}

/* is_text: UTF-8 without a NUL inside, with one behind. */
static void read_bytes(struct atoll_reader *r, struct atoll_buffer *out, int is_text)
{
    size_t length;
    const void *bytes = atoll_reader_blob(r, &length);
    if (r->failed || !length) {
        return;
    }
    if (is_text && (memchr(bytes, 0, length) || atoll_utf8_valid_bytes(bytes, length) < length)) {
        r->failed = ATOLL_E_PROTOCOL;
    } else if (is_text) {
        atoll_outcome_text_put(out, bytes, length);
    } else {
        atoll_buffer_put_bytes(out, bytes, length);
    }
    r->failed = out->failed ? out->failed : r->failed;
}

static void read_fields(struct atoll_reader *r, struct atoll_llm_outcome *o)
{
    o->status = (enum atoll_llm_status)read_u8_in(r, ATOLL_LLM_STATUS_COUNT);
    o->http_status = (int)atoll_reader_u32_in(r, 0, HTTP_HIGHEST);
    atoll_reader_fixed_text(r, o->detail, sizeof o->detail);
    atoll_reader_fixed_text(r, o->model, sizeof o->model);
    atoll_reader_fixed_text(r, o->name, sizeof o->name);
    atoll_reader_fixed_text(r, o->endpoint, sizeof o->endpoint);
    atoll_reader_fixed_text(r, o->finish, sizeof o->finish);
    read_bytes(r, &o->text, 1);
    read_bytes(r, &o->reasoning, 1);
    read_bytes(r, &o->raw, 0);
    read_usage(r, &o->usage);
    o->cost_usd = atoll_reader_f64_in(r, 0, DEAREST_USD);
    o->tries = atoll_reader_u32(r);
    o->started_unix_ns = atoll_reader_i64(r);
    o->first_byte_s = atoll_reader_f64_in(r, 0, LONGEST_S);
    o->elapsed_s = atoll_reader_f64_in(r, 0, LONGEST_S);
    o->is_from_store = read_u8_in(r, 2);
    atoll_reader_bytes(r, o->request.bytes, sizeof o->request.bytes);
}

int atoll_llm_outcome_decode(const void *bytes, size_t length, struct atoll_llm_outcome *outcome,
                             struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_llm_outcome o;
    atoll_reader_init(&r, bytes, length);
    uint8_t version = atoll_reader_u8(&r);
    if (!r.failed && version > VERSION) {
        return atoll_err_set(err, ATOLL_E_SCHEMA, "outcome of version %u: this program reads up to %u",
                             version, VERSION);
    }
    if (!r.failed && version == 0) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "outcome of version 0");
    }
    atoll_llm_outcome_init(&o);
    read_fields(&r, &o);
    if (atoll_reader_finish(&r, "outcome", err)) {
        atoll_llm_outcome_fini(&o);
        return -1;
    }
    atoll_llm_outcome_fini(outcome);
    *outcome = o;
    return 0;
}
