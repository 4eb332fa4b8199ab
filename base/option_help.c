/* option_help.c - the table of a command as --help and as a man page (man(7) macros). */
#include "base/option.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WIDTH       80u
#define HELP_COLUMN 28u
#define HEAD_BYTES  128u

/* Commands are named without the program's name ("run"), programs of their own with it ("atoll-eval"). */
static const char *program_of(const struct atoll_command *command)
{
    return strncmp(command->name, "atoll", 5) == 0 ? "" : "atoll";
}

/* "-o, --output DIR", "    --[no-]json" */
static size_t option_head(const struct atoll_option *o, char *ret_head, size_t bytes)
{
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof(letter), "-%c, ", o->letter);
    const char *metavar = o->metavar ? o->metavar : o->kind == ATOLL_OPT_CHOICE ? o->choices : "VALUE";
    int is_flag = o->kind == ATOLL_OPT_FLAG;
    int length = snprintf(ret_head, bytes, "%s--%s%s%s%s", letter, is_flag ? "[no-]" : "", o->name,
                          is_flag ? "" : " ", is_flag ? "" : metavar);
    return length < 0 ? 0 : (size_t)length < bytes ? (size_t)length : bytes - 1;
}

/* What follows the help of an option: choices the head does not show, the default, that it may be repeated. */
static void option_tail(const struct atoll_option *o, char *ret_tail, size_t bytes)
{
    size_t length = 0;
    ret_tail[0] = '\0';
    if (o->kind == ATOLL_OPT_CHOICE && o->metavar)
        length += (size_t)snprintf(ret_tail, bytes, " One of %s.", o->choices);
    if (o->kind == ATOLL_OPT_LIST)
        length += (size_t)snprintf(ret_tail + length, bytes - length, " May be given several times.");
    if (o->fallback && o->fallback[0] && o->kind != ATOLL_OPT_FLAG && length < bytes)
        snprintf(ret_tail + length, bytes - length, " Default: %s.", o->fallback);
    else if (o->fallback && strcmp(o->fallback, "1") == 0 && length < bytes)
        snprintf(ret_tail + length, bytes - length, " On by default.");
}

/* Words of text from column on, lines broken before WIDTH and indented; returns the column reached. */
static size_t put_words(FILE *out, const char *text, size_t column, size_t indent)
{
    int is_first = 1;
    while (*text) {
        size_t blanks = strspn(text, " \n");
        size_t length = strcspn(text + blanks, " \n");
        text += blanks;
        if (!length)
            break;
        if (!is_first && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first || (column > indent && blanks)) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)length, text);
        column += length;
        text += length;
        is_first = 0;
    }
    return column;
}

static void put_paragraphs(FILE *out, const char *text)
{
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        char paragraph[4096];
        snprintf(paragraph, sizeof(paragraph), "%.*s", (int)length, text);
        put_words(out, paragraph, 0, 0);
        fputs(end ? "\n\n" : "\n", out);
        text = end ? end + 2 : NULL;
    }
}

static void put_indented_lines(FILE *out, const char *text, const char *indent)
{
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        fprintf(out, "%s%.*s\n", length ? indent : "", (int)length, text);
        text += length + (text[length] != '\0');
    }
}

static void put_option(FILE *out, const char *head, size_t head_length, const char *help, const char *tail)
{
    fprintf(out, "  %s", head);
    if (head_length + 4 > HELP_COLUMN)
        fprintf(out, "\n%*s", (int)HELP_COLUMN, "");
    else
        fprintf(out, "%*s", (int)(HELP_COLUMN - 2 - head_length), "");
    size_t column = put_words(out, help, HELP_COLUMN, HELP_COLUMN);
    if (*tail && column + strlen(tail) > WIDTH) {
        fprintf(out, "\n%*s", (int)HELP_COLUMN, "");
        tail++;
    }
    fprintf(out, "%s\n", tail);
}

