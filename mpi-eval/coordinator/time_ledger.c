/* time_ledger.c - a list of accounts, one per life of an evaluator, and a list of devices with what was journaled of each.  Both are
 * short: devices times restarts. */
#include "mpi-eval/coordinator/time_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define LONGEST_NS    1e16 /* four months */
#define ACCOUNT_LIMIT (1u << 16)

/* Times by task, in ascending order. */
struct times {
    struct atoll_task_time *items; /* owned */
    uint32_t count, capacity;
};

struct account {
    unsigned peer;
    int has_device;
    uint64_t device; /* its key */
    int64_t since_unix_ns;
    struct atoll_device_time own; /* rank 0's: before its first report, and after its last */
    struct times told;
};

struct device {
    uint64_t key;
    char node[64], model[96];
    struct times journaled;
};

struct atoll_time_ledger {
    double began_ns;
    struct account *accounts; /* owned */
    uint32_t account_count, account_capacity;
    struct device *devices;                         /* owned; in the order in which they said HELLO */
    uint32_t device_count, device_capacity, cursor; /* cursor: the device that is looked at next */
};

struct atoll_time_ledger *atoll_time_ledger_create(double now_ns, struct atoll_err *err)
{
    struct atoll_time_ledger *l = calloc(1, sizeof(*l));
    if (l)
        l->began_ns = now_ns;
    else
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the time of devices");
    return l;
}

void atoll_time_ledger_destroy(struct atoll_time_ledger *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->account_count; i++)
        free(l->accounts[i].told.items);
    for (uint32_t i = 0; i < l->device_count; i++)
        free(l->devices[i].journaled.items);
    free(l->accounts);
    free(l->devices);
    free(l);
}

/* The place of a task, zeroed where it is new; NULL without memory. */
static struct atoll_device_time *time_of(struct times *times, uint32_t task, struct atoll_err *err)
{
    uint32_t at = times->count;
    while (at > 0 && times->items[at - 1].task > task)
        at--;
    if (at > 0 && times->items[at - 1].task == task)
        return &times->items[at - 1].time;
    if (atoll_array_reserve(&times->items, &times->capacity, times->count + 1, sizeof(*times->items), err) !=
        0) {
        return NULL;
    }
    for (uint32_t i = times->count++; i > at; i--)
        times->items[i] = times->items[i - 1];
    times->items[at] = (struct atoll_task_time){.task = task};
    return &times->items[at].time;
}

static struct account *newest_of(const struct atoll_time_ledger *l, unsigned peer)
{
    for (uint32_t i = l->account_count; i-- > 0;)
        if (l->accounts[i].peer == peer)
            return &l->accounts[i];
    return NULL;
}

static int check(const struct atoll_time_report *report, uint32_t task_count, double *ret_whole_ns,
                 struct atoll_err *err)
{
    *ret_whole_ns = 0;
    for (size_t i = 0; i < report->count; i++) {
        uint32_t task = report->times[i].task;
        *ret_whole_ns += atoll_device_time_whole_ns(&report->times[i].time);
        if (task >= task_count && task != ATOLL_TIME_OF_NO_TASK)
            return atoll_err_set(err, ATOLL_E_PROTOCOL, "the time of task %u, which there is not", task);
    }
    if (*ret_whole_ns > LONGEST_NS)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "%.3g s of a device's time", *ret_whole_ns / 1e9);
    return 0;
}

/* The time since the attempt began that is in no account of the peer; 0 where they have more. */
static double missing_ns(const struct atoll_time_ledger *l, unsigned peer, double now_ns)
{
    double missing = now_ns - l->began_ns;
    for (uint32_t a = 0; a < l->account_count; a++) {
        const struct account *account = &l->accounts[a];
        if (account->peer != peer)
            continue;
        missing -= atoll_device_time_whole_ns(&account->own);
        for (uint32_t i = 0; i < account->told.count; i++)
            missing -= atoll_device_time_whole_ns(&account->told.items[i].time);
    }
    return missing > 0 ? missing : 0;
}

/* A process that is new begins an account; until it did nobody worked on the device. */
static struct account *account_open(struct atoll_time_ledger *l, unsigned peer, double now_ns,
                                    int64_t since_unix_ns, double whole_ns, struct atoll_err *err)
{
    const struct account *before = newest_of(l, peer);
    double gap_ns = missing_ns(l, peer, now_ns) - whole_ns;
    struct account account = {.peer = peer, .since_unix_ns = since_unix_ns};
    account.own.ns[ATOLL_TIME_START] = gap_ns > 0 ? gap_ns : 0;
    if (l->account_count == ACCOUNT_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "evaluators began anew more than %u times", ACCOUNT_LIMIT);
        return NULL;
    }
    if (before) {
        account.has_device = before->has_device;
        account.device = before->device;
    }
    if (atoll_array_reserve(&l->accounts, &l->account_capacity, l->account_count + 1, sizeof(account), err) !=
        0) {
        return NULL;
    }
    l->accounts[l->account_count] = account;
    return &l->accounts[l->account_count++];
}

