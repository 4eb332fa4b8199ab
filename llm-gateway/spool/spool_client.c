/* spool_client.c - asks, and looks for replies.
 *
 * A folder is read anew when its last reading (a view) is older than 20 ms, and 1 ms more for each folder in which something
 * is awaited: so thousands of open requests cost what 1,000 folders a second cost.  A reply that a view does not show is not
 * looked for. */
#include "llm-gateway/spool/spool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "llm-gateway/provider/provider.h"
#include "llm-gateway/spool/spool_files.h"

#define NS_PER_MS     1e6
#define VIEW_MS       20.0
#define REQUEST_BYTES (6 * ATOLL_LLM_TEXT_BYTES)
#define REPLY_BYTES   ((size_t)64 << 20)

struct view {
    struct atoll_spool_folder folder;
    double read_ns;
    unsigned awaited; /* asked, neither done nor withdrawn */
};

struct atoll_spool_client {
    char root[SPOOL_ROOT_BYTES], tag[SPOOL_TAG_BYTES];
    double (*now_ns)(void *context);
    void *clock;
    unsigned awaited_folders;
    struct view views[SPOOL_FOLDER_COUNT];
};

static double monotonic_ns(void *context)
{
    return atoll_clock_mono_ns();
}

struct atoll_spool_client *atoll_spool_client_open(const char *folder, double (*now_ns)(void *context),
                                                   void *context, struct atoll_err *err)
{
    if (atoll_spool_tree_open(folder, err) != 0)
        return NULL;
    struct atoll_spool_client *client = calloc(1, sizeof(*client));
    if (!client) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a client of the spool %s", folder);
        return NULL;
    }
    memcpy(client->root, folder, strlen(folder) + 1); /* the tree's opening has checked its length */
    atoll_spool_tag_draw(client->tag);
    client->now_ns = now_ns ? now_ns : monotonic_ns;
    client->clock = context;
    for (size_t i = 0; i < SPOOL_FOLDER_COUNT; i++)
        client->views[i].read_ns = -INFINITY;
    return client;
}

void atoll_spool_client_close(struct atoll_spool_client *client)
{
    if (!client)
        return;
    for (size_t i = 0; i < SPOOL_FOLDER_COUNT; i++)
        atoll_spool_folder_fini(&client->views[i].folder);
    free(client);
}

static void forget(struct atoll_spool_client *client, const char *name)
{
    struct view *view = &client->views[atoll_spool_name_folder(name)];
    if (view->awaited > 0 && --view->awaited == 0) {
        client->awaited_folders--;
        atoll_spool_folder_fini(&view->folder);
        view->read_ns = -INFINITY;
    }
}

static int publish(struct atoll_spool_client *client, const char *name, const void *json, size_t length,
                   struct atoll_err *err)
{
    unsigned folder = atoll_spool_name_folder(name);
    if (atoll_spool_publish(client->root, client->tag, name, ATOLL_SPOOL_REQUEST, json, length, err) < 0)
        return -1;
    atoll_spool_bell_ring(client->root, folder);
    client->views[folder].read_ns = -INFINITY; /* of before the request */
    return 0;
}

int atoll_spool_client_ask(struct atoll_spool_client *client, const struct atoll_llm_request *request,
                           char ret_name[ATOLL_SPOOL_NAME_BYTES], struct atoll_err *err)
{
    char name[ATOLL_SPOOL_NAME_BYTES];
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, REQUEST_BYTES);
    atoll_spool_name_of(request, name);
    int failed = atoll_llm_request_encode(request, &bytes, err) != 0 ||
                 publish(client, name, bytes.data, bytes.length, err) != 0;
    atoll_buffer_fini(&bytes);
    if (failed)
        return -1;
    struct view *view = &client->views[atoll_spool_name_folder(name)];
    client->awaited_folders += view->awaited == 0;
    view->awaited++;
    memcpy(ret_name, name, sizeof(name));
    return 0;
}

/* ---- replies ---- */

/* 1 there is a reply to read, 0 there is none, -1. */
static int view_reply(struct atoll_spool_client *client, const char *name, struct atoll_err *err)
{
    unsigned index = atoll_spool_name_folder(name);
    struct view *view = &client->views[index];
    double now = client->now_ns(client->clock);
    double age = VIEW_MS + client->awaited_folders;
    if (now - view->read_ns >= age * NS_PER_MS) {
        if (atoll_spool_folder_read(&view->folder, client->root, index, err) != 0)
            return -1;
        view->read_ns = now;
    }
    const struct atoll_spool_entry *entry = atoll_spool_folder_find(&view->folder, name);
    if (entry)
        return entry->has_reply;
    view->read_ns = -INFINITY;
    return atoll_err_set(
        err, ATOLL_E_NOTFOUND,
        "request %s is in spool %s no more: it was removed or answered to somebody else; ask again", name,
        client->root);
}

int atoll_spool_client_look(struct atoll_spool_client *client, const char *name,
                            struct atoll_llm_outcome *ret_outcome, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_buffer bytes;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (!atoll_spool_name_is_valid(name))
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.80s' is no name of a request", name);
    int found = view_reply(client, name, err);
    if (found <= 0)
        return found;
    atoll_spool_path(client->root, name, ATOLL_SPOOL_REPLY, path);
    atoll_buffer_init(&bytes, REPLY_BYTES);
    found = atoll_spool_read(client->root, name, ATOLL_SPOOL_REPLY, &bytes, &why);
    if (found > 0 && bytes.length == 0) {
        found = 0; /* somebody is just about to write into it */
    } else if (found > 0) {
        if (atoll_reply_parse_file(bytes.data, bytes.length, ret_outcome, &why) != 0) {
            /* what a person wrote wrong must not be asked for without end */
            atoll_llm_outcome_fini(ret_outcome);
            atoll_llm_outcome_set(ret_outcome, ATOLL_LLM_PROTOCOL, "%s: %s", path, why.text);
        }
    } else if (found < 0 && (why.code == ATOLL_E_LIMIT || why.code == ATOLL_E_INPUT)) {
        atoll_llm_outcome_set(ret_outcome, ATOLL_LLM_PROTOCOL, "%s", why.text);
        found = 1;
    } else if (found < 0 && err) {
        *err = why;
    }
    atoll_buffer_fini(&bytes);
    return found;
}

/* The request first: a reply without a request is nobody's, a request without a reply would be answered again. */
static void remove_both(const struct atoll_spool_client *client, const char *name)
{
    atoll_spool_remove(client->root, name, ATOLL_SPOOL_REQUEST);
    atoll_spool_remove(client->root, name, ATOLL_SPOOL_REPLY);
}

int atoll_spool_client_done(struct atoll_spool_client *client, const char *name, struct atoll_err *err)
{
    if (!atoll_spool_name_is_valid(name))
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.80s' is no name of a request", name);
    remove_both(client, name);
    forget(client, name);
    return 0;
}

int atoll_spool_client_again(struct atoll_spool_client *client, const char *name, const void *json,
                             size_t length, struct atoll_err *err)
{
    if (!atoll_spool_name_is_valid(name))
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.80s' is no name of a request", name);
    remove_both(client, name);
    return publish(client, name, json, length, err);
}

void atoll_spool_client_withdraw(struct atoll_spool_client *client, const char *name)
{
    if (!atoll_spool_name_is_valid(name))
        return;
    if (!atoll_spool_is_there(client->root, name, ATOLL_SPOOL_REPLY))
        atoll_spool_remove(client->root, name, ATOLL_SPOOL_REQUEST);
    forget(client, name);
}
