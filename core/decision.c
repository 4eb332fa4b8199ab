/* Only the fields that a type uses are written, in the order of enum field; a decoded decision has zeros
 * elsewhere. */
#include "core/decision.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const reason_names[ATOLL_REASON_COUNT] = {
    [ATOLL_REASON_NONE] = "none",
    [ATOLL_REASON_EVALUATIONS] = "evaluations",
    [ATOLL_REASON_DEVICE_TIME] = "device_time",
    [ATOLL_REASON_WALL_TIME] = "wall_time",
    [ATOLL_REASON_EXHAUSTED] = "exhausted",
    [ATOLL_REASON_STAGNATION] = "stagnation",
    [ATOLL_REASON_ASKED] = "asked",
    [ATOLL_REASON_NO_BASELINE] = "no_baseline",
    [ATOLL_REASON_TOKENS] = "tokens",
    [ATOLL_REASON_MONEY] = "money",
    [ATOLL_REASON_FLOOR] = "floor",
    [ATOLL_REASON_NO_DEVICE] = "no_device",
    [ATOLL_REASON_SAMPLES] = "samples",
};

const char *atoll_reason_name(enum atoll_reason r)
{
    return (unsigned)r < ATOLL_REASON_COUNT ? reason_names[r] : "unknown";
}

static const char *const reason_texts[ATOLL_REASON_COUNT] = {
    [ATOLL_REASON_NONE] = "",
    [ATOLL_REASON_EVALUATIONS] = "evaluations used up",
    [ATOLL_REASON_DEVICE_TIME] = "device time used up",
    [ATOLL_REASON_WALL_TIME] = "time is over",
    [ATOLL_REASON_EXHAUSTED] = "nothing left to try",
    [ATOLL_REASON_STAGNATION] = "nothing better found",
    [ATOLL_REASON_ASKED] = "asked to end",
    [ATOLL_REASON_NO_BASELINE] = "no correct baseline",
    [ATOLL_REASON_TOKENS] = "tokens used up",
    [ATOLL_REASON_MONEY] = "money used up",
    [ATOLL_REASON_FLOOR] = "floor goal reached",
    [ATOLL_REASON_NO_DEVICE] = "its devices are gone",
    [ATOLL_REASON_SAMPLES] = "samples used up",
};

const char *atoll_reason_text(const char *name)
{
    for (unsigned r = 0; r < ATOLL_REASON_COUNT; r++)
        if (strcmp(reason_names[r], name) == 0)
            return reason_texts[r];
    return name;
}

const char *atoll_unstable_text(uint64_t rounds, uint64_t limit, char *ret_text, size_t bytes)
{
    if (limit)
        snprintf(ret_text, bytes, "baseline unstable, tried again in %llu of %llu rounds",
                 (unsigned long long)rounds, (unsigned long long)limit);
    return limit ? ret_text : "";
}

enum field {
    HAS_EVALUATION = 1 << 0,
    HAS_PLACE = 1 << 1, /* task, island */
    HAS_OTHER_ISLAND = 1 << 2,
    HAS_CELL = 1 << 3,
    HAS_CANDIDATE = 1 << 4, /* candidate, source, choice */
    HAS_ELITE = 1 << 5,
    HAS_ELITE_SOURCE = 1 << 6, /* elite_source, elite_choice */
    HAS_ORIGIN = 1 << 7,       /* parent, operator, generation */
    HAS_RESULT = 1 << 8,       /* time_ns, fitness */
    HAS_YARDSTICK = 1 << 9,    /* baseline_ns, incumbent_ns */
    HAS_TEST = 1 << 10,        /* purpose, alpha, margin, pair_limit */
    HAS_REASON = 1 << 11,
    HAS_ASK = 1 << 12,
    HAS_ANSWER = 1 << 14, /* answers_ask, which HAS_ORIGIN has too */
    HAS_RIVAL = 1 << 13,  /* rival, rivals, limit_ns: where purpose says so */
};

#define EVALUATE_FIELDS (HAS_EVALUATION | HAS_PLACE | HAS_CANDIDATE | HAS_ORIGIN | HAS_YARDSTICK)
#define DUEL_FIELDS                                                                                          \
    (HAS_EVALUATION | HAS_PLACE | HAS_CELL | HAS_CANDIDATE | HAS_ELITE | HAS_ELITE_SOURCE | HAS_YARDSTICK |  \
     HAS_TEST)

