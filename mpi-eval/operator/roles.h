/* roles.h - which model is asked in which role, and with which parameters, as a campaign says it.
 * Layer: mpi-eval.  Plain value; model names are borrowed from the texts.
 *
 * Models: one name for all roles, or "planner=A,executor=B,*=C"; a role that is not named has the model "", and
 * then the gateway's own roles decide (gateway.yaml).  "writer@0=A" is the model of a role on one island, "@0=A" that of all roles
 * there; a role on its island comes first, then the island, then the role, then *.  What is not said of a drafter is the writer's.  Parameters: "planner:temperature=0.3,effort=high;executor:candidates=4", keys
 * temperature, top-p, effort, max-tokens, candidates, context, tools; what is unsaid is the gateway's. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_ROLES_H
#define ATOLL_MPI_EVAL_OPERATOR_ROLES_H

#include "base/err.h"
#include "core/model_role.h"
#include "core/search.h"
#include "core/tool_turn.h"
#include "llm-gateway/request/request.h"

/* Campaign options: models, and parameters, as above. */
#define ATOLL_ROLES_MODEL_OPTION "model"
#define ATOLL_ROLES_OPTION       "roles"
/* The name of a model that says: the gateway chooses by the role. */
#define ATOLL_ROLES_BY_GATEWAY ""

struct atoll_role_settings {
    char model[128];
    double temperature, top_p; /* NaN: unsaid */
    enum atoll_llm_effort effort;
    uint32_t max_tokens;     /* of the answer; 0: unsaid */
    uint32_t candidates;     /* of one ask; 0: unsaid */
    uint32_t context_tokens; /* of the model: what a prompt may fill; 0: unsaid */
    uint32_t tools;          /* calls an ask may make; UINT32_MAX: as many as the search says */
};

#define ATOLL_ROLES_ISLAND_LIMIT 64

struct atoll_role_island {
    enum atoll_model_role role; /* COUNT: every one */
    uint32_t island;
    char model[128];
};

struct atoll_roles {
    struct atoll_role_settings of[ATOLL_MODEL_ROLE_COUNT];
    uint32_t island_count;
    struct atoll_role_island islands[ATOLL_ROLES_ISLAND_LIMIT];
};

/* models, parameters: NULL or "" where nothing is said.  Errors: USAGE, which names the part. */
int atoll_roles_parse(const char *models, const char *parameters, struct atoll_roles *ret_roles,
                      struct atoll_err *err);
/* Of a role on an island. */
const char *atoll_roles_model(const struct atoll_roles *roles, enum atoll_model_role role, uint32_t island);
/* -1, USAGE: an island is named that a search with so many has not. */
int atoll_roles_check_islands(const struct atoll_roles *roles, uint32_t islands, struct atoll_err *err);
/* The role's model on the island and what is said of its parameters, into a request; its purpose is the role. */
void atoll_roles_apply(const struct atoll_roles *roles, enum atoll_model_role role, uint32_t island,
                       struct atoll_llm_request *request);
/* Calls of tools that an ask of this role may make; limit: the campaign's setting, 0: nobody may. */
unsigned atoll_roles_tool_limit(const struct atoll_roles *roles, enum atoll_model_role role, unsigned limit);
/* Bytes that so many tokens are taken for; at most 2 MiB. */
size_t atoll_roles_token_bytes(uint64_t tokens);
/* Bytes that the user text of a prompt of this role may have; 0: as prompts do by themselves. */
size_t atoll_roles_prompt_bytes(const struct atoll_roles *roles, enum atoll_model_role role);
/* The first parameter that differs, of those that prompts and search follow from; NULL: none does.  Static storage. */
const char *atoll_roles_frozen(const struct atoll_role_settings *before,
                               const struct atoll_role_settings *now);
/* Candidates per ask, into the settings of the search that say so. */
void atoll_roles_candidates(const struct atoll_roles *roles, struct atoll_search *search);

#endif
