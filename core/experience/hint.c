#include "core/experience/hint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "base/utf8.h"

#define WIN_RATIO      1.02
#define PRIOR_OUTCOMES 8.0  /* that a confidence begins with */
#define FIRST_SHARE    0.25 /* of wins, where nothing is known */
#define PRIOR_LIFT     2.0
#define LEAST_OUTCOMES 8.0 /* before anything is dropped */
#define DEVIATIONS     2.5 /* it is looked at after every outcome */

/* ---- triggers ---- */

static const char *limiter_word(uint32_t value)
{
    return atoll_limiter_name((enum atoll_limiter)value);
}

static const char *error_word(uint32_t value)
{
    return atoll_error_class_name((enum atoll_error_class)value);
}

static const char *stall_word(uint32_t value)
{
    return atoll_stall_name((enum atoll_stall)value);
}

static const char *unused_word(uint32_t value)
{
    return atoll_unused_name((enum atoll_unused)value);
}

static const char *occupancy_word(uint32_t value)
{
    return atoll_occupancy_limit_name((enum atoll_occupancy_limit)value);
}

static const struct {
    const char *name;
    const char *(*word)(uint32_t value);
    uint32_t count;
} kinds[ATOLL_TRIGGER_KIND_COUNT] = {
    [ATOLL_TRIGGER_LIMITER] = {"limiter", limiter_word, ATOLL_LIMITER_COUNT},
    [ATOLL_TRIGGER_ERROR] = {"error", error_word, ATOLL_ERROR_COUNT},
    [ATOLL_TRIGGER_STALL] = {"stall", stall_word, ATOLL_STALL_COUNT},
    [ATOLL_TRIGGER_UNUSED] = {"unused", unused_word, ATOLL_UNUSED_COUNT},
    [ATOLL_TRIGGER_OCCUPANCY] = {"occupancy", occupancy_word, ATOLL_OCCUPANCY_COUNT},
};

#define WORD_LIMIT                                                                                           \
    (ATOLL_LIMITER_COUNT + ATOLL_ERROR_COUNT + ATOLL_STALL_COUNT + ATOLL_UNUSED_COUNT + ATOLL_OCCUPANCY_COUNT)

const char *atoll_trigger_text(const struct atoll_trigger *trigger, char ret_text[ATOLL_HINT_TRIGGER_BYTES])
{
    snprintf(ret_text, ATOLL_HINT_TRIGGER_BYTES, "%s %s", kinds[trigger->kind].name,
             kinds[trigger->kind].word(trigger->value));
    return ret_text;
}

/* The first trigger whose words these are; a kind alone says which kind to look in. */
int atoll_trigger_parse(const char *text, struct atoll_trigger *ret_trigger, struct atoll_err *err)
{
    char words[WORD_LIMIT][ATOLL_HINT_TRIGGER_BYTES], hint[ATOLL_SPELLING_HINT_BYTES];
    const char *known[WORD_LIMIT];
    size_t count = 0;
    for (unsigned k = 0; k < ATOLL_TRIGGER_KIND_COUNT; k++)
        for (uint32_t v = 0; v < kinds[k].count; v++) {
            struct atoll_trigger t = {(enum atoll_trigger_kind)k, v};
            known[count] = atoll_trigger_text(&t, words[count]);
            if (strcmp(text, words[count]) == 0 || strcmp(text, kinds[k].word(v)) == 0) {
                *ret_trigger = t;
                return 0;
            }
            count++;
        }
    return atoll_err_set(
        err, ATOLL_E_INPUT, "trigger '%.60s' is no class of a diagnosis; %s", text,
        atoll_spelling_hint(text, known, count,
                            "write \"error race\", \"limiter dram\", \"stall barrier\", \"unused "
                            "wgmma\" or \"occupancy registers\" (core/diagnosis.h names them)",
                            hint));
}

/* The coarse kinds hold for all of theirs. */
static int limiter_holds(uint32_t wanted, enum atoll_limiter limiter)
{
    int is_memory = limiter >= ATOLL_LIMITER_DRAM && limiter <= ATOLL_LIMITER_BANK_CONFLICTS;
    int is_pipe = limiter >= ATOLL_LIMITER_TENSOR && limiter <= ATOLL_LIMITER_ISSUE;
    return wanted == (uint32_t)limiter || (wanted == ATOLL_LIMITER_MEMORY && is_memory) ||
           (wanted == ATOLL_LIMITER_INSTRUCTION && is_pipe);
}

