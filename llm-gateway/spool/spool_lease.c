/* spool_lease.c - the line is "atoll-lease 1 HOLDER TAG COUNT UNIX-SECONDS", of one length for one holder, so that it can be
 * written over in place. */
#include "llm-gateway/spool/spool_lease.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "llm-gateway/spool/spool_file.h"

#define LINE_BYTES     256
#define LOOKS_PER_LIFE 8.0 /* how often another's lease is read until it may be stale */

void atoll_spool_shelf_fini(struct atoll_spool_shelf *shelf)
{
    free(shelf->notes);
    *shelf = (struct atoll_spool_shelf){NULL, 0, 0};
}

struct atoll_spool_note *atoll_spool_shelf_find(const struct atoll_spool_shelf *shelf, const char *name)
{
    for (size_t i = 0; i < shelf->count; i++) {
        if (strcmp(shelf->notes[i].name, name) == 0)
            return &shelf->notes[i];
    }
    return NULL;
}

void atoll_spool_shelf_remove(struct atoll_spool_shelf *shelf, struct atoll_spool_note *note)
{
    *note = shelf->notes[--shelf->count];
}

void atoll_spool_shelf_prune(struct atoll_spool_shelf *shelf, const struct atoll_spool_folder *folder)
{
    for (size_t i = shelf->count; i-- > 0;) {
        const struct atoll_spool_entry *e = atoll_spool_folder_find(folder, shelf->notes[i].name);
        if (!shelf->notes[i].is_held && (!e || !e->has_request || e->has_reply || !e->lease))
            atoll_spool_shelf_remove(shelf, &shelf->notes[i]);
    }
}

static struct atoll_spool_note *add(struct atoll_spool_shelf *shelf, const char *name, struct atoll_err *err)
{
    if (shelf->count == shelf->capacity) {
        size_t capacity = shelf->capacity ? 2 * shelf->capacity : 8;
        void *notes =
            capacity <= SPOOL_NOTE_LIMIT ? realloc(shelf->notes, capacity * sizeof *shelf->notes) : NULL;
        if (!notes) {
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu leases of a spool's folder", capacity);
            return NULL;
        }
        shelf->notes = notes;
        shelf->capacity = capacity;
    }
    struct atoll_spool_note *note = &shelf->notes[shelf->count++];
    memset(note, 0, sizeof *note);
    snprintf(note->name, sizeof note->name, "%s", name);
    return note;
}

/* ---- the line ---- */

static int write_line(const struct atoll_spool_holder *holder, uint64_t count, char line[LINE_BYTES])
{
    return snprintf(line, LINE_BYTES, "atoll-lease 1 %s %s %012" PRIu64 " %012lld\n", holder->name,
                    holder->tag, count, (long long)time(NULL));
}

int atoll_spool_lease_parse(const char *line, size_t length, char ret_name[SPOOL_HOLDER_BYTES],
                            char ret_tag[17])
{
    char text[LINE_BYTES], name[SPOOL_HOLDER_BYTES], tag[17];
    int version = 0;
    if (length >= sizeof text)
        return -1;
    memcpy(text, line, length);
    text[length] = '\0';
    if (sscanf(text, "atoll-lease %1d %63s %16s ", &version, name, tag) != 3 || version != 1)
        return -1;
    memcpy(ret_name, name, sizeof name);
    memcpy(ret_tag, tag, sizeof tag);
    return 0;
}

static int is_of_former_life(const struct atoll_spool_holder *holder, const struct atoll_buffer *line)
{
    char name[SPOOL_HOLDER_BYTES], tag[17];
    return atoll_spool_lease_parse((const char *)line->data, line->length, name, tag) == 0 &&
           strcmp(name, holder->name) == 0 && strcmp(tag, holder->tag) != 0;
}

/* ---- leases of others ---- */

static void observe(struct atoll_spool_note *note, unsigned epoch, uint64_t fingerprint, double now_ns)
{
    if (note->epoch != epoch || note->fingerprint != fingerprint)
        note->since_ns = now_ns;
    note->epoch = epoch;
    note->fingerprint = fingerprint;
    note->read_ns = now_ns;
}

