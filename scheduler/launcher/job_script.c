/* job_script.c - a request as #SBATCH lines, one table row for each of its fields, in front of the body that the request
 * brings (campaign/batch_script.c writes that of a campaign).
 *
 * A line is one option; a text that has more in it than names usually have is put into double quotes, which sbatch removes
 * again.  Line breaks would end the line and begin another one: they are refused. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/launcher/launcher_ops.h"
#include "base/process.h"

#define PLAIN       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:;/=%@+-[]*&|^~?()"
#define FIELD(name) offsetof(struct atoll_job_request, name)

static const struct {
    const char *option, *name;
    size_t offset;
    int is_absolute;
} texts[] = {
    {"job-name", "name", FIELD(name), 0},
    {"chdir", "work_dir", FIELD(work_dir), 1},
    {"output", "log_path", FIELD(log_path), 0},
    {"partition", "partition", FIELD(partition), 0},
    {"account", "account", FIELD(account), 0},
    {"qos", "qos", FIELD(qos), 0},
    {"constraint", "constraint", FIELD(constraint), 0},
    {"reservation", "reservation", FIELD(reservation), 0},
    {"gres", "gpus_by_gres", FIELD(gpus_by_gres), 0},
};

static const struct {
    const char *option;
    size_t offset;
} numbers[] = {
    {"gpus-per-node", FIELD(gpus_per_node)},
    {"nodes", FIELD(nodes)},
    {"ntasks-per-node", FIELD(tasks_per_node)},
    {"cpus-per-task", FIELD(cpus_per_task)},
    {"time", FIELD(time_min)},
};

static const struct {
    const char *line;
    size_t offset;
} flags[] = {
    {"no-kill", FIELD(no_kill)},
    {"requeue", FIELD(requeue)},
    {"exclusive", FIELD(exclusive)},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *text_of(const struct atoll_job_request *request, size_t offset)
{
    const char *text;

    memcpy(&text, (const char *)request + offset, sizeof(text));
    return text;
}

static unsigned number_of(const struct atoll_job_request *request, size_t offset)
{
    unsigned number;

    memcpy(&number, (const char *)request + offset, sizeof(number));
    return number;
}

/* Quoted text cannot hold every byte, and nobody names a job with one of these. */
static int has_control(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text))
            return 1;
    return 0;
}

static int check_texts(const struct atoll_job_request *request, struct atoll_err *err)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        const char *text = text_of(request, texts[i].offset);

        if (text && has_control(text)) {
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "the job's %s has a line break or another control character", texts[i].name);
        }
        if (text && texts[i].is_absolute && *text != '/') {
            return atoll_err_set(err, ATOLL_E_INPUT, "the job's %s '%s' is not absolute", texts[i].name,
                                 text);
        }
    }
    for (size_t i = 0; request->extra && request->extra[i]; i++) {
        if (strncmp(request->extra[i], "--", 2) != 0 || has_control(request->extra[i])) {
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "'%.80s' is no option of sbatch; write it like --gpu-bind=none",
                                 request->extra[i]);
        }
    }
    return 0;
}

int atoll_job_request_check(const struct atoll_job_request *request, struct atoll_err *err)
{
    if (!request->name || !*request->name || !request->work_dir)
        return atoll_err_set(err, ATOLL_E_INPUT, "a job needs a name and an absolute folder to work in");
    if (!request->script || strncmp(request->script, "#!", 2) != 0) {
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "the job's script does not start with #!; its first line names its shell: #!/bin/bash");
    }
    if (request->gpus_by_gres && request->gpus_per_node) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "the job asks for GPUs twice: by gres and per node; keep one");
    }
    if (request->signal_before_s && !request->signal_name) {
        return atoll_err_set(err, ATOLL_E_INPUT, "the job wants a signal %u s before its end and names none",
                             request->signal_before_s);
    }
    if (request->signal_name && atoll_signal_number(request->signal_name) < 0) {
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.40s' is no signal; names look like TERM or USR2",
                             request->signal_name);
    }
    return check_texts(request, err);
}

static void put_quoted(struct atoll_buffer *out, const char *text)
{
    if (strspn(text, PLAIN) == strlen(text)) {
        atoll_buffer_printf(out, "%s", text);
        return;
    }
    atoll_buffer_put_u8(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            atoll_buffer_put_u8(out, '\\');
        atoll_buffer_put_u8(out, (uint8_t)*text);
    }
    atoll_buffer_put_u8(out, '"');
}

static void put_texts(const struct atoll_job_request *request, struct atoll_buffer *out)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        const char *text = text_of(request, texts[i].offset);

        if (text && *text) {
            atoll_buffer_printf(out, "#SBATCH --%s=", texts[i].option);
            put_quoted(out, text);
            atoll_buffer_put_u8(out, '\n');
        }
    }
    if (request->log_path)
        atoll_buffer_printf(out, "#SBATCH --open-mode=append\n"); /* a requeued job must not cut its log */
}

int atoll_job_script(const struct atoll_job_request *request, struct atoll_buffer *out, struct atoll_err *err)
{
    const char *rest;

    if (atoll_job_request_check(request, err) != 0)
        return -1;
    rest = strchr(request->script, '\n');
    rest = rest ? rest : request->script + strlen(request->script);
    atoll_buffer_put_bytes(out, request->script, (size_t)(rest - request->script));
    atoll_buffer_put_u8(out, '\n');
    put_texts(request, out);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        if (number_of(request, numbers[i].offset)) {
            atoll_buffer_printf(out, "#SBATCH --%s=%u\n", numbers[i].option,
                                number_of(request, numbers[i].offset));
        }
    }
    if (request->array_count)
        atoll_buffer_printf(out, "#SBATCH --array=0-%u\n", request->array_count - 1);
    /* B: to the batch shell alone; it knows what its steps need. */
    if (request->signal_name) {
        atoll_buffer_printf(out, "#SBATCH --signal=B:%s", request->signal_name);
        if (request->signal_before_s)
            atoll_buffer_printf(out, "@%u", request->signal_before_s);
        atoll_buffer_put_u8(out, '\n');
    }
    for (size_t i = 0; i < COUNT(flags); i++) {
        int is_set;

        memcpy(&is_set, (const char *)request + flags[i].offset, sizeof(is_set));
        if (is_set)
            atoll_buffer_printf(out, "#SBATCH --%s\n", flags[i].line);
    }
    for (size_t i = 0; request->extra && request->extra[i]; i++)
        atoll_buffer_printf(out, "#SBATCH %s\n", request->extra[i]);
    if (*rest)
        atoll_buffer_put_bytes(out, rest + 1, strlen(rest + 1));
    return atoll_buffer_check(out, err);
}
