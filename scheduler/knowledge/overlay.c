#include "scheduler/knowledge/overlay.h"

#include "scheduler/site/site.h"

struct atoll_knowledge_pack *atoll_knowledge_overlay_load(const char *const *given, size_t count,
                                                          struct atoll_err *err)
{
    struct atoll_site *site;
    if (atoll_site_named(&site, err) != 0)
        return NULL;
    struct atoll_knowledge_pack *pack =
        atoll_knowledge_pack_load(site ? site->knowledge : NULL, given, count, err);
    atoll_site_destroy(site);
    return pack;
}
