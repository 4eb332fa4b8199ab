/* command.h - the `atoll` command: one row per subcommand, each useful alone on a laptop.
 * Layer: scheduler.  A command prints its result to standard output and fills err; only main prints errors.
 */
#ifndef ATOLL_SCHEDULER_CLI_COMMAND_H
#define ATOLL_SCHEDULER_CLI_COMMAND_H

#include "base/err.h"
#include "base/option.h"

struct atoll_verb {
    const struct atoll_command *command; /* name, options, texts */
    /* argv[0] is the command's name.  Returns the exit status: 0, or a nonzero one with err filled, or a
     * nonzero one with err empty when everything was said already (a check that failed). */
    int (*run)(int argc, char **argv, struct atoll_err *err);
};

/* The subcommands in the order --help shows them; NULL beyond the last. */
const struct atoll_verb *atoll_verb_at(size_t index);

/* Parses one command's line; prints --help itself.  0 to go on, 1 when help was printed, -1 with err. */
int atoll_verb_parse(const struct atoll_command *command, int argc, char **argv, void *settings,
                     const char **ret_arguments, size_t argument_limit, size_t *ret_count,
                     struct atoll_err *err);

int atoll_main(int argc, char **argv);

#endif
