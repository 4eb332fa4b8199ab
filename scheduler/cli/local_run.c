/* local_run.c - one child, one pipe, two interrupts; then what its log says, and what is made of its journals. */
#include "scheduler/cli/local_run.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "archive-h5/campaign/campaign_progress.h"
#include "archive-h5/hdf5/archive.h"
#include "archive-h5/report/report.h"
#include "base/json.h"
#include "base/print.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/progress_view.h"
#include "scheduler/cli/task_json.h"
#include "scheduler/cli/task_table.h"
#include "scheduler/cli/time_view.h"
#include "scheduler/launcher/local/launch.h"

/* ---- what the log says ---- */

/* Lines about the model that the user is told of; failed questions only where neither of the others explains them. */
enum model_line { MODEL_OVER, MODEL_BUDGET, MODEL_FAILED, MODEL_LINE_COUNT };
#define WAITS_ID       "eval.waits"        /* why no evaluation counts */
#define TEMPLATE_ID    "eval.template.end" /* a template of which nothing compiles */
#define TEMPLATE_LIMIT 8                   /* that are printed */
static const char *const model_ids[MODEL_LINE_COUNT] = {"eval.ask.over", "eval.ask.budget",
                                                        "eval.ask.failed"};

struct log_summary {
    struct {
        unsigned count;
        char text[1024]; /* of the last one */
    } model[MODEL_LINE_COUNT];
    char waits[1024]; /* the last line of WAITS_ID */
    char templates[TEMPLATE_LIMIT][512];
    unsigned template_count; /* may be more */
    char reason[1024];       /* the last error; without one, the last line */
    int has_error;
};

/* A line is: time level id text. */
static void read_line(const char *line, struct log_summary *log)
{
    const char *word[4] = {line}, *text;
    int is_error;

    for (int i = 1; i < 4; i++) {
        word[i] = word[i - 1] + strcspn(word[i - 1], " ");
        word[i] += strspn(word[i], " ");
    }
    text = *word[3] ? word[3] : line;
    is_error = strncmp(word[1], "error ", strlen("error ")) == 0;
    if (is_error || !log->has_error)
        snprintf(log->reason, sizeof(log->reason), "%.900s", text);
    log->has_error |= is_error;
    if (strncmp(word[2], WAITS_ID " ", strlen(WAITS_ID " ")) == 0)
        snprintf(log->waits, sizeof(log->waits), "%.1000s", word[3]);
    if (strncmp(word[2], TEMPLATE_ID " ", strlen(TEMPLATE_ID " ")) == 0 &&
        log->template_count++ < TEMPLATE_LIMIT)
        snprintf(log->templates[log->template_count - 1], sizeof(log->templates[0]), "%.500s", word[3]);
    for (size_t i = 0; i < MODEL_LINE_COUNT; i++) {
        size_t length = strlen(model_ids[i]);

        if (strncmp(word[2], model_ids[i], length) == 0 &&
            (word[2][length] == ' ' || word[2][length] == '\0')) {
            log->model[i].count++;
            snprintf(log->model[i].text, sizeof(log->model[i].text), "%.1000s", word[3]);
        }
    }
}

/* From the position on at which it ended before the run. */
static void read_log(const char *path, long begin, struct log_summary *ret_log)
{
    FILE *file = atoll_file_stream(path, NULL);
    char line[2048];

    *ret_log = (struct log_summary){.reason = "no reason was logged"};
    if (file && fseek(file, begin, SEEK_SET) == 0) {
        while (fgets(line, sizeof(line), file)) {
            line[strcspn(line, "\n")] = '\0';
            read_line(line, ret_log);
        }
    }
    if (file)
        fclose(file);
}

static void print_model_lines(const struct log_summary *log)
{
    for (size_t i = 0; i < MODEL_FAILED; i++)
        if (log->model[i].count)
            atoll_print(stderr, "atoll: warning: %s\n", log->model[i].text);
    if (log->model[MODEL_FAILED].count && !log->model[MODEL_OVER].count && !log->model[MODEL_BUDGET].count) {
        atoll_print(stderr, "atoll: warning: %u questions to the model failed, the last one: %s\n",
                    log->model[MODEL_FAILED].count, log->model[MODEL_FAILED].text);
    }
}

static void print_templates(const struct log_summary *log)
{
    for (unsigned i = 0; i < log->template_count && i < TEMPLATE_LIMIT; i++)
        atoll_print(stderr, "atoll: warning: %s\n", log->templates[i]);
    if (log->template_count > TEMPLATE_LIMIT)
        fprintf(stderr, "atoll: warning: and %u templates more\n", log->template_count - TEMPLATE_LIMIT);
}

/* ---- the child ---- */

