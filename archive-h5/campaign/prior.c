#include "archive-h5/campaign/prior.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define EVENT_BYTES ((size_t)16 << 20) /* of one event's texts */

void atoll_prior_put(struct atoll_buffer *out, const struct atoll_event *event)
{
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, EVENT_BYTES);
    atoll_event_encode(event, &bytes);
    atoll_buffer_put_blob(out, bytes.data, bytes.length);
    if (bytes.failed && !out->failed)
        out->failed = bytes.failed;
    atoll_buffer_fini(&bytes);
}

int atoll_prior_next(const struct atoll_prior *prior, size_t *cursor, struct atoll_arena *arena,
                     struct atoll_event *ret_event, struct atoll_err *err)
{
    struct atoll_reader r;
    size_t length;
    if (*cursor == prior->length)
        return 0;
    atoll_reader_init(&r, (const char *)prior->bytes + *cursor, prior->length - *cursor);
    const void *bytes = atoll_reader_blob(&r, &length);
    if (r.failed)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, ATOLL_PRIOR_FILE ": ends within an event");
    if (atoll_event_decode(bytes, length, arena, ret_event, err) != 0)
        return -1;
    if (ret_event->type != ATOLL_EVENT_SOURCE && ret_event->type != ATOLL_EVENT_HINT) {
        atoll_event_fini(ret_event);
        return atoll_err_set(err, ATOLL_E_PROTOCOL, ATOLL_PRIOR_FILE ": holds an event of another type");
    }
    *cursor += r.offset;
    return 1;
}

/* Before anything is journaled all of it is known to decode. */
static int count_events(struct atoll_prior *prior, struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create(EVENT_BYTES, err);
    struct atoll_event event;
    size_t cursor = 0;
    int got = arena ? 1 : -1;
    while (got == 1 && (got = atoll_prior_next(prior, &cursor, arena, &event, err)) == 1) {
        prior->count++;
        atoll_event_fini(&event);
        atoll_arena_reset(arena);
    }
    atoll_arena_destroy(arena);
    return got;
}

int atoll_prior_read(const struct atoll_campaign *campaign, struct atoll_prior *ret_prior,
                     struct atoll_err *err)
{
    const char *digest = atoll_campaign_option(campaign, ATOLL_PRIOR_OPTION);
    struct atoll_prior prior = {0};
    struct atoll_err why = ATOLL_ERR_INIT;
    char path[PATH_MAX], hex[ATOLL_ID_HEX];
    if (!digest) {
        *ret_prior = prior;
        return 0;
    }
    snprintf(path, sizeof(path), "%s/" ATOLL_PRIOR_FILE, atoll_campaign_dir(campaign));
    prior.bytes = atoll_file_read(path, ATOLL_PRIOR_LIMIT_BYTES, &prior.length, &why);
    if (!prior.bytes)
        return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: %s", path, why.text);
    struct atoll_id id = atoll_id_of(prior.bytes, prior.length);
    atoll_id_hex(&id, hex);
    int failed = strcmp(hex, digest) == 0
                     ? count_events(&prior, err)
                     : atoll_err_set(err, ATOLL_E_CORRUPT,
                                     "%s: is not the file that the campaign was made with; restore it", path);
    if (failed)
        atoll_prior_fini(&prior);
    else
        *ret_prior = prior;
    return failed ? -1 : 0;
}

void atoll_prior_fini(struct atoll_prior *prior)
{
    free(prior->bytes);
    *prior = (struct atoll_prior){0};
}
