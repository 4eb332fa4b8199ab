/* reply_case.h - a recorded reply and what must become of it, whole, byte by byte and in pieces of any size.  Include in one
 * source of a test program. */
#ifndef ATOLL_TESTS_UNIT_LLM_GATEWAY_REPLY_CASE_H
#define ATOLL_TESTS_UNIT_LLM_GATEWAY_REPLY_CASE_H

#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "llm-gateway/provider/provider.h"

#define REPLY_FOLDER ATOLL_SOURCE_DIR "/tests/fixtures/llm/"
#define WHOLE_LIMIT  ((size_t)1 << 20)

struct reply_case {
    const char *file;  /* under tests/fixtures/llm, NULL: */
    const char *bytes; /* the reply itself */
    int http_status;   /* 0: 200 */
    int is_cut;        /* the transfer did not end as HTTP says */
    enum atoll_llm_status status;
    const char *text, *reasoning; /* NULL: "" */
    const char *detail;           /* a part of it; NULL: none at all */
    const char *finish;
    struct atoll_llm_usage usage; /* is_estimated: nothing else is looked at */
};

static size_t reply_read(const char *name, char **ret_bytes)
{
    char path[512];
    snprintf(path, sizeof(path), "%s%s", REPLY_FOLDER, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is not there", path);
    *ret_bytes = malloc(WHOLE_LIMIT);
    assert_non_null(*ret_bytes);
    size_t length = fread(*ret_bytes, 1, WHOLE_LIMIT, f);
    fclose(f);
    return length;
}

/* step: bytes of a piece; 0: the pieces that seed says. */
static void reply_feed(enum atoll_provider provider, enum atoll_llm_operation operation, const char *bytes,
                       size_t length, size_t step, unsigned seed, const struct reply_case *c,
                       struct atoll_llm_outcome *ret_outcome)
{
    struct atoll_reply_reader *reader = atoll_reply_reader_create(provider, operation, NULL);
    assert_non_null(reader);
    size_t at = 0;
    while (at < length) {
        seed = seed * 1664525u + 1013904223u;
        size_t piece = step ? step : 1 + (seed >> 16) % 40;
        piece = piece < length - at ? piece : length - at;
        if (atoll_reply_reader_feed(reader, bytes + at, piece))
            break;
        at += piece;
    }
    atoll_reply_reader_finish(reader, c->http_status ? c->http_status : 200, !c->is_cut, ret_outcome);
    atoll_reply_reader_destroy(reader);
}

static const char *buffer_text(const struct atoll_buffer *text)
{
    if (text->data)
        assert_int_equal(text->data[text->length], 0);
    return text->data ? (const char *)text->data : "";
}

static void expect_reply(const char *name, const struct atoll_llm_outcome *o, const struct reply_case *c)
{
    const struct atoll_llm_usage *u = &o->usage, *e = &c->usage;
    if (o->status != c->status || strcmp(buffer_text(&o->text), c->text ? c->text : "") != 0 ||
        strcmp(buffer_text(&o->reasoning), c->reasoning ? c->reasoning : "") != 0) {
        fail_msg("%s: %s '%s' text '%s' reasoning '%s'", name, atoll_llm_status_name(o->status), o->detail,
                 buffer_text(&o->text), buffer_text(&o->reasoning));
    }
    if (c->detail ? !strstr(o->detail, c->detail) : o->detail[0] != 0)
        fail_msg("%s: detail '%s', expected '%s'", name, o->detail, c->detail ? c->detail : "");
    if (c->finish && strcmp(o->finish, c->finish) != 0)
        fail_msg("%s: finish '%s'", name, o->finish);
    if (u->is_estimated != e->is_estimated ||
        (!e->is_estimated &&
         (u->input != e->input || u->cached_input != e->cached_input || u->cache_write != e->cache_write ||
          u->output != e->output || u->reasoning != e->reasoning))) {
        fail_msg("%s: usage %lu (%lu cached, %lu written), %lu (%lu reasoning)%s", name,
                 (unsigned long)u->input, (unsigned long)u->cached_input, (unsigned long)u->cache_write,
                 (unsigned long)u->output, (unsigned long)u->reasoning, u->is_estimated ? " estimated" : "");
    }
}

/* What was read in pieces is what was read at once; raw as well, unless reading stopped before the end. */
static void expect_same(const char *name, const struct atoll_llm_outcome *a,
                        const struct atoll_llm_outcome *b)
{
    if (a->status != b->status || strcmp(a->detail, b->detail) != 0 ||
        strcmp(buffer_text(&a->text), buffer_text(&b->text)) != 0 ||
        strcmp(buffer_text(&a->reasoning), buffer_text(&b->reasoning)) != 0 ||
        memcmp(&a->usage, &b->usage, sizeof(a->usage)) != 0 || strcmp(a->model, b->model) != 0 ||
        strcmp(a->finish, b->finish) != 0) {
        fail_msg("%s: in pieces %s '%s', at once %s '%s'", name, atoll_llm_status_name(a->status), a->detail,
                 atoll_llm_status_name(b->status), b->detail);
    }
    if (a->status != ATOLL_LLM_PROTOCOL) {
        assert_int_equal(a->raw.length, b->raw.length);
        assert_memory_equal(a->raw.data ? a->raw.data : (const void *)"",
                            b->raw.data ? b->raw.data : (const void *)"", a->raw.length);
    }
}

static inline void expect_case(enum atoll_provider provider, enum atoll_llm_operation operation,
                               const struct reply_case *c)
{
    char *read = NULL;
    const char *name = c->file ? c->file : c->bytes;
    size_t length = c->file ? reply_read(c->file, &read) : strlen(c->bytes);
    const char *bytes = c->file ? read : c->bytes;
    struct atoll_llm_outcome whole, pieces;
    atoll_llm_outcome_init(&whole);
    atoll_llm_outcome_init(&pieces);
    reply_feed(provider, operation, bytes, length, length ? length : 1, 0, c, &whole);
    expect_reply(name, &whole, c);
    for (unsigned seed = 0; seed < 20; seed++) {
        reply_feed(provider, operation, bytes, length, !seed, seed, c, &pieces);
        expect_same(name, &pieces, &whole);
        atoll_llm_outcome_fini(&pieces);
    }
    atoll_llm_outcome_fini(&whole);
    free(read);
}

/* Cut at every byte: never anything but a stream that broke, what came before it, or, once the end was there, the answer. */
static inline void expect_cuts(enum atoll_provider provider, const char *file)
{
    char *bytes;
    size_t length = reply_read(file, &bytes);
    const struct reply_case cut = {.is_cut = 1};
    for (size_t n = 0; n <= length; n++) {
        struct atoll_llm_outcome o;
        atoll_llm_outcome_init(&o);
        reply_feed(provider, ATOLL_LLM_CHAT, bytes, n, n ? n : 1, 0, &cut, &o);
        if (o.status != ATOLL_LLM_STREAM && !(o.status == ATOLL_LLM_OK && n + 2 >= length)) {
            fail_msg("%s cut after %zu of %zu bytes: %s '%s'", file, n, length,
                     atoll_llm_status_name(o.status), o.detail);
        }
        atoll_llm_outcome_fini(&o);
    }
    free(bytes);
}

static inline struct atoll_llm_request asked(void)
{
    struct atoll_llm_request r;
    atoll_llm_request_init(&r);
    r.model = "strong";
    r.message_count = 2;
    r.messages[0] =
        (struct atoll_llm_message){.role = ATOLL_LLM_SYSTEM, .text = "Be brief.", .is_cacheable = 1};
    r.messages[1] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "Hello"};
    r.max_output_tokens = 100;
    return r;
}

static inline void expect_body(enum atoll_provider provider, const struct atoll_llm_request *request,
                               const struct atoll_provider_model *model, const char *expected)
{
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&out, WHOLE_LIMIT);
    if (atoll_provider_body(provider, request, model, &out, &err))
        fail_msg("%s", err.text);
    atoll_buffer_put_u8(&out, 0);
    assert_string_equal((const char *)out.data, expected);
    atoll_buffer_fini(&out);
}

static inline void expect_no_body(enum atoll_provider provider, const struct atoll_llm_request *request,
                                  const struct atoll_provider_model *model, const char *part)
{
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&out, WHOLE_LIMIT);
    assert_int_equal(atoll_provider_body(provider, request, model, &out, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, part);
    assert_int_equal(out.length, 0);
    atoll_buffer_fini(&out);
}

#endif