/* interrupt: the first signal's number, 0 before one came. */
static void on_signal(int signal_fd, const struct atoll_launched *launched, struct atoll_progress_view *view,
                      unsigned ranks, int *interrupt)
{
    struct signalfd_siginfo info;

    if (read(signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    if (*interrupt) {
        kill(-launched->pid, SIGKILL);
        return;
    }
    *interrupt = (int)info.ssi_signo;
    atoll_progress_view_message(
        view, "stopping as soon as what is under way has come back; interrupt again to stop at once "
              "(nothing acknowledged is lost either way)");
    kill(launched->pid, ranks > 1 ? SIGUSR2 : SIGTERM);
}

/* Until the pipe ends, which is when the last process that holds it is gone.  Returns the signal that interrupted it, 0: none
 * did. */
static int show_progress(const struct atoll_launched *launched, struct atoll_progress_view *view,
                         int signal_fd, unsigned ranks)
{
    int interrupt = 0;
    char bytes[65536];

    for (;;) {
        struct pollfd fds[2] = {{launched->progress_fd, POLLIN, 0}, {signal_fd, POLLIN, 0}};

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return interrupt;
        if (fds[1].revents)
            on_signal(signal_fd, launched, view, ranks, &interrupt);
        if (fds[0].revents) {
            ssize_t got = read(launched->progress_fd, bytes, sizeof(bytes));

            if (got <= 0)
                return interrupt;
            atoll_progress_view_feed(view, bytes, (size_t)got);
        }
    }
}

/* ret_status: atoll-eval's exit status, 128 and the signal that ended it; ret_interrupt: as show_progress. */
static int run_child(const struct atoll_local_run *run, const char *log_path, int *ret_status,
                     int *ret_interrupt, struct atoll_err *err)
{
    struct atoll_launch_settings settings = {
        .campaign = run->campaign, .ranks = run->ranks, .log_path = log_path};
    enum atoll_progress_mode mode = run->is_quiet  ? ATOLL_PROGRESS_NONE
                                    : run->is_json ? ATOLL_PROGRESS_JSON
                                                   : ATOLL_PROGRESS_AUTO;
    struct atoll_progress_view *view = atoll_progress_view_create(stderr, mode, err);
    struct atoll_launched launched = {0, -1};
    size_t count = 0;
    sigset_t set, old;
    int signal_fd, status = -1;

    if (!view)
        return -1;
    while (count < sizeof(run->arguments) / sizeof(run->arguments[0]) && run->arguments[count]) {
        settings.arguments[count] = run->arguments[count];
        count++;
    }
    if (run->ack_log) {
        settings.arguments[count++] = "--ack-log";
        settings.arguments[count++] = run->ack_log;
    }
    settings.arguments[count++] = "--on-signal";
    settings.arguments[count] = "drain";
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &old);
    signal(SIGPIPE, SIG_IGN); /* who reads the progress may leave; the run goes on */
    signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0) {
        atoll_err_errno(err, errno, "cannot watch signals");
    } else if (atoll_launch_start(&settings, &launched, err) == 0) {
        *ret_interrupt = show_progress(&launched, view, signal_fd, run->ranks);
        status = atoll_launch_wait(&launched, ret_status, err);
    }
    if (signal_fd >= 0)
        close(signal_fd);
    sigprocmask(SIG_SETMASK, &old, NULL);
    atoll_progress_view_destroy(view);
    return status;
}

/* ---- what is made of the journals ---- */

/* ret_is_ended: the search has come to its end; 0: a resume goes on with it. */
static int print_result(const struct atoll_local_run *run, const struct log_summary *log, int *ret_is_ended,
                        struct atoll_err *err)
{
    char archive[4096], report[4096], failure[512] = "";
    struct atoll_archive_view view;
    struct atoll_archive_summary summary;
    struct atoll_campaign_progress progress;
    uint64_t counted = 0; /* by the search */
    int status;

    snprintf(archive, sizeof(archive), "%s/archive.h5", run->campaign);
    snprintf(report, sizeof(report), "%s/report.html", run->campaign);
    if (atoll_archive_view_open(run->campaign, &view, err) != 0)
        return -1;
    status = atoll_archive_refresh(view.campaign, archive, NULL, err) < 0 ? -1 : 0;
    status = status == 0 ? atoll_report_write(view.tables, report, NULL, err) : status;
    if (status == 0 && (status = atoll_campaign_progress_of(view.campaign, &progress, err)) == 0) {
        *ret_is_ended = progress.phase == ATOLL_CAMPAIGN_PROGRESS_ENDED;
        for (size_t i = 0; progress.has_hint && i < progress.hint.task_count; i++)
            counted += progress.hint.tasks[i].evaluated;
        atoll_campaign_progress_fini(&progress);
    }
    atoll_query_summary(view.query, &summary);
    if (status == 0 && run->is_json) {
        atoll_json_print(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "tasks",
                                   atoll_task_json(view.query, NULL), "sums",
                                   atoll_task_json_sums(view.query), "task_times",
                                   atoll_time_view_tasks_json(view.query), "device_time",
                                   atoll_time_view_rows_json(view.query), "archive", atoll_json_text(archive),
                                   "report", atoll_json_text(report), "ended", *ret_is_ended),
                         JSON_INDENT(2), stdout);
    } else if (status == 0) {
        atoll_task_table_print(view.query, NULL, stdout);
        atoll_time_view_print(view.query, stdout);
        if (counted > 0 && summary.tasks.evaluated > counted) {
            printf("%llu of the evaluations were disturbed and made again: the progress counted them once\n",
                   (unsigned long long)(summary.tasks.evaluated - counted));
        }
        atoll_print(stdout, "archive: %s\nreport:  %s\n", archive, report);
    }
    if (status == 0 && *ret_is_ended && summary.tasks.solved_count == 0) {
        if (summary.tasks.task_count)
            atoll_task_table_failure(view.query, 0, failure, sizeof(failure));
        status = atoll_err_set(err, ATOLL_E_INPUT, "no task has a correct %s: %s",
                               summary.tasks.headline == ATOLL_OVER_RIVAL ? "kernel" : "baseline",
                               *failure      ? failure
                               : *log->waits ? log->waits
                                             : "no evaluation finished in time");
    }
    atoll_archive_view_close(&view);
    return status;
}

