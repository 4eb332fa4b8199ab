/* option.c - reads the table of a command; what is printed of it is in option_help.c. */
#include "base/option.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "base/units.h"

#define NAME_BYTES   64u
#define OPTION_LIMIT 128u

struct parse {
    const struct atoll_command *command;
    int argc;
    char **argv;
    int next; /* index of the argument after the current one */
    char *settings;
    struct atoll_err *err;
};

static size_t row_count(const struct atoll_option *rows)
{
    size_t count = 0;
    while (rows && rows[count].name)
        count++;
    return count;
}

const struct atoll_option *atoll_option_at(const struct atoll_command *command, size_t index)
{
    size_t own = row_count(command->options);
    if (index < own)
        return &command->options[index];
    return index - own < row_count(command->shared) ? &command->shared[index - own] : NULL;
}

static int check_bounds(const struct atoll_option *o, double value, const char *text, struct atoll_err *err)
{
    int is_bounded = o->min < 0.0 || o->min > 0.0 || o->max < 0.0 || o->max > 0.0;
    if (is_bounded && !(value >= o->min && value <= o->max)) {
        return atoll_err_set(err, ATOLL_E_USAGE, "--%s %.64s: a value from %.15g to %.15g is expected",
                             o->name, text, o->min, o->max);
    }
    return 0;
}

static int set_int(const struct atoll_option *o, const char *text, void *field, struct atoll_err *err)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || strchr(" \t\n\v\f\r", *text))
        return atoll_err_set(err, ATOLL_E_USAGE, "--%s %.64s: a whole number is expected", o->name, text);
    if (check_bounds(o, (double)value, text, err))
        return -1;
    *(long long *)field = value;
    return 0;
}

static int set_double(const struct atoll_option *o, const char *text, void *field, struct atoll_err *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || strchr(" \t\n\v\f\r", *text))
        return atoll_err_set(err, ATOLL_E_USAGE, "--%s %.64s: a number is expected", o->name, text);
    if (check_bounds(o, value, text, err))
        return -1;
    *(double *)field = value;
    return 0;
}

static int set_duration(const struct atoll_option *o, const char *text, void *field, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    double seconds;
    if (atoll_duration_parse(text, &seconds, &why))
        return atoll_err_set(err, ATOLL_E_USAGE, "--%s: %s", o->name, why.text);
    if (check_bounds(o, seconds, text, err))
        return -1;
    *(double *)field = seconds;
    return 0;
}

static int set_bytes(const struct atoll_option *o, const char *text, void *field, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    uint64_t bytes;
    if (atoll_bytes_parse(text, &bytes, &why))
        return atoll_err_set(err, ATOLL_E_USAGE, "--%s: %s", o->name, why.text);
    *(unsigned long long *)field = bytes;
    return 0;
}

static int set_choice(const struct atoll_option *o, const char *text, void *field, struct atoll_err *err)
{
    size_t length = strlen(text);
    int index = 0;
    for (const char *c = o->choices; c; index++) {
        const char *end = strchrnul(c, '|');
        if ((size_t)(end - c) == length && strncmp(c, text, length) == 0) {
            *(int *)field = index;
            return 0;
        }
        c = *end ? end + 1 : NULL;
    }
    char hint[ATOLL_SPELLING_HINT_BYTES];
    atoll_spelling_hint_in(text, o->choices, "", hint);
    return atoll_err_set(err, ATOLL_E_USAGE, "--%s %.64s: one of %s is expected%s%s", o->name, text,
                         o->choices, *hint ? "; " : "", hint);
}

static int set_list(const struct atoll_option *o, const char *text, void *field, struct atoll_err *err)
{
    struct atoll_option_list *list = field;
    size_t limit = sizeof(list->items) / sizeof(*list->items);
    if (list->count == limit)
        return atoll_err_set(err, ATOLL_E_USAGE, "--%s: given more than %zu times", o->name, limit);
    list->items[list->count++] = text;
    return 0;
}

static int set_text(const struct atoll_option *o, const char *text, void *field, struct atoll_err *err)
{
    *(const char **)field = text;
    return 0;
}

/* Only from a default: on the command line a flag has no value. */
static int set_flag(const struct atoll_option *o, const char *text, void *field, struct atoll_err *err)
{
    *(int *)field = strcmp(text, "1") == 0 || strcmp(text, "yes") == 0 || strcmp(text, "on") == 0;
    return 0;
}

typedef int setter(const struct atoll_option *o, const char *text, void *field, struct atoll_err *err);

static setter *const setters[] = {
    [ATOLL_OPT_FLAG] = set_flag,     [ATOLL_OPT_INT] = set_int,           [ATOLL_OPT_DOUBLE] = set_double,
    [ATOLL_OPT_TEXT] = set_text,     [ATOLL_OPT_DURATION] = set_duration, [ATOLL_OPT_BYTES] = set_bytes,
    [ATOLL_OPT_CHOICE] = set_choice, [ATOLL_OPT_LIST] = set_list,
};

static int set_value(struct parse *p, const struct atoll_option *o, const char *text)
{
    return setters[o->kind](o, text, p->settings + o->offset, p->err);
}

