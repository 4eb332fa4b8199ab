/* sweep.c - reads and writes sweep.yaml, and the small files beside it. */
#include "scheduler/campaign/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/buffer.h"
#include "base/yaml.h"
#include "base/json.h"

#define ARENA_BYTES ((size_t)8 << 20)
#define FILE_BYTES  ((size_t)1 << 20)
#define AFTER_LIMIT 64
#define NAME_DIGITS 16 /* of the id: campaigns of one name would take each other's jobs for their own */

/* ---- reading ---- */

#define FIELD(name) offsetof(struct atoll_sweep, name)

static int read_part_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *name;

    if (atoll_yaml_read_text(walk, node, &name) != 0)
        return -1;
    if (strspn(name, "0123456789") != strlen(name) || strlen(name) > 8)
        return atoll_yaml_fail(walk, node, "'%.40s' is no part: parts are named by up to eight digits", name);
    *(const char **)target = name;
    return 0;
}

static int read_id(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *id;

    if (atoll_yaml_read_text(walk, node, &id) != 0)
        return -1;
    if (strspn(id, "0123456789abcdef") != strlen(id) || strlen(id) != ATOLL_ID_HEX - 1) {
        return atoll_yaml_fail(walk, node, "'%.80s' is no id of a campaign: %d hexadecimal digits are", id,
                               ATOLL_ID_HEX - 1);
    }
    *(const char **)target = id;
    return 0;
}

static int read_count1(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    uint32_t count;

    if (atoll_yaml_read_count(walk, node, &count) != 0)
        return -1;
    if (count == 0)
        return atoll_yaml_fail(walk, node, "at least 1 is expected here");
    *(uint32_t *)target = count;
    return 0;
}

static int read_part(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const struct atoll_yaml_row rows[] = {
        {"name", ATOLL_YAML_REQUIRED, read_part_name, offsetof(struct atoll_sweep_part, name)},
        {"tasks", ATOLL_YAML_REQUIRED, read_count1, offsetof(struct atoll_sweep_part, task_count)}};
    static const struct atoll_yaml_section section = {rows, sizeof(rows) / sizeof(rows[0])};
    struct atoll_sweep *sweep = target;
    struct atoll_sweep_part part = {"", 0};

    if (atoll_yaml_map(walk, &section, node, &part) != 0)
        return -1;
    if (sweep->part_count && strcmp(sweep->parts[sweep->part_count - 1].name, part.name) >= 0) {
        return atoll_yaml_fail(walk, node, "part %s follows part %s: each stands once, in order", part.name,
                               sweep->parts[sweep->part_count - 1].name);
    }
    /* Counted when the list was read. */
    ((struct atoll_sweep_part *)(uintptr_t)sweep->parts)[sweep->part_count++] = part;
    return 0;
}

static int read_parts(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_sweep *sweep = target;
    size_t count = atoll_yaml_count(node);

    if (count == 0)
        return atoll_yaml_fail(walk, node, "a campaign has at least one part");
    sweep->parts = atoll_arena_alloc_array(walk->arena, count, sizeof(*sweep->parts), walk->err);
    return sweep->parts ? atoll_yaml_list(walk, node, ATOLL_SWEEP_PART_LIMIT, "parts", read_part, sweep) : -1;
}

static int read_one_after(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_sweep *sweep = target;
    const char **list = (const char **)(uintptr_t)sweep->after;

    return atoll_yaml_read_text(walk, node, &list[sweep->after_count++]);
}

static int read_after(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_sweep *sweep = target;

    sweep->after =
        atoll_arena_alloc_array(walk->arena, atoll_yaml_count(node) + 1, sizeof(*sweep->after), walk->err);
    return sweep->after ? atoll_yaml_list(walk, node, AFTER_LIMIT, "campaigns", read_one_after, sweep) : -1;
}

