/* gateway_file.h - which gateway.yaml a command means.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_GATEWAY_FILE_H
#define ATOLL_SCHEDULER_CLI_GATEWAY_FILE_H

#include "llm-gateway/config/config.h"

/* Help of the option that names it, one text for all commands. */
#define ATOLL_GATEWAY_FILE_HELP                                                                              \
    "Configuration of a gateway; ATOLL_GATEWAY_CONFIG when not given, else gateway.yaml in the working "     \
    "directory."

/* given, ATOLL_GATEWAY_CONFIG, or gateway.yaml; given may be NULL. */
const char *atoll_gateway_file_path(const char *given);
/* Loads it; an error also says how to name another one. */
struct atoll_gateway_config *atoll_gateway_file_load(const char *given, struct atoll_err *err);

#endif