/* Bounds are for people: a default may lie outside of them ("0 = no limit"). */
static int set_defaults(struct parse *p)
{
    const struct atoll_option *o;
    for (size_t i = 0; (o = atoll_option_at(p->command, i)) != NULL; i++) {
        struct atoll_option unbounded = *o;
        unbounded.min = unbounded.max = 0.0;
        if (o->kind == ATOLL_OPT_LIST)
            ((struct atoll_option_list *)(void *)(p->settings + o->offset))->count = 0;
        if (o->fallback && set_value(p, &unbounded, o->fallback))
            return atoll_err_add(p->err, "this default is a defect of the program");
    }
    return 0;
}

static const struct atoll_option *find_long(const struct atoll_command *command, const char *name,
                                            size_t length)
{
    const struct atoll_option *o;
    for (size_t i = 0; (o = atoll_option_at(command, i)) != NULL; i++)
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

/* An option that name begins, else one spelt like it. */
static const char *nearest_name(const struct atoll_command *command, const char *name, size_t length)
{
    const char *known[OPTION_LIMIT];
    char word[NAME_BYTES];
    size_t count = 0;
    snprintf(word, sizeof(word), "%.*s", length < NAME_BYTES ? (int)length : (int)NAME_BYTES - 1, name);
    const struct atoll_option *o;
    for (size_t i = 0; (o = atoll_option_at(command, i)) != NULL && count < OPTION_LIMIT; i++) {
        if (length >= 2 && strncmp(o->name, name, length) == 0)
            return o->name;
        known[count++] = o->name;
    }
    return atoll_spelling_nearest(word, known, count);
}

static int unknown_option(const struct parse *p, const char *name, size_t length)
{
    int shown = length > NAME_BYTES ? (int)NAME_BYTES : (int)length;
    const char *nearest = nearest_name(p->command, name, length);
    if (nearest) {
        return atoll_err_set(p->err, ATOLL_E_USAGE, "%s: unknown option --%.*s; did you mean --%s?",
                             p->command->name, shown, name, nearest);
    }
    return atoll_err_set(p->err, ATOLL_E_USAGE, "%s: unknown option --%.*s; --help lists all",
                         p->command->name, shown, name);
}

/* A value that was not attached is the next argument, whatever it looks like ("-5", "--"). */
static int take_value(struct parse *p, const struct atoll_option *o, const char *attached)
{
    if (!attached && p->next >= p->argc) {
        return atoll_err_set(p->err, ATOLL_E_USAGE, "--%s: %s is expected after it", o->name,
                             o->metavar ? o->metavar : "a value");
    }
    return set_value(p, o, attached ? attached : p->argv[p->next++]);
}

static int set_flag_to(struct parse *p, const struct atoll_option *o, int value, const char *attached)
{
    if (attached) {
        return atoll_err_set(p->err, ATOLL_E_USAGE, "--%s takes no value; --%s and --no-%s are its forms",
                             o->name, o->name, o->name);
    }
    *(int *)(void *)(p->settings + o->offset) = value;
    return 0;
}

/* name is without its dashes. */
static int parse_long(struct parse *p, const char *name)
{
    size_t length = strcspn(name, "=");
    const char *attached = name[length] ? name + length + 1 : NULL;
    const struct atoll_option *o = find_long(p->command, name, length);
    if (o)
        return o->kind == ATOLL_OPT_FLAG ? set_flag_to(p, o, 1, attached) : take_value(p, o, attached);
    if (length == strlen("help") && strncmp(name, "help", length) == 0)
        return 1;
    if (length > 3 && strncmp(name, "no-", 3) == 0) {
        o = find_long(p->command, name + 3, length - 3);
        if (o && o->kind == ATOLL_OPT_FLAG)
            return set_flag_to(p, o, 0, attached);
    }
    return unknown_option(p, name, length);
}

/* "-v", "-vq", "-oDIR", "-o DIR"; letters is without its dash. */
static int parse_letters(struct parse *p, const char *letters)
{
    for (; *letters; letters++) {
        const struct atoll_option *o = NULL;
        for (size_t i = 0; (o = atoll_option_at(p->command, i)) != NULL && o->letter != *letters; i++) {
        }
        if (!o && *letters == 'h')
            return 1;
        if (!o) {
            return atoll_err_set(p->err, ATOLL_E_USAGE, "%s: unknown option -%c; --help lists all",
                                 p->command->name, *letters);
        }
        if (o->kind != ATOLL_OPT_FLAG)
            return take_value(p, o, letters[1] ? letters + 1 : NULL);
        set_flag_to(p, o, 1, NULL);
    }
    return 0;
}

int atoll_option_parse(const struct atoll_command *command, int argc, char **argv, void *settings,
                       const char **ret_arguments, size_t argument_limit, size_t *ret_argument_count,
                       struct atoll_err *err)
{
    struct parse p = {command, argc, argv, 1, settings, err};
    size_t count = 0;
    int options_ended = 0;
    if (set_defaults(&p))
        return -1;
    while (p.next < argc) {
        const char *argument = argv[p.next++];
        if (!options_ended && argument[0] == '-' && argument[1]) {
            int status = 0;
            if (strcmp(argument, "--") == 0)
                options_ended = 1;
            else
                status = argument[1] == '-' ? parse_long(&p, argument + 2) : parse_letters(&p, argument + 1);
            if (status)
                return status;
        } else if (count == argument_limit) {
            return atoll_err_set(err, ATOLL_E_USAGE, "%s: '%.64s' is one argument too many; expected: %s",
                                 command->name, argument, command->synopsis);
        } else {
            ret_arguments[count++] = argument;
        }
    }
    *ret_argument_count = count;
    return 0;
}