/* 1: it is free to be taken over; 0: not; -1. */
static int watch(const struct atoll_spool_holder *holder, struct atoll_spool_note *note,
                 const struct atoll_spool_entry *entry, double now_ns, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_buffer line;
    if (note->epoch == entry->lease && now_ns - note->read_ns < holder->lease_ns / LOOKS_PER_LIFE)
        return 0;
    atoll_spool_path(holder->root, entry->name, ATOLL_SPOOL_LEASE, entry->lease, path);
    atoll_buffer_init(&line, LINE_BYTES);
    struct atoll_err why = ATOLL_ERR_INIT;
    int found = atoll_spool_file_read(path, &line, &why);
    int is_free = 0;
    if (found > 0 && is_of_former_life(holder, &line)) {
        is_free = 1;
    } else if (found > 0 ||
               (found < 0 &&
                why.code != ATOLL_E_IO)) { /* what is no lease changes as little as a stale one */
        struct atoll_id id = atoll_id_of(line.data, found > 0 ? line.length : 0);
        observe(note, entry->lease, atoll_id_u64(&id), now_ns);
        is_free = now_ns - note->since_ns >= holder->lease_ns;
    } else if (found < 0) {
        if (err)
            *err = why;
        is_free = -1;
    }
    atoll_buffer_fini(&line);
    return is_free;
}

/* ---- ours ---- */

static int create(const struct atoll_spool_holder *holder, struct atoll_spool_note *note, unsigned epoch,
                  double now_ns, struct atoll_err *err)
{
    char path[PATH_MAX], line[LINE_BYTES];
    int length = write_line(holder, 1, line);
    atoll_spool_path(holder->root, note->name, ATOLL_SPOOL_LEASE, epoch, path);
    int created = atoll_spool_file_create(path, line, (size_t)length, err);
    if (created > 0) {
        note->is_held = 1;
        note->epoch = epoch;
        note->count = 1;
        note->since_ns = now_ns;
    }
    return created;
}

int atoll_spool_lease_take(const struct atoll_spool_holder *holder, struct atoll_spool_shelf *shelf,
                           const struct atoll_spool_entry *entry, double now_ns,
                           struct atoll_spool_note **ret_note, struct atoll_err *err)
{
    struct atoll_spool_note *note = atoll_spool_shelf_find(shelf, entry->name);
    if (note && note->is_held)
        return 0;
    if (!note && !(note = add(shelf, entry->name, err)))
        return -1;
    int is_free = entry->lease ? watch(holder, note, entry, now_ns, err) : 1;
    int taken = is_free > 0 ? create(holder, note, entry->lease + 1, now_ns, err) : is_free;
    if (taken > 0)
        *ret_note = note;
    else if (!entry->lease || taken < 0)
        atoll_spool_shelf_remove(shelf, note);
    return taken;
}

int atoll_spool_lease_renew(const struct atoll_spool_holder *holder, struct atoll_spool_note *note,
                            double now_ns, struct atoll_err *err)
{
    char path[PATH_MAX], line[LINE_BYTES];
    if (now_ns - note->since_ns < holder->lease_ns / 3.0)
        return 1;
    int length = write_line(holder, note->count + 1, line);
    atoll_spool_path(holder->root, note->name, ATOLL_SPOOL_LEASE, note->epoch, path);
    int written = atoll_spool_file_rewrite(path, line, (size_t)length, err);
    if (written > 0) {
        note->count++;
        note->since_ns = now_ns;
    }
    return written;
}

void atoll_spool_lease_end(const struct atoll_spool_holder *holder, struct atoll_spool_shelf *shelf,
                           struct atoll_spool_note *note)
{
    char path[PATH_MAX];
    for (unsigned epoch = note->epoch; epoch >= 1 && note->epoch - epoch < 8; epoch--) {
        atoll_spool_path(holder->root, note->name, ATOLL_SPOOL_LEASE, epoch, path);
        atoll_spool_file_remove(path);
    }
    atoll_spool_shelf_remove(shelf, note);
}
