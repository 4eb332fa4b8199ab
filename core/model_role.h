/* model_role.h - as what a language model is asked: who plans, who writes, who judges.  A campaign and a gateway may give each role
 * a model and parameters of its own.
 * Layer: core.  Plain values. */
#ifndef ATOLL_CORE_MODEL_ROLE_H
#define ATOLL_CORE_MODEL_ROLE_H

#include <stddef.h>

#include "core/ask.h"

/* The order is the order in archives: new ones go before COUNT. */
enum atoll_model_role {
    ATOLL_MODEL_ROLE_WRITER,     /* one prompt with everything known; translations too */
    ATOLL_MODEL_ROLE_PLANNER,    /* plans of one step */
    ATOLL_MODEL_ROLE_EXECUTOR,   /* carries out a plan */
    ATOLL_MODEL_ROLE_ANALYSER,   /* issues of a kernel */
    ATOLL_MODEL_ROLE_ORDERER,    /* the order of stages */
    ATOLL_MODEL_ROLE_REFINER,    /* rounds of a stage */
    ATOLL_MODEL_ROLE_EXTRACTOR,  /* the last word of a stage */
    ATOLL_MODEL_ROLE_TEMPLATER,  /* templates of the best kernel */
    ATOLL_MODEL_ROLE_SUMMARIZER, /* why one kernel is faster than another */
    ATOLL_MODEL_ROLE_DISTILLER,  /* hints from a chain of improvements */
    ATOLL_MODEL_ROLE_PROMPTER,   /* edits of prompt texts */
    ATOLL_MODEL_ROLE_JUDGE,      /* whether a kernel cheats */
    ATOLL_MODEL_ROLE_DRAFTER,    /* first drafts */
    ATOLL_MODEL_ROLE_COUNT
};

const char *atoll_model_role_name(enum atoll_model_role role); /* "writer" ...; "unknown" beyond */
/* By name; ATOLL_MODEL_ROLE_COUNT: there is none. */
enum atoll_model_role atoll_model_role_find(const char *name, size_t length);
/* 1: it may be asked for several candidates, or plans, at once; 0: its answer is one. */
int atoll_model_role_has_candidates(enum atoll_model_role role);
/* 1: it may call tools; 0: who only orders, sums up or judges has nothing to try. */
int atoll_model_role_has_tools(enum atoll_model_role role);
/* The role that says what is unsaid of this one: of drafter writer; COUNT: none does. */
enum atoll_model_role atoll_model_role_base(enum atoll_model_role role);
/* Of whom an ask of this kind for this operator is asked. */
enum atoll_model_role atoll_model_role_of_ask(const struct atoll_ask *ask);

#endif