int atoll_trigger_holds(const struct atoll_trigger *trigger, const struct atoll_diagnosis *d)
{
    int is_error = trigger->kind == ATOLL_TRIGGER_ERROR;
    if (!d)
        return trigger->kind == ATOLL_TRIGGER_LIMITER && trigger->value == ATOLL_LIMITER_UNKNOWN;
    if (is_error || d->error != ATOLL_ERROR_NONE)
        return is_error && d->error != ATOLL_ERROR_NONE && trigger->value == (uint32_t)d->error;
    switch (trigger->kind) {
    case ATOLL_TRIGGER_LIMITER: return limiter_holds(trigger->value, d->limiter);
    case ATOLL_TRIGGER_STALL: return d->stall != ATOLL_STALL_UNKNOWN && trigger->value == (uint32_t)d->stall;
    case ATOLL_TRIGGER_UNUSED: return trigger->value < 32 && d->unused >> trigger->value & 1u;
    case ATOLL_TRIGGER_OCCUPANCY:
        return d->limiter == ATOLL_LIMITER_OCCUPANCY && trigger->value == (uint32_t)d->occupancy_by;
    default: return 0;
    }
}

struct atoll_trigger atoll_trigger_of(const struct atoll_diagnosis *d)
{
    struct atoll_trigger t = {ATOLL_TRIGGER_LIMITER, d ? (uint32_t)d->limiter : ATOLL_LIMITER_UNKNOWN};
    if (d && d->error != ATOLL_ERROR_NONE)
        t = (struct atoll_trigger){ATOLL_TRIGGER_ERROR, (uint32_t)d->error};
    return t;
}

/* ---- devices ---- */

static const struct {
    uint32_t from; /* compute capability */
    const char *name;
} families[] = {{120, "blackwell-rtx"}, {100, "blackwell"}, {90, "hopper"}, {89, "ada"},
                {80, "ampere"},         {1, "cuda"},        {0, "cpu"}};

#define FAMILY_COUNT (sizeof(families) / sizeof(*families))

const char *atoll_device_family(const struct atoll_device_info *device)
{
    size_t i = 0;
    while (families[i].from > device->limits.compute_capability)
        i++;
    return families[i].name;
}

int atoll_device_family_holds(const char *wanted, const char *family)
{
    return !*wanted || strcmp(wanted, family) == 0 ||
           (strcmp(wanted, "cuda") == 0 && strcmp(family, "cpu") != 0);
}

/* ---- a hint ---- */

static int is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return length > 0 && length <= ATOLL_HINT_NAME_BYTES && !name[length];
}

static int check_text(const struct atoll_experience_hint *h, const char *key, const char *text, size_t limit,
                      struct atoll_err *err)
{
    size_t length = strlen(text), step = 1;
    if (length > limit)
        return atoll_err_set(err, ATOLL_E_INPUT, "hint '%s': its %s has %zu bytes; at most %zu", h->name, key,
                             length, limit);
    for (const char *at = text; *at; at += step)
        if (!(step = atoll_utf8_printable_bytes(at)))
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "hint '%s': its %s holds a character that cannot be printed", h->name, key);
    return 0;
}

static int check_word(const struct atoll_experience_hint *h, const char *key, const char *word,
                      const char *const *known, size_t count, struct atoll_err *err)
{
    char hint[ATOLL_SPELLING_HINT_BYTES];
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, known[i]) == 0)
            return 0;
    return atoll_err_set(
        err, ATOLL_E_INPUT, "hint '%s': no such %s '%.40s'; %s", h->name, key, word,
        atoll_spelling_hint(word, known, count, "leave it out where it holds for all", hint));
}

int atoll_experience_hint_check(const struct atoll_experience_hint *h, struct atoll_err *err)
{
    static const char *const languages[] = {"", "c", "cuda", "triton"};
    const char *known[FAMILY_COUNT + 1] = {""};
    if (!is_name(h->name))
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "hint '%.80s': a name has small letters, digits and '-', at most %d of them",
                             h->name, ATOLL_HINT_NAME_BYTES);
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        known[i + 1] = families[i].name;
    if (!*h->advice)
        return atoll_err_set(err, ATOLL_E_INPUT, "hint '%s': it advises nothing", h->name);
    return check_word(h, "language", h->language, languages, sizeof(languages) / sizeof(*languages), err) ||
                   check_word(h, "device", h->device, known, FAMILY_COUNT + 1, err) ||
                   check_text(h, "category", h->category, ATOLL_HINT_CATEGORY_BYTES, err) ||
                   check_text(h, "context", h->context, ATOLL_HINT_CONTEXT_BYTES, err) ||
                   check_text(h, "advice", h->advice, ATOLL_HINT_ADVICE_BYTES, err) ||
                   check_text(h, "source", h->source, ATOLL_HINT_SOURCE_BYTES, err)
               ? -1
               : 0;
}

#define ID_BYTES                                                                                             \
    (7 * sizeof(uint32_t) + ATOLL_HINT_TRIGGER_BYTES + 2 * ATOLL_HINT_NAME_BYTES +                           \
     ATOLL_HINT_CATEGORY_BYTES + ATOLL_HINT_CONTEXT_BYTES + ATOLL_HINT_ADVICE_BYTES)