static const unsigned type_fields[ATOLL_DECISION_TYPE_COUNT] = {
    [ATOLL_DECIDE_EVALUATE] = EVALUATE_FIELDS,
    [ATOLL_DECIDE_DUEL] = DUEL_FIELDS,
    [ATOLL_DECIDE_ELITE] = HAS_PLACE | HAS_CELL | HAS_CANDIDATE | HAS_ELITE | HAS_RESULT,
    [ATOLL_DECIDE_NOT_CONFIRMED] = HAS_PLACE | HAS_CELL | HAS_CANDIDATE | HAS_ELITE | HAS_TEST,
    [ATOLL_DECIDE_MIGRATE] = HAS_PLACE | HAS_OTHER_ISLAND | HAS_CELL | HAS_CANDIDATE,
    [ATOLL_DECIDE_BASELINE] = HAS_PLACE | HAS_CANDIDATE | HAS_RESULT,
    [ATOLL_DECIDE_BEST] = HAS_PLACE | HAS_CANDIDATE | HAS_RESULT,
    [ATOLL_DECIDE_REDISPATCH] = DUEL_FIELDS | HAS_ORIGIN, /* those of both */
    [ATOLL_DECIDE_ABANDON] = HAS_EVALUATION | HAS_PLACE | HAS_CANDIDATE,
    [ATOLL_DECIDE_TASK_DONE] = HAS_PLACE | HAS_REASON,
    [ATOLL_DECIDE_STOP] = HAS_REASON,
    [ATOLL_DECIDE_ASK] = HAS_PLACE | HAS_ASK,
    [ATOLL_DECIDE_RIVAL] = HAS_EVALUATION | HAS_PLACE | HAS_TEST,
    [ATOLL_DECIDE_DISCARD] = HAS_PLACE | HAS_CELL | HAS_CANDIDATE | HAS_ANSWER | HAS_RESULT,
};

static unsigned fields_of(const struct atoll_decision *d)
{
    unsigned has = (unsigned)d->type < ATOLL_DECISION_TYPE_COUNT ? type_fields[d->type] : 0;
    return has & HAS_TEST && d->purpose == ATOLL_DUEL_RIVAL ? has | HAS_RIVAL : has;
}

int atoll_decision_is_about_rival(const struct atoll_decision *d)
{
    return fields_of(d) & HAS_RIVAL && fields_of(d) & HAS_EVALUATION;
}

void atoll_decision_normalise(struct atoll_decision *d)
{
    static const struct span {
        unsigned field;
        size_t begin, bytes;
    } spans[] = {
#define SPAN(field, name)                                                                                    \
    {field, offsetof(struct atoll_decision, name), sizeof((struct atoll_decision *)0)->name}
        SPAN(HAS_EVALUATION, evaluation),
        SPAN(HAS_PLACE, task),
        SPAN(HAS_PLACE, island),
        SPAN(HAS_PLACE, model),
        SPAN(HAS_ORIGIN | HAS_ANSWER, answers_ask),
        SPAN(HAS_OTHER_ISLAND, other_island),
        SPAN(HAS_CELL, cell),
        SPAN(HAS_CANDIDATE, candidate),
        SPAN(HAS_CANDIDATE, source),
        SPAN(HAS_CANDIDATE, choice),
        SPAN(HAS_ELITE, elite),
        SPAN(HAS_ELITE_SOURCE, elite_source),
        SPAN(HAS_ELITE_SOURCE, elite_choice),
        SPAN(HAS_ORIGIN, parent),
        SPAN(HAS_ORIGIN, op),
        SPAN(HAS_ORIGIN, generation),
        SPAN(HAS_RESULT, time_ns),
        SPAN(HAS_RESULT, fitness),
        SPAN(HAS_YARDSTICK, baseline_ns),
        SPAN(HAS_YARDSTICK, incumbent_ns),
        SPAN(HAS_TEST, purpose),
        SPAN(HAS_TEST, alpha),
        SPAN(HAS_TEST, margin),
        SPAN(HAS_TEST, pair_limit),
        SPAN(HAS_REASON, reason),
        SPAN(HAS_ASK, ask),
        SPAN(HAS_RIVAL, rival),
        SPAN(HAS_RIVAL, rivals),
        SPAN(HAS_RIVAL, limit_ns),
    };
#undef SPAN
    unsigned has = fields_of(d);
    for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
        if (!(has & spans[i].field))
            memset((char *)d + spans[i].begin, 0, spans[i].bytes);
}

static void put_id(struct atoll_buffer *out, const struct atoll_id *id)
{
    atoll_buffer_put_bytes(out, id->bytes, sizeof(id->bytes));
}

