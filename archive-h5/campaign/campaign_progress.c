/* campaign_progress.c - progress.json, written from and read into one table of fields; and how far a campaign is: progress.json
 * as far as it can be true, then what the journals hold behind it.
 * It can be true when its attempt is one that counts and its bytes lie before that attempt's seal: then those bytes are the
 * same for everybody, and so is what is counted in them. */
#include "archive-h5/campaign/campaign_progress.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/campaign_state.h"
#include "archive-h5/journal/journal_tally.h"

#define SCHEMA           1
#define FILE_LIMIT_BYTES ((size_t)16 << 20)
#define COUNT_LIMIT      ((json_int_t)1 << 53) /* whole numbers that every reader of JSON keeps */
#define TIME_LIMIT       1e18
#define TASK_LIMIT       ((size_t)ATOLL_CAMPAIGN_TASK_LIMIT * ATOLL_MODEL_LIMIT)
#define DEVICE_LIMIT     ((size_t)1 << 16)
#define CAMPAIGN_LIMIT_S 9e9 /* what a count of nanoseconds holds */

enum kind { COUNT, UNIX_NS, SECONDS, SHARE, FLAG, TEXT };

struct field {
    const char *key;
    enum kind kind;
    size_t offset, bytes; /* bytes: of a TEXT */
};

#define FIELD(type, kind, key, name)                                                                         \
    {                                                                                                        \
        key, kind, offsetof(struct type, name), sizeof(((struct type *)0)->name)                             \
    }

static const struct field hint_fields[] = {
    FIELD(atoll_progress_json, TEXT, "attempt", attempt),
    FIELD(atoll_progress_json, COUNT, "journal_bytes", journal_bytes),
    FIELD(atoll_progress_json, UNIX_NS, "written_unix_ns", written_unix_ns),
    FIELD(atoll_progress_json, COUNT, "evaluated", evaluated),
    FIELD(atoll_progress_json, COUNT, "duelled", duelled),
    FIELD(atoll_progress_json, COUNT, "correct", correct),
    FIELD(atoll_progress_json, SECONDS, "campaign_s", campaign_s),
    FIELD(atoll_progress_json, SECONDS, "elapsed_s", elapsed_s),
    FIELD(atoll_progress_json, SECONDS, "device_s", device_s),
    FIELD(atoll_progress_json, SHARE, "busy", busy),
    FIELD(atoll_progress_json, SHARE, "candidate_share", candidate_share),
    FIELD(atoll_progress_json, COUNT, "evaluators", evaluators),
    FIELD(atoll_progress_json, FLAG, "finishing", is_finishing),
    FIELD(atoll_progress_json, FLAG, "stopped", is_stopped),
    FIELD(atoll_progress_json, TEXT, "reason", reason),
};

static const struct field asks_fields[] = {
    FIELD(atoll_campaign_progress_asks, COUNT, "open", open),
    FIELD(atoll_campaign_progress_asks, COUNT, "answered", answered),
    FIELD(atoll_campaign_progress_asks, COUNT, "failed", failed),
    FIELD(atoll_campaign_progress_asks, COUNT, "tokens", tokens),
    FIELD(atoll_campaign_progress_asks, SECONDS, "cost_usd", cost_usd),
};

static const struct field task_fields[] = {
    FIELD(atoll_campaign_progress_task, TEXT, "name", name),
    FIELD(atoll_campaign_progress_task, TEXT, "model", model),
    FIELD(atoll_campaign_progress_task, COUNT, "evaluated", evaluated),
    FIELD(atoll_campaign_progress_task, COUNT, "correct", correct),
    FIELD(atoll_campaign_progress_task, SECONDS, "baseline_ns", baseline_ns),
    FIELD(atoll_campaign_progress_task, SECONDS, "best_ns", best_ns),
    FIELD(atoll_campaign_progress_task, SECONDS, "final_ratio", final_ratio),
    FIELD(atoll_campaign_progress_task, FLAG, "done", is_done),
};

