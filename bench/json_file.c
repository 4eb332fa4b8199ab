#include "bench/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct text {
    FILE *file;
    size_t bytes;
    int is_too_long;
};

static size_t text_read(void *buffer, size_t bytes, void *data)
{
    struct text *text = data;
    size_t got = fread(buffer, 1, bytes, text->file);
    text->bytes += got;
    text->is_too_long = text->bytes > ATOLL_JSON_FILE_LIMIT;
    return text->is_too_long || ferror(text->file) ? (size_t)-1 : got;
}

static json_t *text_parse(FILE *file, const char *path, struct atoll_err *err)
{
    struct text text = {file, 0, 0};
    json_error_t where;
    json_t *root = json_load_callback(text_read, &text, JSON_REJECT_DUPLICATES, &where);
    if (text.is_too_long)
        atoll_err_set(err, ATOLL_E_INPUT, "%s has more than %u bytes of text", path, ATOLL_JSON_FILE_LIMIT);
    else if (!root)
        atoll_err_set(err, ATOLL_E_INPUT, "%s: line %d: %s", path, where.line, where.text);
    return root;
}

static int gzip_start(const char *path, int to, pid_t *ret_pid)
{
    char *argv[] = {(char[]){"gzip"}, (char[]){"-dc"}, NULL};
    posix_spawn_file_actions_t actions;
    int error;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, path, O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    error = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* from: the end of the pipe that gzip writes into; closed here. */
static json_t *gzip_read(int from, pid_t pid, const char *path, struct atoll_err *err)
{
    FILE *file = fdopen(from, "r");
    json_t *root = file ? text_parse(file, path, err) : NULL;
    int status = 0;
    if (file) {
        fclose(file);
    } else {
        atoll_err_errno(err, errno, "%s", path);
        close(from);
    }
    if (waitpid(pid, &status, 0) == pid && status == 0)
        return root;
    if (root)
        atoll_err_set(err, ATOLL_E_INPUT, "%s is no whole gzip file", path);
    json_decref(root);
    return NULL;
}

static json_t *gzip_parse(const char *path, struct atoll_err *err)
{
    int ends[2], error;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        atoll_err_errno(err, errno, "pipe");
        return NULL;
    }
    error = gzip_start(path, ends[1], &pid);
    close(ends[1]);
    if (error == 0)
        return gzip_read(ends[0], pid, path, err);
    atoll_err_errno(err, error, "gzip -dc < %s", path);
    close(ends[0]);
    return NULL;
}

json_t *atoll_json_file_load(const char *path, struct atoll_err *err)
{
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        return gzip_parse(path, err);
    FILE *file = fopen(path, "re");
    if (!file) {
        atoll_err_errno(err, errno, "%s", path);
        return NULL;
    }
    json_t *root = text_parse(file, path, err);
    fclose(file);
    return root;
}