static void put_choice(struct atoll_buffer *out, const struct atoll_choice *choice)
{
    atoll_buffer_put_u8(out, (uint8_t)choice->count);
    for (size_t i = 0; i < choice->count; i++)
        atoll_buffer_put_i64(out, choice->values[i]);
}

static void put_cell(struct atoll_buffer *out, struct atoll_behaviour cell)
{
    atoll_buffer_put_u8(out, cell.memory);
    atoll_buffer_put_u8(out, cell.algorithm);
    atoll_buffer_put_u8(out, cell.coordination);
}

static void put_identities(const struct atoll_decision *d, unsigned has, struct atoll_buffer *out)
{
    if (has & HAS_CANDIDATE) {
        put_id(out, &d->candidate);
        put_id(out, &d->source);
        put_choice(out, &d->choice);
    }
    if (has & HAS_ELITE)
        put_id(out, &d->elite);
    if (has & HAS_ELITE_SOURCE) {
        put_id(out, &d->elite_source);
        put_choice(out, &d->elite_choice);
    }
    if (has & HAS_ORIGIN) {
        put_id(out, &d->parent);
        atoll_buffer_put_u8(out, (uint8_t)d->op);
        atoll_buffer_put_u32(out, d->generation);
    }
}

static void put_numbers(const struct atoll_decision *d, unsigned has, struct atoll_buffer *out)
{
    if (has & HAS_RESULT) {
        atoll_buffer_put_f64(out, d->time_ns);
        atoll_buffer_put_f64(out, d->fitness);
    }
    if (has & HAS_YARDSTICK) {
        atoll_buffer_put_f64(out, d->baseline_ns);
        atoll_buffer_put_f64(out, d->incumbent_ns);
    }
    if (has & HAS_TEST) {
        atoll_buffer_put_u8(out, (uint8_t)d->purpose);
        atoll_buffer_put_f64(out, d->alpha);
        atoll_buffer_put_f64(out, d->margin);
        atoll_buffer_put_u32(out, d->pair_limit);
    }
    if (has & HAS_REASON)
        atoll_buffer_put_u8(out, (uint8_t)d->reason);
}

/* At the end, where there is anything to say: decisions of engines that knew neither are as they were. */
static void put_place_rest(const struct atoll_decision *d, struct atoll_buffer *out)
{
    if (!d->model && !d->answers_ask)
        return;
    atoll_buffer_put_u32(out, d->model);
    atoll_buffer_put_u64(out, d->answers_ask);
}

static void take_place_rest(struct atoll_reader *r, struct atoll_decision *d)
{
    if (r->failed || r->offset == r->length)
        return;
    d->model = atoll_reader_u32(r);
    d->answers_ask = atoll_reader_u64(r);
    if (!d->model && !d->answers_ask)
        r->failed = 1;
}

void atoll_decision_encode(const struct atoll_decision *d, struct atoll_buffer *out)
{
    unsigned has = fields_of(d);
    atoll_buffer_put_u8(out, (uint8_t)d->type);
    if (has & HAS_EVALUATION)
        atoll_buffer_put_u64(out, d->evaluation);
    if (has & HAS_PLACE) {
        atoll_buffer_put_u32(out, d->task);
        atoll_buffer_put_u32(out, d->island);
    }
    if (has & HAS_OTHER_ISLAND)
        atoll_buffer_put_u32(out, d->other_island);
    if (has & HAS_CELL)
        put_cell(out, d->cell);
    put_identities(d, has, out);
    put_numbers(d, has, out);
    if (has & HAS_ASK)
        atoll_ask_encode(&d->ask, out);
    if (has & HAS_RIVAL) {
        atoll_buffer_put_u32(out, d->rival);
        atoll_buffer_put_bytes(out, d->rivals, sizeof(d->rivals));
        atoll_buffer_put_f64(out, d->limit_ns);
    }
    put_place_rest(d, out);
}

/* A byte below limit; above it the reader fails, so one check at the end finds it. */
static unsigned take_below(struct atoll_reader *r, unsigned limit)
{
    unsigned v = atoll_reader_u8(r);
    if (v >= limit)
        r->failed = 1;
    return v < limit ? v : 0;
}

static double take_number(struct atoll_reader *r)
{
    double v = atoll_reader_f64(r);
    if (!isfinite(v) || v < 0)
        r->failed = 1;
    return v;
}

static void take_id(struct atoll_reader *r, struct atoll_id *ret_id)
{
    atoll_reader_bytes(r, ret_id->bytes, sizeof(ret_id->bytes));
}

