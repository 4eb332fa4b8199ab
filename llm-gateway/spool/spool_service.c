/* spool_service.c - one job per request under way: taken by a scan, given to the broker, answered with a reply file.
 * A reply that cannot be written (a full disk) is kept and tried again with the next scan. */
#include "llm-gateway/spool/spool_service.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "llm-gateway/config/offer.h"
#include "llm-gateway/spool/spool.h"

#define BUSY_NS    50e6
#define IDLE_NS    500e6
#define CLEAN_NS   600e9
#define KEEP_S     (7.0 * 86400.0)
#define LOG_NS     60e9 /* a full disk, or a folder that is none, is met many times a second: logged so often */
#define SCAN_LIMIT 256u

struct job {
    struct atoll_spool_service *service;
    char name[ATOLL_SPOOL_NAME_BYTES];
    uint64_t call;                    /* 0: the broker has done with it */
    struct atoll_llm_outcome outcome; /* once it is done */
    struct job *next, *previous;
};

struct atoll_spool_service {
    struct atoll_loop *loop;
    struct atoll_broker *broker;
    struct atoll_spool_server *server;
    unsigned in_flight_limit;
    struct job *jobs;
    size_t open_count, done_count; /* jobs with the broker; jobs whose reply is not written */
    int is_stopped, has_news;
    struct atoll_err lost; /* BUSY: another gateway has the spool */
    double cleaned_ns, logged_ns;
    uint64_t timer;
};

/* ---- jobs ---- */

static struct job *job_create(struct atoll_spool_service *service, const char *name)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->service = service;
    snprintf(job->name, sizeof(job->name), "%s", name);
    atoll_llm_outcome_init(&job->outcome);
    job->next = service->jobs;
    if (service->jobs)
        service->jobs->previous = job;
    service->jobs = job;
    return job;
}

static void job_destroy(struct job *job)
{
    if (job->previous)
        job->previous->next = job->next;
    else
        job->service->jobs = job->next;
    if (job->next)
        job->next->previous = job->previous;
    atoll_llm_outcome_fini(&job->outcome);
    free(job);
}

/* 1: enough time has passed since the last line. */
static int may_log(struct atoll_spool_service *service)
{
    double now_ns = atoll_loop_now_ns(service->loop);
    if (service->logged_ns > 0 && now_ns - service->logged_ns < LOG_NS)
        return 0;
    service->logged_ns = now_ns;
    return 1;
}

/* 1: the job is over. */
static int job_reply(struct job *job, const struct atoll_llm_outcome *outcome)
{
    struct atoll_spool_service *service = job->service;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_spool_server_reply(service->server, job->name, outcome, &err) == 0)
        return 1;
    if (may_log(service))
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.spool.reply", &err);
    if (err.code != ATOLL_E_LIMIT && err.code != ATOLL_E_INTERNAL)
        return 0;
    /* No time makes a file of it: what asked learns that, and others are not held up. */
    struct atoll_llm_outcome instead;
    atoll_llm_outcome_init(&instead);
    atoll_llm_outcome_set(&instead, ATOLL_LLM_PROTOCOL, "the answer cannot be written as a reply: %s",
                          err.text);
    int is_over = atoll_spool_server_reply(service->server, job->name, &instead, NULL) == 0;
    atoll_llm_outcome_fini(&instead);
    return is_over;
}

static void job_done(void *context, const struct atoll_llm_outcome *outcome)
{
    struct job *job = context;
    struct atoll_spool_service *service = job->service;
    service->open_count--;
    service->has_news = 1;
    job->call = 0;
    /* Withdrawn, or the gateway ends: then the request waits for the next gateway. */
    if (outcome->status == ATOLL_LLM_CANCELLED || job_reply(job, outcome)) {
        job_destroy(job);
        return;
    }
    if (atoll_llm_outcome_copy(outcome, &job->outcome, NULL) != 0)
        atoll_llm_outcome_set(&job->outcome, outcome->status, "%s", outcome->detail);
    service->done_count++;
}

/* ---- scans ---- */

static int take(void *context, const char *name, const struct atoll_llm_request *request)
{
    struct atoll_spool_service *service = context;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_broker_count(service->broker) >= service->in_flight_limit)
        return 1;
    struct job *job = job_create(service, name);
    if (!job)
        return 1;
    service->has_news = 1;
    if (atoll_broker_submit(service->broker, request, job_done, job, &job->call, &err) == 0) {
        service->open_count++;
        return 0;
    }
    if (err.code != ATOLL_E_INPUT) {
        job_destroy(job);
        return 1;
    }
    atoll_llm_outcome_set(&job->outcome, ATOLL_LLM_INVALID, "%s", err.text);
    service->done_count++; /* the reply follows the scan */
    return 0;
}

