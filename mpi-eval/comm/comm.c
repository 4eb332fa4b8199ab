/* comm.c - frames between ranks over MPI point-to-point messages.
 * Receiving: Iprobe finds a message, Irecv takes it into memory of its size (bounded), Test says when it is
 * there; frames of one rank are delivered in the order in which they were probed.  A message that is no frame
 * is dropped and counted. Sleeping: from 50 us after traffic, doubled up to 8 ms: an idle rank uses little of
 * a core and a busy one answers fast. */
#include "mpi-eval/comm/comm.h"

#include <math.h>
#include <mpi.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/clock.h"

#define TAG           1
#define ABORT_S       10u
#define SLEEP_MIN_NS  50e3
#define SLEEP_MAX_NS  8e6
#define PENDING_LIMIT 64u                 /* receives under way */
#define QUEUE_BYTES   ((size_t)256 << 20) /* sends to one rank under way */
#define FRAME_BYTES   ((size_t)ATOLL_FRAME_PAYLOAD_LIMIT + ATOLL_FRAME_HEADER_BYTES)

struct transfer {
    MPI_Request request;
    int rank, is_done;
    size_t length;
    unsigned char *bytes; /* owned */
    struct transfer *next;
};

struct atoll_comm {
    int rank, size;
    struct transfer *sends, *receives; /* receives: in the order in which they were probed */
    struct transfer *delivered;        /* lent to the caller until its next receive */
    unsigned receive_count;
    size_t *queued_bytes; /* per rank */
    double traffic_ns;    /* when a message last came or went */
};

static int check_mpi(int rc, const char *what, struct atoll_err *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (rc == MPI_SUCCESS)
        return 0;
    MPI_Error_string(rc, text, &length);
    return atoll_err_set(err, ATOLL_E_IO, "%s: %s", what, text);
}

struct atoll_comm *atoll_comm_create(int *argc, char ***argv, struct atoll_err *err)
{
    int provided = 0;
    struct atoll_comm *comm = calloc(1, sizeof(*comm));
    if (!comm) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the communication of ranks");
        return NULL;
    }
    if (check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init", err) != 0) {
        free(comm);
        return NULL;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &comm->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &comm->size);
    comm->traffic_ns = atoll_clock_mono_ns();
    comm->queued_bytes = calloc((size_t)comm->size, sizeof(*comm->queued_bytes));
    if (comm->queued_bytes)
        return comm;
    atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %d ranks", comm->size);
    free(comm);
    return NULL;
}

unsigned atoll_comm_rank(const struct atoll_comm *comm)
{
    return (unsigned)comm->rank;
}

unsigned atoll_comm_size(const struct atoll_comm *comm)
{
    return (unsigned)comm->size;
}

static void transfer_destroy(struct transfer *transfer)
{
    if (transfer)
        free(transfer->bytes);
    free(transfer);
}

static struct transfer *transfer_create(int rank, const void *bytes, size_t length, struct atoll_err *err)
{
    struct transfer *transfer = calloc(1, sizeof(*transfer));
    if (transfer)
        transfer->bytes = malloc(length ? length : 1);
    if (!transfer || !transfer->bytes) {
        transfer_destroy(transfer);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a message of %zu bytes", length);
        return NULL;
    }
    transfer->rank = rank;
    transfer->length = length;
    if (bytes)
        memcpy(transfer->bytes, bytes, length);
    return transfer;
}

/* ---- sending ---- */

static void test_sends(struct atoll_comm *comm)
{
    for (struct transfer **at = &comm->sends; *at;) {
        struct transfer *transfer = *at;
        int done = 0;
        if (MPI_Test(&transfer->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
            at = &transfer->next;
            continue;
        }
        *at = transfer->next;
        comm->queued_bytes[transfer->rank] -= transfer->length;
        transfer_destroy(transfer);
    }
}

static int comm_send(void *context, unsigned peer, const void *frame, size_t length, struct atoll_err *err)
{
    struct atoll_comm *comm = context;
    int rank = comm->rank == 0 ? (int)peer + 1 : 0;
    if (rank >= comm->size || length > FRAME_BYTES)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "no rank %d, or a message of %zu bytes", rank, length);
    test_sends(comm);
    if (comm->queued_bytes[rank] + length > QUEUE_BYTES) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "rank %d does not read: %zu bytes wait for it", rank,
                             comm->queued_bytes[rank]);
    }
    struct transfer *transfer = transfer_create(rank, frame, length, err);
    if (!transfer)
        return -1;
    int rc = MPI_Isend(transfer->bytes, (int)length, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &transfer->request);
    if (check_mpi(rc, "MPI_Isend", err) != 0) {
        transfer_destroy(transfer);
        return -1;
    }
    transfer->next = comm->sends;
    comm->sends = transfer;
    comm->queued_bytes[rank] += length;
    comm->traffic_ns = atoll_clock_mono_ns();
    return 0;
}

static size_t comm_waiting(void *context)
{
    struct atoll_comm *comm = context;
    size_t bytes = 0;
    test_sends(comm);
    for (const struct transfer *transfer = comm->sends; transfer; transfer = transfer->next)
        bytes += transfer->length;
    return bytes;
}

/* ---- receiving ---- */

/* Takes one message that is there.  A size beyond a frame still has to be received to be rid of it, so it is
 * truncated into a buffer that is too small, which MPI reports as an error of that request. */
