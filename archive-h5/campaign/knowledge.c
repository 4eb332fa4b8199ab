#include "archive-h5/campaign/knowledge.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define FILE_NAME ATOLL_CAMPAIGN_KNOWLEDGE_FILE

/* In the folder, else in that of the whole. */
static int find(const struct atoll_campaign *campaign, char ret_path[PATH_MAX], struct atoll_err *err)
{
    static const char *const places[] = {FILE_NAME, "../../" FILE_NAME};
    const char *dir = atoll_campaign_dir(campaign);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        int length = snprintf(ret_path, PATH_MAX, "%s/%s", dir, places[i]);
        if (length > 0 && length < PATH_MAX && access(ret_path, F_OK) == 0)
            return 0;
    }
    return atoll_err_set(err, ATOLL_E_CORRUPT,
                         "%s: no " FILE_NAME
                         " is there, which the campaign was made with, nor in the folder of "
                         "the whole (../..): restore it",
                         dir);
}

static struct atoll_knowledge_pack *read_file(const char *path, const char *digest, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    char hex[ATOLL_ID_HEX];
    size_t length;
    struct atoll_knowledge_pack *pack = NULL;
    char *bytes = atoll_file_read(path, ATOLL_KNOWLEDGE_JSON_BYTES, &length, &why);
    if (!bytes) {
        atoll_err_set(err, why.code == ATOLL_E_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_CORRUPT, "%s", why.text);
        return NULL;
    }
    struct atoll_id id = atoll_id_of(bytes, length);
    atoll_id_hex(&id, hex);
    if (strcmp(hex, digest) == 0)
        pack = atoll_knowledge_pack_from_json(path, bytes, length, err);
    else
        atoll_err_set(
            err, ATOLL_E_CORRUPT,
            "%s: is not the file that the campaign was made with (its hash is %.16s..., campaign.yaml "
            "says %.16s...): restore it",
            path, hex, digest);
    free(bytes);
    return pack;
}

int atoll_campaign_knowledge_read(const struct atoll_campaign *campaign,
                                  struct atoll_knowledge_pack **ret_pack, struct atoll_err *err)
{
    const char *digest = atoll_campaign_option(campaign, ATOLL_CAMPAIGN_KNOWLEDGE_OPTION);
    struct atoll_knowledge_pack *pack = NULL;
    char path[PATH_MAX];
    if (digest) {
        pack = find(campaign, path, err) == 0 ? read_file(path, digest, err) : NULL;
        if (!pack)
            return -1;
    }
    *ret_pack = pack;
    return 0;
}

struct atoll_knowledge_pack *atoll_campaign_knowledge_or_installed(const struct atoll_campaign *campaign,
                                                                   struct atoll_err *err)
{
    struct atoll_knowledge_pack *pack = NULL;
    if (atoll_campaign_knowledge_read(campaign, &pack, err) != 0)
        return NULL;
    return pack ? pack : atoll_knowledge_pack_load(NULL, NULL, 0, err);
}
