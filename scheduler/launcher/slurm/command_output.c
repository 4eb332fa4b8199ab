#include "scheduler/launcher/slurm/commands.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/launcher/launcher_ops.h"
#include "scheduler/launcher/slurm/state.h"

#define LINE_FIELDS 8
#define FIELD_BYTES 256

enum field {
    ID,
    NAME,
    STATE,
    REASON,
    PARTITION,
    NODES,
    NODE_COUNT,
    RESTARTS,
    SUBMIT,
    START,
    END,
    LIMIT,
    EXIT,
    FIELDS
};

/* Widths leave room for what our structs hold; squeue cuts what is longer. */
static const struct {
    const char *name;
    size_t width;
} fields[FIELDS] = {
    [ID] = {"JobArrayID", 63},       [NAME] = {"Name", 128},          [STATE] = {"State", 32},
    [REASON] = {"Reason", 160},      [PARTITION] = {"Partition", 64}, [NODES] = {"NodeList", 255},
    [NODE_COUNT] = {"NumNodes", 12}, [RESTARTS] = {"RestartCnt", 12}, [SUBMIT] = {"SubmitTime", 24},
    [START] = {"StartTime", 24},     [END] = {"EndTime", 24},         [LIMIT] = {"TimeLimit", 24},
    [EXIT] = {"exit_code", 12},
};

#define YEAR_MIN (364.0 * 24 * 60) /* Slurm keeps "no limit" of a running job as a year */

const char *atoll_slurm_job_format(void)
{
    static char text[512];
    size_t length = 0;

    for (size_t i = 0; i < FIELDS && !(i == 0 && *text); i++) {
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s:%zu", i ? "," : "",
                                   fields[i].name, fields[i].width);
    }
    return text;
}

/* One field without the blanks that fill it. */
static void cut(const char *line, enum field which, char *ret_text, size_t bytes)
{
    size_t at = 0, length = fields[which].width;

    for (size_t i = 0; i < (size_t)which; i++)
        at += fields[i].width;
    while (length && line[at + length - 1] == ' ')
        length--;
    snprintf(ret_text, bytes, "%.*s", (int)length, line + at);
}

static int64_t number(const char *line, enum field which)
{
    char text[FIELD_BYTES];

    cut(line, which, text, sizeof(text));
    return strtoll(text, NULL, 10); /* "N/A", "Unknown": 0 */
}

static void read_job(const char *line, struct atoll_job *job)
{
    char word[FIELD_BYTES], limit[FIELD_BYTES];
    int has_ended;

    cut(line, ID, job->id, sizeof(job->id));
    cut(line, NAME, job->name, sizeof(job->name));
    cut(line, REASON, job->reason, sizeof(job->reason));
    cut(line, PARTITION, job->partition, sizeof(job->partition));
    cut(line, NODES, job->nodes, sizeof(job->nodes));
    cut(line, STATE, word, sizeof(word));
    if (strcmp(job->reason, "None") == 0)
        *job->reason = '\0';
    job->node_count = (unsigned)number(line, NODE_COUNT);
    job->restart_count = (unsigned)number(line, RESTARTS);
    job->state = atoll_slurm_state(word, job->reason, job->restart_count);
    has_ended = atoll_job_has_ended(job->state);
    job->exit_status = has_ended ? atoll_slurm_exit_status((unsigned)number(line, EXIT)) : 0;
    job->submit_unix_s = number(line, SUBMIT);
    job->start_unix_s = number(line, START);
    cut(line, LIMIT, limit, sizeof(limit));
    /* The end of a job that runs is when its time is over; that of one that waits is a guess. */
    if (strcmp(word, "PENDING") != 0 && (has_ended || atoll_slurm_minutes(limit) < YEAR_MIN))
        job->end_unix_s = number(line, END);
}

