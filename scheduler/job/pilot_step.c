/* pilot_step.c - states: STANDS_BY (started behind a gate; no lease is its to renew) -> RUNS (the part is known; its lease is
 * watched) -> ended, or LEAVES (it has let go of its devices and writes its last files; nobody asks it to drain) -> ended.
 *
 * A launcher (srun, mpirun) is asked to go by SIGINT, which both pass on as a kill of all ranks when it comes
 * twice, then by SIGKILL of its process group.  What is left of ranks on other nodes is fenced by the next epoch. */
#include "scheduler/job/pilot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/clock.h"
#include "base/process.h"

#define POLL_NS         50000000
#define LOOK_S          5.0
#define CALLER_LOOK_S   15.0
#define START_LIMIT_S   600.0
#define LOST_RANK_SHARE 0.025 /* of this time a step that has lost a rank has for its first beat */
#define SILENCE_TIMES   2     /* its lease's time: others take it over after one */
#define LEAVE_S         15.0
#define OWN_LOG         "/proc/self/fd/2"
#define LOG_BYTES       65536 /* of its end are read */
#define NO_PROGRAM      127   /* a step that could not be started, as a shell says it */

struct atoll_pilot_step {
    struct atoll_pilot_step_settings settings;
    struct atoll_pilot_step_result result;
    off_t log_begin;
    int is_leaving, has_ended;
    pid_t pid; /* 0: it could not be started */
    struct atoll_lease_watch watch;
    uint32_t epoch_before;
    double started_ns, looked_ns, caller_looked_ns;
    double lost_rank_ns; /* when it was seen that a rank is lost; 0: none is */
    int drain_said, status;
};

/* 1: it has ended. */
static int reap(struct atoll_pilot_step *step)
{
    int status;
    pid_t got = waitpid(step->pid, &status, WNOHANG);

    if (got == 0 || (got < 0 && errno == EINTR))
        return 0;
    step->status = got < 0 ? NO_PROGRAM : atoll_process_exit_status(status);
    return 1;
}

