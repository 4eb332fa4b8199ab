/* commands.h - every subcommand by name; each is defined in the file of its noun.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_COMMANDS_H
#define ATOLL_SCHEDULER_CLI_COMMANDS_H

#include "scheduler/cli/command.h"

extern const struct atoll_verb atoll_verb_run, atoll_verb_resume;                        /* run.c, resume.c */
extern const struct atoll_verb atoll_verb_submit, atoll_verb_job;                        /* submit.c, job.c */
extern const struct atoll_verb atoll_verb_status, atoll_verb_watch;                      /* status.c */
extern const struct atoll_verb atoll_verb_cancel, atoll_verb_pause, atoll_verb_continue; /* control.c */
extern const struct atoll_verb atoll_verb_queue;                                         /* queue_view.c */
extern const struct atoll_verb atoll_verb_best, atoll_verb_show;                         /* inspect.c */
extern const struct atoll_verb atoll_verb_report, atoll_verb_export, atoll_verb_merge;   /* archive.c */
extern const struct atoll_verb atoll_verb_verify, atoll_verb_replay;                     /* verify.c */
extern const struct atoll_verb atoll_verb_task_check, atoll_verb_task_new; /* task.c, task_new.c */
extern const struct atoll_verb atoll_verb_gateway_serve;                   /* gateway.c */
extern const struct atoll_verb atoll_verb_gateway_check,
    atoll_verb_gateway_spend;                     /* gateway_check.c, gateway_spend.c */
extern const struct atoll_verb atoll_verb_doctor; /* doctor.c */

#endif
