#include "archive-h5/campaign/learned.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/yaml.h"

#define HEAD_BYTES (2 + ATOLL_ID_HEX) /* "# ", the hash, the end of the line in the place of its NUL */

static void head_of(const void *bytes, size_t length, char ret_head[HEAD_BYTES + 1])
{
    struct atoll_id id = atoll_id_of(bytes, length);
    char hex[ATOLL_ID_HEX];
    atoll_id_hex(&id, hex);
    snprintf(ret_head, HEAD_BYTES + 1, "# %s\n", hex);
}

int atoll_campaign_learned_read(const char *dir, struct atoll_hint_file *ret_file, struct atoll_err *err)
{
    char path[PATH_MAX], head[HEAD_BYTES + 1] = "";
    struct atoll_err why = ATOLL_ERR_INIT;
    size_t length;
    memset(ret_file, 0, sizeof(*ret_file));
    if (snprintf(path, sizeof(path), "%s/" ATOLL_LEARNED_FILE, dir) >= (int)sizeof(path))
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: the path is too long", dir);
    char *bytes = atoll_file_read(path, ATOLL_YAML_FILE_BYTES, &length, &why);
    if (!bytes && why.code == ATOLL_E_NOTFOUND)
        return 0;
    if (!bytes)
        return atoll_err_set(err, why.code, "%s", why.text);
    if (length >= HEAD_BYTES)
        head_of(bytes + HEAD_BYTES, length - HEAD_BYTES, head);
    int rc = length >= HEAD_BYTES && memcmp(bytes, head, HEAD_BYTES) == 0
                 ? atoll_hint_file_parse(path, bytes, length, ret_file, err)
                 : atoll_err_set(err, ATOLL_E_CORRUPT, "%s: is not as it was made; restore it", path);
    free(bytes);
    return rc == 0 ? 1 : -1;
}

/* Whole under another name, then linked: of two writers one wins, and nobody sees a part of it. */
static int put(const char *dir, const struct atoll_buffer *text, struct atoll_err *err)
{
    char path[PATH_MAX], prepared[PATH_MAX], host[64] = "";
    gethostname(host, sizeof(host) - 1);
    if (snprintf(prepared, sizeof(prepared), "%s/" ATOLL_LEARNED_FILE ".%s.%ld", dir, host, (long)getpid()) >=
        (int)sizeof(prepared))
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: the path is too long", dir);
    snprintf(path, sizeof(path), "%s/" ATOLL_LEARNED_FILE, dir);
    if (atoll_file_write(atoll_file_ops_real(), prepared, text->data, text->length, err) != 0)
        return -1;
    int is_there = link(prepared, path) != 0, system = is_there ? errno : 0;
    unlink(prepared);
    if (is_there && system != EEXIST)
        return atoll_file_write_failed(path, "making", system, err);
    return atoll_file_sync_parent(atoll_file_ops_real(), path, err) == 0 ? !is_there : -1;
}

int atoll_campaign_learned_write(const char *dir, const struct atoll_hint_file *file, struct atoll_err *err)
{
    struct atoll_buffer hints, text;
    char head[HEAD_BYTES + 1];
    atoll_buffer_init(&hints, ATOLL_YAML_FILE_BYTES - HEAD_BYTES); /* more could not be read back */
    atoll_buffer_init(&text, ATOLL_YAML_FILE_BYTES);
    atoll_hint_file_write_yaml(file, &hints);
    head_of(hints.data, hints.length, head);
    atoll_buffer_put_bytes(&text, head, HEAD_BYTES);
    atoll_buffer_put_bytes(&text, hints.data, hints.length);
    int rc = atoll_buffer_check(&hints, err) == 0 && atoll_buffer_check(&text, err) == 0
                 ? put(dir, &text, err)
                 : -1;
    atoll_buffer_fini(&hints);
    atoll_buffer_fini(&text);
    return rc;
}
