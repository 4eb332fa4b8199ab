#include "mpi-eval/coordinator/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define FILE_BYTES (PATH_MAX + 64)
#define DEVICES    "devices\n" /* second line of a gate */

static const char *const words[ATOLL_HANDOVER_STAGE_COUNT] = {[ATOLL_HANDOVER_STANDS_BY] = "stands-by",
                                                              [ATOLL_HANDOVER_ENDING] = "ending",
                                                              [ATOLL_HANDOVER_STOPPED] = "stopped",
                                                              [ATOLL_HANDOVER_RELEASED] = "released"};

int atoll_handover_make(const char *path, struct atoll_err *err)
{
    int fd = atoll_file_open_to_write(path, O_WRONLY | O_CREAT | O_TRUNC, 0666, err);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

/* Only to a file that is there: one whose reader has gone is not made again. */
static int line_append(const char *path, const char *line, struct atoll_err *err)
{
    int fd = atoll_file_open_to_write(path, O_WRONLY | O_APPEND, 0, err);
    if (fd < 0)
        return -1;
    int rc = atoll_write_all(fd, line, strlen(line));
    int failed = errno;
    close(fd);
    return rc == 0 ? 0 : atoll_file_write_failed(path, "cannot write", failed, err);
}

int atoll_handover_tell(const char *path, enum atoll_handover_stage stage, struct atoll_err *err)
{
    char line[32];
    if (!path)
        return 0;
    snprintf(line, sizeof(line), "%s\n", words[stage]);
    return line_append(path, line, err);
}

enum atoll_handover_stage atoll_handover_look(const char *path)
{
    enum atoll_handover_stage found = ATOLL_HANDOVER_STARTING;
    size_t length;
    char *text = atoll_file_read(path, FILE_BYTES, &length, NULL);
    for (char *line = text, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        for (enum atoll_handover_stage s = found + 1; s < ATOLL_HANDOVER_STAGE_COUNT; s++)
            if (strcmp(line, words[s]) == 0)
                found = s;
    }
    free(text);
    return found;
}

int atoll_handover_open_gate(const char *path, const char *campaign, uint32_t epoch, struct atoll_err *err)
{
    char line[FILE_BYTES];
    if (!*campaign || strchr(campaign, '\n') || strlen(campaign) >= PATH_MAX)
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.200s' is no path that a line can hold", campaign);
    snprintf(line, sizeof(line), "%u %.*s\n", epoch, PATH_MAX, campaign);
    return line_append(path, line, err);
}

int atoll_handover_give_devices(const char *path, struct atoll_err *err)
{
    return line_append(path, DEVICES, err);
}

int atoll_handover_has_devices(const char *path)
{
    size_t length;
    char *text = atoll_file_read(path, FILE_BYTES, &length, NULL), *line = text ? strchr(text, '\n') : NULL;
    int has_devices = line && strcmp(line + 1, DEVICES) == 0;
    free(text);
    return has_devices;
}

int atoll_handover_look_at_gate(const char *path, char *ret_campaign, size_t bytes, uint32_t *ret_epoch,
                                struct atoll_err *err)
{
    size_t length;
    int at = 0;
    unsigned epoch;
    char *text = atoll_file_read(path, FILE_BYTES, &length, err), *end = text ? strchr(text, '\n') : NULL;
    int rc = text ? 0 : -1;
    if (end) {
        *end = '\0';
        rc = sscanf(text, "%u %n", &epoch, &at) == 1 && at > 0 && text[at] && strlen(text + at) < bytes
                 ? 1
                 : atoll_err_set(err, ATOLL_E_PROTOCOL, "%s: not the line of a gate", path);
    }
    if (rc == 1) {
        snprintf(ret_campaign, bytes, "%s", text + at);
        *ret_epoch = epoch;
    }
    free(text);
    return rc;
}