static void write_replies(struct atoll_spool_service *service)
{
    struct job *next;
    for (struct job *job = service->done_count ? service->jobs : NULL; job; job = next) {
        next = job->next;
        if (job->call)
            continue;
        if (!job_reply(job, &job->outcome))
            return; /* no space for this one, none for others */
        service->done_count--;
        job_destroy(job);
    }
}

/* Withdrawn, or answered by a person. */
static void gone(void *context, const char *name)
{
    struct atoll_spool_service *service = context;
    for (struct job *job = service->jobs; job; job = job->next) {
        if (strcmp(job->name, name) == 0 && job->call) {
            atoll_broker_cancel(service->broker, job->call);
            return;
        }
    }
}

static void handle_failure(struct atoll_spool_service *service, const struct atoll_err *err)
{
    if (err->code == ATOLL_E_BUSY) {
        service->lost = *err;
        service->is_stopped = 1;
    } else if (may_log(service)) {
        atoll_log_err(ATOLL_LOG_WARNING, "gateway.spool.scan", err);
    }
}

static void look(void *context)
{
    struct atoll_spool_service *service = context;
    struct atoll_err err = ATOLL_ERR_INIT;
    double now_ns = atoll_loop_now_ns(service->loop);
    service->timer = 0;
    if (!service->is_stopped && atoll_broker_count(service->broker) < service->in_flight_limit &&
        atoll_spool_server_scan(service->server, SCAN_LIMIT, take, service, &err) != 0) {
        handle_failure(service, &err);
    }
    if (service->lost.code)
        return;
    write_replies(service);
    if (atoll_spool_server_check(service->server, gone, service, &err) != 0)
        handle_failure(service, &err);
    if (now_ns - service->cleaned_ns >= CLEAN_NS) {
        service->cleaned_ns = now_ns;
        if (atoll_spool_server_clean(service->server, KEEP_S, &err) != 0)
            handle_failure(service, &err);
    }
    double wait_ns = service->open_count || service->done_count || service->has_news ? BUSY_NS : IDLE_NS;
    service->has_news = 0;
    if (atoll_loop_at(service->loop, now_ns + wait_ns, look, service, &service->timer, &err) != 0)
        handle_failure(service, &err);
}

/* ---- lifetime ---- */

/* For those who ask through files: what a client over HTTP reads from /v1/models. */
static int write_offer(const struct atoll_gateway_config *config, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_buffer text;
    if (!config->model_count || snprintf(path, sizeof(path), "%s/offer", config->spool) >= (int)sizeof(path))
        return 0; /* nothing to offer */
    atoll_buffer_init(&text, ATOLL_OFFER_BYTES);
    int status =
        atoll_offer_json(config, &text, err) || atoll_file_replace(NULL, path, text.data, text.length, err)
            ? -1
            : 0;
    atoll_buffer_fini(&text);
    return status;
}

struct atoll_spool_service *atoll_spool_service_create(struct atoll_loop *loop, struct atoll_broker *broker,
                                                       const struct atoll_gateway_config *config,
                                                       struct atoll_err *err)
{
    struct atoll_spool_service *service = calloc(1, sizeof(*service));
    if (!service) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a spool");
        return NULL;
    }
    service->loop = loop;
    service->broker = broker;
    service->in_flight_limit = config->in_flight_limit;
    service->cleaned_ns = atoll_loop_now_ns(loop);
    service->server = atoll_spool_server_open(config->spool, NULL, NULL, err);
    if (!service->server || write_offer(config, err) ||
        atoll_loop_at(loop, service->cleaned_ns, look, service, &service->timer, err)) {
        atoll_spool_service_destroy(service);
        return NULL;
    }
    return service;
}

int atoll_spool_service_state(const struct atoll_spool_service *service, struct atoll_err *err)
{
    return service && service->lost.code ? atoll_err_set(err, service->lost.code, "%s", service->lost.text)
                                         : 0;
}

void atoll_spool_service_stop(struct atoll_spool_service *service)
{
    if (service)
        service->is_stopped = 1;
}

void atoll_spool_service_destroy(struct atoll_spool_service *service)
{
    if (!service)
        return;
    atoll_loop_cancel(service->loop, service->timer);
    atoll_spool_server_close(service->server);
    struct job *next;
    for (struct job *job = service->jobs; job; job = next) {
        next = job->next;
        job_destroy(job);
    }
    free(service);
}
