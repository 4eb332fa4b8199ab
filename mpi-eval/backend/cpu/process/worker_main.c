/* atoll-worker: the runner's other half.  Started by runner.c with its descriptors in place; of no use by
 * hand. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "mpi-eval/backend/cpu/process/zygote.h"

static struct atoll_zygote zygote;

int main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (argc != 2 || strcmp(argv[1], "--zygote") != 0) {
        fputs("atoll-worker runs candidates for atoll-eval, which starts it; it is not meant to be started "
              "by hand.\n",
              stderr);
        return 2;
    }
    struct atoll_control_reply reply = {.type = ATOLL_CONTROL_LOADED};
    int failed = atoll_zygote_load(&zygote, &err);
    if (failed) {
        reply.type = ATOLL_CONTROL_REFUSED;
        reply.code = (int32_t)err.code;
        snprintf(reply.text, sizeof(reply.text), "%.*s", (int)sizeof(reply.text) - 1, err.text);
    }
    if (atoll_control_send(&reply) != 0 || failed)
        return 1;
    return atoll_zygote_serve(&zygote);
}