void atoll_option_help(const struct atoll_command *command, FILE *out)
{
    char head[HEAD_BYTES] = "", tail[HEAD_BYTES * 2] = "";
    const char *program = program_of(command);
    fprintf(out, "Usage: %s%s%s [OPTION ...] %s\n\n", program, *program ? " " : "", command->name,
            command->synopsis);
    put_paragraphs(out, command->summary);
    if (command->description) {
        fputc('\n', out);
        put_paragraphs(out, command->description);
    }
    fputs("\nOptions:\n", out);
    const struct atoll_option *o;
    for (size_t i = 0; (o = atoll_option_at(command, i)) != NULL; i++) {
        size_t length = option_head(o, head, sizeof(head));
        option_tail(o, tail, sizeof(tail));
        put_option(out, head, length, o->help, tail);
    }
    put_option(out, "-h, --help", strlen("-h, --help"), "Print this text.", "");
    if (command->examples) {
        fputs("\nExamples:\n", out);
        put_indented_lines(out, command->examples, "  ");
    }
}

/* Roff gives a meaning to backslashes, to dashes, and to dots and quotes that start a line. */
static void put_roff(FILE *out, const char *text, size_t length)
{
    int starts_line = 1;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (starts_line && (c == '.' || c == '\''))
            fputs("\\&", out);
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-')
            fputs("\\-", out);
        else
            fputc(c, out);
        starts_line = c == '\n';
    }
}

static void put_roff_text(FILE *out, const char *text)
{
    put_roff(out, text, strlen(text));
}

static void put_roff_paragraphs(FILE *out, const char *text)
{
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        put_roff(out, text, end ? (size_t)(end - text) : strlen(text));
        fputs(end ? "\n.PP\n" : "\n", out);
        text = end ? end + 2 : NULL;
    }
}

static void put_man_name(FILE *out, const struct atoll_command *command, int is_title)
{
    char name[HEAD_BYTES];
    const char *program = program_of(command);
    snprintf(name, sizeof(name), "%s%s%s", program, *program ? "-" : "", command->name);
    for (char *c = name; *c; c++)
        *c = *c == ' ' ? '-' : is_title ? (char)toupper((unsigned char)*c) : *c;
    put_roff_text(out, name);
}

void atoll_option_man(const struct atoll_command *command, const char *date, FILE *out)
{
    fputs(".TH ", out);
    put_man_name(out, command, 1);
    fprintf(out, " 1 \"%s\" \"Atoll\" \"Atoll manual\"\n.SH NAME\n", date);
    put_man_name(out, command, 0);
    fputs(" \\- ", out);
    put_roff_text(out, command->summary);
    fprintf(out, "\n.SH SYNOPSIS\n.B %s ", program_of(command));
    put_roff_text(out, command->name);
    fputs("\n[OPTION ...] ", out);
    put_roff_text(out, command->synopsis);
    fputc('\n', out);
    if (command->description) {
        fputs(".SH DESCRIPTION\n", out);
        put_roff_paragraphs(out, command->description);
    }
    fputs(".SH OPTIONS\n", out);
    const struct atoll_option *o;
    for (size_t i = 0; (o = atoll_option_at(command, i)) != NULL; i++) {
        char head[HEAD_BYTES] = "", tail[HEAD_BYTES * 2] = "";
        option_head(o, head, sizeof(head));
        option_tail(o, tail, sizeof(tail));
        fputs(".TP\n.B ", out);
        put_roff_text(out, head + strspn(head, " "));
        fputc('\n', out);
        put_roff_text(out, o->help);
        put_roff_text(out, tail);
        fputc('\n', out);
    }
    fputs(".TP\n.B \\-h, \\-\\-help\nPrint a summary of the options.\n", out);
    if (command->examples) {
        fputs(".SH EXAMPLES\n.nf\n", out);
        put_roff_paragraphs(out, command->examples);
        fputs(".fi\n", out);
    }
    fputs(".SH SEE ALSO\n.BR atoll (1)\n", out);
}
