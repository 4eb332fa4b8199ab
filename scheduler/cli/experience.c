/* experience.c - `atoll experience list`, `export` and `import`: what campaigns learned, carried from one to the next
 * (docs/spec/experience.md).  Files are YAML or JSON; one reader takes both. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/print.h"
#include "base/program.h"
#include "base/yaml.h"
#include "core/experience/hint_file.h"
#include "scheduler/campaign/learned.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/command.h"

#define OWN_HINTS "knowledge/hints.yaml"

/* Of all campaigns of an archive. */
static int read_archive(const char *path, int is_all, struct atoll_hint_file *ret, struct atoll_err *err)
{
    struct atoll_archive_view view;
    if (atoll_archive_view_open(path, &view, err) != 0)
        return -1;
    int rc = atoll_learned_add_tables(view.tables, is_all, ret, err);
    atoll_archive_view_close(&view);
    return rc;
}

static int is_table(const char *path)
{
    size_t length = strlen(path);
    static const char *const endings[] = {".yaml", ".yml", ".json"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(path + length - ending, endings[i]) == 0)
            return 1;
    }
    return 0;
}

/* ---- JSON ---- */

static void set_text(json_t *object, const char *key, const char *text)
{
    if (*text)
        json_object_set_new(object, key, atoll_json_text(text));
}

static json_t *statistics_json(const struct atoll_hint_statistics *s)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "uses", s->uses, "outcomes", s->outcomes, "wins",
                     s->wins, "expected", s->expected, "gains", s->gains, "log_gain", s->log_gain);
}

/* As a file holds it: reads back as YAML. */
static json_t *hint_json(const struct atoll_experience_hint *h)
{
    char trigger[ATOLL_HINT_TRIGGER_BYTES];
    json_t *object = json_object();
    if (!object)
        return NULL;
    set_text(object, "name", h->name);
    set_text(object, "trigger", atoll_trigger_text(&h->trigger, trigger));
    set_text(object, "language", h->language);
    set_text(object, "device", h->device);
    set_text(object, "category", h->category);
    set_text(object, "role", atoll_hint_role_name(h->role));
    set_text(object, "context", h->context);
    set_text(object, "advice", h->advice);
    set_text(object, "source", h->source);
    set_text(object, "origin", atoll_hint_origin_name(h->origin));
    if (h->prior.uses > 0)
        json_object_set_new(object, "statistics", statistics_json(&h->prior));
    return object;
}

static json_t *file_json(const struct atoll_hint_file *file)
{
    json_t *hints = json_array(), *campaigns = json_array();
    char hex[ATOLL_ID_HEX];
    for (size_t i = 0; hints && i < file->hint_count; i++)
        json_array_append_new(hints, hint_json(&file->hints[i]));
    for (size_t i = 0; campaigns && i < file->campaign_count; i++) {
        atoll_id_hex(&file->campaigns[i], hex);
        json_array_append_new(campaigns, json_string(hex));
    }
    return json_pack("{s:i, s:o, s:o}", "version", 1, "campaigns", campaigns, "hints", hints);
}

/* ---- list ---- */

struct list_settings {
    int json;
};

#define FIELD(name) offsetof(struct list_settings, name)
static const struct atoll_option list_options[] = {
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "A JSON array of hints, with identity, confidence, lift and dropped."},
    {0}};
#undef FIELD

static const struct atoll_command list_command = {
    "experience list",
    "[FILE|DIR|ARCHIVE]",
    "the hints that models are told, and what came of them",
    "One line per hint: its name, what of a diagnosis it answers to, for which language, devices and kinds "
    "of tasks it is, "
    "how many "
    "asks were "
    "told it, how many kernels were measured behind that and how many gained, how many times as many that is "
    "as "
    "without it "
    "(lift), and whether it is dropped. Of a campaign those it has, with what came of them there; of a file "
    "(.yaml, "
    ".json) what "
    "it says; without an argument those that come with Atoll.",
    "atoll experience list\natoll experience list my-campaign\natoll experience list library.yaml --json",
    list_options,
    NULL};

