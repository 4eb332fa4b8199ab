/* spool_desk.c - one job per request under way: taken by a scan, given to the broker, answered with a reply file.
 * A reply that cannot be written (a full disk) is kept and tried again with the next scan. */
#include "llm-gateway/spool/spool_desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "llm-gateway/spool/spool.h"

#define BUSY_NS     50e6
#define IDLE_NS     500e6
#define LEASE_S     60.0
#define RENEW_NS    (LEASE_S / 4 * 1e9)
#define CLEAN_NS    600e9
#define KEEP_S      (7.0 * 86400.0)
#define SAY_NS      60e9
#define SCAN_LIMIT  256u
#define HOLDER_SIZE 128

struct job {
    struct atoll_spool_desk *desk;
    char name[ATOLL_SPOOL_NAME_BYTES];
    uint64_t call;                    /* 0: the broker has done with it */
    struct atoll_llm_outcome outcome; /* once it is done */
    struct job *next, *previous;
};

struct atoll_spool_desk {
    struct atoll_loop *loop;
    struct atoll_broker *broker;
    struct atoll_spool_server *server;
    unsigned in_flight_limit;
    struct job *jobs;
    size_t open_count, done_count; /* jobs with the broker; jobs whose reply is not written */
    int is_stopped, has_news;
    double renewed_ns, cleaned_ns;
    double said_ns; /* when trouble with replies was told */
    uint64_t timer;
};

/* ---- jobs ---- */

static struct job *job_create(struct atoll_spool_desk *desk, const char *name)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->desk = desk;
    snprintf(job->name, sizeof job->name, "%s", name);
    atoll_llm_outcome_init(&job->outcome);
    job->next = desk->jobs;
    if (desk->jobs)
        desk->jobs->previous = job;
    desk->jobs = job;
    return job;
}

static void job_destroy(struct job *job)
{
    if (job->previous)
        job->previous->next = job->next;
    else
        job->desk->jobs = job->next;
    if (job->next)
        job->next->previous = job->previous;
    atoll_llm_outcome_fini(&job->outcome);
    free(job);
}

/* It is tried many times a second: a full disk need not be told each time. */
static void say(struct atoll_spool_desk *desk, const struct atoll_err *err)
{
    double now_ns = atoll_loop_now_ns(desk->loop);
    if (desk->said_ns > 0 && now_ns - desk->said_ns < SAY_NS)
        return;
    desk->said_ns = now_ns;
    atoll_log_err(ATOLL_LOG_ERROR, "gateway.spool.reply", err);
}

/* 1: the job is over. */
static int job_reply(struct job *job, const struct atoll_llm_outcome *outcome)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_spool_server_reply(job->desk->server, job->name, outcome, &err) == 0)
        return 1;
    say(job->desk, &err);
    if (err.code != ATOLL_E_LIMIT && err.code != ATOLL_E_INTERNAL)
        return 0;
    /* No time makes a file of it: what asked learns that, and others are not held up. */
    struct atoll_llm_outcome instead;
    atoll_llm_outcome_init(&instead);
    atoll_llm_outcome_set(&instead, ATOLL_LLM_PROTOCOL, "the answer cannot be written as a reply: %s",
                          err.text);
    int is_over = atoll_spool_server_reply(job->desk->server, job->name, &instead, NULL) == 0;
    atoll_llm_outcome_fini(&instead);
    return is_over;
}

static void job_keep(struct job *job, const struct atoll_llm_outcome *outcome)
{
    if (outcome != &job->outcome && atoll_llm_outcome_copy(outcome, &job->outcome, NULL))
        atoll_llm_outcome_set(&job->outcome, outcome->status, "%s", outcome->detail);
    job->desk->done_count++;
}

static void job_done(void *context, const struct atoll_llm_outcome *outcome)
{
    struct job *job = context;
    struct atoll_spool_desk *desk = job->desk;
    desk->open_count--;
    desk->has_news = 1;
    job->call = 0;
    /* Withdrawn, or the gateway ends: then its lease ends too, and the request waits for the next gateway. */
    if (outcome->status == ATOLL_LLM_CANCELLED || job_reply(job, outcome))
        job_destroy(job);
    else
        job_keep(job, outcome);
}

/* ---- scans ---- */

static int take(void *context, const char *name, const struct atoll_llm_request *request)
{
    struct atoll_spool_desk *desk = context;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_broker_count(desk->broker) >= desk->in_flight_limit)
        return 1;
    struct job *job = job_create(desk, name);
    if (!job)
        return 1;
    desk->has_news = 1;
    if (atoll_broker_submit(desk->broker, request, job_done, job, &job->call, &err) == 0) {
        desk->open_count++;
        return 0;
    }
    if (err.code != ATOLL_E_INPUT) {
        job_destroy(job);
        return 1;
    }
    atoll_llm_outcome_set(&job->outcome, ATOLL_LLM_INVALID, "%s", err.text);
    job_keep(job, &job->outcome); /* the reply follows the scan */
    return 0;
}