int atoll_slurm_jobs_read(const char *text, struct atoll_job **jobs, size_t *count, struct atoll_err *err)
{
    size_t width = 0;

    for (size_t i = 0; i < FIELDS; i++)
        width += fields[i].width;

    while (*text) {
        size_t length = strcspn(text, "\n");
        struct atoll_job *job;

        if (length < width - fields[EXIT].width || length > width + 1) {
            return atoll_err_set(
                err, ATOLL_E_PROTOCOL,
                "squeue printed a line that was not asked for: '%.*s'; is another program named squeue?",
                (int)(length < 80 ? length : 80), text);
        }
        job = atoll_job_append(jobs, count);
        if (!job)
            return atoll_err_set(err, ATOLL_E_LIMIT, "squeue listed more than %zu jobs", ATOLL_JOB_LIMIT);
        read_job(text, job);
        text += length + (text[length] == '\n');
    }
    return 0;
}

/* Splits a line at '|' in place; how many fields there are. */
static size_t split(char *line, char *parts[LINE_FIELDS])
{
    size_t count = 1;

    parts[0] = line;
    for (char *at = strchr(line, '|'); at && count < LINE_FIELDS; at = strchr(at, '|')) {
        *at++ = '\0';
        parts[count++] = at;
    }
    return count;
}

/* The next line into a buffer; where the one behind it begins, NULL at the end. */
static const char *next_line(const char *text, char *line, size_t bytes)
{
    size_t length = strcspn(text, "\n");

    if (!*text)
        return NULL;
    snprintf(line, bytes, "%.*s", (int)length, text);
    return text + length + (text[length] == '\n');
}

double atoll_slurm_minutes(const char *text)
{
    double days = 0, parts[3] = {0};
    size_t count = 0;
    const char *dash = strchr(text, '-');

    if (!isdigit((unsigned char)*text))
        return HUGE_VAL;
    if (dash) {
        days = strtod(text, NULL);
        text = dash + 1;
    }
    for (; text && count < 3; count++) {
        parts[count] = strtod(text, NULL);
        text = strchr(text, ':');
        text = text ? text + 1 : NULL;
    }
    if (count == 3 || dash) /* days-hours:minutes:seconds, or fewer of them from the left */
        return days * 1440 + parts[0] * 60 + parts[1] + parts[2] / 60;
    return parts[0] + parts[1] / 60;
}

static struct atoll_partition *partition_named(struct atoll_cluster *cluster, const char *name)
{
    const size_t room = sizeof(cluster->partitions) / sizeof(cluster->partitions[0]);
    struct atoll_partition *made;

    for (size_t i = 0; i < cluster->partition_count; i++)
        if (strcmp(cluster->partitions[i].name, name) == 0)
            return &cluster->partitions[i];
    if (cluster->partition_count == room)
        return NULL; /* a site of that many partitions is told by its first ones */
    made = &cluster->partitions[cluster->partition_count++];
    snprintf(made->name, sizeof(made->name), "%.63s", name);
    return made;
}

static void read_partition(char *parts[LINE_FIELDS], struct atoll_cluster *cluster)
{
    size_t length = strlen(parts[0]);
    int is_default = length && parts[0][length - 1] == '*';
    struct atoll_partition *partition;
    const char *idle = strchr(parts[5], '/');
    unsigned cpus = (unsigned)strtoul(parts[6], NULL, 10);

    if (is_default)
        parts[0][length - 1] = '\0';
    partition = partition_named(cluster, parts[0]);
    if (!partition)
        return;
    partition->is_default = is_default;
    snprintf(partition->state, sizeof(partition->state), "%.31s", parts[1]);
    partition->time_limit_min = atoll_slurm_minutes(parts[2]);
    partition->default_min = atoll_slurm_minutes(parts[3]);
    partition->nodes += (unsigned)strtoul(parts[4], NULL, 10);
    partition->idle_nodes += idle ? (unsigned)strtoul(idle + 1, NULL, 10) : 0;
    partition->cpus_per_node = cpus > partition->cpus_per_node ? cpus : partition->cpus_per_node;
    if (!*partition->gres && strcmp(parts[7], "(null)") != 0)
        snprintf(partition->gres, sizeof(partition->gres), "%.159s", parts[7]);
}

