#include "scheduler/import/import_counts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/print.h"

#define KEY_BYTES     200
#define EXAMPLE_LIMIT 3

/* What the words of `cause` mean; what is not here is told as it is. */
static const struct {
    const char *cause, *meaning;
} meanings[] = {{"finite", "an output is not finite"},
                {"range", "constant output: one number passes"},
                {"std", "the output hardly depends on the inputs"},
                {"axis", "the output is the same along an axis"},
                {"impact", "the output does not depend on an input"},
                {"copy", "a copy of an input passes"},
                {"tensors", "too many tensors"},
                {"dims", "too many dims, or an extent that is no expression over them"},
                {"rank", "too many axes"},
                {"empty", "a tensor without elements"},
                {"dtype", "a type that no task has"},
                {"no-output", "no tensor is returned"},
                {"no-gradient", "nothing needs a gradient"},
                {"shapes", "a parameter is not there at every shape"},
                {"data-dependent", "shapes or control flow depend on data"},
                {"random", "it draws random numbers when it is called"},
                {"inputs", "inputs that are files, or integers of no told range"},
                {"form", "not of the form"},
                {"package", "a Python package is missing"},
                {"torch", "this torch lacks something"},
                {"raises", "it raises an error"},
                {"memory", "more memory than it may have"},
                {"deadline", "not done by the deadline"},
                {"process", "its process ended"},
                {"files", "its files cannot be read"},
                {"task", "the task that came of it cannot be loaded"}};

static const char *meaning_of(const char *cause)
{
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
        if (strcmp(meanings[i].cause, cause) == 0)
            return meanings[i].meaning;
    return *cause ? cause : "no reason is known";
}

static void put(json_t **table, const char *key, const char *problem)
{
    json_t *problems;
    if (!*table)
        *table = json_object();
    problems = json_object_get(*table, key);
    if (!problems) {
        problems = json_array();
        json_object_set_new(*table, key, problems);
    }
    json_array_append_new(problems, atoll_json_text(problem));
}

/* Reasons that differ in numbers alone are one. */
static void without_numbers(const char *text, char ret_key[KEY_BYTES])
{
    size_t length = 0;
    while (*text && length + 1 < KEY_BYTES) {
        int is_number =
            isdigit((unsigned char)*text) && (length == 0 || !isalnum((unsigned char)ret_key[length - 1]));
        ret_key[length++] = is_number ? '#' : *text;
        text += is_number ? strspn(text, "0123456789.") : 1;
    }
    ret_key[length] = '\0';
}

void atoll_import_count(struct atoll_import_counts *counts, const char *problem, const json_t *entry)
{
    const char *status = atoll_json_member(entry, "status"), *no_seed = atoll_json_member(entry, "no_seed");
    char key[KEY_BYTES];
    counts->listed++;
    counts->read += (unsigned)json_is_true(json_object_get(entry, "read"));
    counts->checked += (unsigned)json_is_true(json_object_get(entry, "checked"));
    counts->expressible += (unsigned)json_is_true(json_object_get(entry, "expressible"));
    counts->seeded += (unsigned)json_is_true(json_object_get(entry, "seeded"));
    counts->degenerate += (unsigned)json_is_true(json_object_get(entry, "degenerate"));
    counts->imported += strcmp(status, "imported") == 0;
    counts->failed += strcmp(status, "failed") == 0;
    if (strcmp(status, "imported") != 0) {
        snprintf(key, sizeof(key), "%s: %s", status, meaning_of(atoll_json_member(entry, "cause")));
        put(&counts->reasons, key, problem);
    }
    if (*no_seed) {
        without_numbers(no_seed, key);
        put(&counts->no_seeds, key, problem);
    }
}

static json_t *numbers_of(json_t *table)
{
    json_t *numbers = json_object(), *problems;
    const char *key;
    json_object_foreach(table, key, problems)
    {
        json_object_set_new(numbers, key, json_integer((json_int_t)json_array_size(problems)));
    }
    return numbers;
}

static void print_table(json_t *table, const char *before)
{
    json_t *problems;
    const char *key;
    json_object_foreach(table, key, problems)
    {
        size_t count = json_array_size(problems);
        atoll_print(stdout, "%5zu %s%s:", count, before, key);
        for (size_t i = 0; i < count && i < EXAMPLE_LIMIT; i++)
            atoll_print(stdout, " %s", json_string_value(json_array_get(problems, i)));
        puts(count > EXAMPLE_LIMIT ? " ..." : "");
    }
}

void atoll_import_counts_print(const struct atoll_import_counts *c, int is_json, int is_all)
{
    if (is_json) {
        atoll_json_print(json_pack("{s:{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o}}", "counts",
                                   "problems", c->listed, "read", c->read, "checked", c->checked,
                                   "expressible", c->expressible, "seeded", c->seeded, "degenerate",
                                   c->degenerate, "imported", c->imported, "failed", c->failed, "reasons",
                                   numbers_of(c->reasons), "no_seeds", numbers_of(c->no_seeds)),
                         JSON_COMPACT, stdout);
        return;
    }
    printf("%u problem%s: %u read, %u checked, %u expressible, %u seeded; %u degenerate%s, %u failed; %u "
           "task%s\n",
           c->listed, c->listed == 1 ? "" : "s", c->read, c->checked, c->expressible, c->seeded,
           c->degenerate, c->degenerate && !is_all ? " (left out)" : "", c->failed, c->imported,
           c->imported == 1 ? "" : "s");
    print_table(c->reasons, "");
    print_table(c->no_seeds, "without a seed, because of ");
}

void atoll_import_counts_fini(struct atoll_import_counts *counts)
{
    json_decref(counts->reasons);
    json_decref(counts->no_seeds);
    *counts = (struct atoll_import_counts){0};
}
