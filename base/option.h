/* option.h - one row per option: parser, default, --help, man page and JSON come from the same table.
 * Layer: base.  A command is a table of rows plus positional arguments. */
#ifndef ATOLL_BASE_OPTION_H
#define ATOLL_BASE_OPTION_H

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

enum atoll_option_kind {
    ATOLL_OPT_FLAG,     /* int *           --name, --no-name */
    ATOLL_OPT_INT,      /* long long *     decimal, within min..max */
    ATOLL_OPT_DOUBLE,   /* double *        within min..max */
    ATOLL_OPT_TEXT,     /* const char **   borrowed from argv */
    ATOLL_OPT_DURATION, /* double *        seconds, units.h forms */
    ATOLL_OPT_BYTES,    /* unsigned long long * */
    ATOLL_OPT_CHOICE,   /* int *           index into choices, "a|b|c" */
    ATOLL_OPT_LIST      /* struct atoll_option_list *   may be given several times */
};

struct atoll_option_list {
    const char *items[128]; /* borrowed from argv */
    size_t count;
};

struct atoll_option {
    const char *name; /* long name without dashes; NULL ends a table */
    char letter;      /* 0 for none */
    enum atoll_option_kind kind;
    size_t offset;        /* of the field in the command's settings struct */
    const char *metavar;  /* "DIR", "N" ... NULL for flags */
    const char *fallback; /* default as text, parsed like a given value; NULL = leave the field as it is */
    double min, max;      /* for INT, DOUBLE, DURATION; both 0 = no bounds */
    const char *choices;  /* for CHOICE */
    const char *help;     /* one or two sentences */
};

struct atoll_command {
    const char *name;        /* "run", "task check" */
    const char *synopsis;    /* "SUITE [-o DIR]" */
    const char *summary;     /* one line */
    const char *description; /* paragraphs for man and --help, separated by \n\n; may be NULL */
    const char *examples;    /* lines for man and --help; may be NULL */
    const struct atoll_option *options;
    const struct atoll_option
        *shared; /* rows that several commands have, behind its own; their struct is the first
                                          member of the command's; NULL none */
};

/* The row of that number, its own ones first; NULL beyond the last. */
const struct atoll_option *atoll_option_at(const struct atoll_command *command, size_t index);

/* Parses argv[1..] into settings (defaults first) and leaves positional arguments in ret_arguments
 * (borrowed, at most argument_limit).  "--" ends options; "--name=value" and "--name value", "-xVALUE" and
 * "-x VALUE" all work. Returns 0, 1 when --help was asked for (nothing printed yet), -1 with ATOLL_E_USAGE
 * naming the nearest option. */
int atoll_option_parse(const struct atoll_command *command, int argc, char **argv, void *settings,
                       const char **ret_arguments, size_t argument_limit, size_t *ret_argument_count,
                       struct atoll_err *err);
void atoll_option_help(const struct atoll_command *command, FILE *out);
/* mdoc-free man(7) roff */
void atoll_option_man(const struct atoll_command *command, const char *date, FILE *out);

#endif
