/* batches.c - the batch APIs of OpenAI (files and batches) and Anthropic, in a simple form.
 * A batch is under way for two looks at it and done at the third; each of its requests is a question whose model is a
 * scenario, of which status and answer count; of the way it goes out a break alone, which the first results have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/provider/service.h"

#define ENTRY_LIMIT 4096
#define LOOKS       2

struct entry {
    char *text; /* of a file, or the results of a batch */
    char *errors;
    size_t length, errors_length, count;
    int is_batch, is_anthropic, looks, is_cancelled;
    unsigned input; /* entry number of the file */
};

struct batches {
    struct entry entries[ENTRY_LIMIT];
    unsigned count;
    struct scenario breaks; /* how the next results go out; BREAK_NONE: whole */
};

struct batches *batches_create(void)
{
    struct batches *batches = calloc(1, sizeof *batches);
    if (!batches)
        abort();
    return batches;
}

void batches_destroy(struct batches *batches)
{
    for (unsigned i = 0; batches && i < batches->count; i++) {
        free(batches->entries[i].text);
        free(batches->entries[i].errors);
    }
    free(batches);
}

static struct entry *entry_add(struct batches *batches, const void *text, size_t length)
{
    if (batches->count == ENTRY_LIMIT)
        return NULL;
    struct entry *entry = &batches->entries[batches->count++];
    entry->text = malloc(length + 1);
    if (!entry->text)
        abort();
    memcpy(entry->text, text, length);
    entry->text[length] = '\0';
    entry->length = length;
    return entry;
}

/* The entry that "PREFIX<number>" at the start of text names; rest: what follows the number. */
static struct entry *entry_find(struct batches *batches, const char *text, const char *prefix,
                                const char **ret_rest)
{
    char *end;
    size_t length = strlen(prefix);
    if (!text || strncmp(text, prefix, length) != 0)
        return NULL;
    unsigned long number = strtoul(text + length, &end, 10);
    *ret_rest = end;
    return number < batches->count && end > text + length ? &batches->entries[number] : NULL;
}

static unsigned entry_number(const struct batches *batches, const struct entry *entry)
{
    return (unsigned)(entry - batches->entries);
}

/* ---- one line of a batch ---- */

static int compose_line(struct service *service, const struct dialect *dialect, const json_t *body,
                        struct atoll_buffer *out)
{
    struct question question;
    struct scenario scenario;
    struct atoll_buffer text, reasoning;
    struct answer answer;
    const char *word;
    if (question_read(body, &question) || scenario_parse(question.model, &scenario, &word)) {
        dialect->error(404, 0, out);
        return 404;
    }
    struct tally_row *row = tally_row(&service->tally, question.id);
    service->tally.sum.seen++;
    if (scenario.break_kind != BREAK_NONE)
        service->batches->breaks = scenario;
    scenario_apply(&scenario, question.id, ++row->seen);
    if (scenario.status != 200) {
        dialect->error(scenario.status, scenario.is_quota, out);
        tally_note(&service->tally, question.id, TALLY_REFUSED, 0, 0);
        return scenario.status;
    }
    atoll_buffer_init(&text, (size_t)16 << 20);
    atoll_buffer_init(&reasoning, (size_t)1 << 20);
    service_compose(service, &question, &scenario, &text, &reasoning, &answer);
    dialect->whole(&answer, out);
    atoll_buffer_fini(&text);
    atoll_buffer_fini(&reasoning);
    tally_note(&service->tally, question.id, TALLY_ANSWERED, scenario.input, scenario.output);
    return 200;
}

static void keep_text(char **ret_text, size_t *ret_length, struct atoll_buffer *buffer)
{
    free(*ret_text);
    *ret_length = buffer->length;
    atoll_buffer_put_u8(buffer, 0);
    if (buffer->failed)
        abort();
    *ret_text = (char *)buffer->data; /* taken over */
}

/* ---- OpenAI ---- */

static const struct dialect *dialect_of(const char *url)
{
    return url && strcmp(url, dialect_responses.path) == 0    ? &dialect_responses
           : url && strcmp(url, dialect_embeddings.path) == 0 ? &dialect_embeddings
                                                              : &dialect_chat;
}

static void openai_line(struct service *service, const char *line, size_t length, struct atoll_buffer *good,
                        struct atoll_buffer *bad)
{
    json_t *value = json_loadb(line, length, 0, NULL);
    const char *id = json_string_value(json_object_get(value, "custom_id"));
    struct atoll_buffer body;
    atoll_buffer_init(&body, (size_t)16 << 20);
    int status = compose_line(service, dialect_of(json_string_value(json_object_get(value, "url"))),
                              json_object_get(value, "body"), &body);
    struct atoll_buffer *out = status == 200 ? good : bad;
    atoll_buffer_printf(out, "{\"id\":\"batch_req_%lu\",\"custom_id\":", service->number);
    dialect_put_text(out, id ? id : "", id ? strlen(id) : 0);
    atoll_buffer_printf(out, ",\"response\":{\"status_code\":%d,\"request_id\":\"req_1\",\"body\":", status);
    atoll_buffer_put_bytes(out, body.data, body.length);
    atoll_buffer_printf(out, "},\"error\":null}\n");
    atoll_buffer_fini(&body);
    json_decref(value);
}

