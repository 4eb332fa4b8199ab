#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "scheduler/site/site_draft.h"

int atoll_site_choose(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                      const struct atoll_site_choice *choice, size_t *ret_index)
{
    const char *text = atoll_yaml_scalar(node), *near;
    char list[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < choice->count; i++) {
        if (text && strcmp(text, choice->names[i]) == 0) {
            *ret_index = i;
            return 0;
        }
        if (used < sizeof(list)) {
            used +=
                (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", choice->names[i]);
        }
    }
    near = text ? atoll_spelling_nearest(text, choice->names, choice->count) : NULL;
    if (near) {
        return atoll_yaml_fail(walk, node, "unknown %s '%.64s'; did you mean '%s'?", choice->what, text,
                               near);
    }
    return atoll_yaml_fail(walk, node, "unknown %s '%.64s'; known: %s", choice->what, text ? text : "", list);
}

int atoll_site_read_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *text = atoll_yaml_scalar(node);

    if (!text || strlen(text) > 63 || strspn(text, letters) != strlen(text) || text[0] == '.' ||
        text[0] == '-') {
        return atoll_yaml_fail(
            walk, node,
            "name '%.80s' must be 1 to 63 letters, digits or ._- and start with a letter or digit",
            text ? text : "");
    }
    return atoll_yaml_read_text(walk, node, target);
}

/* A word becomes the value of an option or of a directive: a blank would end it there, a dash begin another. */
int atoll_site_read_word(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);

    if (text && (strpbrk(text, " \t\n\r'\"\\") || text[0] == '-')) {
        return atoll_yaml_fail(
            walk, node, "'%.80s' must be one word: no blanks, quotes or backslashes, no dash at its start",
            text);
    }
    return atoll_yaml_read_text(walk, node, target);
}

static int read_item(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char ***next = target;

    return atoll_yaml_read_text(walk, node, (*next)++);
}

int atoll_site_read_words(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_site_words *words = target;
    size_t count = atoll_yaml_count(node);
    const char **items, **next;

    if (count > ATOLL_SITE_WORD_LIMIT) {
        return atoll_yaml_fail(walk, node, "%zu items, at most %d are allowed; remove some", count,
                               ATOLL_SITE_WORD_LIMIT);
    }
    next = items = atoll_arena_alloc_array(walk->arena, count + 1, sizeof(*items), walk->err);
    if (!items || atoll_yaml_list(walk, node, ATOLL_SITE_WORD_LIMIT, "texts", read_item, &next) != 0) {
        return -1;
    }
    words->items = items;
    words->count = count;
    return 0;
}

int atoll_site_read_setup(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    if (atoll_yaml_scalar(node)) {
        return atoll_yaml_fail(walk, node, "a list of shell lines is expected here; write each as '- LINE'");
    }
    return atoll_site_read_words(walk, node, target);
}

/* It is expanded between double quotes by the batch script: variables may stand in it, commands may not. */
int atoll_site_read_scratch(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-:${}";
    const char *text = atoll_yaml_scalar(node);

    if (!text || strspn(text, letters) != strlen(text) || (text[0] != '/' && text[0] != '$')) {
        return atoll_yaml_fail(
            walk, node,
            "scratch '%.80s' must be an absolute path that may name variables, like /tmp or "
            "${SLURM_TMPDIR:-/tmp}",
            text ? text : "");
    }
    return atoll_yaml_read_text(walk, node, target);
}

int atoll_site_read_signal(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char *const names[] = {"TERM", "INT", "HUP", "QUIT", "USR2"};
    static const struct atoll_site_choice choice = {"signal", names, sizeof(names) / sizeof(names[0])};
    const char *text = atoll_yaml_scalar(node);
    size_t i;

    if (text && (strcmp(text, "USR1") == 0 || strcmp(text, "SIGUSR1") == 0)) {
        return atoll_yaml_fail(walk, node,
                               "signal USR1 is caught by communication libraries (NCCL); write TERM or USR2");
    }
    if (atoll_site_choose(walk, node, &choice, &i) != 0) {
        return -1;
    }
    *(const char **)target = names[i];
    return 0;
}

int atoll_site_read_limit(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    double seconds;

    if (atoll_yaml_read_duration(walk, node, &seconds) != 0) {
        return -1;
    }
    if (!(seconds > 0)) {
        return atoll_yaml_fail(walk, node, "'%.40s' must be longer than 0", atoll_yaml_scalar(node));
    }
    *(double *)target = seconds;
    return 0;
}

int atoll_site_read_positive(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    uint32_t count;

    if (atoll_yaml_read_count(walk, node, &count) != 0) {
        return -1;
    }
    if (count == 0) {
        return atoll_yaml_fail(
            walk, node, "0 is too few; write at least 1, or leave the key out where there is no limit");
    }
    *(unsigned *)target = count;
    return 0;
}

/* ---- environment ---- */

static int is_variable_name(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return text[0] && strspn(text, letters) == strlen(text) && !strchr("0123456789", text[0]);
}

static int read_variable(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_site_draft *draft = walk->owner;
    struct atoll_site_variable *variable = &draft->environment[draft->site.environment_count];
    const char *name = atoll_yaml_key(node);

    if (!is_variable_name(name)) {
        return atoll_yaml_fail(
            walk, node, "'%.64s' is no name of an environment variable; write one like OMP_NUM_THREADS",
            name);
    }
    variable->value = "";
    if ((atoll_yaml_count(node) || atoll_yaml_scalar(node)) &&
        atoll_yaml_read_text(walk, node, &variable->value) != 0) {
        return -1;
    }
    variable->name = atoll_arena_text(walk->arena, name, strlen(name), walk->err);
    draft->site.environment_count++;
    return variable->name ? 0 : -1;
}

int atoll_site_read_environment(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                void *target)
{
    return atoll_yaml_pairs(walk, node, ATOLL_SITE_WORD_LIMIT, "variables", read_variable, target);
}
