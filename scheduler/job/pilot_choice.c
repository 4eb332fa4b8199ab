/* pilot_choice.c - a part is free when its lease is, or when its beat has stood still for the lease's time as this watcher
 * saw it.  A beat that moved once under our eyes belongs to somebody who lives. */
#include "scheduler/job/pilot.h"

#include <limits.h>
#include <stdlib.h>

#include "archive-h5/campaign/campaign_progress.h"
#include "base/log.h"

#define FAILURE_LIMIT 3u
#define ALIVE_SHARE   0.3 /* of the lease's time: two beats and a bit */

struct part {
    int has_ended, is_alive; /* alive: seen beating */
    unsigned failures;       /* steps in a row without any result */
    unsigned unread;         /* looks in a row at which it was damaged */
    struct atoll_lease_watch watch;
    uint64_t beat;
    uint32_t epoch;
};

struct atoll_pilot_choice {
    const struct atoll_sweep *sweep;
    const struct atoll_lease_holder *self;
    size_t first;
    struct part *parts;
    double lease_time_s;
};

struct atoll_pilot_choice *atoll_pilot_choice_create(const struct atoll_sweep *sweep,
                                                     const struct atoll_lease_holder *self, size_t first,
                                                     double lease_time_s, struct atoll_err *err)
{
    struct atoll_pilot_choice *choice = calloc(1, sizeof(*choice));

    if (choice) {
        *choice =
            (struct atoll_pilot_choice){sweep, self, first % sweep->part_count,
                                        calloc(sweep->part_count, sizeof(*choice->parts)), lease_time_s};
    }
    if (!choice || !choice->parts) {
        free(choice);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu parts", sweep->part_count);
        return NULL;
    }
    return choice;
}

void atoll_pilot_choice_destroy(struct atoll_pilot_choice *choice)
{
    if (choice)
        free(choice->parts);
    free(choice);
}

static int ended_look(const char *dir, struct part *part, struct atoll_err *err)
{
    struct atoll_campaign_progress progress;

    if (atoll_campaign_progress_read(dir, &progress, err) != 0)
        return -1;
    part->has_ended = progress.phase == ATOLL_CAMPAIGN_PROGRESS_ENDED;
    atoll_campaign_progress_fini(&progress);
    return 0;
}

/* PART, WAIT or NONE for one that is held. */
static enum atoll_offer held_judge(struct part *part, const struct atoll_lease_seen *seen,
                                   double lease_time_s, double now_ns)
{
    double silent_s = atoll_lease_watch_note(&part->watch, seen, now_ns);

    part->is_alive = part->epoch == seen->epoch && (part->is_alive || part->beat != seen->beat);
    part->epoch = seen->epoch;
    part->beat = seen->beat;
    if (silent_s >= lease_time_s)
        return ATOLL_OFFER_PART;
    return part->is_alive && silent_s < ALIVE_SHARE * lease_time_s ? ATOLL_OFFER_NONE : ATOLL_OFFER_WAIT;
}

/* A damaged part costs itself only.  It is looked at some times: what another host writes may be seen in pieces. */
static int unreadable_judge(struct atoll_pilot_choice *choice, size_t number, const struct atoll_err *why,
                            enum atoll_offer *ret_choice, struct atoll_err *err)
{
    struct part *part = &choice->parts[number];

    if (!atoll_sweep_is_damage(why->code)) {
        *err = *why;
        return -1;
    }
    *ret_choice = ATOLL_OFFER_WAIT;
    if (++part->unread >= FAILURE_LIMIT) {
        *ret_choice = ATOLL_OFFER_NONE;
        part->failures = FAILURE_LIMIT;
        atoll_log(ATOLL_LOG_ERROR, "pilot.part.damaged", "part %s is left alone: %s",
                  choice->sweep->parts[number].name, why->text);
    }
    return 0;
}

/* What one part has to offer. */
static int part_judge(struct atoll_pilot_choice *choice, size_t number, double now_ns,
                      enum atoll_offer *ret_choice, uint32_t *ret_silent_epoch, struct atoll_err *err)
{
    struct part *part = &choice->parts[number];
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_lease_seen seen;
    char dir[PATH_MAX];

    *ret_silent_epoch = 0;
    *ret_choice = part->has_ended ? ATOLL_OFFER_ENDED : ATOLL_OFFER_NONE;
    if (part->has_ended || part->failures >= FAILURE_LIMIT)
        return 0;
    if (atoll_sweep_part_path(choice->sweep, number, dir, sizeof(dir), err) != 0)
        return -1;
    if (ended_look(dir, part, &own) != 0 || atoll_lease_look(dir, choice->self, &seen, &own) != 0)
        return unreadable_judge(choice, number, &own, ret_choice, err);
    part->unread = 0;
    if (part->has_ended) {
        *ret_choice = ATOLL_OFFER_ENDED;
    } else if (seen.state != ATOLL_LEASE_HELD) {
        *ret_choice = ATOLL_OFFER_PART;
    } else {
        *ret_choice = held_judge(part, &seen, choice->lease_time_s, now_ns);
        *ret_silent_epoch = seen.epoch;
    }
    return 0;
}

int atoll_pilot_choose(struct atoll_pilot_choice *choice, double now_ns, enum atoll_offer *ret_choice,
                       size_t *ret_part, uint32_t *ret_silent_epoch, struct atoll_err *err)
{
    size_t count = choice->sweep->part_count, counts[ATOLL_OFFER_ENDED + 1] = {0};

    for (size_t i = 0; i < count; i++) {
        enum atoll_offer found;
        size_t part = (choice->first + i) % count;

        if (part_judge(choice, part, now_ns, &found, ret_silent_epoch, err) != 0)
            return -1;
        if (found == ATOLL_OFFER_PART) {
            *ret_choice = found;
            *ret_part = part;
            return 0;
        }
        counts[found]++;
    }
    *ret_choice = counts[ATOLL_OFFER_WAIT]             ? ATOLL_OFFER_WAIT
                  : counts[ATOLL_OFFER_ENDED] == count ? ATOLL_OFFER_ENDED
                                                       : ATOLL_OFFER_NONE;
    return 0;
}

int atoll_pilot_choice_all_ended(struct atoll_pilot_choice *choice)
{
    char dir[PATH_MAX];

    for (size_t i = 0; i < choice->sweep->part_count; i++) {
        struct part *part = &choice->parts[i];

        if (!part->has_ended && (atoll_sweep_part_path(choice->sweep, i, dir, sizeof(dir), NULL) != 0 ||
                                 ended_look(dir, part, NULL) != 0 || !part->has_ended)) {
            return 0;
        }
    }
    return 1;
}

void atoll_pilot_choice_record(struct atoll_pilot_choice *choice, size_t part, int has_progress)
{
    choice->parts[part].failures = has_progress ? 0 : choice->parts[part].failures + 1;
}

size_t atoll_pilot_choice_given_up(const struct atoll_pilot_choice *choice)
{
    size_t count = 0;

    for (size_t i = 0; i < choice->sweep->part_count; i++)
        count += choice->parts[i].failures >= FAILURE_LIMIT;
    return count;
}
