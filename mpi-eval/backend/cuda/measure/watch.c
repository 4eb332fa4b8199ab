#include "mpi-eval/backend/cuda/measure/watch.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define INTERVAL_NS 50e6
void atoll_watch_open(struct atoll_watch *w, const char *uuid)
{
    memset(w, 0, sizeof *w);
    w->monitor = atoll_monitor_create(uuid, NULL);
}

void atoll_watch_close(struct atoll_watch *w)
{
    atoll_monitor_destroy(w->monitor);
    w->monitor = NULL;
}

static int ended_badly(const struct atoll_trial *t)
{
    return t->verdict == ATOLL_V_CRASH || t->verdict == ATOLL_V_TIMEOUT ||
           t->verdict == ATOLL_V_INFRASTRUCTURE;
}

/* The driver's own numbers for what a kernel did (Xid), as evidence of a sample that ended badly, else into the log. */
static void xids_note(const struct atoll_monitor_reading *r, struct atoll_trial *t)
{
    char text[128] = "";
    size_t used = 0, known = r->xid_count < ATOLL_MONITOR_XID_LIMIT ? r->xid_count : ATOLL_MONITOR_XID_LIMIT;
    for (size_t i = 0; r->has_events && i < known && used < sizeof text; i++) {
        int n = snprintf(text + used, sizeof text - used, "%sXid %llu", i ? ", " : "",
                         (unsigned long long)r->xids[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    if (!text[0])
        return;
    size_t length = strlen(t->detail);
    if (ended_badly(t))
        snprintf(t->detail + length, sizeof t->detail - length, " (%s)", text);
    else
        atoll_log(ATOLL_LOG_WARNING, "eval.device.xid", "the driver reports %s", text);
}

/* Corrected errors change no result; a device that has many of them is about to have others. */
static void corrected_note(struct atoll_watch *w, const struct atoll_monitor_reading *r)
{
    if (w->has_ecc && r->ecc_corrected > w->ecc_corrected)
        atoll_log(ATOLL_LOG_WARNING, "eval.device.ecc", "%llu memory errors of the device were corrected",
                  (unsigned long long)(r->ecc_corrected - w->ecc_corrected));
    w->ecc_corrected = r->ecc_corrected;
}

int atoll_watch_judge(struct atoll_watch *w, const struct atoll_monitor_reading *r, struct atoll_trial *t)
{
    uint64_t errors = r->has_ecc && w->has_ecc && r->ecc_uncorrected > w->ecc_uncorrected
                          ? r->ecc_uncorrected - w->ecc_uncorrected
                          : 0;
    w->reasons = r->has_throttle ? r->throttle_reasons : 0;
    xids_note(r, t);
    if (r->has_ecc) {
        corrected_note(w, r);
        w->has_ecc = 1;
        w->ecc_uncorrected = r->ecc_uncorrected;
    }
    if (!errors)
        return 0;
    t->verdict = ATOLL_V_INFRASTRUCTURE;
    t->level = 0;
    snprintf(t->detail, sizeof t->detail,
             "the device had %llu uncorrectable memory errors during this sample",
             (unsigned long long)errors);
    return 1;
}

int atoll_watch_note(struct atoll_watch *w, double now_ns, struct atoll_trial *t)
{
    struct atoll_monitor_reading reading;
    int is_bad = 0;
    if (!w->monitor)
        return 0;
    if (now_ns - w->read_ns >= INTERVAL_NS || ended_badly(t)) {
        w->read_ns = now_ns;
        if (atoll_monitor_read(w->monitor, NULL, 0, &reading, NULL) == 0)
            is_bad = atoll_watch_judge(w, &reading, t);
    }
    t->throttle_reasons |= w->reasons;
    t->disturbed |= atoll_monitor_disturbing(w->reasons) != 0;
    return is_bad;
}