int atoll_slurm_partitions_read(const char *text, struct atoll_cluster *cluster, struct atoll_err *err)
{
    char line[1024], *parts[LINE_FIELDS];

    while ((text = next_line(text, line, sizeof(line))) != NULL) {
        if (split(line, parts) != LINE_FIELDS) {
            return atoll_err_set(
                err, ATOLL_E_PROTOCOL,
                "sinfo printed a line that was not asked for: '%.80s'; is another program named sinfo?",
                line);
        }
        read_partition(parts, cluster);
    }
    return 0;
}

/* "down*", "drained", "idle~": a word and a mark; only the mark of a node that does not respond says that it is bad.
 * "unknown" alone is every node of a controller that has just started. */
static int is_bad_state(const char *state)
{
    static const char *const bad[] = {"down", "drain", "fail", "error", "no_respond"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (strncasecmp(state, bad[i], strlen(bad[i])) == 0)
            return 1;
    return strchr(state, '*') != NULL;
}

int atoll_slurm_bad_nodes_read(const char *text, char *ret_names, size_t bytes, struct atoll_err *err)
{
    char line[1024], *parts[LINE_FIELDS];
    size_t length = 0;

    *ret_names = '\0';
    while ((text = next_line(text, line, sizeof(line))) != NULL) {
        const char *listed = ret_names;
        size_t name_length = split(line, parts) == 2 && is_bad_state(parts[1]) ? strlen(parts[0]) : 0;

        while (name_length && (listed = strstr(listed, parts[0])) != NULL &&
               !((listed == ret_names || listed[-1] == ',') &&
                 (listed[name_length] == ',' || !listed[name_length]))) {
            listed += name_length;
        }
        if (!name_length || listed) /* a node is listed once for each of its partitions */
            continue;
        length += (size_t)snprintf(ret_names + length, bytes - length, "%s%s", length ? "," : "", parts[0]);
        if (length >= bytes) {
            return atoll_err_set(err, ATOLL_E_LIMIT,
                                 "the names of the nodes that must not be used are too long");
        }
    }
    return 0;
}

int atoll_slurm_submitted_read(const char *text, char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err)
{
    char line[256];
    const char *rest = text;

    while ((rest = next_line(rest, line, sizeof(line))) != NULL) {
        size_t digits = strspn(line, "0123456789");

        if (digits && digits < ATOLL_JOB_ID_BYTES && (!line[digits] || line[digits] == ';')) {
            memcpy(ret_id, line, digits);
            ret_id[digits] = '\0';
            return 0;
        }
    }
    return atoll_err_set(err, ATOLL_E_PROTOCOL,
                         "sbatch printed no id of a job: '%.80s'; whether there is one, squeue says", text);
}

void atoll_slurm_mpi_types_read(const char *text, char *ret_types, size_t bytes)
{
    char line[256];
    size_t length = 0;

    *ret_types = '\0';
    while ((text = next_line(text, line, sizeof(line))) != NULL) {
        const char *word = strncmp(line, "srun: ", 6) == 0 ? line + 6 : line;
        const char *special = strstr(word, "available:");

        word = special ? special + 10 : word;
        word += strspn(word, " \t");
        if (!*word || strstr(word, "types are") || length >= bytes)
            continue;
        length += (size_t)snprintf(ret_types + length, bytes - length, "%s%s", length ? " " : "", word);
    }
}

void atoll_slurm_setting_read(const char *text, const char *name, char *ret_value, size_t bytes)
{
    char line[1024];
    size_t length = strlen(name);

    *ret_value = '\0';
    while ((text = next_line(text, line, sizeof(line))) != NULL) {
        const char *value = strchr(line, '=');

        if (value && strncmp(line, name, length) == 0 && (line[length] == ' ' || line[length] == '=')) {
            value += 1 + strspn(value + 1, " ");
            snprintf(ret_value, bytes, "%s", value);
            return;
        }
    }
}
