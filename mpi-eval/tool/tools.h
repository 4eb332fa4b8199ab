/* tools.h - the calls of tools that models have made and that are not answered: rank 0's side.  Searching and reading is done at
 * once; compiling and checking is an order to an evaluator (docs/spec/wire.md).
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner, nothing blocks for longer than a search.
 *
 * States of a call: WAITING (for an evaluator of its device model) -> SENT -> DONE (its result is here) -> gone.  A lost evaluator's
 * calls are done, with an error: a source that ends evaluators shall not end another one. */
#ifndef ATOLL_MPI_EVAL_TOOL_TOOLS_H
#define ATOLL_MPI_EVAL_TOOL_TOOLS_H

#include "core/tool.h"
#include "evolution/engine/engine.h"

#define ATOLL_TOOLS_CALL_LIMIT  256   /* calls that are not done */
#define ATOLL_TOOLS_DEADLINE_NS 180e9 /* from start to result */
#define ATOLL_TOOLS_PEER_LIMIT  8     /* calls that one evaluator has in hand */

struct atoll_knowledge_pack;
struct atoll_tools;

/* knowledge, except: as of atoll_knowledge_tool_create.  deadline_ns: 0 = ATOLL_TOOLS_DEADLINE_NS. */
struct atoll_tools *atoll_tools_create(const struct atoll_knowledge_pack *knowledge, const char *except,
                                       double deadline_ns, struct atoll_err *err);
void atoll_tools_destroy(struct atoll_tools *tools); /* NULL is fine */

/* ---- for who asks models ---- */

/* What an ask is about.  language: of the sources that it wants; device: the family of its device, NULL or "" unknown; features: of
 * it (evolution/knowledge/retrieve.h), NULL not known. */
struct atoll_tool_scene {
    const struct atoll_engine *engine;
    uint32_t task, model;
    const char *language, *device;
    const char *const *features;
};

/* Begins a call as a model wrote it: an unknown name and arguments that are wrong have a result like any other.  ret_call: its
 * number, never 0.  All is copied.  Errors: MEMORY alone. */
int atoll_tools_start(struct atoll_tools *tools, const struct atoll_tool_scene *scene, const char *name,
                      const char *arguments, double now_ns, uint64_t *ret_call, struct atoll_err *err);

struct atoll_tool_result {
    uint64_t call;
    enum atoll_tool_status status;
    const char
        *text; /* UTF-8, at most ATOLL_TOOL_RESULT_LIMIT bytes; until the next call of next or cancel */
    double elapsed_s;
};
/* 1: a call is done, and forgotten; 0: none is. */
int atoll_tools_next(struct atoll_tools *tools, double now_ns, struct atoll_tool_result *ret_result);
/* Nobody waits for its result any more. */
void atoll_tools_cancel(struct atoll_tools *tools, uint64_t call);
size_t atoll_tools_open_count(const struct atoll_tools *tools); /* calls that are not done */

/* ---- for who talks to evaluators ---- */

/* The next order for an evaluator whose device is of this model, marked SENT; NULL: none, or it has enough.  Borrowed until the
 * call is done. */
const struct atoll_tool_order *atoll_tools_next_order(struct atoll_tools *tools, unsigned peer,
                                                      uint32_t model);
/* TOOLED of a peer.  An answer that nobody waits for is passed over.  -1: it does not decode. */
int atoll_tools_take(struct atoll_tools *tools, unsigned peer, const void *payload, size_t length,
                     struct atoll_err *err);
/* The peer is lost. */
void atoll_tools_lose(struct atoll_tools *tools, unsigned peer);

#endif
