/* command.c - finds the subcommand, parses its line, runs it, prints what went wrong once, chooses the exit status. */
#include "scheduler/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "base/spelling.h"
#include "scheduler/campaign/search_options.h"

/* In the order `atoll --help` shows them. */
static const struct atoll_subcommand *const subcommands[] = {&atoll_command_run,
                                                             &atoll_command_submit,
                                                             &atoll_command_status,
                                                             &atoll_command_watch,
                                                             &atoll_command_resume,
                                                             &atoll_command_pause,
                                                             &atoll_command_continue,
                                                             &atoll_command_cancel,
                                                             &atoll_command_queue,
                                                             &atoll_command_job,
                                                             &atoll_command_best,
                                                             &atoll_command_show,
                                                             &atoll_command_list,
                                                             &atoll_command_diff,
                                                             &atoll_command_report,
                                                             &atoll_command_export,
                                                             &atoll_command_verify,
                                                             &atoll_command_replay,
                                                             &atoll_command_archive_merge,
                                                             &atoll_command_task_check,
                                                             &atoll_command_task_import,
                                                             &atoll_command_task_new,
                                                             &atoll_command_experience_list,
                                                             &atoll_command_experience_export,
                                                             &atoll_command_experience_import,
                                                             &atoll_command_knowledge_list,
                                                             &atoll_command_knowledge_search,
                                                             &atoll_command_knowledge_show,
                                                             &atoll_command_knowledge_stats,
                                                             &atoll_command_knowledge_check,
                                                             &atoll_command_gateway_serve,
                                                             &atoll_command_gateway_check,
                                                             &atoll_command_gateway_spend,
                                                             &atoll_command_gateway_convert,
                                                             &atoll_command_doctor};
#define SUBCOMMAND_COUNT (sizeof(subcommands) / sizeof(subcommands[0]))

static void print_overview(FILE *out)
{
    atoll_print_line(out, 0,
                     "atoll " ATOLL_VERSION
                     " - evolves compute kernels: searches, measures, keeps the truth on disk");
    fputs("\nusage: atoll COMMAND [OPTIONS] ...\n\n", out);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        atoll_print_line(out, 21, "  %-18s %s", subcommands[i]->command->name,
                         subcommands[i]->command->summary);
    fputc('\n', out);
    atoll_print_line(
        out, 0,
        "`atoll help COMMAND` says more; so do `atoll COMMAND --help` and, for every setting of a "
        "search, `atoll help settings`.");
    fputs("Start here: atoll run suites/starter -o my-campaign --seconds 120\n", out);
}

/* Names are of one word ("run") or two ("task check"); ret_words: how many of argv they are. */
static const struct atoll_subcommand *find_subcommand(int argc, char **argv, int *ret_words)
{
    for (size_t i = 0; argc > 0 && i < SUBCOMMAND_COUNT; i++) {
        const char *name = subcommands[i]->command->name, *blank = strchr(name, ' ');
        size_t first = blank ? (size_t)(blank - name) : strlen(name);

        if (strlen(argv[0]) != first || strncmp(argv[0], name, first) != 0)
            continue;
        if (!blank || (argc >= 2 && strcmp(argv[1], blank + 1) == 0)) {
            *ret_words = blank ? 2 : 1;
            return subcommands[i];
        }
    }
    return NULL;
}

static int is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* No such command, but perhaps one that is spelt like it.  Behind a right first word the second alone counts, else both. */
static int no_command(int argc, char **argv, const char *otherwise, struct atoll_err *err)
{
    const char *names[SUBCOMMAND_COUNT + 5] = {"help", "man", "task", "gateway", "knowledge"},
                                         *members[SUBCOMMAND_COUNT], *near = NULL;
    char two[128], hint[ATOLL_SPELLING_HINT_BYTES];
    size_t count = 5, member_count = 0, first = strlen(argv[0]);

    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        const char *name = names[count++] = subcommands[i]->command->name;

        if (strncmp(name, argv[0], first) == 0 && name[first] == ' ')
            members[member_count++] = name + first + 1;
    }
    if (argc > 1 && member_count && (near = atoll_spelling_nearest(argv[1], members, member_count)) != NULL)
        return atoll_err_set(err, ATOLL_E_USAGE, "no command '%s %.60s'; did you mean '%s %s'?", argv[0],
                             argv[1], argv[0], near);
    if (argc > 1 && member_count)
        return atoll_err_set(err, ATOLL_E_USAGE, "no command '%s %.60s'; %s", argv[0], argv[1], otherwise);
    snprintf(two, sizeof(two), "%.60s %.60s", argv[0], argc > 1 ? argv[1] : "");
    near = argc > 1 ? atoll_spelling_nearest(two, names, count) : NULL;
    if (near && strchr(near, ' '))
        return atoll_err_set(err, ATOLL_E_USAGE, "no command '%s'; did you mean '%s'?", two, near);
    atoll_spelling_hint(argv[0], names, count, otherwise, hint);
    return atoll_err_set(err, ATOLL_E_USAGE, "no command '%.60s'; %s", argv[0], hint);
}