static const struct atoll_yaml_row sweep_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"id", ATOLL_YAML_REQUIRED, read_id, FIELD(id)},
    {"atoll_version", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, FIELD(atoll_version)},
    {"created_unix_s", ATOLL_YAML_REQUIRED, atoll_yaml_read_number, FIELD(created_unix_s)},
    {"backend", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, FIELD(backend)},
    {"jobs", ATOLL_YAML_REQUIRED, read_count1, FIELD(jobs)},
    {"nodes", ATOLL_YAML_REQUIRED, read_count1, FIELD(nodes)},
    {"gpus_per_node", ATOLL_YAML_REQUIRED, atoll_yaml_read_count, FIELD(gpus_per_node)},
    {"evaluators_per_node", ATOLL_YAML_REQUIRED, read_count1, FIELD(evaluators_per_node)},
    {"time_min", ATOLL_YAML_REQUIRED, read_count1, FIELD(time_min)},
    {"partition", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, FIELD(partition)},
    {"account", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, FIELD(account)},
    {"qos", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, FIELD(qos)},
    {"constraint", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, FIELD(constraint)},
    {"max_queued", ATOLL_YAML_OPTIONAL, atoll_yaml_read_count, FIELD(max_queued)},
    {"priority", ATOLL_YAML_REQUIRED, atoll_yaml_read_number, FIELD(priority)},
    {"share", ATOLL_YAML_REQUIRED, atoll_yaml_read_positive, FIELD(share)},
    {"after", ATOLL_YAML_OPTIONAL, read_after, 0},
    {"parts", ATOLL_YAML_REQUIRED, read_parts, 0}};
static const struct atoll_yaml_section sweep_section = {sweep_rows,
                                                        sizeof(sweep_rows) / sizeof(sweep_rows[0])};

static struct atoll_sweep *sweep_new(const char *dir, struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create(ARENA_BYTES, err);
    struct atoll_sweep *sweep = arena ? atoll_arena_alloc(arena, sizeof(*sweep), err) : NULL;
    char path[PATH_MAX];

    if (!sweep) {
        atoll_arena_destroy(arena);
        return NULL;
    }
    *sweep =
        (struct atoll_sweep){.arena = arena, .partition = "", .account = "", .qos = "", .constraint = ""};
    if (!realpath(dir, path))
        atoll_err_errno(err, errno, "%s: cannot open the campaign", dir);
    else
        sweep->dir = atoll_arena_text(arena, path, strlen(path), err);
    if (sweep->dir)
        return sweep;
    atoll_arena_destroy(arena);
    return NULL;
}

static int sweep_load(struct atoll_sweep *sweep, struct atoll_err *err)
{
    struct atoll_yaml_walk walk = {.arena = sweep->arena, .owner = sweep, .err = err};
    char path[PATH_MAX];
    struct atoll_yaml *yaml;
    int status;

    if (atoll_sweep_path(sweep, ATOLL_SWEEP_FILE, path, sizeof(path), err) != 0)
        return -1;
    yaml = atoll_yaml_load(path, err);
    if (!yaml)
        return -1;
    walk.yaml = yaml;
    status = atoll_yaml_map(&walk, &sweep_section, atoll_yaml_root(yaml), sweep);
    atoll_yaml_destroy(yaml);
    return status;
}

int atoll_sweep_is(const char *dir)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof(path), "%s/%s", dir, ATOLL_SWEEP_FILE) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

/* Where the folder that held it is gone too, its file system is not here rather than the campaign. */
int atoll_sweep_look(const char *dir)
{
    char path[PATH_MAX];
    char *slash;

    if (snprintf(path, sizeof(path), "%s/%s", dir, ATOLL_SWEEP_FILE) >= (int)sizeof(path))
        return 0;
    if (access(path, F_OK) == 0)
        return 1;
    if (errno != ENOENT && errno != ENOTDIR)
        return -1;
    *strrchr(path, '/') = '\0';
    slash = strrchr(path, '/');
    if (slash && slash != path)
        *slash = '\0';
    return access(path, F_OK) == 0 ? 0 : -1;
}

