#include "archive-h5/campaign/hints.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "archive-h5/campaign/knowledge.h"
#include "archive-h5/campaign/learned.h"

/* Those of the pack; none where the campaign names no pack or tells no hints. */
static int read_pack(const struct atoll_campaign *campaign, struct atoll_hint_file *ret_file,
                     struct atoll_err *err)
{
    struct atoll_knowledge_pack *pack = NULL;
    int is_told = atoll_campaign_config(campaign)->search.hints != 0;
    if (is_told && atoll_campaign_knowledge_read(campaign, &pack, err) != 0)
        return -1;
    const struct atoll_knowledge_file *file = pack ? atoll_knowledge_pack_find(pack, ATOLL_HINTS_FILE) : NULL;
    memset(ret_file, 0, sizeof(*ret_file));
    int rc = file ? atoll_hint_file_parse(ATOLL_CAMPAIGN_KNOWLEDGE_FILE ": " ATOLL_HINTS_FILE, file->text,
                                          file->length, ret_file, err)
                  : 0;
    atoll_knowledge_pack_destroy(pack);
    return rc;
}

/* What parts before this one learned stands beside them. */
static int add_learned(const struct atoll_campaign *campaign, struct atoll_hint_file *file,
                       struct atoll_err *err)
{
    struct atoll_hint_file learned, sum = {0};
    size_t new, known;
    int got = atoll_campaign_learned_read(atoll_campaign_dir(campaign), &learned, err);
    if (got <= 0)
        return got;
    int rc = atoll_hint_file_merge(&sum, file, &new, &known, err);
    rc = rc == 0 ? atoll_hint_file_merge(&sum, &learned, &new, &known, err) : rc;
    atoll_hint_file_fini(&learned);
    if (rc != 0) {
        atoll_hint_file_fini(&sum);
        return -1;
    }
    atoll_hint_file_fini(file);
    *file = sum;
    return 0;
}

int atoll_campaign_hints_read(const struct atoll_campaign *campaign, struct atoll_hint_file *ret_file,
                              struct atoll_err *err)
{
    const char *digest = atoll_campaign_option(campaign, ATOLL_HINTS_OPTION);
    struct atoll_err why = ATOLL_ERR_INIT;
    char path[PATH_MAX], hex[ATOLL_ID_HEX];
    size_t length;
    if (!digest) {
        struct atoll_hint_file file;
        if (read_pack(campaign, &file, err) != 0)
            return -1;
        if (atoll_campaign_config(campaign)->search.hints && add_learned(campaign, &file, err) != 0) {
            atoll_hint_file_fini(&file);
            return -1;
        }
        *ret_file = file;
        return 0;
    }
    snprintf(path, sizeof(path), "%s/" ATOLL_HINTS_FILE, atoll_campaign_dir(campaign));
    void *bytes = atoll_file_read(path, ATOLL_YAML_FILE_BYTES, &length, &why);
    if (!bytes)
        return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: %s", path, why.text);
    struct atoll_id id = atoll_id_of(bytes, length);
    atoll_id_hex(&id, hex);
    int rc = strcmp(hex, digest) == 0
                 ? atoll_hint_file_parse(path, bytes, length, ret_file, err)
                 : atoll_err_set(err, ATOLL_E_CORRUPT,
                                 "%s: is not the file that the campaign was made with; restore it", path);
    free(bytes);
    return rc;
}