/* argv[0] is the subcommand's (last) name. */
static int run_subcommand(const struct atoll_subcommand *sub, int argc, char **argv, struct atoll_err *err)
{
    const char *arguments[ATOLL_ARGUMENT_LIMIT];
    void *settings = calloc(1, sub->settings_bytes);
    size_t count;
    int status;

    if (!settings)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for settings");
    if (sub->defaults)
        memcpy(settings, sub->defaults, sub->settings_bytes);
    status = atoll_option_parse(sub->command, argc, argv, settings, arguments, sub->most, &count, err);
    if (status == 1) {
        atoll_option_help(sub->command, stdout);
        status = 0;
    } else if (status == 0 && count < sub->least) {
        status = atoll_err_set(err, ATOLL_E_USAGE, "atoll %s: %s; usage: atoll %s %s", sub->command->name,
                               sub->missing, sub->command->name, sub->command->synopsis);
    } else if (status == 0) {
        status = sub->run(settings, arguments, count, err);
    }
    free(settings);
    return status;
}

/* "gateway" alone, or with a word that none of its subcommands has.  -1 when there is no such family, or with err. */
static int run_family(int argc, char **argv, struct atoll_err *err)
{
    int wants_help = argc >= 2 && is_help(argv[1]);
    FILE *out = wants_help ? stdout : stderr;
    size_t length = strlen(argv[0]), members = 0;

    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        const struct atoll_command *command = subcommands[i]->command;

        if (strncmp(command->name, argv[0], length) != 0 || command->name[length] != ' ')
            continue;
        if (argc >= 2 && !wants_help) {
            char otherwise[128];

            snprintf(otherwise, sizeof(otherwise), "`atoll help %s` lists those of %s", argv[0], argv[0]);
            return no_command(argc, argv, otherwise, err);
        }
        if (members++ == 0)
            atoll_print(out, "usage: atoll %s COMMAND [OPTIONS] ...\n\n", argv[0]);
        atoll_print(out, "  %-16s %s\n", command->name, command->summary);
    }
    if (members == 0)
        return no_command(argc, argv, "`atoll --help` lists them", err);
    atoll_print(out, "\n`atoll help %s COMMAND` says more.\n", argv[0]);
    return wants_help ? 0 : atoll_code_exit_status(ATOLL_E_USAGE);
}

/* "help" and "man": argv[1..] names what about.  Pages are printed to be read; with --roff as man(1) wants them. */
static int run_help(int argc, char **argv, struct atoll_err *err)
{
    static char help[] = "--help";
    int words, is_roff = argc > 1 && strcmp(argv[1], "--roff") == 0;
    int is_settings = argc == 2 + is_roff && strcmp(argv[1 + is_roff], "settings") == 0;
    const struct atoll_subcommand *sub;

    argc -= 1 + is_roff;
    argv += 1 + is_roff;
    if (argc == 0 || is_help(argv[0])) {
        print_overview(stdout);
        return 0;
    }
    sub = find_subcommand(argc, argv, &words);
    if (is_settings && is_roff) {
        atoll_search_options_man(stdout);
    } else if (is_settings) {
        struct atoll_search defaults;

        atoll_search_defaults(&defaults);
        atoll_search_options_list(&defaults, stdout);
    } else if (sub && is_roff) {
        atoll_option_man(sub->command, "", stdout);
    } else if (sub) {
        atoll_option_help(sub->command, stdout);
    } else {
        char *family[] = {argv[0], argc > 1 ? argv[1] : help};

        return run_family(2, family, err);
    }
    return 0;
}

int atoll_main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_subcommand *sub;
    int status, words;

    if (argc < 2) {
        print_overview(stderr);
        return atoll_code_exit_status(ATOLL_E_USAGE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("atoll " ATOLL_VERSION);
        return 0;
    }
    sub = find_subcommand(argc - 1, argv + 1, &words);
    if (sub)
        status = run_subcommand(sub, argc - words, argv + words, &err);
    else if (is_help(argv[1]) || strcmp(argv[1], "man") == 0)
        status = run_help(argc - 1, argv + 1, &err);
    else
        status = run_family(argc - 1, argv + 1, &err);
    if (err.code) {
        atoll_print_line(stderr, 0, "atoll: %s", err.text);
        return atoll_code_exit_status(err.code);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) { /* or what was written before did not reach it */
        fputs("atoll: cannot write to standard output\n", stderr);
        return atoll_code_exit_status(ATOLL_E_IO);
    }
    return status;
}
