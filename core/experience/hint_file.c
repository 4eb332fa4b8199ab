/* hint_file.c - reading is a table of keys; what it means is checked by hint.c, so that hints from replies and from files hold to
 * the same bounds. */
#include "core/experience/hint_file.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"

#define FILE_BYTES ((size_t)16 << 20)

#define HINT(m)  offsetof(struct atoll_experience_hint, m)
#define PRIOR(m) offsetof(struct atoll_hint_statistics, m)

/* ---- reading ---- */

static int read_trigger(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *text;
    if (atoll_yaml_read_text(walk, node, &text))
        return -1;
    return atoll_trigger_parse(text, target, &inner) ? atoll_yaml_pass(walk, node, &inner) : 0;
}

static int read_role(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_ISLAND_ROLE_COUNT];
    size_t index;
    for (unsigned r = 0; r < ATOLL_ISLAND_ROLE_COUNT; r++)
        names[r] = atoll_hint_role_name((uint8_t)r);
    if (atoll_yaml_choose(walk, node, "role", names, ATOLL_ISLAND_ROLE_COUNT, &index))
        return -1;
    *(uint8_t *)target = (uint8_t)index;
    return 0;
}

static int read_origin(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_HINT_ORIGIN_COUNT];
    size_t index;
    for (unsigned o = 0; o < ATOLL_HINT_ORIGIN_COUNT; o++)
        names[o] = atoll_hint_origin_name((enum atoll_hint_origin)o);
    if (atoll_yaml_choose(walk, node, "origin", names, ATOLL_HINT_ORIGIN_COUNT, &index))
        return -1;
    *(enum atoll_hint_origin *)target = (enum atoll_hint_origin)index;
    return 0;
}

static const struct atoll_yaml_row statistics_rows[] = {
    {"uses", ATOLL_YAML_REQUIRED, atoll_yaml_read_number, PRIOR(uses)},
    {"outcomes", ATOLL_YAML_REQUIRED, atoll_yaml_read_number, PRIOR(outcomes)},
    {"wins", ATOLL_YAML_REQUIRED, atoll_yaml_read_number, PRIOR(wins)},
    {"expected", ATOLL_YAML_REQUIRED, atoll_yaml_read_number, PRIOR(expected)},
    {"gains", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, PRIOR(gains)},
    {"log_gain", ATOLL_YAML_OPTIONAL, atoll_yaml_read_signed, PRIOR(log_gain)},
};
static const struct atoll_yaml_section statistics_section = {statistics_rows, sizeof(statistics_rows) /
                                                                                  sizeof(*statistics_rows)};

static int read_statistics(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_hint_statistics s = {0};
    if (atoll_yaml_map(walk, &statistics_section, node, &s))
        return -1;
    if (s.wins > s.outcomes || s.expected > s.outcomes || s.gains > s.outcomes || s.outcomes > s.uses ||
        s.uses > 1e9)
        return atoll_yaml_fail(
            walk, node,
            "these statistics do not agree: wins, expected and gains are at most outcomes, and "
            "these at most uses");
    *(struct atoll_hint_statistics *)target = s;
    return 0;
}

static const struct atoll_yaml_row hint_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, HINT(name)},
    {"trigger", ATOLL_YAML_REQUIRED, read_trigger, HINT(trigger)},
    {"language", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, HINT(language)},
    {"device", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, HINT(device)},
    {"category", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, HINT(category)},
    {"role", ATOLL_YAML_OPTIONAL, read_role, HINT(role)},
    {"context", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, HINT(context)},
    {"advice", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, HINT(advice)},
    {"source", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, HINT(source)},
    {"origin", ATOLL_YAML_OPTIONAL, read_origin, HINT(origin)},
    {"statistics", ATOLL_YAML_OPTIONAL, read_statistics, HINT(prior)},
};
static const struct atoll_yaml_section hint_section = {hint_rows, sizeof(hint_rows) / sizeof(*hint_rows)};

static int read_hint(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_hint_file *file = walk->owner;
    struct atoll_experience_hint h = {.language = "",
                                      .device = "",
                                      .category = "",
                                      .role = ATOLL_ISLAND_ROLE_COUNT,
                                      .context = "",
                                      .source = ""};
    struct atoll_err inner = ATOLL_ERR_INIT;
    (void)target;
    if (atoll_yaml_map(walk, &hint_section, node, &h))
        return -1;
    if (atoll_experience_hint_check(&h, &inner) != 0)
        return atoll_yaml_pass(walk, node, &inner);
    struct atoll_id id = atoll_experience_hint_id(&h);
    for (size_t i = 0; i < file->hint_count; i++) {
        const struct atoll_experience_hint *other = &file->hints[i];
        struct atoll_id known = atoll_experience_hint_id(other);
        if (strcmp(other->name, h.name) == 0 || atoll_id_equal(&known, &id))
            return atoll_yaml_fail(walk, node, "hint '%s' stands here twice ('%s'); remove one", h.name,
                                   other->name);
    }
    file->hints[file->hint_count++] = h;
    return 0;
}

