/* frame_file_inside.h - what the writing and the reading half of a file of frames share; nobody else includes it. */
#ifndef ATOLL_LLM_GATEWAY_FRAME_FILE_INSIDE_H
#define ATOLL_LLM_GATEWAY_FRAME_FILE_INSIDE_H

#include "llm-gateway/frame_file.h"

struct atoll_frame_file {
    const struct atoll_frame_file_ops *ops;
    char *path;
    int fd;
    uint64_t end;     /* good bytes, read or written */
    uint64_t durable; /* of them, known to be durable */
    uint64_t number;
    struct atoll_buffer pending, scratch;
    unsigned char *window; /* of a scan: bytes from window_offset on */
    size_t window_length, window_capacity;
    uint64_t window_offset;
};

int atoll_frame_file_sync_parent(const struct atoll_frame_file_ops *ops, const char *path,
                                 struct atoll_err *err);

#endif
