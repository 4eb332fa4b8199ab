#include "scheduler/launcher/slurm/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD(name) offsetof(struct atoll_job_request, name)

static const struct {
    const char *name;
    size_t offset;
} defaults[] = {
    {"SBATCH_PARTITION", FIELD(partition)},
    {"SBATCH_ACCOUNT", FIELD(account)},
    {"SBATCH_QOS", FIELD(qos)},
    {"SBATCH_RESERVATION", FIELD(reservation)},
    {"SBATCH_CONSTRAINT", FIELD(constraint)},
};

/* What the commands and the library need to find their cluster. */
static const char *const kept[] = {"SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_CLUSTERS=", "SLURM_JWT="};
static const char *const foreign[] = {"SLURM_",           "SLURMD_", "SLURMSTEPD_",
                                      "SBATCH_JOB_NAME=", "PMIX_",   "PMI_"};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int starts_with_one(const char *item, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(item, words[i], strlen(words[i])) == 0)
            return 1;
    return 0;
}

static const char *text_at(const struct atoll_job_request *request, size_t offset)
{
    const char *text;

    memcpy(&text, (const char *)request + offset, sizeof(text));
    return text;
}

static int is_in_request(const struct atoll_job_request *request, const char *item)
{
    for (size_t i = 0; i < COUNT(defaults); i++) {
        size_t length = strlen(defaults[i].name);
        const char *text = text_at(request, defaults[i].offset);

        if (strncmp(item, defaults[i].name, length) == 0 && item[length] == '=')
            return text && *text;
    }
    return 0;
}

static int append(struct atoll_slurm_environment *environment, char *item, struct atoll_err *err)
{
    char **more = item ? realloc(environment->items, (environment->count + 2) * sizeof(*more)) : NULL;

    if (!more) {
        free(item);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the environment of a job");
    }
    environment->items = more;
    more[environment->count++] = item;
    more[environment->count] = NULL;
    return 0;
}

int atoll_slurm_environment_create(const struct atoll_job_request *request,
                                   struct atoll_slurm_environment *ret_environment, struct atoll_err *err)
{
    struct atoll_slurm_environment made = {0};

    for (char **item = environ; *item; item++) {
        int is_kept = starts_with_one(*item, kept, COUNT(kept)) ||
                      (!starts_with_one(*item, foreign, COUNT(foreign)) && !is_in_request(request, *item));

        if (is_kept && append(&made, strdup(*item), err) != 0) {
            atoll_slurm_environment_destroy(&made);
            return -1;
        }
    }
    *ret_environment = made;
    return 0;
}

int atoll_slurm_environment_ask(struct atoll_slurm_environment *ret_environment, struct atoll_err *err)
{
    static const char *const changing[] = {"SQUEUE_", "SINFO_", "SCANCEL_",
                                           "SLURM_TIME_FORMAT=", "SLURM_BITSTR_LEN="};
    struct atoll_slurm_environment made = {0};

    for (char **item = environ; *item; item++)
        if (!starts_with_one(*item, changing, COUNT(changing)) && append(&made, strdup(*item), err) != 0)
            goto failed;
    if (atoll_slurm_environment_add(&made, err, "SLURM_TIME_FORMAT=%%s") != 0 ||
        atoll_slurm_environment_add(&made, err, "SLURM_BITSTR_LEN=0") != 0) {
        goto failed;
    }
    *ret_environment = made;
    return 0;
failed:
    atoll_slurm_environment_destroy(&made);
    return -1;
}

int atoll_slurm_environment_add(struct atoll_slurm_environment *environment, struct atoll_err *err,
                                const char *format, ...)
{
    char *item = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vasprintf(&item, format, args);
    va_end(args);
    return append(environment, length < 0 ? NULL : item, err);
}

void atoll_slurm_environment_destroy(struct atoll_slurm_environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        free(environment->items[i]);
    free(environment->items);
    memset(environment, 0, sizeof(*environment));
}

void atoll_slurm_request_complete(struct atoll_job_request *request)
{
    for (size_t i = 0; i < COUNT(defaults); i++) {
        const char *text = text_at(request, defaults[i].offset);
        const char *value = getenv(defaults[i].name);

        if (!(text && *text) && value && *value)
            memcpy((char *)request + defaults[i].offset, &value, sizeof(value));
    }
}
