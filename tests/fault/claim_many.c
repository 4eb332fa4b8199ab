/* claim_many.c - one of many processes that race for the lease of a folder: claim_many DIR LOG SILENCE_MS SEED [careless].
 *
 * Until it is killed: claims, holds for a moment, releases or leaves without a word.  Every step is one appended line of LOG:
 *   B PID         is about to claim           W PID EPOCH   has won it
 *   L PID EPOCH   was told that it is lost    R PID EPOCH   will release it
 *   T PID EPOCH   has won it from a silent holder
 * A holder whose beat stands still for SILENCE_MS is taken over.  `careless` claims with a lock of its own that forgets to look
 * again after linking, so that the checker can be seen to find two winners. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/lease.h"

struct racer {
    const char *dir;
    int log_fd;
    double silence_s;
    unsigned seed;
    struct atoll_lease_holder self;
    struct atoll_lease_watch watch;
    const struct atoll_file_ops *ops;
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void say(const struct racer *r, char what, uint32_t epoch)
{
    char line[64];
    int length = what == 'B' ? snprintf(line, sizeof(line), "B %ld\n", (long)getpid())
                             : snprintf(line, sizeof(line), "%c %ld %u\n", what, (long)getpid(), epoch);
    if (write(r->log_fd, line, (size_t)length) != length)
        _exit(3);
}

static void pause_some(struct racer *r, unsigned longest_us)
{
    struct timespec t = {.tv_nsec = (long)((unsigned)rand_r(&r->seed) % (longest_us * 1000u + 1))};
    nanosleep(&t, NULL);
}

/* The epoch whose beat has stood still for long enough, 0 none. */
static uint32_t silent_epoch(struct racer *r)
{
    struct atoll_lease_seen seen;
    if (atoll_lease_look(r->dir, &r->self, &seen, NULL) != 0 || seen.state != ATOLL_LEASE_HELD)
        return 0;
    return atoll_lease_watch_note(&r->watch, &seen, now_ns()) >= r->silence_s ? seen.epoch : 0;
}

static void hold(struct racer *r, struct atoll_lease *lease)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint32_t epoch = atoll_lease_epoch(lease);
    for (int beats = rand_r(&r->seed) % 4; beats > 0; beats--) {
        pause_some(r, 300);
        if (atoll_lease_renew(lease, &err) == 0)
            continue;
        if (err.code != ATOLL_E_BUSY) {
            fprintf(stderr, "renew: %s\n", err.text);
            _exit(4);
        }
        say(r, 'L', epoch);
        break;
    }
    if (err.code == 0)
        say(r, 'R', epoch);
    if (rand_r(&r->seed) % 16 == 0)
        _exit(0); /* without a word */
    atoll_lease_release(lease);
}

static void claim(struct racer *r)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint32_t silent = silent_epoch(r);
    say(r, 'B', 0);
    struct atoll_lease *lease = atoll_lease_claim(r->dir, &r->self, silent, r->ops, &err);
    if (lease) {
        say(r, 'W', atoll_lease_epoch(lease));
        if (atoll_lease_before(lease).state == ATOLL_LEASE_HELD)
            say(r, 'T', atoll_lease_epoch(lease));
        hold(r, lease);
    } else if (err.code != ATOLL_E_BUSY) {
        fprintf(stderr, "claim: %s\n", err.text);
        _exit(4);
    }
}

/* A link that takes a number from whoever has it. */
static int careless_link(void *context, const char *from, const char *to)
{
    (void)context;
    return rename(from, to) == 0 || link(from, to) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct racer r = {.log_fd = -1};
    struct atoll_file_ops careless = *atoll_file_ops_real();
    if (argc < 5)
        return 2;
    careless.link = careless_link;
    r.dir = argv[1];
    r.log_fd = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    r.silence_s = strtod(argv[3], NULL) / 1e3;
    r.seed = (unsigned)strtoul(argv[4], NULL, 10);
    r.ops = argc > 5 ? &careless : NULL;
    atoll_lease_holder_self("local", 0, &r.self);
    while (r.log_fd >= 0) {
        claim(&r);
        pause_some(&r, 500);
    }
    return 1;
}
