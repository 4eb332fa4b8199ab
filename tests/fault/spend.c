/* spend.c - owners of one gateway's file that reserve, settle and commit at full speed until they are killed: what spending.py
 * kills.  spend FILE ACKS SEED LIMIT: waits until the file can be owned; a line in ACKS for everything a commit acknowledged,
 * "R number money campaign" and "S number money".  LIMIT nanodollars for each campaign, of which there is a new one every 0.5 s. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "llm-gateway/budget/database.h"
#include "llm-gateway/budget/spending.h"

#define OPEN_COUNT 64
#define NOON       ((int64_t)20000 * 86400 * 1000000000)
#define DAY_NS     ((int64_t)86400 * 1000000000)

struct run {
    const char *path;
    struct atoll_database *database;
    struct atoll_spending *spending;
    struct atoll_spending_limit limits[3];
    struct {
        uint64_t number, money;
    } open[OPEN_COUNT];
    size_t open_count;
    struct atoll_buffer lines; /* acknowledged by the next commit */
    int acks;
    unsigned seed;
};

static unsigned draw(struct run *run, unsigned count)
{
    return (unsigned)rand_r(&run->seed) % count;
}

static void must(int rc, const struct atoll_err *err)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s: %s\n", atoll_code_name(err->code), err->text);
    exit(1);
}

static void begin(struct run *run)
{
    const struct atoll_database_settings settings = {.path = run->path, .mode = ATOLL_DATABASE_OWN};
    struct atoll_err err = ATOLL_ERR_INIT;
    while (!(run->database = atoll_database_open(&settings, &err)) && err.code == ATOLL_E_BUSY) {
        atoll_err_clear(&err);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    must(run->database ? 0 : -1, &err);
    run->spending = atoll_spending_open(run->database, run->limits, 3, &err);
    must(run->spending ? 0 : -1, &err);
    run->open_count = 0;
}

static void reserve(struct run *run)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char campaign[32], task[32];
    int64_t number = atoll_clock_unix_ns() / 500000000;
    snprintf(campaign, sizeof(campaign), "c%lld", (long long)number);
    snprintf(task, sizeof(task), "t%u", draw(run, 4));
    const struct atoll_spending_purpose purpose = {.campaign = campaign, .task = task, .model = "m"};
    uint64_t money = 1 + draw(run, 1000), reservation;
    if (atoll_spending_reserve(run->spending, &purpose, money, 1 + draw(run, 100),
                               NOON + number / 3 % 50 * DAY_NS, &reservation, &err) != 0) {
        must(err.code == ATOLL_E_LIMIT || err.code == ATOLL_E_BUSY ? 0 : -1, &err);
        return;
    }
    run->open[run->open_count].number = reservation;
    run->open[run->open_count++].money = money;
    atoll_buffer_printf(&run->lines, "R %llu %llu %s\n", (unsigned long long)reservation,
                        (unsigned long long)money, campaign);
}

/* One in a hundred costs more than was reserved. */
static void settle(struct run *run)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t at = draw(run, (unsigned)run->open_count);
    uint64_t reserved = run->open[at].money;
    uint64_t money = draw(run, 100) ? draw(run, (unsigned)reserved + 1) : reserved + draw(run, 50);
    must(atoll_spending_settle(run->spending, run->open[at].number, money, draw(run, 100), &err), &err);
    atoll_buffer_printf(&run->lines, "S %llu %llu\n", (unsigned long long)run->open[at].number,
                        (unsigned long long)money);
    run->open[at] = run->open[--run->open_count];
}

static void one_turn(struct run *run)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (unsigned left = 1 + draw(run, 32); left; left--)
        if (run->open_count < OPEN_COUNT && (run->open_count == 0 || draw(run, 2)))
            reserve(run);
        else if (run->open_count)
            settle(run);
    must(atoll_database_begin(run->database, &err), &err);
    must(atoll_spending_write(run->spending, &err), &err);
    must(atoll_database_commit(run->database, &err), &err);
    atoll_spending_written(run->spending);
    if (run->lines.length &&
        write(run->acks, run->lines.data, run->lines.length) != (ssize_t)run->lines.length) {
        exit(1);
    }
    atoll_buffer_clear(&run->lines);
    must(atoll_database_turn(run->database, &err), &err);
    if (draw(run, 300) == 0) { /* ends in order; whoever is first has the file next */
        atoll_spending_close(run->spending);
        atoll_database_close(run->database);
        begin(run);
    }
}

int main(int argc, char **argv)
{
    struct run run = {0};
    if (argc != 5)
        return 2;
    run.path = argv[1];
    run.acks = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    run.seed = (unsigned)strtoul(argv[3], NULL, 10);
    uint64_t money = strtoull(argv[4], NULL, 10);
    run.limits[0] = (struct atoll_spending_limit){ATOLL_SCOPE_CAMPAIGN, "", money, UINT64_MAX};
    run.limits[1] = (struct atoll_spending_limit){ATOLL_SCOPE_TASK, "", UINT64_MAX, money / 25};
    run.limits[2] = (struct atoll_spending_limit){ATOLL_SCOPE_DAY, "", money * 5 / 2, UINT64_MAX};
    atoll_buffer_init(&run.lines, 1 << 20);
    begin(&run);
    for (;;)
        one_turn(&run);
}
