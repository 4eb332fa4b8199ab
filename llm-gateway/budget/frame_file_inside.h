/* frame_file_inside.h - what the writing and the reading half of a file of frames share; nobody else includes it. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_FRAME_FILE_INSIDE_H
#define ATOLL_LLM_GATEWAY_BUDGET_FRAME_FILE_INSIDE_H

#include "llm-gateway/budget/frame_file.h"
#include "llm-gateway/budget/syncer.h"

struct atoll_frame_file {
    const struct atoll_frame_file_ops *ops;
    char *path;
    int fd;
    uint64_t base;    /* where pending begins */
    uint64_t end;     /* good bytes, read or written; base <= end <= base + length of pending */
    uint64_t durable; /* of them, known to be durable */
    uint64_t number;
    struct atoll_buffer pending; /* what is not synced: until end it is written, from there on it is not */
    struct atoll_buffer scratch;
    struct atoll_syncer *syncer; /* of the last sync behind */
    struct atoll_syncer_job job;
    uint64_t job_end;      /* what it makes durable */
    int is_syncing;        /* the job is started and its end was not yet looked at */
    int is_suspect;        /* a sync behind failed: what it should have synced is written again */
    unsigned char *window; /* of a scan: bytes from window_offset on */
    size_t window_length, window_capacity;
    uint64_t window_offset;
};

int atoll_frame_file_sync_parent(const struct atoll_frame_file_ops *ops, const char *path,
                                 struct atoll_err *err);

#endif
