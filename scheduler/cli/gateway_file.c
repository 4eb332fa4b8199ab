#include "scheduler/cli/gateway_file.h"

#include <stdlib.h>

const char *atoll_gateway_file_path(const char *given)
{
    const char *path = given ? given : getenv("ATOLL_GATEWAY_CONFIG");

    return path && *path ? path : "gateway.yaml";
}

struct atoll_gateway_config *atoll_gateway_file_load(const char *given, struct atoll_err *err)
{
    struct atoll_gateway_config *config = atoll_gateway_config_load(atoll_gateway_file_path(given), err);

    if (!config && err->code == ATOLL_E_NOTFOUND && !given)
        atoll_err_add(err, "-c FILE names the configuration (jobscripts/gateway.yaml is an example to copy)");
    return config;
}