/* Files of earlier versions lack these. */
static const struct field budget_fields[] = {
    FIELD(atoll_progress_json, COUNT, "evaluation_budget", evaluation_budget),
    FIELD(atoll_progress_json, SECONDS, "wall_budget_s", wall_budget_s),
    FIELD(atoll_progress_json, SECONDS, "device_budget_s", device_budget_s),
    FIELD(atoll_progress_json, COUNT, "token_budget", token_budget),
    FIELD(atoll_progress_json, SECONDS, "money_budget_usd", money_budget_usd),
    FIELD(atoll_progress_json, COUNT, "tokens", tokens),
    FIELD(atoll_progress_json, SECONDS, "cost_usd", cost_usd),
};
static const struct field late_task_fields[] = {
    FIELD(atoll_campaign_progress_task, TEXT, "reason", reason),
    FIELD(atoll_campaign_progress_task, TEXT, "best", best),
    FIELD(atoll_campaign_progress_task, TEXT, "rival", rival),
    FIELD(atoll_campaign_progress_task, SECONDS, "rival_ns", rival_ns),
    FIELD(atoll_campaign_progress_task, SECONDS, "rival_ratio", rival_ratio),
    FIELD(atoll_campaign_progress_task, COUNT, "unstable_rounds", unstable_rounds),
    FIELD(atoll_campaign_progress_task, COUNT, "unstable_limit", unstable_limit),
    FIELD(atoll_campaign_progress_task, SECONDS, "baseline_lo_ns", baseline_lo_ns),
    FIELD(atoll_campaign_progress_task, SECONDS, "baseline_hi_ns", baseline_hi_ns),
    FIELD(atoll_campaign_progress_task, SECONDS, "best_lo_ns", best_lo_ns),
    FIELD(atoll_campaign_progress_task, SECONDS, "best_hi_ns", best_hi_ns),
    FIELD(atoll_campaign_progress_task, SECONDS, "final_lo", final_lo),
    FIELD(atoll_campaign_progress_task, SECONDS, "final_hi", final_hi),
    FIELD(atoll_campaign_progress_task, SECONDS, "rival_lo", rival_lo),
    FIELD(atoll_campaign_progress_task, SECONDS, "rival_hi", rival_hi),
    FIELD(atoll_campaign_progress_task, SECONDS, "rival_lo_ns", rival_lo_ns),
    FIELD(atoll_campaign_progress_task, SECONDS, "rival_hi_ns", rival_hi_ns),
    FIELD(atoll_campaign_progress_task, COUNT, "final_pairs", final_pairs),
    FIELD(atoll_campaign_progress_task, COUNT, "rival_pairs", rival_pairs),
};

#define PART(index, key) FIELD(atoll_campaign_progress_device, SECONDS, key, part_s[ATOLL_TIME_##index])
static const struct field device_fields[] = {
    FIELD(atoll_campaign_progress_device, TEXT, "key", key),
    FIELD(atoll_campaign_progress_device, TEXT, "node", node),
    FIELD(atoll_campaign_progress_device, TEXT, "model", model),
    PART(CANDIDATES, "candidates_s"),
    PART(INPUTS, "inputs_s"),
    PART(FLUSH, "flush_s"),
    PART(ANSWERS, "answers_s"),
    PART(CHECKS, "checks_s"),
    PART(PROCESSES, "processes_s"),
    PART(COUNTERS, "counters_s"),
    PART(RIVALS, "rivals_s"),
    PART(OTHER, "other_s"),
    PART(COMPILING, "compiling_s"),
    PART(TASKS, "tasks_s"),
    PART(START, "start_s"),
    PART(IDLE, "idle_s"),
};

#define COUNT_OF(table) (sizeof(table) / sizeof(*(table)))

void atoll_progress_json_fini(struct atoll_progress_json *hint)
{
    free(hint->tasks);
    free(hint->devices);
    memset(hint, 0, sizeof(*hint));
}

struct atoll_device_time
atoll_campaign_progress_device_time(const struct atoll_campaign_progress_device *device)
{
    struct atoll_device_time time;
    for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
        time.ns[k] = 1e9 * device->part_s[k];
    return time;
}