const char *atoll_sweep_waits_for(const char *const *after, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (atoll_sweep_look(after[i]) != 0 && !atoll_sweep_is_done(after[i]))
            return after[i];
    return NULL;
}

struct atoll_sweep *atoll_sweep_open(const char *dir, struct atoll_err *err)
{
    struct atoll_sweep *sweep;

    if (!atoll_sweep_is(dir)) {
        atoll_err_set(err, ATOLL_E_NOTFOUND, "%s: is not a submitted campaign (no %s in it)", dir,
                      ATOLL_SWEEP_FILE);
        if (atoll_folder_is_empty(dir))
            atoll_err_add(err, "make one with atoll submit SUITE -o %s", dir);
        else
            atoll_err_add(err, "name the folder that was given to atoll submit -o");
        return NULL;
    }
    sweep = sweep_new(dir, err);
    if (sweep && sweep_load(sweep, err) != 0) {
        atoll_sweep_close(sweep);
        return NULL;
    }
    return sweep;
}

void atoll_sweep_close(struct atoll_sweep *sweep)
{
    if (sweep)
        atoll_arena_destroy(sweep->arena);
}

/* ---- writing ---- */

int atoll_sweep_can_hold(const char *text)
{
    json_t *value = json_string(text); /* NULL: not UTF-8 */
    const unsigned char *c = (const unsigned char *)text;

    for (; *c >= 0x20 && *c != 0x7f && !(*c == 0xc2 && c[1] < 0xa0); c++) {
    }
    json_decref(value);
    return value != NULL && *c == '\0';
}

/* A text of JSON is one of YAML, but for its surrogate pairs: so nothing that can stand as it is is escaped. */
static void put_text(struct atoll_buffer *out, const char *key, const char *text)
{
    json_t *value = text && *text ? json_string(text) : NULL;
    char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

    if (quoted)
        atoll_buffer_printf(out, "%s%s\n", key, quoted);
    free(quoted);
    json_decref(value);
}

static void put_all(const struct atoll_sweep *s, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, "version: 1\n");
    put_text(out, "id: ", s->id);
    put_text(out, "atoll_version: ", s->atoll_version);
    atoll_buffer_printf(out, "created_unix_s: %.0f\n", s->created_unix_s);
    put_text(out, "backend: ", s->backend);
    atoll_buffer_printf(out,
                        "jobs: %u\nnodes: %u\ngpus_per_node: %u\nevaluators_per_node: %u\ntime_min: %u\n",
                        s->jobs, s->nodes, s->gpus_per_node, s->evaluators_per_node, s->time_min);
    put_text(out, "partition: ", s->partition);
    put_text(out, "account: ", s->account);
    put_text(out, "qos: ", s->qos);
    put_text(out, "constraint: ", s->constraint);
    if (s->max_queued)
        atoll_buffer_printf(out, "max_queued: %u\n", s->max_queued);
    atoll_buffer_printf(out, "priority: %.17g\nshare: %.17g\n", s->priority, s->share);
    if (s->after_count)
        atoll_buffer_printf(out, "after:\n");
    for (size_t i = 0; i < s->after_count; i++)
        put_text(out, "  - ", s->after[i]);
    atoll_buffer_printf(out, "parts:\n");
    for (size_t i = 0; i < s->part_count; i++)
        atoll_buffer_printf(out, "  - {name: \"%s\", tasks: %u}\n", s->parts[i].name, s->parts[i].task_count);
}

int atoll_sweep_write(const struct atoll_sweep *sweep, const char *dir, struct atoll_err *err)
{
    struct atoll_buffer text;
    char path[PATH_MAX];
    int status;

    atoll_buffer_init(&text, FILE_BYTES);
    put_all(sweep, &text);
    status = atoll_buffer_check(&text, err);
    if (status == 0 && snprintf(path, sizeof(path), "%s/%s", dir, ATOLL_SWEEP_FILE) >= (int)sizeof(path))
        status = atoll_err_set(err, ATOLL_E_LIMIT, "the path of the campaign is too long");
    status =
        status == 0 ? atoll_file_replace(atoll_file_ops_real(), path, text.data, text.length, err) : status;
    atoll_buffer_fini(&text);
    return status;
}

