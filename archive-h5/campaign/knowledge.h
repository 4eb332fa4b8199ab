/* knowledge.h - what a campaign was told of, frozen in one file (core/knowledge/pack.h), so that neither resume nor replay depends on
 * what is installed later.
 * Layer: archive-h5.  The file is DIR/knowledge.json; a part of a campaign on a cluster has none of its own, but that of the whole in
 * ../.. .  The option `knowledge` in campaign.yaml is the BLAKE2b of the file. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_KNOWLEDGE_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_KNOWLEDGE_H

#include "archive-h5/campaign/campaign.h"
#include "core/knowledge/pack.h"

#define ATOLL_CAMPAIGN_KNOWLEDGE_FILE   "knowledge.json"
#define ATOLL_CAMPAIGN_KNOWLEDGE_OPTION "knowledge"

/* Of an open campaign; ret_pack: the caller's to destroy, NULL: the campaign names none (no model is asked, or an earlier version
 * made it).  ATOLL_E_CORRUPT when the file is missing or is not the one that the campaign was made with; LIMIT, MEMORY, SCHEMA. */
int atoll_campaign_knowledge_read(const struct atoll_campaign *campaign,
                                  struct atoll_knowledge_pack **ret_pack, struct atoll_err *err);
/* The same; of a campaign that names none, what is installed. */
struct atoll_knowledge_pack *atoll_campaign_knowledge_or_installed(const struct atoll_campaign *campaign,
                                                                   struct atoll_err *err);

#endif