static void print_hint(const struct atoll_experience_hint *h)
{
    const struct atoll_hint_statistics *s = &h->prior;
    char trigger[ATOLL_HINT_TRIGGER_BYTES], where[64], worth[64] = "-";
    int is_any = !*h->language && !*h->device;
    snprintf(where, sizeof(where), "%s%s%s", is_any ? "all" : h->language,
             *h->language && *h->device ? ", " : "", h->device);
    if (s->outcomes > 0)
        snprintf(worth, sizeof(worth), "%.0f of %.0f, %.1fx", s->wins, s->outcomes, atoll_hint_lift(s));
    atoll_print_line(stdout, 4, "%-42s %-26s %-16s %6.0f  %-18s %-7s  %s", h->name,
                     atoll_trigger_text(&h->trigger, trigger), where, s->uses, worth,
                     atoll_hint_is_losing(s) ? "dropped" : "", *h->category ? h->category : "all");
}

static void print_hints(const struct atoll_hint_file *file)
{
    atoll_print_line(stdout, 4, "%-42s %-26s %-16s %6s  %-26s  %s", "hint", "told at", "for", "uses",
                     "gains, lift", "tasks");
    for (size_t i = 0; i < file->hint_count; i++)
        print_hint(&file->hints[i]);
}

static json_t *listed_json(const struct atoll_experience_hint *h)
{
    json_t *object = hint_json(h);
    struct atoll_id id = atoll_experience_hint_id(h);
    char hex[ATOLL_ID_HEX];
    atoll_id_hex(&id, hex);
    json_object_set_new(object, "id", json_string(hex));
    json_object_set_new(object, "confidence", json_real(atoll_hint_confidence(&h->prior)));
    json_object_set_new(object, "lift", json_real(atoll_hint_lift(&h->prior)));
    json_object_set_new(object, "dropped", json_boolean(atoll_hint_is_losing(&h->prior)));
    return object;
}

static int run_list(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct list_settings *settings = given;
    struct atoll_hint_file file = {0};
    char own[PATH_MAX];
    const char *path = count ? arguments[0] : own;
    if (!count && atoll_program_data(OWN_HINTS, own, sizeof(own), err) != 0)
        return -1;
    int rc = is_table(path) ? atoll_hint_file_load(path, &file, err) : read_archive(path, 1, &file, err);
    if (rc == 0 && settings->json) {
        json_t *array = json_array();
        for (size_t i = 0; array && i < file.hint_count; i++)
            json_array_append_new(array, listed_json(&file.hints[i]));
        atoll_json_print(array, JSON_INDENT(2), stdout);
    } else if (rc == 0) {
        print_hints(&file);
    }
    atoll_hint_file_fini(&file);
    return rc;
}

const struct atoll_subcommand atoll_command_experience_list = {
    .command = &list_command, .settings_bytes = sizeof(struct list_settings), .most = 1, .run = run_list};

/* ---- export ---- */

struct export_settings {
    const char *out;
    int json, all;
};

#define FIELD(name) offsetof(struct export_settings, name)
static const struct atoll_option export_options[] = {
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(out), "FILE", NULL, 0, 0, NULL,
     "Where they are written, replaced in one step; standard output when it is not given."},
    {"all", 0, ATOLL_OPT_FLAG, FIELD(all), NULL, NULL, 0, 0, NULL, "Those that no ask was told, too."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "JSON instead of YAML."},
    {0}};
#undef FIELD

static const struct atoll_command export_command = {
    "experience export",
    "DIR|ARCHIVE",
    "what a campaign learned: its hints with what came of them",
    "Writes the hints that asks of the campaign were told, with the statistics of this campaign alone, and "
    "those that "
    "models distilled. `atoll experience import` merges such files, and `atoll run --experience` begins with "
    "them.",
    "atoll experience export my-campaign -o learned.yaml\n"
    "atoll run suites/gpu -m NAME --experience learned.yaml -o next",
    export_options,
    NULL};

static int put_file(const struct atoll_hint_file *file, int json, struct atoll_buffer *out,
                    struct atoll_err *err)
{
    if (!json) {
        atoll_hint_file_write_yaml(file, out);
        return atoll_buffer_check(out, err);
    }
    json_t *document = file_json(file);
    int rc = atoll_json_put(out, document, err);
    json_decref(document);
    atoll_buffer_put_u8(out, '\n');
    return rc != 0 ? -1 : atoll_buffer_check(out, err);
}

