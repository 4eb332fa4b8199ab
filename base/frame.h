/* frame.h - the one framing for MPI messages, pipes and the journal: versioned, bounded, checksummed.
 * Layer: base.  Pure.  docs/spec/wire.md is the contract. Layout (little-endian, 24 bytes): "ATLF", u16
 * version, u16 type, u32 payload length, u32 CRC-32C of the payload, u32 reserved 0, u32 CRC-32C of the 20
 * bytes before; then the payload. */
#ifndef ATOLL_BASE_FRAME_H
#define ATOLL_BASE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/err.h"

#define ATOLL_FRAME_VERSION       3 /* what each brought is in docs/spec/wire.md */
#define ATOLL_FRAME_HEADER_BYTES  24
#define ATOLL_FRAME_PAYLOAD_LIMIT (64u << 20)

struct atoll_frame {
    uint16_t type;
    const unsigned char *payload; /* borrowed from the decoded bytes */
    size_t length;
};

/* CRC-32C (Castagnoli, reflected 0x82F63B78), as of iSCSI, RFC 3720 B.4.  crc: 0 to start, the last result
 * to go on. Uses SSE4.2 or ARMv8 CRC where the machine has it, tables elsewhere; same values. */
uint32_t atoll_crc32c(uint32_t crc, const void *bytes, size_t length);
/* The same by tables on every machine: what the one above is compared with. */
uint32_t atoll_crc32c_portable(uint32_t crc, const void *bytes, size_t length);

/* Appends one frame to out. */
int atoll_frame_encode(struct atoll_buffer *out, uint16_t type, const void *payload, size_t length,
                       struct atoll_err *err);
/* 1: ret_frame and ret_consumed are set; 0: more bytes are needed; -1: not a frame (magic, version, length
 * or checksum), with ATOLL_E_PROTOCOL, or ATOLL_E_SCHEMA for a newer version. */
int atoll_frame_decode(const void *bytes, size_t length, struct atoll_frame *ret_frame, size_t *ret_consumed,
                       struct atoll_err *err);
/* The same for the header alone: what the payload is and how long, whatever its bytes are.  bytes need not hold more
 * than the header. */
int atoll_frame_peek(const void *bytes, size_t length, uint16_t *ret_type, size_t *ret_payload_length,
                     struct atoll_err *err);

#endif