static void openai_work(struct service *service, struct entry *batch)
{
    const struct entry *file = &service->batches->entries[batch->input];
    struct atoll_buffer good, bad;
    atoll_buffer_init(&good, (size_t)256 << 20);
    atoll_buffer_init(&bad, (size_t)256 << 20);
    for (const char *line = file->text; *line;) {
        size_t length = strcspn(line, "\n");
        if (length > 1) {
            openai_line(service, line, length, &good, &bad);
            batch->count++;
        }
        line += length + (line[length] == '\n');
    }
    keep_text(&batch->text, &batch->length, &good);
    keep_text(&batch->errors, &batch->errors_length, &bad);
}

static void openai_print(const struct service *service, const struct entry *batch, struct reply *reply)
{
    static const char *const states[] = {"validating", "in_progress", "completed"};
    struct atoll_buffer out;
    unsigned number = entry_number(service->batches, batch);
    int is_done = batch->looks > LOOKS && !batch->is_cancelled;
    atoll_buffer_init(&out, 4096);
    atoll_buffer_printf(
        &out,
        "{\"id\":\"batch_%u\",\"object\":\"batch\",\"endpoint\":\"/v1/chat/completions\",\"errors\":null,"
        "\"input_file_id\":\"file-%u\",\"completion_window\":\"24h\",\"status\":\"%s\",",
        number, batch->input,
        batch->is_cancelled ? "cancelled"
        : is_done           ? states[2]
        : batch->looks == 0 ? states[0]
                            : states[1]);
    if (is_done && batch->length)
        atoll_buffer_printf(&out, "\"output_file_id\":\"file-%u-output\",", number);
    if (is_done && batch->errors_length)
        atoll_buffer_printf(&out, "\"error_file_id\":\"file-%u-errors\",", number);
    atoll_buffer_printf(&out, "\"created_at\":1700000000,\"request_counts\":{\"total\":%zu}}", batch->count);
    reply_json(reply, 200, &out);
    atoll_buffer_fini(&out);
}

static void file_content(struct batches *batches, const struct entry *entry, const char *rest,
                         struct reply *reply)
{
    int is_errors = strncmp(rest, "-errors", 7) == 0;
    const char *text = is_errors ? entry->errors : entry->text;
    reply_head(reply, 200, "application/octet-stream");
    reply_body(reply, text ? text : "", is_errors ? entry->errors_length : entry->length);
    if (batches->breaks.break_kind != BREAK_NONE) {
        reply->break_at = (uint64_t)batches->breaks.break_at;
        reply->break_kind = batches->breaks.break_kind;
        batches->breaks.break_kind = BREAK_NONE;
    }
}

/* The part of a multipart body that has a file name. */
static void file_add(struct service *service, const struct service_request *request, struct reply *reply)
{
    struct atoll_buffer out;
    char mark[160];
    int mark_length = snprintf(mark, sizeof mark, "\r\n--%s", request->boundary);
    const char *body = request->body, *end = body + request->body_length;
    const char *part = memmem(body, request->body_length, "filename=", 9);
    const char *text = part ? memmem(part, (size_t)(end - part), "\r\n\r\n", 4) : NULL;
    const char *stop = text ? memmem(text + 2, (size_t)(end - text - 2), mark, (size_t)mark_length) : NULL;
    struct entry *entry =
        stop ? entry_add(service->batches, text + 4, stop > text + 4 ? (size_t)(stop - text - 4) : 0) : NULL;
    if (!entry || !request->boundary[0]) {
        reply_say(reply, 400, "no file in the multipart body");
        return;
    }
    atoll_buffer_init(&out, 4096);
    atoll_buffer_printf(&out,
                        "{\"id\":\"file-%u\",\"object\":\"file\",\"bytes\":%zu,\"created_at\":1700000000,"
                        "\"filename\":\"batch.jsonl\",\"purpose\":\"batch\"}",
                        entry_number(service->batches, entry), entry->length);
    reply_json(reply, 200, &out);
    atoll_buffer_fini(&out);
}

static void openai_add(struct service *service, const struct service_request *request, struct reply *reply)
{
    const char *rest;
    json_t *body = json_loadb(request->body, request->body_length, 0, NULL);
    const struct entry *file = entry_find(
        service->batches, json_string_value(json_object_get(body, "input_file_id")), "file-", &rest);
    struct entry *batch = file ? entry_add(service->batches, "", 0) : NULL;
    if (batch) {
        batch->is_batch = 1;
        batch->input = entry_number(service->batches, file);
        openai_print(service, batch, reply);
    } else {
        reply_say(reply, 400, "no such input file");
    }
    json_decref(body);
}