static int run_export(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct export_settings *settings = given;
    struct atoll_hint_file file = {0};
    struct atoll_buffer out;
    (void)count;
    atoll_buffer_init(&out, ATOLL_YAML_FILE_BYTES); /* more could not be read back */
    int rc = settings->out ? atoll_archive_check_output(settings->out, err) : 0;
    rc = rc == 0 ? read_archive(arguments[0], settings->all, &file, err) : rc;
    rc = rc == 0 ? put_file(&file, settings->json, &out, err) : rc;
    if (rc == 0 && settings->out) {
        rc = atoll_file_replace(NULL, settings->out, out.data, out.length, err);
        if (rc == 0)
            atoll_print(stdout, "%s: %zu hints\n", settings->out, file.hint_count);
    } else if (rc == 0) {
        fwrite(out.data, 1, out.length, stdout);
    }
    atoll_buffer_fini(&out);
    atoll_hint_file_fini(&file);
    return rc;
}

const struct atoll_subcommand atoll_command_experience_export = {.command = &export_command,
                                                                 .settings_bytes =
                                                                     sizeof(struct export_settings),
                                                                 .least = 1,
                                                                 .most = 1,
                                                                 .missing = "name a campaign or an archive",
                                                                 .run = run_export};

/* ---- import ---- */

struct import_settings {
    int json;
};

#define FIELD(name) offsetof(struct import_settings, name)
static const struct atoll_option import_options[] = {
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "One JSON object: how many hints the library has, were new and were known."},
    {0}};
#undef FIELD

static const struct atoll_command import_command = {
    "experience import",
    "LIBRARY FILE...",
    "merge files of hints into one",
    "Checks each FILE (YAML or JSON, as `atoll experience export` writes them) and merges it into LIBRARY, "
    "which is "
    "made where "
    "it is not there, and replaced in one step. New hints come behind; of known ones the statistics are "
    "added, but "
    "those of a "
    "campaign once, however often it is imported. Nothing is written where a file is refused.",
    "atoll experience import library.yaml monday.yaml tuesday.json",
    import_options,
    NULL};

static int import_file(struct atoll_hint_file *library, const char *path, size_t *new, size_t *known,
                       struct atoll_err *err)
{
    struct atoll_hint_file more;
    size_t added, there;
    if (atoll_hint_file_load(path, &more, err) != 0)
        return -1;
    for (size_t i = 0; i < more.hint_count; i++) /* an expert of elsewhere is no expert of ours */
        if (more.hints[i].origin == ATOLL_HINT_CURATED)
            more.hints[i].origin = ATOLL_HINT_IMPORTED;
    int rc = atoll_hint_file_merge(library, &more, &added, &there, err);
    if (rc == 0) {
        *new += added;
        *known += there;
    }
    atoll_hint_file_fini(&more);
    return rc;
}

static int run_import(void *given, const char *const *paths, size_t count, struct atoll_err *err)
{
    const struct import_settings *settings = given;
    struct atoll_hint_file library = {0};
    struct atoll_buffer out;
    size_t new = 0, known = 0;
    int rc = atoll_archive_check_output(paths[0], err);
    atoll_buffer_init(&out, ATOLL_YAML_FILE_BYTES);
    if (rc == 0 && access(paths[0], F_OK) == 0)
        rc = atoll_hint_file_load(paths[0], &library, err);
    for (size_t i = 1; rc == 0 && i < count; i++)
        rc = import_file(&library, paths[i], &new, &known, err);
    rc = rc == 0 ? put_file(&library, 0, &out, err) : rc;
    rc = rc == 0 ? atoll_file_replace(NULL, paths[0], out.data, out.length, err) : rc;
    if (rc == 0 && settings->json) {
        atoll_json_print(json_pack("{s:s, s:I, s:I, s:I}", "library", paths[0], "hints",
                                   (json_int_t)library.hint_count, "new", (json_int_t) new, "known",
                                   (json_int_t)known),
                         JSON_INDENT(2), stdout);
    } else if (rc == 0) {
        atoll_print(stdout, "%s: %zu hints, %zu of them new, %zu were known\n", paths[0], library.hint_count,
                    new, known);
    }
    atoll_buffer_fini(&out);
    atoll_hint_file_fini(&library);
    return rc;
}

const struct atoll_subcommand atoll_command_experience_import = {.command = &import_command,
                                                                 .settings_bytes =
                                                                     sizeof(struct import_settings),
                                                                 .least = 2,
                                                                 .most = ATOLL_ARGUMENT_LIMIT,
                                                                 .missing = "LIBRARY and at least one FILE",
                                                                 .run = run_import};