unsigned atoll_local_run_cores(void)
{
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? (unsigned)CPU_COUNT(&cores) : 1;
}

int atoll_local_run_check(unsigned cores, long long ranks, long long threads, struct atoll_err *err)
{
    long long evaluators = ranks > 1 ? ranks - 1 : 1, share = evaluators <= cores ? cores / evaluators : 0;
    if (share == 0) {
        return atoll_err_set(
            err, ATOLL_E_LIMIT,
            "--ranks %lld has %lld evaluators and this machine %u %s: an evaluator needs one of its own; "
            "take --ranks %u or fewer, or --create-only and resume where there are more",
            ranks, evaluators, cores, cores == 1 ? "core" : "cores", cores > 1 ? cores + 1 : 1);
    }
    if (threads > share) {
        return atoll_err_set(
            err, ATOLL_E_LIMIT,
            "--threads %lld is more than the %lld %s that %s; take --threads %lld or fewer, or none "
            "for as many as there is room for",
            threads, share, share == 1 ? "core" : "cores",
            evaluators == 1 ? "this machine has" : "each evaluator has on this machine", share);
    }
    return 0;
}

int atoll_local_resume_check(const char *dir, unsigned cores, long long ranks, long long threads,
                             struct atoll_err *err)
{
    long long evaluators = ranks > 1 ? ranks - 1 : 1, room = threads > 0 ? cores / threads : cores;
    if (atoll_local_run_check(cores, ranks, threads, NULL) == 0)
        return 0;
    if (room < 1)
        return atoll_err_set(
            err, ATOLL_E_LIMIT,
            "the candidates of %s run on %lld threads each, and this machine has %u %s: what "
            "was measured would not be comparable; resume it where there are %lld cores",
            dir, threads, cores, cores == 1 ? "core" : "cores", threads);
    return atoll_err_set(
        err, ATOLL_E_LIMIT,
        "%s was made with --ranks %lld, and its %lld evaluators need %lld cores; this machine "
        "has %u: atoll resume %s --ranks %lld goes on with fewer evaluators, or resume it "
        "where there are more cores",
        dir, ranks, evaluators, evaluators * (threads > 0 ? threads : 1), cores, dir,
        room > 1 ? room + 1 : 1);
}

int atoll_local_run(const struct atoll_local_run *run, struct atoll_err *err)
{
    enum atoll_code code = ATOLL_OK + 1;
    struct log_summary log;
    char log_path[4096];
    struct stat st;
    long begin;
    int status = 0, interrupt = 0, is_ended = 0;

    snprintf(log_path, sizeof(log_path), "%s/log", run->campaign);
    begin = stat(log_path, &st) == 0 ? (long)st.st_size : 0;
    if (run_child(run, log_path, &status, &interrupt, err) != 0)
        return -1;
    read_log(log_path, begin, &log);
    if (!run->is_json)
        print_model_lines(&log);
    if (status > 128 && interrupt) {
        fprintf(stderr, "atoll: stopped at once; nothing acknowledged is lost: atoll resume %s\n",
                run->campaign);
        return 128 + interrupt;
    }
    if (status > 128) {
        return atoll_err_set(err, ATOLL_E_CHILD,
                             "the run was ended by signal %d; nothing acknowledged is lost: atoll resume %s",
                             status - 128, run->campaign);
    }
    if (status != 0) { /* atoll-eval ends with the exit status of its error's code */
        while (code < ATOLL_CODE_COUNT && atoll_code_exit_status(code) != status)
            code++;
        return atoll_err_set(err, code < ATOLL_CODE_COUNT ? code : ATOLL_E_CHILD, "%s; the log is %s",
                             log.reason, log_path);
    }
    if (print_result(run, &log, &is_ended, err) != 0)
        return -1;
    if (!run->is_json)
        print_templates(&log);
    if (is_ended || !interrupt)
        return 0;
    fprintf(stderr,
            "atoll: interrupted; `atoll resume %s` goes on with what is left of the budget, with --finish it "
            "only makes "
            "the last comparisons and ends\n",
            run->campaign);
    return 128 + interrupt;
}