static struct atoll_progress_speedup speedup_of(double final_ratio, double lo, double hi, uint64_t pair_count,
                                                double yardstick_ns, double best_ns)
{
    if (final_ratio > 0)
        return (struct atoll_progress_speedup){final_ratio, 1, lo, hi, pair_count};
    return (struct atoll_progress_speedup){.ratio =
                                               yardstick_ns > 0 && best_ns > 0 ? yardstick_ns / best_ns : 0};
}

struct atoll_progress_speedup atoll_progress_over_rival(const struct atoll_campaign_progress_task *task)
{
    return speedup_of(task->rival_ratio, task->rival_lo, task->rival_hi, task->rival_pairs, task->rival_ns,
                      task->best_ns);
}

struct atoll_progress_speedup atoll_progress_over_seed(const struct atoll_campaign_progress_task *task)
{
    return speedup_of(task->final_ratio, task->final_lo, task->final_hi, task->final_pairs, task->baseline_ns,
                      task->best_ns);
}

/* ---- writing: by hand, since rank 0 waits for it ---- */

/* 0 where the text cannot be written: no UTF-8, or no memory. */
static int text_put(struct atoll_buffer *out, const char *text)
{
    const char *at = text;
    while (*at >= ' ' && *at <= '~' && *at != '"' && *at != '\\')
        at++;
    if (!*at) { /* nothing to escape */
        atoll_buffer_put_u8(out, '"');
        atoll_buffer_put_bytes(out, text, strlen(text));
        atoll_buffer_put_u8(out, '"');
        return 1;
    }
    json_t *string = json_string(text);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    if (quoted)
        atoll_buffer_printf(out, "%s", quoted);
    free(quoted);
    json_decref(string);
    return quoted != NULL;
}

static void word_put(struct atoll_buffer *out, const char *word)
{
    atoll_buffer_put_bytes(out, word, strlen(word));
}

static void count_put(struct atoll_buffer *out, uint64_t count)
{
    char text[24], *at = text + sizeof(text) - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + count % 10);
    } while (count /= 10);
    word_put(out, at);
}

/* 0 where JSON has no such value. */
static int field_put(struct atoll_buffer *out, const struct field *f, const void *from)
{
    const char *at = (const char *)from + f->offset;
    const void *value = at;
    double number;
    char digits[32];
    atoll_buffer_put_u8(out, '"');
    word_put(out, f->key);
    word_put(out, "\":");
    switch (f->kind) {
    case COUNT: count_put(out, *(const uint64_t *)value); return 1;
    case UNIX_NS: count_put(out, (uint64_t) * (const int64_t *)value); return *(const int64_t *)value >= 0;
    case FLAG: word_put(out, *(const int *)value ? "1" : "0"); return 1;
    case SECONDS:
    case SHARE:
        number = *(const double *)value;
        snprintf(digits, sizeof(digits), "%.9g", number);
        word_put(out, number < 0 || number > 0 ? digits : "0");
        return isfinite(number);
    case TEXT: return text_put(out, at);
    }
    return 0;
}

/* The members, without the braces. */
static int fields_put(struct atoll_buffer *out, const struct field *fields, size_t count, const void *from)
{
    int is_good = 1;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            atoll_buffer_put_u8(out, ',');
        is_good &= field_put(out, &fields[i], from);
    }
    return is_good;
}