static int probe(struct atoll_comm *comm)
{
    MPI_Status status;
    int is_there = 0, length = 0;
    if (comm->receive_count >= PENDING_LIMIT ||
        MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &is_there, &status) != MPI_SUCCESS || !is_there) {
        return 0;
    }
    MPI_Get_count(&status, MPI_BYTE, &length);
    if (length < 0 || (size_t)length > FRAME_BYTES)
        length = 0;
    struct transfer *transfer = transfer_create(status.MPI_SOURCE, NULL, (size_t)length, NULL);
    if (!transfer)
        return 0;
    if (MPI_Irecv(transfer->bytes, length, MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD,
                  &transfer->request) != MPI_SUCCESS) {
        transfer_destroy(transfer);
        return 0;
    }
    struct transfer **end = &comm->receives;
    while (*end)
        end = &(*end)->next;
    *end = transfer;
    comm->receive_count++;
    return 1;
}

static int transfer_test(struct transfer *transfer)
{
    MPI_Status status;
    int done = 0, length = 0;
    if (transfer->is_done)
        return 1;
    if (MPI_Test(&transfer->request, &done, &status) != MPI_SUCCESS) {
        transfer->is_done = 1;
        transfer->length = 0; /* shows as a frame that does not decode */
        return 1;
    }
    if (done) {
        MPI_Get_count(&status, MPI_BYTE, &length);
        transfer->is_done = 1;
        transfer->length = length > 0 && (size_t)length <= transfer->length ? (size_t)length : 0;
    }
    return done;
}

/* The first that is done and has no unfinished one of its rank before it. */
static struct transfer *take_received(struct atoll_comm *comm)
{
    for (struct transfer **at = &comm->receives; *at; at = &(*at)->next) {
        struct transfer *transfer = *at;
        int is_blocked = 0;
        for (const struct transfer *before = comm->receives; before != transfer; before = before->next)
            is_blocked |= before->rank == transfer->rank;
        if (is_blocked || !transfer_test(transfer))
            continue;
        *at = transfer->next;
        comm->receive_count--;
        return transfer;
    }
    return NULL;
}

static int comm_receive(void *context, unsigned *ret_peer, struct atoll_frame *ret_frame)
{
    struct atoll_comm *comm = context;
    size_t consumed = 0;
    transfer_destroy(comm->delivered);
    comm->delivered = NULL;
    test_sends(comm);
    for (;;) {
        struct atoll_err err = ATOLL_ERR_INIT;
        while (probe(comm))
            continue;
        struct transfer *transfer = take_received(comm);
        if (!transfer)
            return 0;
        comm->traffic_ns = atoll_clock_mono_ns();
        if (atoll_frame_decode(transfer->bytes, transfer->length, ret_frame, &consumed, &err) == 1 &&
            consumed == transfer->length && (comm->rank == 0) == (transfer->rank != 0)) {
            comm->delivered = transfer;
            *ret_peer = comm->rank == 0 ? (unsigned)transfer->rank - 1 : 0;
            return 1;
        }
        atoll_log(ATOLL_LOG_WARNING, "eval.comm.message", "a message of rank %d was dropped: %s",
                  transfer->rank, err.code ? err.text : "not one whole frame");
        transfer_destroy(transfer);
    }
}

static int is_something_there(struct atoll_comm *comm)
{
    while (probe(comm))
        continue;
    for (struct transfer *transfer = comm->receives; transfer; transfer = transfer->next)
        if (transfer_test(transfer))
            return 1;
    return 0;
}

static void comm_wait(void *context, struct pollfd *others, size_t other_count, int timeout_ms)
{
    struct atoll_comm *comm = context;
    double until_ns = atoll_clock_mono_ns() + 1e6 * timeout_ms;
    while (!is_something_there(comm) && atoll_clock_mono_ns() < until_ns) {
        double idle_ns = atoll_clock_mono_ns() - comm->traffic_ns;
        struct timespec pause = {.tv_nsec = (long)fmin(fmax(idle_ns / 8, SLEEP_MIN_NS), SLEEP_MAX_NS)};
        test_sends(comm);
        int ready = ppoll(others, other_count, &pause, NULL);
        if (ready != 0) /* a descriptor, or a signal */
            return;
    }
}

static size_t comm_pollfds(void *context, struct pollfd *ret_fds, size_t limit)
{
    return 0;
}

/* A rank cannot be ended from here; it stays silent or speaks again. */
static void comm_drop(void *context, unsigned peer)
{
}

struct atoll_peers atoll_comm_peers(struct atoll_comm *comm)
{
    return (struct atoll_peers){.context = comm,
                                .count = comm->rank == 0 ? (unsigned)comm->size - 1 : 1,
                                .are_ranks = comm->rank == 0,
                                .send = comm_send,
                                .receive = comm_receive,
                                .wait = comm_wait,
                                .pollfds = comm_pollfds,
                                .drop = comm_drop,
                                .waiting = comm_waiting};
}

void atoll_comm_destroy(struct atoll_comm *comm, int all_answered)
{
    if (!comm || !all_answered)
        return;
    MPI_Finalize();
    transfer_destroy(comm->delivered);
    while (comm->sends) {
        struct transfer *transfer = comm->sends;
        comm->sends = transfer->next;
        transfer_destroy(transfer);
    }
    while (comm->receives) {
        struct transfer *transfer = comm->receives;
        comm->receives = transfer->next;
        transfer_destroy(transfer);
    }
    free(comm->queued_bytes);
    free(comm);
}

void atoll_comm_abort(struct atoll_comm *comm, int status)
{
    alarm(ABORT_S); /* its end where the launcher does not hear */
    MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
}
