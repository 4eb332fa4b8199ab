#include "scheduler/launcher/local/slot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/launcher/local/job_folder.h"

#define SLOT_LIMIT 1024u

unsigned atoll_slot_count(void)
{
    const char *text = getenv("ATOLL_LOCAL_JOBS");
    unsigned long count = text ? strtoul(text, NULL, 10) : 1;

    return count < 1 ? 1 : count > SLOT_LIMIT ? SLOT_LIMIT : (unsigned)count;
}

int atoll_slot_take(const char *folder, unsigned count)
{
    const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    mkdir(folder, 0700);
    for (unsigned i = 0; i < count; i++) {
        char path[PATH_MAX + 16];
        int fd;

        snprintf(path, sizeof(path), "%s/%u", folder, i);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &whole) == 0) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    return -1;
}

static int turn_path(const char *root, const char *id, char *ret_path, size_t bytes)
{
    return (size_t)snprintf(ret_path, bytes, "%s/turn/%s", root, id) < bytes ? 0 : -1;
}

/* Whether a was submitted before b. */
static int is_before(const char *a, const char *b)
{
    char *end_a, *end_b;
    unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);

    if (x != y) {
        return x < y;
    }
    return (*end_a ? strtoul(end_a + 1, NULL, 10) : 0) < (*end_b ? strtoul(end_b + 1, NULL, 10) : 0);
}

static int find_first(const char *folder, char ret_id[ATOLL_JOB_ID_BYTES])
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    *ret_id = '\0';
    while (dir && (entry = readdir(dir)) != NULL) {
        size_t length = strlen(entry->d_name);

        if (*entry->d_name != '.' && length < ATOLL_JOB_ID_BYTES &&
            (!*ret_id || is_before(entry->d_name, ret_id))) {
            memcpy(ret_id, entry->d_name, length + 1);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return *ret_id ? 0 : -1;
}

static int waits(const char *root, const char *id)
{
    struct atoll_local_state state;

    return atoll_local_state_read(root, id, &state, NULL) == 0 &&
           atoll_process_id_is_alive(&state.supervisor);
}

int atoll_turn_is_mine(const char *root, const char *id)
{
    char path[PATH_MAX], folder[PATH_MAX], first[ATOLL_JOB_ID_BYTES];
    int fd;

    if (turn_path(root, "", folder, sizeof(folder)) != 0 || turn_path(root, id, path, sizeof(path)) != 0) {
        return 1;
    }
    mkdir(folder, 0700);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return 1; /* no order then; the slots still hold */
    }
    close(fd);
    if (find_first(folder, first) != 0 || strcmp(first, id) == 0) {
        return 1;
    }
    if (!waits(root, first)) {
        atoll_turn_leave(root, first);
    }
    return 0;
}

void atoll_turn_leave(const char *root, const char *id)
{
    char path[PATH_MAX];

    if (turn_path(root, id, path, sizeof(path)) == 0) {
        unlink(path);
    }
}