static int hint_put(struct atoll_buffer *out, const struct atoll_progress_json *hint)
{
    char hex[ATOLL_ID_HEX];
    atoll_id_hex(&hint->campaign, hex);
    atoll_buffer_printf(out, "{\"schema\":%d,\"campaign\":\"%s\",", SCHEMA, hex);
    int is_good = fields_put(out, hint_fields, COUNT_OF(hint_fields), hint);
    atoll_buffer_put_u8(out, ',');
    is_good &= fields_put(out, budget_fields, COUNT_OF(budget_fields), hint);
    if (hint->has_asks) {
        word_put(out, ",\"asks\":{");
        is_good &= fields_put(out, asks_fields, COUNT_OF(asks_fields), &hint->asks);
        atoll_buffer_put_u8(out, '}');
    }
    word_put(out, ",\"tasks\":[");
    for (size_t i = 0; i < hint->task_count; i++) {
        word_put(out, i > 0 ? ",\n{" : "\n{");
        is_good &= fields_put(out, task_fields, COUNT_OF(task_fields), &hint->tasks[i]);
        atoll_buffer_put_u8(out, ',');
        is_good &= fields_put(out, late_task_fields, COUNT_OF(late_task_fields), &hint->tasks[i]);
        atoll_buffer_put_u8(out, '}');
    }
    word_put(out, "],\"devices\":[");
    for (size_t i = 0; i < hint->device_count; i++) {
        word_put(out, i > 0 ? ",\n{" : "\n{");
        is_good &= fields_put(out, device_fields, COUNT_OF(device_fields), &hint->devices[i]);
        atoll_buffer_put_u8(out, '}');
    }
    word_put(out, "]}\n");
    return is_good;
}

static int file_replace(const char *path, const char *temporary, const struct atoll_buffer *text,
                        const struct atoll_file_ops *ops, struct atoll_err *err)
{
    int fd = ops->open(ops->context, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        return atoll_file_write_failed(temporary, "create the file", errno, err);
    int failed = atoll_file_write_all(ops, fd, text->data, text->length, 0) != 0 ? errno : 0;
    if (ops->close(ops->context, fd) != 0 && !failed)
        failed = errno;
    if (!failed)
        return atoll_file_put_in_place(ops, temporary, path, err);
    ops->unlink(ops->context, temporary);
    return atoll_file_write_failed(temporary, "write the file", failed, err);
}

int atoll_progress_json_write(const char *dir, const struct atoll_progress_json *hint,
                              const struct atoll_file_ops *ops, struct atoll_err *err)
{
    char path[PATH_MAX], temporary[PATH_MAX];
    struct atoll_buffer text;
    if ((size_t)snprintf(path, sizeof(path), "%s/" ATOLL_CAMPAIGN_PROGRESS_FILE, dir) >= sizeof(path) ||
        (size_t)snprintf(temporary, sizeof(temporary), "%s/jobs/%s/" ATOLL_CAMPAIGN_PROGRESS_FILE ".tmp", dir,
                         hint->attempt) >= sizeof(temporary)) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", dir);
    }
    atoll_buffer_init(&text, FILE_LIMIT_BYTES);
    int rc = hint_put(&text, hint) ? atoll_buffer_check(&text, err)
                                   : atoll_err_set(err, ATOLL_E_INTERNAL,
                                                   "%s: a number or a text that JSON does not have", path);
    if (rc == 0)
        rc = file_replace(path, temporary, &text, ops ? ops : atoll_file_ops_real(), err);
    atoll_buffer_fini(&text);
    return rc;
}

/* ---- reading ---- */

static int count_take(const json_t *value, json_int_t limit, json_int_t *ret_count)
{
    *ret_count = json_integer_value(value);
    return json_is_integer(value) && *ret_count >= 0 && *ret_count <= limit;
}

static int number_take(const json_t *value, double limit, double *ret_number)
{
    *ret_number = json_number_value(value);
    return json_is_number(value) && isfinite(*ret_number) && *ret_number >= 0 && *ret_number <= limit;
}

static int text_take(const json_t *value, size_t bytes, char *ret_text)
{
    const char *text = json_string_value(value);
    if (!text || json_string_length(value) != strlen(text) || strlen(text) >= bytes)
        return 0;
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return 0;
    memcpy(ret_text, text, strlen(text) + 1);
    return 1;
}

