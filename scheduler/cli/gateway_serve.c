/* gateway_serve.c - `atoll gateway serve`. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/print.h"
#include "llm-gateway/server/gateway.h"
#include "base/file.h"
#include "scheduler/cli/gateway_file.h"
#include "scheduler/cli/command.h"

struct serve_settings {
    const char *config, *spool, *listen, *token_file, *url_file, *holder, *file;
    double stop_s;
    int verbose;
};

#define FIELD(name) offsetof(struct serve_settings, name)

static const struct atoll_option serve_options[] = {
    {"config", 'c', ATOLL_OPT_TEXT, FIELD(config), "FILE", NULL, 0, 0, NULL, ATOLL_GATEWAY_FILE_HELP},
    {"spool", 0, ATOLL_OPT_TEXT, FIELD(spool), "DIR", NULL, 0, 0, NULL,
     "Answer the requests in this spool, on a file system that jobs share; instead of the configuration's."},
    {"listen", 0, ATOLL_OPT_TEXT, FIELD(listen), "ADDRESS", NULL, 0, 0, NULL,
     "Listen for HTTP here: 127.0.0.1:0 (any port), [::1]:8080, unix:PATH, or an address that others "
     "reach, "
     "which needs a token; instead of the configuration's."},
    {"token", 0, ATOLL_OPT_TEXT, FIELD(token_file), "FILE", NULL, 0, 0, NULL,
     "File with the token that callers must show; instead of the configuration's."},
    {"url-file", 0, ATOLL_OPT_TEXT, FIELD(url_file), "FILE", NULL, 0, 0, NULL,
     "Write the server's URL into this file once it listens, and remove it at the end: `--gateway \"$(cat "
     "FILE)\"` "
     "finds it."},
    {"file", 0, ATOLL_OPT_TEXT, FIELD(file), "FILE", NULL, 0, 0, NULL,
     "Keep budget and exchanges in this file instead of the configuration's. One gateway owns a file at a "
     "time, and limits "
     "hold per file."},
    {"holder", 0, ATOLL_OPT_TEXT, FIELD(holder), "NAME", NULL, 0, 0, NULL,
     "Refused: gateways share no budget any more. Let the jobs of a campaign ask one gateway, or give each a "
     "--file of its "
     "own and a part of the budget."},
    {"grace", 0, ATOLL_OPT_DURATION, FIELD(stop_s), "TIME", "30s", 0, 86400, NULL,
     "Calls in flight are given so long when it is asked to end."},
    {"verbose", 'v', ATOLL_OPT_FLAG, FIELD(verbose), NULL, NULL, 0, 0, NULL, "Log more."},
    {0}};

static const struct atoll_command serve_command = {
    "gateway serve",
    "",
    "give access to language models, for jobs and other tools",
    "Holds the keys, keeps the limits on money and tokens, records every exchange, and answers what comes "
    "through its "
    "HTTP server (OpenAI-compatible) or its spool. It may run inside a job, on a node with a network, or "
    "beside a server "
    "of one's own. Killed at any instant it loses nothing: started again it goes on.\n\n"
    "SIGINT or SIGTERM ends it in order, a second one at once.",
    "atoll gateway serve -c jobscripts/gateway.yaml --listen 127.0.0.1:0 --url-file url\n"
    "atoll gateway serve -c gateway.yaml --spool /scratch/me/spool",
    serve_options,
    NULL};

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal_number)
{
    if (++interrupts > 1)
        _exit(128 + signal_number);
}

static void interrupts_catch(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Written beside and renamed: who reads the file reads all of it. */
static FILE *announce_open(const char *path, char *ret_temporary, size_t bytes, struct atoll_err *err)
{
    FILE *file;

    if ((size_t)snprintf(ret_temporary, bytes, "%s.%ld", path, (long)getpid()) >= bytes) {
        atoll_err_set(err, ATOLL_E_USAGE, "the path of --url-file is too long");
        return NULL;
    }
    if (atoll_folder_make_parents(path, err) != 0)
        return NULL;
    unlink(path); /* what a killed one left */
    file = fopen(ret_temporary, "w");
    if (!file)
        atoll_err_errno(err, errno, "cannot write %s", ret_temporary);
    return file;
}

struct announcement {
    const char *path;
    char temporary[4096];
    FILE *file;
    char url[512]; /* what the file holds, "" nothing yet */
};