static int reap_within(struct atoll_pilot_step *step, double seconds)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    double until_ns = atoll_clock_mono_ns() + seconds * 1e9;

    while (atoll_clock_mono_ns() < until_ns) {
        if (reap(step))
            return 1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static void end_it(struct atoll_pilot_step *step)
{
    for (int i = 0; i < 3; i++) {
        kill(step->pid, SIGINT);
        if (reap_within(step, 0.3))
            return;
    }
    if (!reap_within(step, LEAVE_S)) {
        kill(-step->pid, SIGKILL);
        reap_within(step, LEAVE_S);
    }
}

static void drain_ask(struct atoll_pilot_step *step)
{
    int fd;

    if (step->drain_said || step->is_leaving || !step->settings.part || !step->settings.interrupts ||
        !*step->settings.interrupts) {
        return;
    }
    step->drain_said = 1;
    atoll_log(ATOLL_LOG_INFO, "pilot.drain", "a signal came: the step is asked to end in order");
    fd = atoll_file_open_to_write(step->settings.drain_file, O_WRONLY | O_CREAT, 0666, NULL);
    if (fd >= 0) {
        close(fd);
    } else {
        atoll_log(ATOLL_LOG_WARNING, "pilot.drain.file",
                  "cannot write %s; the step goes on until it is killed", step->settings.drain_file);
    }
}

/* ---- what a step said ---- */

/* The end of the file that standard error is; -1: it is none. */
static off_t log_end(void)
{
    struct stat st;

    return fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
}

/* The job's log where the step began, or its last LOG_BYTES; NULL: standard error is no file. */
static FILE *log_open(off_t begin)
{
    FILE *file = begin >= 0 ? fopen(OWN_LOG, "re") : NULL;

    if (file && log_end() - begin > LOG_BYTES)
        begin = log_end() - LOG_BYTES;
    if (file && fseeko(file, begin, SEEK_SET) != 0) {
        fclose(file);
        return NULL;
    }
    return file;
}

/* Launchers and atoll-eval write to the job's log, each in its own words: the last line with "error" in it says most. */
static void log_read(off_t begin, struct atoll_pilot_step_result *result)
{
    char line[2048];
    int has_error = 0;
    ssize_t length = readlink(OWN_LOG, result->log, sizeof(result->log) - 1);
    FILE *file = length > 0 ? log_open(begin) : NULL;

    result->log[file ? length : 0] = '\0';
    while (file && fgets(line, sizeof(line), file)) {
        int is_error = strcasestr(line, "error") != NULL;

        line[strcspn(line, "\n")] = '\0';
        if (strpbrk(line, "abcdefghijklmnopqrstuvwxyz") && (is_error || !has_error))
            snprintf(result->reason, sizeof(result->reason), "%.500s", line);
        has_error |= is_error;
    }
    if (file)
        fclose(file);
}

/* "srun: error: n2: task 1: Segmentation fault": mpirun ends all ranks then, srun as it is asked for none. */
static int log_tells_of_a_lost_rank(off_t begin)
{
    char line[2048];
    int found = 0;
    FILE *file = log_open(begin);

    while (file && !found && fgets(line, sizeof(line), file))
        found = strncmp(line, "srun: error: ", 13) == 0 && strstr(line, ": task");
    if (file)
        fclose(file);
    return found;
}

/* A rank that is lost before the first beat may have left the others in MPI_Init, which waits for all of them for ever. */
static int is_late_to_begin(struct atoll_pilot_step *step, double now_ns)
{
    double limit_s = step->settings.start_limit_s > 0 ? step->settings.start_limit_s : START_LIMIT_S;

    if (!(step->lost_rank_ns > 0) && log_tells_of_a_lost_rank(step->log_begin))
        step->lost_rank_ns = now_ns;
    return now_ns - step->started_ns > limit_s * 1e9 ||
           (step->lost_rank_ns > 0 && now_ns - step->lost_rank_ns > LOST_RANK_SHARE * limit_s * 1e9);
}

/* Whether the step's lease has stood still for too long, or does not begin to beat. */
static int is_silent(struct atoll_pilot_step *step, double now_ns)
{
    struct atoll_lease_seen seen;

    if (!step->settings.part || now_ns - step->looked_ns < LOOK_S * 1e9)
        return 0;
    step->looked_ns = now_ns;
    if (atoll_lease_look(step->settings.part, step->settings.self, &seen, NULL) != 0)
        return 0;
    if (seen.epoch == step->epoch_before)
        return is_late_to_begin(step, now_ns);
    /* Released: it writes its last files. */
    return seen.state != ATOLL_LEASE_RELEASED &&
           atoll_lease_watch_note(&step->watch, &seen, now_ns) > SILENCE_TIMES * step->settings.lease_time_s;
}

/* ---- the step ---- */

static void conclude(struct atoll_pilot_step *step, enum atoll_pilot_step_end end)
{
    kill(-step->pid, SIGKILL); /* a launcher that died leaves ranks that would go on renewing the lease */
    step->has_ended = 1;
    step->result.end = end;
    step->result.status = step->status;
    log_read(step->log_begin, &step->result);
    /* Of its own asking, or left over; not what another step of the job is asked by. */
    if (step->drain_said || !step->settings.interrupts || !*step->settings.interrupts)
        unlink(step->settings.drain_file);
}

int atoll_pilot_step_take(struct atoll_pilot_step *step, const char *part, struct atoll_err *err)
{
    struct atoll_lease_seen seen;

    if (atoll_lease_look(part, step->settings.self, &seen, err) != 0)
        return -1;
    step->settings.part = part;
    step->epoch_before = seen.epoch;
    step->started_ns = step->looked_ns = step->caller_looked_ns = atoll_clock_mono_ns();
    return 0;
}

struct atoll_pilot_step *atoll_pilot_step_start(const struct atoll_pilot_step_settings *settings,
                                                struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_pilot_step *step = calloc(1, sizeof(*step));

    if (!step) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a step");
        return NULL;
    }
    step->settings = *settings;
    step->log_begin = log_end();
    if (settings->part && atoll_pilot_step_take(step, settings->part, err) != 0) {
        free(step);
        return NULL;
    }
    if (!settings->interrupts || !*settings->interrupts)
        unlink(settings->drain_file);
    if (atoll_process_start(settings->words, -1, -1, SIGTERM, &step->pid, &why) != 0) {
        atoll_log_err(ATOLL_LOG_ERROR, "pilot.step", &why);
        step->pid = 0;
        step->has_ended = 1;
        step->result = (struct atoll_pilot_step_result){.end = ATOLL_STEP_EXITED, .status = NO_PROGRAM};
        log_read(step->log_begin, &step->result);
    }
    return step;
}

void atoll_pilot_step_let_leave(struct atoll_pilot_step *step)
{
    step->is_leaving = 1;
}

const struct atoll_pilot_step_result *atoll_pilot_step_look(struct atoll_pilot_step *step)
{
    double now_ns = atoll_clock_mono_ns();

    if (!step->has_ended && reap(step))
        conclude(step, ATOLL_STEP_EXITED);
    if (step->has_ended)
        return &step->result;
    drain_ask(step);
    if (step->settings.look && !step->is_leaving && step->settings.part &&
        now_ns - step->caller_looked_ns >= CALLER_LOOK_S * 1e9) {
        step->caller_looked_ns = now_ns;
        step->settings.look(step->settings.context);
    }
    if (now_ns > step->settings.end_mono_ns || is_silent(step, now_ns)) {
        end_it(step);
        conclude(step, now_ns > step->settings.end_mono_ns ? ATOLL_STEP_LATE : ATOLL_STEP_SILENT);
        return &step->result;
    }
    return NULL;
}

void atoll_pilot_step_pause(void)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};

    nanosleep(&pause, NULL);
}

void atoll_pilot_step_destroy(struct atoll_pilot_step *step)
{
    if (!step)
        return;
    if (!step->has_ended) {
        end_it(step);
        conclude(step, ATOLL_STEP_LATE);
    }
    free(step);
}
