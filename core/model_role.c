#include "core/model_role.h"

#include <string.h>

static const char *const names[ATOLL_MODEL_ROLE_COUNT] = {
    [ATOLL_MODEL_ROLE_WRITER] = "writer",         [ATOLL_MODEL_ROLE_PLANNER] = "planner",
    [ATOLL_MODEL_ROLE_EXECUTOR] = "executor",     [ATOLL_MODEL_ROLE_ANALYSER] = "analyser",
    [ATOLL_MODEL_ROLE_ORDERER] = "orderer",       [ATOLL_MODEL_ROLE_REFINER] = "refiner",
    [ATOLL_MODEL_ROLE_EXTRACTOR] = "extractor",   [ATOLL_MODEL_ROLE_TEMPLATER] = "templater",
    [ATOLL_MODEL_ROLE_SUMMARIZER] = "summarizer", [ATOLL_MODEL_ROLE_DISTILLER] = "distiller",
    [ATOLL_MODEL_ROLE_PROMPTER] = "prompter",     [ATOLL_MODEL_ROLE_JUDGE] = "judge",
    [ATOLL_MODEL_ROLE_DRAFTER] = "drafter",
};

const char *atoll_model_role_name(enum atoll_model_role role)
{
    return (unsigned)role < ATOLL_MODEL_ROLE_COUNT ? names[role] : "unknown";
}

enum atoll_model_role atoll_model_role_find(const char *name, size_t length)
{
    unsigned role = 0;
    while (role < ATOLL_MODEL_ROLE_COUNT &&
           (strlen(names[role]) != length || memcmp(names[role], name, length) != 0))
        role++;
    return (enum atoll_model_role)role;
}

int atoll_model_role_has_candidates(enum atoll_model_role role)
{
    return role == ATOLL_MODEL_ROLE_PLANNER || role == ATOLL_MODEL_ROLE_EXECUTOR ||
           role == ATOLL_MODEL_ROLE_TEMPLATER || role == ATOLL_MODEL_ROLE_WRITER ||
           role == ATOLL_MODEL_ROLE_REFINER;
}

int atoll_model_role_has_tools(enum atoll_model_role role)
{
    return role != ATOLL_MODEL_ROLE_ORDERER && role != ATOLL_MODEL_ROLE_SUMMARIZER &&
           role != ATOLL_MODEL_ROLE_DISTILLER && role != ATOLL_MODEL_ROLE_PROMPTER &&
           role != ATOLL_MODEL_ROLE_JUDGE && role < ATOLL_MODEL_ROLE_COUNT;
}

enum atoll_model_role atoll_model_role_base(enum atoll_model_role role)
{
    return role == ATOLL_MODEL_ROLE_DRAFTER ? ATOLL_MODEL_ROLE_WRITER : ATOLL_MODEL_ROLE_COUNT;
}

static enum atoll_model_role role_of_writing(enum atoll_operator op)
{
    switch (op) {
    case ATOLL_OPERATOR_EXECUTE: return ATOLL_MODEL_ROLE_EXECUTOR;
    case ATOLL_OPERATOR_STAGED: return ATOLL_MODEL_ROLE_REFINER;
    case ATOLL_OPERATOR_EXTRACT: return ATOLL_MODEL_ROLE_EXTRACTOR;
    case ATOLL_OPERATOR_INITIALISE: return ATOLL_MODEL_ROLE_DRAFTER;
    case ATOLL_OPERATOR_TEMPLATE: return ATOLL_MODEL_ROLE_TEMPLATER;
    default: return ATOLL_MODEL_ROLE_WRITER;
    }
}

enum atoll_model_role atoll_model_role_of_ask(const struct atoll_ask *ask)
{
    switch (ask->kind) {
    case ATOLL_ASK_PLAN: return ATOLL_MODEL_ROLE_PLANNER;
    case ATOLL_ASK_ANALYSE: return ATOLL_MODEL_ROLE_ANALYSER;
    case ATOLL_ASK_ORDER: return ATOLL_MODEL_ROLE_ORDERER;
    case ATOLL_ASK_SUMMARISE: return ATOLL_MODEL_ROLE_SUMMARIZER;
    case ATOLL_ASK_DISTIL: return ATOLL_MODEL_ROLE_DISTILLER;
    case ATOLL_ASK_META: return ATOLL_MODEL_ROLE_PROMPTER;
    case ATOLL_ASK_JUDGE: return ATOLL_MODEL_ROLE_JUDGE;
    default: return role_of_writing(ask->op);
    }
}