/* Who finds the file finds a gateway that listens; one that another gateway has written since is left to it. */
static void announcement_withdraw(const struct announcement *a)
{
    char url[sizeof(a->url)] = "";
    FILE *file = *a->url ? atoll_file_stream(a->path, NULL) : NULL;

    if (!file)
        return;
    if (fgets(url, sizeof(url), file))
        url[strcspn(url, "\n")] = '\0';
    fclose(file);
    if (strcmp(url, a->url) == 0)
        unlink(a->path);
}

static void announced(void *context, const char *url)
{
    struct announcement *a = context;

    atoll_print(stdout, "%s\n", url);
    fflush(stdout);
    if (a->file) {
        atoll_print(a->file, "%s\n", url);
        fclose(a->file);
        a->file = NULL;
        snprintf(a->url, sizeof(a->url), "%s", url);
        if (rename(a->temporary, a->path) != 0) {
            atoll_log(ATOLL_LOG_WARNING, "gateway.url", "cannot rename %s to %s: %s", a->temporary, a->path,
                      strerror(errno));
        }
    }
}

/* For who started it and looks at its log. */
static void say_start(const struct atoll_gateway_config *config)
{
    static const char *const modes[ATOLL_EXCHANGE_MODE_COUNT] = {"live", "record", "replay",
                                                                 "replay-then-live"};

    atoll_log(ATOLL_LOG_INFO, "gateway.start",
              "models: %zu; endpoints: %zu; budget and answers: %s%s (%s); requests through %s%s%s",
              config->model_count, config->endpoint_count, config->file ? config->file : "none is kept",
              config->file && config->limit_count == 0 ? " (counted, no limits)" : "", modes[config->mode],
              config->listen ? config->listen : "", config->listen && config->spool ? " and " : "",
              config->spool ? config->spool : "");
}

static int serve(const struct serve_settings *settings, const struct atoll_gateway_config *config,
                 struct atoll_err *err)
{
    struct atoll_gateway_config given = *config;
    struct announcement announcement = {.path = settings->url_file};
    int status;

    given.spool = settings->spool ? settings->spool : given.spool;
    given.listen = settings->listen ? settings->listen : given.listen;
    if (settings->file) {
        given.mode = given.file ? given.mode : ATOLL_EXCHANGE_REPLAY_THEN_LIVE;
        given.file = settings->file;
    }
    given.token_file = settings->token_file ? settings->token_file : given.token_file;
    if (settings->holder) {
        return atoll_err_set(
            err, ATOLL_E_USAGE,
            "--holder was removed: gateways share no budget any more; let the jobs of a campaign ask one "
            "gateway, or give each a --file of its own and a part of the budget");
    }
    if (!given.spool && !given.listen) {
        return atoll_err_set(
            err, ATOLL_E_USAGE,
            "nobody could ask this gateway: give --spool DIR or --listen ADDRESS, or the same in %s",
            atoll_gateway_file_path(settings->config));
    }
    if (settings->url_file) {
        announcement.file =
            announce_open(settings->url_file, announcement.temporary, sizeof(announcement.temporary), err);
        if (!announcement.file)
            return -1;
    }
    say_start(&given);
    status = atoll_gateway_run(&given, announced, &announcement, &interrupts, settings->stop_s, err);
    if (announcement.file) {
        fclose(announcement.file);
        unlink(announcement.temporary);
    }
    announcement_withdraw(&announcement);
    return status;
}

static int run_serve(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct serve_settings *settings = given;
    struct atoll_gateway_config *config;
    struct atoll_err hardening = ATOLL_ERR_INIT;
    int status;

    atoll_log_setup(2, settings->verbose ? ATOLL_LOG_DEBUG : ATOLL_LOG_INFO, "gateway");
    if (atoll_secret_harden(&hardening) != 0)
        atoll_log_err(ATOLL_LOG_WARNING, "gateway.harden", &hardening);
    interrupts_catch();
    config = atoll_gateway_file_load(settings->config, err);
    status = config ? serve(settings, config, err) : -1;
    atoll_gateway_config_destroy(config);
    return status;
}

const struct atoll_subcommand atoll_command_gateway_serve = {
    .command = &serve_command, .settings_bytes = sizeof(struct serve_settings), .run = run_serve};