static int read_hints(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_hint_file *file = walk->owner;
    (void)target;
    file->hints =
        atoll_arena_alloc_array(walk->arena, ATOLL_HINT_FILE_LIMIT, sizeof(*file->hints), walk->err);
    return file->hints ? atoll_yaml_list(walk, node, ATOLL_HINT_FILE_LIMIT, "hints", read_hint, NULL) : -1;
}

static int read_campaign(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_hint_file *file = walk->owner;
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *text = atoll_yaml_scalar(node);
    if (atoll_id_parse(text ? text : "", (struct atoll_id *)target + file->campaign_count, &inner) != 0)
        return atoll_yaml_pass(walk, node, &inner);
    file->campaign_count++;
    return 0;
}

static struct atoll_id *campaigns_alloc(struct atoll_arena *arena, struct atoll_err *err)
{
    return atoll_arena_alloc_array(arena, ATOLL_HINT_FILE_CAMPAIGN_LIMIT, sizeof(struct atoll_id), err);
}

static int read_campaigns(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_hint_file *file = walk->owner;
    struct atoll_id *ids = campaigns_alloc(walk->arena, walk->err);
    (void)target;
    file->campaigns = ids;
    return ids ? atoll_yaml_list(walk, node, ATOLL_HINT_FILE_CAMPAIGN_LIMIT, "campaigns", read_campaign, ids)
               : -1;
}

static const struct atoll_yaml_row file_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"campaigns", ATOLL_YAML_OPTIONAL, read_campaigns, 0},
    {"hints", ATOLL_YAML_REQUIRED, read_hints, 0},
};
static const struct atoll_yaml_section file_section = {file_rows, sizeof(file_rows) / sizeof(*file_rows)};

static int read_file(const struct atoll_yaml *yaml, struct atoll_hint_file *ret_file, struct atoll_err *err)
{
    struct atoll_hint_file file = {.arena = atoll_arena_create(FILE_BYTES, err)};
    struct atoll_yaml_walk walk = {yaml, file.arena, &file, err};
    if (!file.arena || atoll_yaml_map(&walk, &file_section, atoll_yaml_root(yaml), &file) != 0) {
        atoll_arena_destroy(file.arena);
        return -1;
    }
    *ret_file = file;
    return 0;
}

int atoll_hint_file_load(const char *path, struct atoll_hint_file *ret_file, struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_load(path, err);
    int rc = yaml ? read_file(yaml, ret_file, err) : -1;
    atoll_yaml_destroy(yaml);
    return rc;
}

int atoll_hint_file_parse(const char *name, const char *text, size_t length, struct atoll_hint_file *ret_file,
                          struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_parse(name, text, length, err);
    int rc = yaml ? read_file(yaml, ret_file, err) : -1;
    atoll_yaml_destroy(yaml);
    return rc;
}

void atoll_hint_file_fini(struct atoll_hint_file *file)
{
    atoll_arena_destroy(file->arena);
    memset(file, 0, sizeof(*file));
}

/* ---- merging ---- */

static struct atoll_experience_hint *find(struct atoll_hint_file *file,
                                          const struct atoll_experience_hint *wanted)
{
    struct atoll_id id = atoll_experience_hint_id(wanted);
    for (size_t i = 0; i < file->hint_count; i++) {
        struct atoll_id known = atoll_experience_hint_id(&file->hints[i]);
        if (atoll_id_equal(&known, &id))
            return &file->hints[i];
    }
    return NULL;
}

/* A name that another hint has gets the beginning of its hash behind it. */
static int add_named(struct atoll_hint_file *sum, const struct atoll_experience_hint *h,
                     struct atoll_err *err)
{
    struct atoll_experience_hint copy = *h;
    struct atoll_id id = atoll_experience_hint_id(h);
    const char **texts[] = {&copy.name,    &copy.language, &copy.device, &copy.category,
                            &copy.context, &copy.advice,   &copy.source};
    char name[ATOLL_HINT_NAME_BYTES + 1], hex[ATOLL_ID_HEX];
    for (size_t i = 0; i < sum->hint_count; i++)
        if (strcmp(sum->hints[i].name, h->name) == 0) {
            atoll_id_hex(&id, hex);
            snprintf(name, sizeof(name), "%.*s-%.8s", ATOLL_HINT_NAME_BYTES - 9, h->name, hex);
            copy.name = name;
        }
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (!(*texts[i] = atoll_arena_text(sum->arena, *texts[i], strlen(*texts[i]), err)))
            return -1;
    sum->hints[sum->hint_count++] = copy;
    return 0;
}