int atoll_time_ledger_take(struct atoll_time_ledger *l, unsigned peer, double now_ns, uint32_t task_count,
                           const struct atoll_time_report *report, struct atoll_err *err)
{
    double whole_ns;
    struct account *account = newest_of(l, peer);
    if (check(report, task_count, &whole_ns, err) != 0)
        return -1;
    if (!account || account->since_unix_ns != report->since_unix_ns)
        account = account_open(l, peer, now_ns, report->since_unix_ns, whole_ns, err);
    if (!account)
        return -1;
    for (size_t i = 0; i < report->count; i++) {
        struct atoll_device_time *time = time_of(&account->told, report->times[i].task, err);
        if (!time)
            return -1;
        *time = report->times[i].time;
    }
    return 0;
}

int atoll_time_ledger_device(struct atoll_time_ledger *l, unsigned peer,
                             const struct atoll_device_info *device, struct atoll_err *err)
{
    struct account *account = newest_of(l, peer);
    uint32_t at = 0;
    if (!account) /* it tells nothing: there is no account of its device */
        account = account_open(l, peer, l->began_ns, -1, 0, err);
    if (!account)
        return -1;
    account->has_device = 1;
    account->device = device->key;
    while (at < l->device_count && l->devices[at].key != device->key)
        at++;
    if (at < l->device_count)
        return 0;
    if (atoll_array_reserve(&l->devices, &l->device_capacity, l->device_count + 1, sizeof(*l->devices),
                            err) != 0) {
        return -1;
    }
    struct device *added = &l->devices[l->device_count++];
    *added = (struct device){.key = device->key};
    memcpy(added->node, device->node, sizeof(added->node));
    memcpy(added->model, device->model, sizeof(added->model));
    return 0;
}

void atoll_time_ledger_end(struct atoll_time_ledger *l, unsigned peer, double now_ns,
                           enum atoll_time_part part)
{
    struct account *account = newest_of(l, peer);
    if (account && account->since_unix_ns >= 0)
        account->own.ns[part] += missing_ns(l, peer, now_ns);
}

/* Of all accounts of the device, by task; ret_sum->items is the caller's, whatever is returned. */
static int device_sum(const struct atoll_time_ledger *l, uint64_t device, struct times *ret_sum,
                      struct atoll_err *err)
{
    *ret_sum = (struct times){.count = 0};
    for (uint32_t a = 0; a < l->account_count; a++) {
        const struct account *account = &l->accounts[a];
        if (!account->has_device || account->device != device)
            continue;
        struct atoll_device_time *none = time_of(ret_sum, ATOLL_TIME_OF_NO_TASK, err);
        if (!none)
            return -1;
        atoll_device_time_add(none, &account->own);
        for (uint32_t i = 0; i < account->told.count; i++) {
            struct atoll_device_time *time = time_of(ret_sum, account->told.items[i].task, err);
            if (!time)
                return -1;
            atoll_device_time_add(time, &account->told.items[i].time);
        }
    }
    return 0;
}

/* What has grown since it was journaled, to the front of sum; how many. */
static int keep_new(struct device *device, struct times *sum, struct atoll_err *err)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sum->count; i++) {
        struct atoll_device_time *journaled = time_of(&device->journaled, sum->items[i].task, err);
        if (!journaled)
            return -1;
        if (!(atoll_device_time_whole_ns(&sum->items[i].time) > atoll_device_time_whole_ns(journaled)))
            continue;
        *journaled = sum->items[i].time;
        sum->items[kept++] = sum->items[i];
    }
    sum->count = kept;
    return 0;
}

int atoll_time_ledger_next(struct atoll_time_ledger *l, struct atoll_device_times *ret_times,
                           struct atoll_err *err)
{
    while (l->cursor < l->device_count) {
        struct device *device = &l->devices[l->cursor++];
        struct times sum;
        int rc = device_sum(l, device->key, &sum, err);
        if (rc == 0)
            rc = keep_new(device, &sum, err);
        if (rc == 0 && sum.count) {
            *ret_times =
                (struct atoll_device_times){.device = device->key, .times = sum.items, .count = sum.count};
            return 1;
        }
        free(sum.items);
        if (rc != 0)
            return -1;
    }
    l->cursor = 0;
    return 0;
}

int atoll_time_ledger_sum(const struct atoll_time_ledger *l, size_t index, struct atoll_time_sum *ret_sum)
{
    if (index >= l->device_count)
        return 0;
    const struct device *device = &l->devices[index];
    *ret_sum = (struct atoll_time_sum){.key = device->key, .node = device->node, .model = device->model};
    for (uint32_t a = 0; a < l->account_count; a++) {
        const struct account *account = &l->accounts[a];
        if (!account->has_device || account->device != device->key)
            continue;
        atoll_device_time_add(&ret_sum->time, &account->own);
        for (uint32_t i = 0; i < account->told.count; i++)
            atoll_device_time_add(&ret_sum->time, &account->told.items[i].time);
    }
    return 1;
}

int atoll_time_ledger_shares(const struct atoll_time_ledger *l, double *ret_occupied, double *ret_candidates)
{
    struct atoll_device_time all = {{0}};
    struct atoll_time_sum sum;
    for (size_t i = 0; atoll_time_ledger_sum(l, i, &sum); i++)
        atoll_device_time_add(&all, &sum.time);
    double whole_ns = atoll_device_time_whole_ns(&all);
    if (!(whole_ns > 0))
        return 0;
    *ret_occupied = atoll_device_time_occupied_ns(&all) / whole_ns;
    *ret_candidates = all.ns[ATOLL_TIME_CANDIDATES] / whole_ns;
    return 1;
}