static int field_take(const struct field *f, const json_t *value, void *to)
{
    char *at = (char *)to + f->offset;
    void *place = at;
    json_int_t count = 0;
    int is_good = 0;
    switch (f->kind) {
    case COUNT: is_good = count_take(value, COUNT_LIMIT, &count); break;
    case FLAG: is_good = count_take(value, 1, &count); break;
    case UNIX_NS: is_good = count_take(value, INT64_MAX, &count); break;
    case SECONDS: return number_take(value, TIME_LIMIT, place);
    case SHARE: return number_take(value, 1, place);
    case TEXT: return text_take(value, f->bytes, at);
    }
    if (f->kind == UNIX_NS)
        *(int64_t *)place = count;
    else if (f->kind == FLAG)
        *(int *)place = (int)count;
    else
        *(uint64_t *)place = (uint64_t)count;
    return is_good;
}

/* 1 when every field is there and good. */
static int object_take(const struct field *fields, size_t count, const json_t *object, void *to)
{
    for (size_t i = 0; i < count; i++)
        if (!field_take(&fields[i], json_object_get(object, fields[i].key), to))
            return 0;
    return json_is_object(object);
}

/* What is there of fields that files of earlier versions lack; 0 where one is out of its range. */
static int late_take(const struct field *fields, size_t count, const json_t *object, void *to)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(object, fields[i].key);
        if (value && !field_take(&fields[i], value, to))
            return 0;
    }
    return 1;
}

static int tasks_take(const struct atoll_config *config, const json_t *array,
                      struct atoll_progress_json *hint)
{
    size_t count = json_array_size(array), at = 0;
    if (!json_is_array(array) || count > TASK_LIMIT ||
        !(hint->tasks = calloc(count + 1, sizeof(*hint->tasks)))) {
        return 0;
    }
    hint->task_count = count;
    for (size_t i = 0; i < count; i++) {
        struct atoll_campaign_progress_task *t = &hint->tasks[i];
        const json_t *object = json_array_get(array, i);
        if (!object_take(task_fields, COUNT_OF(task_fields), object, t) ||
            !late_take(late_task_fields, COUNT_OF(late_task_fields), object, t)) {
            return 0;
        }
        size_t tried = 0; /* from where the last one was found: the file has them in the campaign's order */
        while (tried < config->task_count && strcmp(config->tasks[at].name, t->name) != 0) {
            at = (at + 1) % config->task_count;
            tried++;
        }
        if (tried == config->task_count)
            return 0;
    }
    return 1;
}

/* Files of earlier versions have none. */
static int devices_take(const json_t *array, struct atoll_progress_json *hint)
{
    size_t count = json_array_size(array);
    if (!array)
        return 1;
    if (!json_is_array(array) || count > DEVICE_LIMIT ||
        !(hint->devices = calloc(count + 1, sizeof(*hint->devices)))) {
        return 0;
    }
    hint->device_count = count;
    for (size_t i = 0; i < count; i++)
        if (!object_take(device_fields, COUNT_OF(device_fields), json_array_get(array, i), &hint->devices[i]))
            return 0;
    return 1;
}

/* As the campaign began. */
static void budgets_begin(const struct atoll_config *config, struct atoll_progress_json *hint)
{
    hint->evaluation_budget = config->search.evaluation_budget;
    hint->wall_budget_s = config->search.wall_budget_ns / 1e9;
    hint->device_budget_s = config->search.device_budget_ns / 1e9;
    hint->token_budget = config->search.token_budget;
    hint->money_budget_usd = config->search.money_budget_usd;
}

static int hint_take(const struct atoll_config *config, const json_t *object,
                     struct atoll_progress_json *hint)
{
    const json_t *asks = json_object_get(object, "asks");
    const char *campaign = json_string_value(json_object_get(object, "campaign"));
    if (json_integer_value(json_object_get(object, "schema")) != SCHEMA || !campaign ||
        atoll_id_parse(campaign, &hint->campaign, NULL) != 0 ||
        !atoll_id_equal(&hint->campaign, &config->id)) {
        return 0;
    }
    hint->has_asks = asks != NULL;
    budgets_begin(config, hint);
    return late_take(budget_fields, COUNT_OF(budget_fields), object, hint) &&
           object_take(hint_fields, COUNT_OF(hint_fields), object, hint) &&
           (!asks || object_take(asks_fields, COUNT_OF(asks_fields), asks, &hint->asks)) &&
           tasks_take(config, json_object_get(object, "tasks"), hint) &&
           devices_take(json_object_get(object, "devices"), hint);
}

