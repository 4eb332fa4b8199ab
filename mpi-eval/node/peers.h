/* peers.h - the far ends a process talks to in frames, whatever carries them: evaluator processes on local
 * sockets (node/evaluator_pool.h) or ranks over MPI (comm/comm.h). Layer: mpi-eval.  A struct of functions; peers are
 * numbered 0..count-1.  One thread. */
#ifndef ATOLL_MPI_EVAL_NODE_PEERS_H
#define ATOLL_MPI_EVAL_NODE_PEERS_H

#include <poll.h>

#include "base/frame.h"

/* Payload of ATOLL_MSG_PEER_LOST: one byte. */
enum atoll_peer_loss { ATOLL_PEER_RESTARTS = 0, ATOLL_PEER_GONE = 1 };

/* What follows a STOP from rank 0 to a forwarder: one more with this byte; before it, as often as rank 0 likes, WAIT: it writes
 * its files still. */
enum atoll_stop_word { ATOLL_STOP_FINALIZE = 0, ATOLL_STOP_LEAVE = 1, ATOLL_STOP_WAIT = 2 };

struct atoll_peers {
    void *context;
    unsigned count;
    int are_ranks; /* peer i is rank i + 1 of an MPI job; else a process of this machine */
    /* Queues one encoded frame (copied).  -1: the peer is gone or does not read. */
    int (*send)(void *context, unsigned peer, const void *frame, size_t length, struct atoll_err *err);
    /* 1: a frame of *ret_peer, borrowed until the next receive; 0: none now.  A lost peer shows as
     * ATOLL_MSG_PEER_LOST. */
    int (*receive)(void *context, unsigned *ret_peer, struct atoll_frame *ret_frame);
    /* Sleeps until a frame may be there, one of the other fds is ready, a signal came, or the time is over.
     */
    void (*wait)(void *context, struct pollfd *others, size_t other_count, int timeout_ms);
    /* Fds that become readable or writable when something may have happened; 0 where there are none to poll
     * (MPI). */
    size_t (*pollfds)(void *context, struct pollfd *ret_fds, size_t limit);
    /* The caller gives a peer up: where its process can be ended, it is, and a new one is started. */
    void (*drop)(void *context, unsigned peer);
    /* Bytes that were sent and not yet taken by the carrier. */
    size_t (*waiting)(void *context);
};

#endif