static void take_choice(struct atoll_reader *r, struct atoll_choice *ret_choice)
{
    ret_choice->count = take_below(r, ATOLL_PLAN_PARAM_LIMIT + 1);
    for (size_t i = 0; i < ret_choice->count; i++)
        ret_choice->values[i] = atoll_reader_i64(r);
}

static void take_cell(struct atoll_reader *r, struct atoll_behaviour *ret_cell)
{
    ret_cell->memory = (unsigned char)take_below(r, ATOLL_BEHAVIOUR_LEVELS);
    ret_cell->algorithm = (unsigned char)take_below(r, ATOLL_BEHAVIOUR_LEVELS);
    ret_cell->coordination = (unsigned char)take_below(r, ATOLL_BEHAVIOUR_LEVELS);
}

static void take_identities(struct atoll_reader *r, unsigned has, struct atoll_decision *d)
{
    if (has & HAS_CANDIDATE) {
        take_id(r, &d->candidate);
        take_id(r, &d->source);
        take_choice(r, &d->choice);
    }
    if (has & HAS_ELITE)
        take_id(r, &d->elite);
    if (has & HAS_ELITE_SOURCE) {
        take_id(r, &d->elite_source);
        take_choice(r, &d->elite_choice);
    }
    if (has & HAS_ORIGIN) {
        take_id(r, &d->parent);
        d->op = (enum atoll_operator)take_below(r, ATOLL_OPERATOR_COUNT);
        d->generation = atoll_reader_u32(r);
    }
}

static void take_numbers(struct atoll_reader *r, unsigned has, struct atoll_decision *d)
{
    if (has & HAS_RESULT) {
        d->time_ns = take_number(r);
        d->fitness = take_number(r);
    }
    if (has & HAS_YARDSTICK) {
        d->baseline_ns = take_number(r);
        d->incumbent_ns = take_number(r);
    }
    if (has & HAS_TEST) {
        d->purpose = (enum atoll_duel_purpose)take_below(r, ATOLL_DUEL_PURPOSE_COUNT);
        d->alpha = take_number(r);
        d->margin = take_number(r);
        d->pair_limit = atoll_reader_u32(r);
    }
    if (has & HAS_REASON)
        d->reason = (enum atoll_reason)take_below(r, ATOLL_REASON_COUNT);
}

static void take_rival(struct atoll_reader *r, struct atoll_decision *d)
{
    d->rival = atoll_reader_u32_in(r, 0, ATOLL_TASK_RIVAL_LIMIT - 1);
    atoll_reader_bytes(r, d->rivals, sizeof(d->rivals));
    for (size_t i = 0; i < sizeof(d->rivals); i++)
        if (d->rivals[i] >= ATOLL_TASK_RIVAL_LIMIT)
            r->failed = 1;
    d->limit_ns = take_number(r);
}

int atoll_decision_decode(const void *bytes, size_t length, struct atoll_decision *ret_decision,
                          struct atoll_err *err)
{
    struct atoll_reader r;
    atoll_reader_init(&r, bytes, length);
    struct atoll_decision d;
    memset(&d, 0, sizeof(d));
    unsigned type = atoll_reader_u8(&r);
    if (!r.failed && (type >= ATOLL_DECISION_TYPE_COUNT || !type_fields[type]))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "decision: unknown type %u", type);
    unsigned has = r.failed ? 0 : type_fields[type];
    d.type = (enum atoll_decision_type)type;
    if (has & HAS_EVALUATION)
        d.evaluation = atoll_reader_u64(&r);
    if (has & HAS_PLACE) {
        d.task = atoll_reader_u32(&r);
        d.island = atoll_reader_u32(&r);
    }
    if (has & HAS_OTHER_ISLAND)
        d.other_island = atoll_reader_u32(&r);
    if (has & HAS_CELL)
        take_cell(&r, &d.cell);
    take_identities(&r, has, &d);
    take_numbers(&r, has, &d);
    has = fields_of(&d);
    if (d.type == ATOLL_DECIDE_RIVAL && d.purpose != ATOLL_DUEL_RIVAL)
        r.failed = 1;
    if (has & HAS_ASK)
        atoll_ask_decode(&r, &d.ask);
    if (has & HAS_RIVAL)
        take_rival(&r, &d);
    take_place_rest(&r, &d);
    if (atoll_reader_finish(&r, "decision", err))
        return -1;
    *ret_decision = d;
    return 0;
}
