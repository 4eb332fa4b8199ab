/* atoll-worker-cuda: the device process.  Started by worker.c with its socket in place; of no use by hand. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/process/executor.h"
#include "mpi-eval/backend/cuda/process/worker.h"

#define LOOKS 2000 /* about a millisecond */

/* The socket does not block; socket calls are not this process's to make (its filter), reads and writes are. */
static void wait_for(short events)
{
    struct pollfd p = {ATOLL_CUDA_LINK_FD, events, 0};
    poll(&p, 1, -1);
}

static int put_all(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    while (length > 0) {
        ssize_t n = write(ATOLL_CUDA_LINK_FD, at, length);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            wait_for(POLLOUT);
            continue;
        }
        if (n <= 0)
            return -1;
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

/* Looks without sleeping for a while: the next batch of a sample comes within microseconds. */
static int take_all(void *bytes, size_t length)
{
    unsigned char *at = bytes;
    unsigned looks = 0;
    while (length > 0) {
        ssize_t n = read(ATOLL_CUDA_LINK_FD, at, length);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            if (++looks > LOOKS)
                wait_for(POLLIN);
            continue;
        }
        if (n <= 0)
            return -1;
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

static void buffer_wipe(struct atoll_buffer *b)
{
    if (b->data)
        explicit_bzero(b->data, b->length);
    atoll_buffer_fini(b);
}

/* One batch in, one reply out; -1 when the other end is gone. */
static int serve_one(struct atoll_cuda_executor *executor, unsigned char **batch, size_t *room)
{
    uint64_t length;
    struct atoll_command_batch_reply reply;
    struct atoll_buffer out;
    if (take_all(&length, sizeof(length)) != 0 || length > ATOLL_CUDA_LINK_BYTES)
        return -1;
    if (length > *room) {
        unsigned char *grown = realloc(*batch, (size_t)length);
        if (!grown)
            return -1;
        *batch = grown;
        *room = (size_t)length;
    }
    if (take_all(*batch, (size_t)length) != 0)
        return -1;
    atoll_command_batch_reply_init(&reply);
    atoll_buffer_init(&out, ATOLL_CUDA_LINK_BYTES);
    atoll_cuda_executor_run(executor, *batch, (size_t)length, &reply);
    if (*batch)
        explicit_bzero(*batch, (size_t)length); /* keys: the next batch may run a candidate */
    atoll_command_batch_reply_encode(&reply, &out);
    length = out.length;
    int rc =
        out.failed || put_all(&length, sizeof(length)) != 0 || put_all(out.data, out.length) != 0 ? -1 : 0;
    buffer_wipe(&out);
    buffer_wipe(&reply.results);
    return rc;
}

int main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned char *batch = NULL;
    size_t room = 0;
    int is_orderly = argc == 3 && strcmp(argv[2], ATOLL_CUDA_LINK_ORDERLY) == 0;
    if (argc != 2 + is_orderly || argv[1][0] == '-') {
        fputs("atoll-worker-cuda runs kernels for atoll-eval, which starts it; it is not meant to be started "
              "by hand.\n",
              stderr);
        return 2;
    }
    if (!is_orderly) /* a watcher looks into /proc */
        prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
    fcntl(ATOLL_CUDA_LINK_FD, F_SETFL, O_NONBLOCK);
    struct atoll_cuda_executor *executor = atoll_cuda_executor_create(argv[1], &err);
    struct atoll_cuda_hello hello;
    memset(&hello, 0, sizeof(hello));
    hello.version = ATOLL_CUDA_LINK_VERSION;
    if (executor && atoll_cuda_executor_facts(executor, &hello.facts, &err) == 0) {
        hello.code = ATOLL_OK;
    } else {
        hello.code = (uint32_t)err.code;
        snprintf(hello.text, sizeof(hello.text), "%.500s", err.text);
    }
    int rc = put_all(&hello, sizeof(hello));
    while (executor && rc == 0)
        rc = serve_one(executor, &batch, &room);
    free(batch);
    if (is_orderly) {
        atoll_cuda_executor_destroy(executor);
        return 0;
    }
    /* The context goes with the process: taking it down in order would only be slower. */
    _exit(0);
}