static void write_replies(struct atoll_spool_desk *desk)
{
    struct job *next;
    for (struct job *job = desk->done_count ? desk->jobs : NULL; job; job = next) {
        next = job->next;
        if (job->call)
            continue;
        if (!job_reply(job, &job->outcome))
            return; /* no space for this one, none for others */
        desk->done_count--;
        job_destroy(job);
    }
}

static void withdrawn(void *context, const char *name)
{
    struct atoll_spool_desk *desk = context;
    for (struct job *job = desk->jobs; job; job = job->next) {
        if (strcmp(job->name, name) == 0 && job->call) {
            atoll_broker_cancel(desk->broker, job->call);
            return;
        }
    }
}

static void report(const struct atoll_err *err)
{
    atoll_log_err(ATOLL_LOG_WARNING, "gateway.spool.scan", err);
}

static void tend(struct atoll_spool_desk *desk, double now_ns)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (now_ns - desk->renewed_ns >= RENEW_NS) {
        desk->renewed_ns = now_ns;
        if (atoll_spool_server_renew(desk->server, withdrawn, desk, &err))
            report(&err);
    }
    if (now_ns - desk->cleaned_ns >= CLEAN_NS) {
        desk->cleaned_ns = now_ns;
        if (atoll_spool_server_clean(desk->server, KEEP_S, &err))
            report(&err);
    }
}

static void look(void *context);

static void look_later(struct atoll_spool_desk *desk, double now_ns)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    double wait_ns = desk->open_count || desk->done_count || desk->has_news ? BUSY_NS : IDLE_NS;
    desk->has_news = 0;
    if (atoll_loop_at(desk->loop, now_ns + wait_ns, look, desk, &desk->timer, &err))
        report(&err);
}

static void look(void *context)
{
    struct atoll_spool_desk *desk = context;
    struct atoll_err err = ATOLL_ERR_INIT;
    double now_ns = atoll_loop_now_ns(desk->loop);
    desk->timer = 0;
    if (!desk->is_stopped && atoll_broker_count(desk->broker) < desk->in_flight_limit &&
        atoll_spool_server_scan(desk->server, SCAN_LIMIT, take, desk, &err))
        report(&err);
    write_replies(desk);
    tend(desk, now_ns);
    look_later(desk, now_ns);
}

/* ---- lifetime ---- */

/* Of two gateways with one name, the second would take the first one's leases for those of its own former life, and what is
 * under way would be asked and paid for twice.  A ledger lets no two into it under one name, so with it a name is unique;
 * without one only a name that was given is. */
static void name_holder(const struct atoll_gateway_config *config, char ret_holder[HOLDER_SIZE])
{
    char host[64] = "";
    if (config->ledger) {
        struct atoll_id ledger = atoll_id_of(config->ledger, strlen(config->ledger));
        snprintf(ret_holder, HOLDER_SIZE, "%.40s.%016llx", config->holder,
                 (unsigned long long)atoll_id_u64(&ledger));
    } else if (config->holder && strcmp(config->holder, ATOLL_CONFIG_HOLDER) != 0) {
        snprintf(ret_holder, HOLDER_SIZE, "%s", config->holder);
    } else {
        gethostname(host, sizeof host - 1);
        snprintf(ret_holder, HOLDER_SIZE, "%.40s.%ld", host, (long)getpid());
    }
}

struct atoll_spool_desk *atoll_spool_desk_create(struct atoll_loop *loop, struct atoll_broker *broker,
                                                 const struct atoll_gateway_config *config,
                                                 struct atoll_err *err)
{
    char holder[HOLDER_SIZE];
    struct atoll_spool_desk *desk = calloc(1, sizeof *desk);
    if (!desk) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a spool");
        return NULL;
    }
    desk->loop = loop;
    desk->broker = broker;
    desk->in_flight_limit = config->in_flight_limit;
    desk->renewed_ns = desk->cleaned_ns = atoll_loop_now_ns(loop);
    name_holder(config, holder);
    desk->server = atoll_spool_server_open(config->spool, holder, LEASE_S, err);
    if (!desk->server || atoll_loop_at(loop, desk->renewed_ns, look, desk, &desk->timer, err)) {
        atoll_spool_desk_destroy(desk);
        return NULL;
    }
    return desk;
}

void atoll_spool_desk_stop(struct atoll_spool_desk *desk)
{
    if (desk)
        desk->is_stopped = 1;
}

void atoll_spool_desk_destroy(struct atoll_spool_desk *desk)
{
    if (!desk)
        return;
    atoll_loop_cancel(desk->loop, desk->timer);
    atoll_spool_server_close(desk->server);
    struct job *next;
    for (struct job *job = desk->jobs; job; job = next) {
        next = job->next;
        job_destroy(job);
    }
    free(desk);
}
