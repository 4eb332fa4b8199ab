/* roles.h - which model is asked in which role, and with which parameters, as a campaign says it.
 * Layer: mpi-eval.  Plain value; model names are borrowed from the texts.
 *
 * Models: one name for all roles, or "planner=A,executor=B,*=C"; a role that is not named has the model "", and
 * then the gateway's own roles decide (gateway.yaml).  Parameters: "planner:temperature=0.3,effort=high;executor:candidates=4", keys
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

struct atoll_roles {
    struct atoll_role_settings of[ATOLL_MODEL_ROLE_COUNT];
};

/* models, parameters: NULL or "" where nothing is said.  Errors: USAGE, which names the part. */
int atoll_roles_parse(const char *models, const char *parameters, struct atoll_roles *ret_roles,
                      struct atoll_err *err);
/* The role's model and what is said of its parameters, into a request; its purpose is the role. */
void atoll_roles_apply(const struct atoll_roles *roles, enum atoll_model_role role,
                       struct atoll_llm_request *request);
/* Bytes that the user text of a prompt of this role may have; 0: as prompts do by themselves. */
size_t atoll_roles_prompt_bytes(const struct atoll_roles *roles, enum atoll_model_role role);
/* Candidates per ask, into the settings of the search that say so. */
void atoll_roles_candidates(const struct atoll_roles *roles, struct atoll_search *search);

#endif
