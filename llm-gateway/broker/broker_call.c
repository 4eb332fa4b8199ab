/* broker_call.c - one call as a value: its request, copied with its texts behind it, its first model, and the lists it may
 * stand in. */
#include "llm-gateway/broker/broker_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* ---- lists ---- */

void atoll_call_list_append(struct atoll_call_list *list, struct atoll_call *call)
{
    call->list = list;
    call->next = NULL;
    call->previous = list->last;
    if (list->last)
        list->last->next = call;
    else
        list->first = call;
    list->last = call;
}

void atoll_call_list_leave(struct atoll_call *call)
{
    if (!call->list)
        return;
    if (call->previous)
        call->previous->next = call->next;
    else
        call->list->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    else
        call->list->last = call->previous;
    call->list = NULL;
    call->next = call->previous = NULL;
}

/* ---- a call ---- */

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t texts_bytes(const struct atoll_llm_request *r)
{
    size_t bytes = text_bytes(r->model) + text_bytes(r->key) + text_bytes(r->campaign) + text_bytes(r->task) +
                   text_bytes(r->purpose) + text_bytes(r->schema);
    for (size_t i = 0; i < r->message_count; i++)
        bytes += text_bytes(r->messages[i].text);
    return bytes;
}

static const char *move_text(const char *text, char **room)
{
    size_t bytes = text_bytes(text);
    char *copy = *room;
    if (!text)
        return NULL;
    memcpy(copy, text, bytes);
    *room += bytes;
    return copy;
}

static void copy_request(struct atoll_llm_request *to, const struct atoll_llm_request *from, char *room)
{
    *to = *from;
    to->model = move_text(from->model, &room);
    to->key = move_text(from->key, &room);
    to->campaign = move_text(from->campaign, &room);
    to->task = move_text(from->task, &room);
    to->purpose = move_text(from->purpose, &room);
    to->schema = move_text(from->schema, &room);
    for (size_t i = 0; i < from->message_count; i++)
        to->messages[i].text = move_text(from->messages[i].text, &room);
}

static int find_model(struct atoll_call *call, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = call->broker->config;
    const char *name = call->request.model;
    int first = -1;
    for (size_t i = 0; i < config->ensemble_count; i++) {
        if (strcmp(config->ensembles[i].name, name) == 0)
            first = atoll_ensemble_choose(&config->ensembles[i], call->request.generation, &call->id);
    }
    for (size_t i = 0; first < 0 && i < config->model_count; i++) {
        if (strcmp(config->models[i].name, name) == 0)
            first = (int)i;
    }
    if (first < 0)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "model: this gateway has no model or ensemble of the name %.64s", name);
    call->model = (unsigned)first;
    return 0;
}

struct atoll_call *atoll_call_create(struct atoll_broker *broker, const struct atoll_llm_request *request,
                                     const struct atoll_id *id, struct atoll_err *err)
{
    struct atoll_call *call = calloc(1, sizeof *call + texts_bytes(request));
    if (!call) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a call");
        return NULL;
    }
    call->broker = broker;
    call->id = *id;
    copy_request(&call->request, request, (char *)(call + 1));
    if (find_model(call, err)) {
        free(call);
        return NULL;
    }
    call->arrival = broker->next_arrival++;
    call->arrived_ns = atoll_loop_now_ns(broker->loop);
    atoll_llm_outcome_init(&call->outcome);
    atoll_broker_index_add_call(&broker->index, call);
    broker->call_count++;
    return call;
}

void atoll_call_destroy(struct atoll_call *call)
{
    if (!call)
        return;
    atoll_call_list_leave(call);
    atoll_broker_index_remove_call(&call->broker->index, call);
    call->broker->call_count--;
    atoll_llm_outcome_fini(&call->outcome);
    free(call);
}

static int append(struct atoll_call *call, struct atoll_err *err)
{
    return atoll_store_append(call->broker->store, &call->request, &call->outcome, call->last_reservation,
                              err);
}

/* On a disk that is full or slow for long, what waits there already leaves no room: behind a sync there is some.  What is
 * too large for a record on its own goes there without the raw reply. */
int atoll_call_keep(struct atoll_call *call)
{
    struct atoll_store *store = call->broker->store;
    struct atoll_err err = ATOLL_ERR_INIT;
    int is_waiting = store && !atoll_store_is_synced(store);
    call->is_unkept = 0;
    if (!store || !call->try_count)
        return 0;
    if (append(call, &err) == 0)
        return 1;
    if (is_waiting)
        return call->is_unkept = call->broker->is_crowded = 1;
    atoll_buffer_fini(&call->outcome.raw);
    if (append(call, NULL) == 0)
        return 1;
    atoll_log_err(ATOLL_LOG_ERROR, "gateway.store.append", &err);
    return 0;
}

double atoll_call_deadline_ns(const struct atoll_call *call)
{
    double latest_ns = 0;
    for (const struct atoll_waiter *w = call->waiters; w; w = w->next)
        latest_ns = fmax(latest_ns, w->deadline_ns);
    return latest_ns;
}
