/* search_options.h - settings of the search from a command line: a few options of their own, and `--set` for every row
 * of core/search.h.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_SEARCH_OPTIONS_H
#define ATOLL_SCHEDULER_CAMPAIGN_SEARCH_OPTIONS_H

#include <stdio.h>

#include "base/option.h"
#include "core/search.h"

/* As given; NULL = not given.  Borrowed from argv. */
struct atoll_search_options {
    const char *strategy, *seed, *islands, *evaluations, *seconds, *device_seconds, *tokens, *money,
        *floor_goal, *samples;
    struct atoll_option_list set; /* "name=value" */
};

/* Takes what was given over into search, which holds the defaults.  ATOLL_E_USAGE: an unknown name, a value out of
 * range, a setting that is given twice, settings that no engine takes together. */
int atoll_search_options_apply(const struct atoll_search_options *options, struct atoll_search *search,
                               struct atoll_err *err);
/* Whether a row of the table was given, by either way. */
int atoll_search_options_has(const struct atoll_search_options *options, const char *field);

/* The table: name, range, default, summary. */
void atoll_search_options_list(const struct atoll_search *defaults, FILE *out);
/* The same as a JSON array of objects: name, kind, min, max or values, default, summary; a bound that is none is
 * null. */
void atoll_search_options_list_json(const struct atoll_search *defaults, FILE *out);
/* The same as a man page of section 7. */
void atoll_search_options_man(FILE *out);

#endif
