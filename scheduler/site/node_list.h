/* node_list.h - lists of nodes as schedulers write them: "n[1-3,7],gpu-[01-02]-ib", "a,b".
 * Layer: scheduler, pure.  Lifetime: parse/fini. */
#ifndef ATOLL_SCHEDULER_SITE_NODE_LIST_H
#define ATOLL_SCHEDULER_SITE_NODE_LIST_H

#include <stddef.h>

#include "base/err.h"

#define ATOLL_NODE_LIST_LIMIT 16384

struct atoll_node_list {
    const char **names; /* owned, in the order of the list; NULL after the last */
    size_t count;
};

/* Several brackets in one name multiply, the last one runs fastest; leading zeros stay.  Errors: INPUT for what is no such
 * list, LIMIT, MEMORY. */
int atoll_node_list_parse(const char *text, struct atoll_node_list *ret_list, struct atoll_err *err);
void atoll_node_list_fini(struct atoll_node_list *list);
int atoll_node_list_has(const struct atoll_node_list *list, const char *name);

#endif
