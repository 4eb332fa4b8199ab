/* drive.c - one child, one pipe, two signals. */
#include "scheduler/cli/drive.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "scheduler/cli/finish.h"
#include "scheduler/cli/model_words.h"
#include "scheduler/launcher/local/launch.h"

enum atoll_progress_mode atoll_drive_mode(int json, int quiet)
{
    return quiet ? ATOLL_PROGRESS_NONE : json ? ATOLL_PROGRESS_JSON : ATOLL_PROGRESS_AUTO;
}

struct drive_loop {
    struct atoll_launched launch;
    struct atoll_progress_view *view;
    int signal_fd;
    unsigned ranks;
    int interrupts;
};

static int block_signals(sigset_t *ret_old, struct atoll_err *err)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, ret_old);
    signal(SIGPIPE, SIG_IGN); /* who reads the progress may leave; the run goes on */
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd >= 0 ? fd : atoll_err_errno(err, errno, "cannot watch signals");
}

static void on_signal(struct drive_loop *loop)
{
    struct signalfd_siginfo info;

    if (read(loop->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return;
    }
    loop->interrupts++;
    if (loop->interrupts == 1) {
        fputs("atoll: finishing; interrupt again to stop at once (nothing acknowledged is lost either way)\n",
              stderr);
        kill(loop->launch.pid, loop->ranks > 1 ? SIGUSR2 : SIGTERM);
    } else {
        kill(-loop->launch.pid, SIGKILL);
    }
}

/* Until the pipe ends, which is when the last process that holds it is gone. */
static void pump(struct drive_loop *loop)
{
    char bytes[65536];

    for (;;) {
        struct pollfd fds[2] = {{loop->launch.progress_fd, POLLIN, 0}, {loop->signal_fd, POLLIN, 0}};

        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            return;
        }
        if (fds[1].revents) {
            on_signal(loop);
        }
        if (fds[0].revents) {
            ssize_t got = read(loop->launch.progress_fd, bytes, sizeof(bytes));

            if (got <= 0) {
                return;
            }
            atoll_progress_view_feed(loop->view, bytes, (size_t)got);
        }
    }
}

static int launch(const struct atoll_drive *drive, struct drive_loop *loop, int *ret_status,
                  struct atoll_err *err)
{
    struct atoll_launch_settings settings = {.campaign = drive->campaign, .ranks = drive->ranks};
    char log_path[4096];

    snprintf(log_path, sizeof(log_path), "%s/log", drive->campaign);
    settings.log_path = log_path;
    size_t count = 0;
    while (count < sizeof(drive->arguments) / sizeof(drive->arguments[0]) && drive->arguments[count]) {
        settings.arguments[count] = drive->arguments[count];
        count++;
    }
    if (drive->ack_log) {
        settings.arguments[count++] = "--ack-log";
        settings.arguments[count] = drive->ack_log;
    }
    if (atoll_launch_start(&settings, &loop->launch, err) != 0) {
        return -1;
    }
    pump(loop);
    return atoll_launch_wait(&loop->launch, ret_status, err);
}

/* What a line of the log says, without its time, level and id. */
static const char *text_of(const char *line)
{
    const char *text = line;

    for (int word = 0; word < 3; word++) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return *text ? text : line;
}

static int is_error(const char *line)
{
    const char *level = line + strcspn(line, " ");

    level += strspn(level, " ");
    return strncmp(level, "error ", strlen("error ")) == 0;
}

/* What the last error of the log says; without one, its last line. */
static void last_words(const char *path, char *ret_text, size_t bytes)
{
    FILE *log = fopen(path, "re");
    char line[2048];
    int found = 0;

    snprintf(ret_text, bytes, "no reason was logged");
    while (log && fgets(line, sizeof(line), log)) {
        line[strcspn(line, "\n")] = '\0';
        if (is_error(line) || !found) {
            snprintf(ret_text, bytes, "%.900s", text_of(line));
        }
        found |= is_error(line);
    }
    if (log) {
        fclose(log);
    }
}

/* The application ends with the exit status of its error's code. */
static enum atoll_code code_of_status(int status)
{
    for (int code = ATOLL_OK + 1; code < ATOLL_CODE_COUNT; code++) {
        if (atoll_code_exit_status((enum atoll_code)code) == status) {
            return (enum atoll_code)code;
        }
    }
    return ATOLL_E_CHILD;
}

static int fail_with_log(const struct atoll_drive *drive, int status, struct atoll_err *err)
{
    char path[4096], words[1024];

    snprintf(path, sizeof(path), "%s/log", drive->campaign);
    last_words(path, words, sizeof(words));
    if (status > 128) {
        atoll_err_set(err, ATOLL_E_CHILD,
                      "the run was ended by signal %d; nothing acknowledged is lost: atoll resume %s",
                      status - 128, drive->campaign);
    } else {
        atoll_err_set(err, code_of_status(status), "%s; the log is %s", words, path);
    }
    return atoll_code_exit_status(err->code);
}

int atoll_drive_campaign(const struct atoll_drive *drive, struct atoll_err *err)
{
    struct drive_loop loop = {.launch = {0, -1}, .signal_fd = -1, .ranks = drive->ranks};
    char log_path[4096];
    sigset_t old;
    long mark;
    int status = 0, result = -1;

    snprintf(log_path, sizeof(log_path), "%s/log", drive->campaign);
    mark = atoll_model_words_mark(log_path);
    loop.view = atoll_progress_view_create(stderr, drive->mode, err);
    loop.signal_fd = loop.view ? block_signals(&old, err) : -1;
    if (loop.signal_fd >= 0) {
        result = launch(drive, &loop, &status, err);
        close(loop.signal_fd);
        sigprocmask(SIG_SETMASK, &old, NULL);
    }
    atoll_progress_view_destroy(loop.view);
    if (result != 0) {
        return atoll_code_exit_status(err->code);
    }
    if (!drive->json) {
        atoll_model_words_print(log_path, mark, stderr);
    }
    if (status != 0) {
        return fail_with_log(drive, status, err);
    }
    return atoll_finish_campaign(drive->campaign, drive->json, stdout, err) == 0
               ? 0
               : atoll_code_exit_status(err->code);
}
