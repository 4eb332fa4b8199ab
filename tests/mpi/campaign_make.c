/* campaign_make.c - makes a campaign directory for tests: campaign_make DIR EVALUATIONS SECONDS TASK_DIR...
 * [KEY=VALUE]... EVALUATIONS and SECONDS are budgets, 0 for none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive-h5/campaign/campaign.h"
#include "evolution/engine/engine.h"

#define LIMIT 32

static struct atoll_task *tasks[LIMIT];
static struct atoll_campaign_task told[LIMIT];
static struct atoll_config_option options[LIMIT];

static int fail(const struct atoll_err *err)
{
    fprintf(stderr, "campaign_make: %s\n", err->text);
    return 1;
}

static int argument_take(char *argument, struct atoll_config *config, struct atoll_err *err)
{
    char *equals = strchr(argument, '=');
    if (config->option_count == LIMIT || config->task_count == LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "too many arguments");
    if (equals) {
        *equals = '\0';
        options[config->option_count++] = (struct atoll_config_option){argument, equals + 1};
        return 0;
    }
    struct atoll_task *task = atoll_task_load(argument, err);
    if (!task)
        return -1;
    tasks[config->task_count] = task;
    told[config->task_count++] = (struct atoll_campaign_task){task->name, argument, task->id};
    return 0;
}

int main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_config config = {.engine_version = ATOLL_ENGINE_VERSION, .options = options, .tasks = told};
    if (argc < 5)
        return 2;
    snprintf(config.atoll_version, sizeof(config.atoll_version), "%s", ATOLL_VERSION);
    config.id = atoll_id_of(argv[1], strlen(argv[1]));
    config.created_unix_ns = (int64_t)time(NULL) * 1000000000;
    atoll_search_defaults(&config.search);
    config.search.seed = 1;
    config.search.evaluation_budget = strtoull(argv[2], NULL, 10);
    config.search.wall_budget_ns = strtod(argv[3], NULL) * 1e9;
    for (int i = 4; i < argc; i++)
        if (argument_take(argv[i], &config, &err) != 0)
            return fail(&err);
    for (size_t i = 0; i < config.option_count; i++) {
        if (strcmp(options[i].key, "queue-depth") == 0)
            config.search.queue_depth = (uint32_t)strtoul(options[i].value, NULL, 10);
        if (strcmp(options[i].key, "ask-share") == 0)
            config.search.ask_share = strtod(options[i].value, NULL);
        if (strcmp(options[i].key, "stagnation-limit") == 0)
            config.search.stagnation_limit = (uint32_t)strtoul(options[i].value, NULL, 10);
    }
    struct atoll_campaign *campaign = atoll_campaign_create(argv[1], &config, NULL, &err);
    if (!campaign)
        return fail(&err);
    atoll_campaign_close(campaign);
    for (size_t i = 0; i < config.task_count; i++)
        atoll_task_destroy(tasks[i]);
    return 0;
}
