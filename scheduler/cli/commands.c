/* commands.c - the table of subcommands, in the order `atoll --help` shows them. */
#include "scheduler/cli/commands.h"

#include <stddef.h>

#define VERB_COUNT 23

static const struct atoll_verb *const table[VERB_COUNT] = {
    &atoll_verb_run,           &atoll_verb_submit,        &atoll_verb_status,   &atoll_verb_watch,
    &atoll_verb_resume,        &atoll_verb_pause,         &atoll_verb_continue, &atoll_verb_cancel,
    &atoll_verb_queue,         &atoll_verb_job,           &atoll_verb_best,     &atoll_verb_show,
    &atoll_verb_report,        &atoll_verb_export,        &atoll_verb_verify,   &atoll_verb_replay,
    &atoll_verb_merge,         &atoll_verb_task_check,    &atoll_verb_task_new, &atoll_verb_gateway_serve,
    &atoll_verb_gateway_check, &atoll_verb_gateway_spend, &atoll_verb_doctor};

const struct atoll_verb *atoll_verb_at(size_t index)
{
    return index < VERB_COUNT ? table[index] : NULL;
}