/* ---- paths and marks ---- */

int atoll_sweep_path(const struct atoll_sweep *sweep, const char *name, char *ret_path, size_t bytes,
                     struct atoll_err *err)
{
    if ((size_t)snprintf(ret_path, bytes, "%s/%s", sweep->dir, name) >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s.../%s", sweep->dir, name);
    return 0;
}

int atoll_sweep_part_path(const struct atoll_sweep *sweep, size_t part, char *ret_path, size_t bytes,
                          struct atoll_err *err)
{
    char name[32];

    snprintf(name, sizeof(name), "parts/%.8s", sweep->parts[part].name);
    return atoll_sweep_path(sweep, name, ret_path, bytes, err);
}

int atoll_sweep_is_damage(enum atoll_code code)
{
    return code == ATOLL_E_NOTFOUND || code == ATOLL_E_INPUT || code == ATOLL_E_CORRUPT ||
           code == ATOLL_E_SCHEMA;
}

void atoll_sweep_job_name(const struct atoll_sweep *sweep, char ret_name[ATOLL_SWEEP_NAME_BYTES])
{
    snprintf(ret_name, ATOLL_SWEEP_NAME_BYTES, "atoll-%.*s", NAME_DIGITS, sweep->id);
}

static const char *const marks[ATOLL_SWEEP_MARK_COUNT] = {"paused", "cancelled"};

static int mark_path(const char *dir, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX ? 0 : -1;
}

int atoll_sweep_mark(const char *dir, enum atoll_sweep_mark mark, int is_set, struct atoll_err *err)
{
    char path[PATH_MAX];
    int fd;

    if (mark_path(dir, marks[mark], path) != 0)
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of the campaign is too long");
    if (!is_set) {
        return unlink(path) == 0 || errno == ENOENT ? 0
                                                    : atoll_err_errno(err, errno, "%s: cannot remove", path);
    }
    fd = atoll_file_open_to_write(path, O_WRONLY | O_CREAT, 0666, err);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

int atoll_sweep_is_marked(const char *dir, enum atoll_sweep_mark mark)
{
    char path[PATH_MAX];

    return mark_path(dir, marks[mark], path) == 0 && access(path, F_OK) == 0;
}

int atoll_sweep_is_done(const char *dir)
{
    char path[PATH_MAX];

    return mark_path(dir, "done.json", path) == 0 && access(path, F_OK) == 0;
}

/* One write: lines of two jobs do not mix. */
static void line_append(const char *path, const char *line)
{
    size_t length = strlen(line);
    char *bytes = malloc(length + 2);
    int fd = bytes ? atoll_file_open_to_write(path, O_RDWR | O_CREAT | O_APPEND, 0666, NULL) : -1;

    if (fd >= 0) {
        off_t end = lseek(fd, 0, SEEK_END);
        char last = '\n';
        size_t start;

        /* A writer that was killed may have left a line without its end. */
        start = end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n' ? 0 : 1;
        bytes[0] = '\n';
        memcpy(bytes + 1, line, length);
        bytes[length + 1] = '\n';
        if (write(fd, bytes + start, length + 2 - start) < 0) {
            /* best effort: nothing depends on it */
        }
        close(fd);
    }
    free(bytes);
}

void atoll_sweep_record(const char *dir, const char *job, const char *what, const char *format, ...)
{
    char path[PATH_MAX], words[1024];
    json_t *object;
    char *line;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    object = json_pack("{s:I, s:s, s:s, s:o}", "unix_s", (json_int_t)time(NULL), "job", job, "what", what,
                       "text", atoll_json_text(words));
    line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (line && mark_path(dir, ATOLL_SWEEP_HISTORY, path) == 0)
        line_append(path, line);
    free(line);
    json_decref(object);
}