int atoll_progress_json_read(const struct atoll_campaign *campaign, struct atoll_progress_json *ret_hint)
{
    struct atoll_progress_json hint = {.task_count = 0};
    char path[PATH_MAX];
    size_t length;
    if ((size_t)snprintf(path, sizeof(path), "%s/" ATOLL_CAMPAIGN_PROGRESS_FILE,
                         atoll_campaign_dir(campaign)) >= sizeof(path)) {
        return 0;
    }
    char *text = atoll_file_read(path, FILE_LIMIT_BYTES, &length, NULL);
    json_t *object = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    int is_good = object && hint_take(atoll_campaign_config(campaign), object, &hint);
    json_decref(object);
    free(text);
    if (is_good)
        *ret_hint = hint;
    else
        atoll_progress_json_fini(&hint);
    return is_good;
}

struct look {
    const struct atoll_campaign *campaign;
    struct atoll_attempt *attempts; /* owned */
    size_t count;
    long *chain; /* owned; the attempts that count, the newest first */
    long length;
};

static const struct atoll_attempt *linked(const struct look *l, long index)
{
    return &l->attempts[l->chain[index]];
}

/* How many bytes of a linked attempt count. */
static uint64_t seal_of(const struct look *l, long index)
{
    return index > 0 ? linked(l, index - 1)->header.sealed_offset : UINT64_MAX;
}

static int look_init(struct look *l, const struct atoll_campaign *campaign, struct atoll_err *err)
{
    *l = (struct look){.campaign = campaign};
    if (atoll_campaign_attempts(campaign, &l->attempts, &l->count, err) != 0)
        return -1;
    l->chain = calloc(l->count + 1, sizeof(*l->chain));
    if (!l->chain)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to look at %zu attempts", l->count);
    if (atoll_campaign_chain(campaign, l->attempts, l->count, l->chain, &l->length, err) != 0)
        return -1;
    for (long i = 0; i < l->length; i++)
        if (atoll_campaign_own(campaign, linked(l, i), err) != 0)
            return -1;
    return 0;
}

/* The linked attempts from `first` on, which is counted from byte `from`, to the newest.  As atoll_journal_tally. */
static int chain_count(const struct look *l, long first, uint64_t from, struct atoll_journal_tally *tally,
                       struct atoll_err *err)
{
    int got = 1;
    for (long i = first; got == 1 && i >= 0; i--) {
        char path[PATH_MAX];
        if (atoll_campaign_journal_path(l->campaign, path, sizeof(path), linked(l, i)->name, err) != 0)
            return -1;
        /* A segment is made of closed journals only.  Asked before the journal is read: one that is closed meanwhile may
         * have a segment soon after. */
        int has_segment = i == 0 && atoll_campaign_has_segment(l->campaign, linked(l, 0)->name);
        got = atoll_journal_tally(path, i == first ? from : 0, seal_of(l, i), tally, err);
        if (got == 1 && has_segment && !tally->is_closed) {
            return atoll_err_set(
                err, ATOLL_E_CORRUPT,
                "%s: ends early although the segment beside it was made of it; restore it from a copy", path);
        }
    }
    return got;
}

/* 1: tally continues what the hint says; 0: it cannot. */
static int hint_continue(const struct look *l, const struct atoll_progress_json *hint,
                         struct atoll_journal_tally *ret_tally)
{
    struct atoll_journal_tally tally = {.evaluated = hint->evaluated,
                                        .duelled = hint->duelled,
                                        .campaign_ns =
                                            (int64_t)(fmin(hint->campaign_s, CAMPAIGN_LIMIT_S) * 1e9),
                                        .unix_ns = hint->written_unix_ns};
    long place = 0; /* of the attempt that it is about */
    while (place < l->length && strcmp(linked(l, place)->name, hint->attempt) != 0)
        place++;
    if (place == l->length || hint->journal_bytes == 0 ||
        chain_count(l, place, hint->journal_bytes, &tally, NULL) != 1) {
        return 0;
    }
    *ret_tally = tally;
    return 1;
}

