/* command.c - finds the subcommand, runs it, prints what went wrong once, chooses the exit status. */
#include "scheduler/cli/command.h"
#include "scheduler/cli/search_options.h"

#include <stdio.h>
#include <string.h>

static void print_overview(FILE *out)
{
    fputs("atoll " ATOLL_VERSION " - evolves compute kernels: searches, measures, keeps the truth on disk\n\n"
          "usage: atoll COMMAND [OPTIONS] ...\n\n",
          out);
    for (size_t i = 0; atoll_verb_at(i); i++) {
        const struct atoll_verb *verb = atoll_verb_at(i);

        fprintf(out, "  %-16s %s\n", verb->command->name, verb->command->summary);
    }
    fputs("\n`atoll COMMAND --help` says more, `atoll man COMMAND` prints the manual page.\n"
          "Start here: atoll run suites/starter -o my-campaign --seconds 120\n",
          out);
}

/* Matches "task check" against two words and "run" against one; returns how many words, 0 when it does not
 * match. */
static int match_words(const char *name, int argc, char **argv)
{
    const char *blank = strchr(name, ' ');
    size_t first = blank ? (size_t)(blank - name) : strlen(name);

    if (argc < 1 || strlen(argv[0]) != first || strncmp(argv[0], name, first) != 0) {
        return 0;
    }
    if (!blank) {
        return 1;
    }
    return argc >= 2 && strcmp(argv[1], blank + 1) == 0 ? 2 : 0;
}

static const struct atoll_verb *find_verb(int argc, char **argv, int *ret_words)
{
    for (size_t i = 0; atoll_verb_at(i); i++) {
        const struct atoll_verb *verb = atoll_verb_at(i);

        *ret_words = match_words(verb->command->name, argc, argv);
        if (*ret_words) {
            return verb;
        }
    }
    return NULL;
}

int atoll_verb_parse(const struct atoll_command *command, int argc, char **argv, void *settings,
                     const char **ret_arguments, size_t argument_limit, size_t *ret_count,
                     struct atoll_err *err)
{
    int status =
        atoll_option_parse(command, argc, argv, settings, ret_arguments, argument_limit, ret_count, err);

    if (status == 1) {
        atoll_option_help(command, stdout);
    }
    return status;
}

static int is_of_family(const struct atoll_command *command, const char *first)
{
    size_t length = strlen(first);

    return strncmp(command->name, first, length) == 0 && command->name[length] == ' ';
}

static int is_family(const char *first)
{
    for (size_t i = 0; atoll_verb_at(i); i++) {
        if (is_of_family(atoll_verb_at(i)->command, first)) {
            return 1;
        }
    }
    return 0;
}

static void print_family(const char *first, FILE *out)
{
    fprintf(out, "usage: atoll %s COMMAND [OPTIONS] ...\n\n", first);
    for (size_t i = 0; atoll_verb_at(i); i++) {
        const struct atoll_command *command = atoll_verb_at(i)->command;

        if (is_of_family(command, first)) {
            fprintf(out, "  %-16s %s\n", command->name, command->summary);
        }
    }
    fprintf(out, "\n`atoll %s COMMAND --help` says more.\n", first);
}

static int is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* "gateway" alone, or with a word that none of its subcommands has. */
static int run_family(int argc, char **argv, struct atoll_err *err)
{
    if (argc >= 2 && is_help(argv[1])) {
        print_family(argv[0], stdout);
        return 0;
    }
    if (argc < 2) {
        print_family(argv[0], stderr);
    } else {
        atoll_err_set(err, ATOLL_E_USAGE, "no command '%s %s'; `atoll %s --help` lists them", argv[0],
                      argv[1], argv[0]);
    }
    return atoll_code_exit_status(ATOLL_E_USAGE);
}

static int run_man(int argc, char **argv, struct atoll_err *err)
{
    int words;
    const struct atoll_verb *verb = find_verb(argc - 1, argv + 1, &words);

    if (argc == 2 && strcmp(argv[1], "settings") == 0) {
        atoll_search_options_man(stdout);
        return 0;
    }
    if (!verb) {
        atoll_err_set(err, ATOLL_E_USAGE, "atoll man: no command '%s'; `atoll --help` lists them",
                      argc > 1 ? argv[1] : "");
        return atoll_code_exit_status(ATOLL_E_USAGE);
    }
    atoll_option_man(verb->command, "", stdout);
    return 0;
}

static int dispatch(int argc, char **argv, struct atoll_err *err)
{
    int words = 0;
    const struct atoll_verb *verb = find_verb(argc, argv, &words);

    if (verb) {
        return verb->run(argc - words + 1, argv + words - 1, err);
    }
    if (strcmp(argv[0], "man") == 0) {
        return run_man(argc, argv, err);
    }
    if (is_family(argv[0])) {
        return run_family(argc, argv, err);
    }
    atoll_err_set(err, ATOLL_E_USAGE, "no command '%s'; `atoll --help` lists them", argv[0]);
    return atoll_code_exit_status(ATOLL_E_USAGE);
}

int atoll_main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int status;

    if (argc < 2) {
        print_overview(stderr);
        return atoll_code_exit_status(ATOLL_E_USAGE);
    }
    if (is_help(argv[1])) {
        print_overview(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("atoll " ATOLL_VERSION);
        return 0;
    }
    status = dispatch(argc - 1, argv + 1, &err);
    if (err.code) {
        fprintf(stderr, "atoll: %s\n", err.text);
        return atoll_code_exit_status(err.code);
    }
    if (fflush(stdout) != 0) {
        fputs("atoll: cannot write to standard output\n", stderr);
        return atoll_code_exit_status(ATOLL_E_IO);
    }
    return status;
}
