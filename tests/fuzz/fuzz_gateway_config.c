/* fuzz_gateway_config.c - any bytes as gateway.yaml: what is accepted keeps the promises of config.h. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "llm-gateway/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int is_so)
{
    if (!is_so)
        abort();
}

static void use(const struct atoll_gateway_config *c)
{
    for (size_t i = 0; i < c->endpoint_count; i++) {
        const struct atoll_endpoint *e = &c->endpoints[i];
        demand(e->provider < ATOLL_PROVIDER_COUNT && e->concurrency > 0 && !(e->key_file && e->key_env));
        demand(strlen(e->name) < 64 && e->url[strlen(e->url) - 1] != '/' && e->site.connect_s > 0);
    }
    for (size_t i = 0; i < c->model_count; i++)
        demand(c->models[i].endpoint < c->endpoint_count && c->models[i].traits.max_output_tokens > 0 &&
               strlen(c->models[i].name) < 64);
    for (size_t i = 0; i < c->ensemble_count; i++) {
        const struct atoll_ensemble *e = &c->ensembles[i];
        demand(e->member_count > 0 && e->member_count <= ATOLL_ENSEMBLE_MEMBER_LIMIT);
        for (size_t m = 0; m < e->member_count; m++)
            demand(e->members[m].model < c->model_count && e->members[m].weight >= 0);
    }
    demand(!c->limit_count || c->file);
    demand(c->mode == ATOLL_EXCHANGE_LIVE || c->file);
    demand(c->deadline_s > 0 && c->in_flight_limit > 0 && c->retry.try_limit > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct atoll_err err = ATOLL_ERR_INIT;
    int fd = memfd_create("gateway.yaml", MFD_CLOEXEC);
    demand(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct atoll_gateway_config *config = atoll_gateway_config_load(path, &err);
    if (config)
        use(config);
    else
        demand(err.code != ATOLL_OK && err.text[0]);
    atoll_gateway_config_destroy(config);
    close(fd);
    return 0;
}