static void progress_fill(struct atoll_campaign_progress *s, const struct look *l,
                          const struct atoll_journal_tally *tally)
{
    const struct atoll_attempt *newest = linked(l, 0);
    enum atoll_journal_ending ending = tally->is_closed ? ATOLL_JOURNAL_CLOSED : ATOLL_JOURNAL_KILLED;
    s->phase = atoll_journal_is_final(ending, tally->reason) ? ATOLL_CAMPAIGN_PROGRESS_ENDED
                                                             : ATOLL_CAMPAIGN_PROGRESS_OPEN;
    memcpy(s->attempt, newest->name, sizeof(s->attempt));
    s->attempt_number = newest->header.attempt;
    s->evaluated = tally->evaluated;
    s->duelled = tally->duelled;
    s->campaign_s = (double)tally->campaign_ns / 1e9;
    s->last_unix_ns = tally->unix_ns;
    memcpy(s->reason, tally->reason, sizeof(s->reason));
    s->lost_bytes = tally->lost_bytes;
    s->walked_bytes = tally->walked_bytes;
    for (size_t i = 0; i < l->count; i++)
        s->attempt_count += (uint64_t)l->attempts[i].has_journal;
}

static int progress_find(struct atoll_campaign_progress *s, const struct look *l, struct atoll_err *err)
{
    struct atoll_journal_tally tally = {.events = 0};
    if (l->length > 0 && atoll_progress_json_read(l->campaign, &s->hint))
        s->has_hint = hint_continue(l, &s->hint, &tally);
    if (!s->has_hint) { /* the tasks' names are known all the same */
        const struct atoll_config *config = atoll_campaign_config(l->campaign);
        atoll_progress_json_fini(&s->hint);
        s->hint.tasks = calloc(config->task_count + 1, sizeof(*s->hint.tasks));
        if (!s->hint.tasks)
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu tasks", config->task_count);
        budgets_begin(config, &s->hint);
        s->hint.task_count = config->task_count;
        for (size_t i = 0; i < config->task_count; i++)
            snprintf(s->hint.tasks[i].name, sizeof(s->hint.tasks[i].name), "%s", config->tasks[i].name);
    }
    if (l->length == 0)
        return 0;
    if (s->has_hint)
        s->evaluation_budget = s->hint.evaluation_budget;
    if (!s->has_hint && chain_count(l, l->length - 1, 0, &tally, err) != 1)
        return -1;
    progress_fill(s, l, &tally);
    return 0;
}

int atoll_campaign_progress_of(const struct atoll_campaign *campaign,
                               struct atoll_campaign_progress *ret_progress, struct atoll_err *err)
{
    struct atoll_campaign_progress progress = {.phase = ATOLL_CAMPAIGN_PROGRESS_FRESH,
                                               .evaluation_budget =
                                                   atoll_campaign_config(campaign)->search.evaluation_budget};
    struct look look;
    int rc = look_init(&look, campaign, err);
    if (rc == 0)
        rc = progress_find(&progress, &look, err);
    free(look.attempts);
    free(look.chain);
    if (rc == 0)
        *ret_progress = progress;
    else
        atoll_campaign_progress_fini(&progress);
    return rc;
}

int atoll_campaign_progress_read(const char *dir, struct atoll_campaign_progress *ret_progress,
                                 struct atoll_err *err)
{
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    int rc = campaign ? atoll_campaign_progress_of(campaign, ret_progress, err) : -1;
    atoll_campaign_close(campaign);
    return rc;
}

void atoll_campaign_progress_fini(struct atoll_campaign_progress *progress)
{
    atoll_progress_json_fini(&progress->hint);
}