static int has_campaign(const struct atoll_hint_file *file, const struct atoll_id *id)
{
    for (size_t i = 0; i < file->campaign_count; i++)
        if (atoll_id_equal(&file->campaigns[i], id))
            return 1;
    return 0;
}

static int merge_campaigns(struct atoll_hint_file *sum, const struct atoll_hint_file *more,
                           struct atoll_err *err)
{
    struct atoll_id *ids = campaigns_alloc(sum->arena, err);
    if (!ids)
        return -1;
    if (sum->campaign_count)
        memcpy(ids, sum->campaigns, sum->campaign_count * sizeof(*ids));
    sum->campaigns = ids;
    for (size_t i = 0; i < more->campaign_count; i++)
        if (!has_campaign(sum, &more->campaigns[i])) {
            if (sum->campaign_count == ATOLL_HINT_FILE_CAMPAIGN_LIMIT)
                return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d campaigns in one table of hints",
                                     ATOLL_HINT_FILE_CAMPAIGN_LIMIT);
            ids[sum->campaign_count++] = more->campaigns[i];
        }
    return 0;
}

int atoll_hint_file_merge(struct atoll_hint_file *sum, const struct atoll_hint_file *more, size_t *ret_new,
                          size_t *ret_known, struct atoll_err *err)
{
    size_t new = 0, known = 0;
    int counts = 1;
    if (!sum->arena && !(sum->arena = atoll_arena_create(FILE_BYTES, err)))
        return -1;
    if (!sum->hints && !(sum->hints = atoll_arena_alloc_array(sum->arena, ATOLL_HINT_FILE_LIMIT,
                                                              sizeof(*sum->hints), err))) {
        return -1;
    }
    for (size_t i = 0; i < more->campaign_count; i++)
        counts &= !has_campaign(sum, &more->campaigns[i]);
    for (size_t i = 0; i < more->hint_count; i++) {
        struct atoll_experience_hint *h = find(sum, &more->hints[i]);
        if (h) {
            known++;
            if (counts)
                atoll_hint_statistics_add(&h->prior, &more->hints[i].prior);
            continue;
        }
        if (sum->hint_count == ATOLL_HINT_FILE_LIMIT)
            return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d hints in one table",
                                 ATOLL_HINT_FILE_LIMIT);
        if (add_named(sum, &more->hints[i], err) != 0)
            return -1;
        new += 1;
    }
    if (more->campaign_count && merge_campaigns(sum, more, err) != 0)
        return -1;
    *ret_new = new;
    *ret_known = known;
    return 0;
}

/* ---- writing ---- */

static void put_text(struct atoll_buffer *out, const char *key, const char *text)
{
    if (!*text)
        return;
    atoll_buffer_printf(out, "    %s: \"", key);
    for (const char *at = text; *at; at++)
        atoll_buffer_printf(out, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
    atoll_buffer_printf(out, "\"\n");
}

static void put_hint(const struct atoll_experience_hint *h, struct atoll_buffer *out)
{
    const struct atoll_hint_statistics *s = &h->prior;
    char trigger[ATOLL_HINT_TRIGGER_BYTES];
    atoll_buffer_printf(out, "  - name: %s\n", h->name);
    put_text(out, "trigger", atoll_trigger_text(&h->trigger, trigger));
    put_text(out, "language", h->language);
    put_text(out, "device", h->device);
    put_text(out, "category", h->category);
    put_text(out, "role", atoll_hint_role_name(h->role));
    put_text(out, "context", h->context);
    put_text(out, "advice", h->advice);
    put_text(out, "source", h->source);
    put_text(out, "origin", atoll_hint_origin_name(h->origin));
    if (s->uses > 0)
        atoll_buffer_printf(
            out,
            "    statistics: {uses: %.17g, outcomes: %.17g, wins: %.17g, expected: %.17g, gains: "
            "%.17g, log_gain: %.17g}\n",
            s->uses, s->outcomes, s->wins, s->expected, s->gains, s->log_gain);
}

void atoll_hint_file_write_yaml(const struct atoll_hint_file *file, struct atoll_buffer *out)
{
    char hex[ATOLL_ID_HEX];
    atoll_buffer_printf(out, "version: 1\n");
    for (size_t i = 0; i < file->campaign_count; i++) {
        atoll_id_hex(&file->campaigns[i], hex);
        atoll_buffer_printf(out, "%s  - \"%s\"\n", i ? "" : "campaigns:\n", hex);
    }
    atoll_buffer_printf(out, "hints:%s\n", file->hint_count ? "" : " []");
    for (size_t i = 0; i < file->hint_count; i++)
        put_hint(&file->hints[i], out);
}