static void openai_look(struct service *service, struct entry *batch, const char *rest, struct reply *reply)
{
    if (strcmp(rest, "/cancel") == 0)
        batch->is_cancelled = 1;
    else if (++batch->looks == LOOKS + 1 && !batch->is_cancelled)
        openai_work(service, batch);
    openai_print(service, batch, reply);
}

/* ---- Anthropic ---- */

static void anthropic_line(struct service *service, const json_t *request, struct atoll_buffer *out)
{
    const char *id = json_string_value(json_object_get(request, "custom_id"));
    struct atoll_buffer body;
    atoll_buffer_init(&body, (size_t)16 << 20);
    int status = compose_line(service, &dialect_anthropic, json_object_get(request, "params"), &body);
    atoll_buffer_printf(out, "{\"custom_id\":");
    dialect_put_text(out, id ? id : "", id ? strlen(id) : 0);
    atoll_buffer_printf(out, status == 200 ? ",\"result\":{\"type\":\"succeeded\",\"message\":"
                                           : ",\"result\":{\"type\":\"errored\",\"error\":");
    atoll_buffer_put_bytes(out, body.data, body.length);
    atoll_buffer_printf(out, "}}\n");
    atoll_buffer_fini(&body);
}

static void anthropic_work(struct service *service, struct entry *batch)
{
    struct atoll_buffer out;
    json_t *body = json_loadb(batch->text, batch->length, 0, NULL);
    const json_t *requests = json_object_get(body, "requests");
    atoll_buffer_init(&out, (size_t)256 << 20);
    batch->count = json_array_size(requests);
    for (size_t i = 0; i < batch->count; i++)
        anthropic_line(service, json_array_get(requests, i), &out);
    keep_text(&batch->text, &batch->length, &out);
    json_decref(body);
}

static void anthropic_print(const struct service *service, const struct entry *batch, struct reply *reply)
{
    struct atoll_buffer out;
    unsigned number = entry_number(service->batches, batch);
    int is_done = batch->looks > LOOKS || batch->is_cancelled;
    atoll_buffer_init(&out, 4096);
    atoll_buffer_printf(
        &out,
        "{\"id\":\"msgbatch_%u\",\"type\":\"message_batch\",\"processing_status\":\"%s\","
        "\"request_counts\":{\"processing\":0,\"succeeded\":%zu,\"errored\":0,\"canceled\":0,\"expired\":0},"
        "\"created_at\":\"2024-01-01T00:00:00Z\",\"results_url\":",
        number, is_done ? "ended" : "in_progress", batch->count);
    if (is_done)
        atoll_buffer_printf(&out, "\"%s/v1/messages/batches/msgbatch_%u/results\"}", service->url, number);
    else
        atoll_buffer_printf(&out, "null}");
    reply_json(reply, 200, &out);
    atoll_buffer_fini(&out);
}

static void anthropic_add(struct service *service, const struct service_request *request, struct reply *reply)
{
    struct entry *batch = entry_add(service->batches, request->body, request->body_length);
    if (!batch) {
        reply_say(reply, 400, "too many batches");
        return;
    }
    batch->is_batch = batch->is_anthropic = 1;
    anthropic_print(service, batch, reply);
}

static void anthropic_look(struct service *service, struct entry *batch, const char *rest,
                           struct reply *reply)
{
    if (strcmp(rest, "/results") == 0) {
        file_content(service->batches, batch, "", reply);
        return;
    }
    if (strcmp(rest, "/cancel") == 0)
        batch->is_cancelled = 1;
    else if (++batch->looks == LOOKS + 1 && !batch->is_cancelled)
        anthropic_work(service, batch);
    anthropic_print(service, batch, reply);
}

/* ---- paths ---- */

int batches_answer(struct service *service, const struct service_request *request, struct reply *reply)
{
    const char *path = request->path, *rest;
    struct entry *entry;
    int is_post = strcmp(request->method, "POST") == 0;
    if (is_post && strcmp(path, "/v1/files") == 0)
        file_add(service, request, reply);
    else if (is_post && strcmp(path, "/v1/batches") == 0)
        openai_add(service, request, reply);
    else if (is_post && strcmp(path, "/v1/messages/batches") == 0)
        anthropic_add(service, request, reply);
    else if ((entry = entry_find(service->batches, path, "/v1/files/file-", &rest)))
        file_content(service->batches, entry, rest, reply);
    else if ((entry = entry_find(service->batches, path, "/v1/batches/batch_", &rest)) && entry->is_batch)
        openai_look(service, entry, rest, reply);
    else if ((entry = entry_find(service->batches, path, "/v1/messages/batches/msgbatch_", &rest)) &&
             entry->is_anthropic)
        anthropic_look(service, entry, rest, reply);
    else
        return 0;
    return 1;
}
