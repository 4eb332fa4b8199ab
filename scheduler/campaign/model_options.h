/* model_options.h - which language model a run asks, and through which gateway.
 * Layer: scheduler.  Plain value; what apply makes is owned until fini. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_MODEL_OPTIONS_H
#define ATOLL_SCHEDULER_CAMPAIGN_MODEL_OPTIONS_H

#include "core/search.h"
#include "scheduler/campaign/search_options.h"

struct atoll_model_options {
    const char *model, *embedder, *gateway, *token_file; /* as given; borrowed */
    struct atoll_option_list role; /* parameters of roles, as given (mpi-eval/operator/roles.h) */
    double deadline_s;
    char *where, *token; /* owned: with absolute paths, as a campaign keeps them; NULL: no model is asked */
    char *roles; /* owned: parameters of roles as a campaign keeps them, or a resume says them; NULL: none */
};

/* Share of proposals that a model is asked for where nothing else is said: the tuner goes on with the rest. */
#define ATOLL_MODEL_ASK_SHARE 0.5

/* A gateway's address with its path absolute, as given from this working directory; owned by the caller. */
char *atoll_model_where(const char *gateway, struct atoll_err *err);
/* Checks that they fit, completes them (gateway from ATOLL_GATEWAY), and lets the search ask where it was not told
 * how often, and for as many candidates as roles say.  Errors: USAGE, which names the remedy. */
int atoll_model_options_apply(struct atoll_model_options *options, const struct atoll_search_options *given,
                              struct atoll_search *search, struct atoll_err *err);
/* The same without the rules of a new run: each may be given alone; --gateway none is a gateway too. */
int atoll_model_options_complete(struct atoll_model_options *options, struct atoll_err *err);
/* What a campaign keeps of its models; each may be NULL: nothing. */
struct atoll_model_kept {
    const char *model, *roles, *gateway, *token;
    uint32_t tools; /* the search's setting */
};
/* What a resume says of roles behind what the campaign keeps, into options->roles.  Errors: USAGE, what is no parameter or one that
 * prompts and search follow from; LIMIT, MEMORY. */
int atoll_model_options_resume_roles(struct atoll_model_options *options, const struct atoll_model_kept *kept,
                                     struct atoll_err *err);
/* Whether completed options of a resume name models that take prompts as long as the campaign's are, and call tools where these
 * offer some; asks the gateway, and one that says nothing is no hindrance.  Errors: USAGE, which names the role; MEMORY. */
int atoll_model_options_fit(const struct atoll_model_options *options, const struct atoll_model_kept *kept,
                            struct atoll_err *err);
void atoll_model_options_fini(struct atoll_model_options *options);
/* Arguments for atoll-eval that say the same (resume): up to eight into ret_arguments, returns how many. */
size_t atoll_model_options_arguments(const struct atoll_model_options *options, const char **ret_arguments);

#endif
