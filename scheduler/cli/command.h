/* command.h - the `atoll` command: one row per subcommand, each useful alone on a laptop.
 * Layer: scheduler.  A subcommand prints its result to standard output and fills err; only command.c prints errors. */
#ifndef ATOLL_SCHEDULER_CLI_COMMAND_H
#define ATOLL_SCHEDULER_CLI_COMMAND_H

#include "base/err.h"
#include "base/option.h"

struct atoll_subcommand {
    const struct atoll_command *command; /* name, options, texts */
    size_t settings_bytes;               /* of the struct that the options fill */
    const void *defaults;                /* of it, before the options' own; NULL: zeros */
    size_t least, most;                  /* arguments; most: ATOLL_ARGUMENT_LIMIT at most */
    const char *missing;                 /* what to name when there are fewer than least */
    /* settings and arguments are gone after the return.  Returns the exit status: 0; -1 with err filled; another one with err
     * empty when everything was said already (a check that failed). */
    int (*run)(void *settings, const char *const *arguments, size_t count, struct atoll_err *err);
};

#define ATOLL_ARGUMENT_LIMIT 1024

/* Each is defined in the file of its name; their order in --help is that of the table in command.c. */
extern const struct atoll_subcommand atoll_command_archive_merge, atoll_command_best, atoll_command_cancel,
    atoll_command_continue, atoll_command_diff, atoll_command_doctor, atoll_command_experience_export,
    atoll_command_experience_import, atoll_command_experience_list, atoll_command_export,
    atoll_command_gateway_check, atoll_command_gateway_convert, atoll_command_gateway_serve,
    atoll_command_gateway_spend, atoll_command_job, atoll_command_knowledge_check,
    atoll_command_knowledge_list, atoll_command_knowledge_search, atoll_command_knowledge_show,
    atoll_command_knowledge_stats, atoll_command_list, atoll_command_pause, atoll_command_queue,
    atoll_command_replay, atoll_command_report, atoll_command_resume, atoll_command_run, atoll_command_show,
    atoll_command_status, atoll_command_submit, atoll_command_task_check, atoll_command_task_import,
    atoll_command_task_new, atoll_command_verify, atoll_command_watch;

int atoll_main(int argc, char **argv);

#endif