/* Each text with its length before it, so that no two hints are the same bytes; no memory, so that it cannot fail. */
struct atoll_id atoll_experience_hint_id(const struct atoll_experience_hint *h)
{
    char trigger[ATOLL_HINT_TRIGGER_BYTES];
    const char *texts[] = {
        atoll_trigger_text(&h->trigger, trigger), h->language, h->device, h->category, h->context, h->advice};
    uint8_t bytes[ID_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        size_t length = strlen(texts[i]);
        if (used + sizeof(uint32_t) + length >= sizeof(bytes))
            return (struct atoll_id){{0}}; /* it was not checked */
        for (unsigned b = 0; b < sizeof(uint32_t); b++)
            bytes[used++] = (uint8_t)(length >> 8 * b);
        memcpy(bytes + used, texts[i], length);
        used += length;
    }
    bytes[used++] = h->role;
    return atoll_id_of(bytes, used);
}

static void put_line(char *ret_line, size_t bytes, const char *text)
{
    atoll_utf8_line(ret_line, bytes, text ? text : "", text ? strlen(text) : 0);
}

int atoll_experience_hint_of_item(const struct atoll_reply_item *item, const char *language,
                                  const char *device, struct atoll_hint_words *ret_words,
                                  struct atoll_experience_hint *ret_hint)
{
    char trigger[ATOLL_HINT_TRIGGER_BYTES], hex[ATOLL_ID_HEX];
    struct atoll_hint_words *w = ret_words;
    struct atoll_experience_hint hint = {.name = "distilled",
                                         .language = language,
                                         .device = device,
                                         .category = "",
                                         .role = ATOLL_ISLAND_ROLE_COUNT,
                                         .context = w->context,
                                         .advice = w->advice,
                                         .source = "",
                                         .origin = ATOLL_HINT_DISTILLED};
    put_line(trigger, sizeof(trigger), item->title);
    put_line(w->advice, sizeof(w->advice), item->text);
    put_line(w->context, sizeof(w->context), item->why);
    if (item->kind != ATOLL_ITEM_HINT || atoll_trigger_parse(trigger, &hint.trigger, NULL) != 0 ||
        atoll_experience_hint_check(&hint, NULL) != 0) {
        return 0;
    }
    struct atoll_id id = atoll_experience_hint_id(&hint);
    atoll_id_hex(&id, hex);
    snprintf(w->name, sizeof(w->name), "distilled-%.8s", hex);
    hint.name = w->name;
    *ret_hint = hint;
    return 1;
}

const char *atoll_hint_role_name(uint8_t role)
{
    static const char *const names[ATOLL_ISLAND_ROLE_COUNT + 1] = {"fusion",    "memory",   "parallelism",
                                                                   "algorithm", "numerics", ""};
    return names[role < ATOLL_ISLAND_ROLE_COUNT ? role : ATOLL_ISLAND_ROLE_COUNT];
}

const char *atoll_hint_origin_name(enum atoll_hint_origin origin)
{
    static const char *const names[ATOLL_HINT_ORIGIN_COUNT] = {"curated", "imported", "distilled"};
    return (unsigned)origin < ATOLL_HINT_ORIGIN_COUNT ? names[origin] : "unknown";
}

/* ---- what it is worth ---- */

int atoll_hint_is_win(double parent_ns, enum atoll_verdict verdict, double child_ns)
{
    return verdict == ATOLL_V_CORRECT &&
           (!(parent_ns > 0) || (child_ns > 0 && parent_ns >= WIN_RATIO * child_ns));
}

double atoll_hint_confidence(const struct atoll_hint_statistics *s)
{
    double rate = s->outcomes > 0 ? s->expected / s->outcomes : FIRST_SHARE;
    return (s->wins + PRIOR_OUTCOMES * rate) / (s->outcomes + PRIOR_OUTCOMES);
}

double atoll_hint_lift(const struct atoll_hint_statistics *s)
{
    return (s->wins + PRIOR_LIFT) / (s->expected + PRIOR_LIFT);
}

double atoll_hint_gain(const struct atoll_hint_statistics *s)
{
    return s->gains > 0 ? exp(s->log_gain / s->gains) : 1;
}

int atoll_hint_is_losing(const struct atoll_hint_statistics *s)
{
    return s->outcomes >= LEAST_OUTCOMES && s->wins + DEVIATIONS * sqrt(s->expected) < s->expected;
}

void atoll_hint_statistics_add(struct atoll_hint_statistics *sum, const struct atoll_hint_statistics *more)
{
    sum->uses += more->uses;
    sum->outcomes += more->outcomes;
    sum->wins += more->wins;
    sum->expected += more->expected;
    sum->gains += more->gains;
    sum->log_gain += more->log_gain;
}
