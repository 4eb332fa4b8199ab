/* launch.h - for tests: starts the fault server as a child that ends with its stdin, and asks what it counted. */
#ifndef ATOLL_TESTS_PROVIDER_LAUNCH_H
#define ATOLL_TESTS_PROVIDER_LAUNCH_H

#include "tests/support/expect.h"

#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROVIDER_PROGRAM ATOLL_BUILD_DIR "/tests/bin/fault_provider"

struct provider {
    pid_t pid;
    int stdin_fd;
    char url[256];
};

static inline pid_t provider_spawn(const char *option, const char *value, int from_fd, int to_fd)
{
    char *arguments[] = {(char[]){"fault_provider"}, NULL, NULL, NULL};
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (from_fd >= 0)
        dup2(from_fd, 0);
    if (to_fd >= 0)
        dup2(to_fd, 1);
    if (option) {
        arguments[1] = strdup(option);
        arguments[2] = strdup(value);
    }
    execv(PROVIDER_PROGRAM, arguments);
    perror(PROVIDER_PROGRAM);
    _exit(127);
}

/* option NULL: plain. */
static inline void provider_start(struct provider *provider, const char *option, const char *value)
{
    int in[2], out[2];
    size_t length = 0;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    provider->pid = provider_spawn(option, value, in[0], out[1]);
    provider->stdin_fd = in[1];
    close(in[0]);
    close(out[1]);
    while (length < sizeof(provider->url) - 1 && read(out[0], provider->url + length, 1) == 1 &&
           provider->url[length] != '\n')
        length++;
    provider->url[length] = '\0';
    close(out[0]);
    if (length == 0)
        fail_msg("%s did not start", PROVIDER_PROGRAM);
}

static inline void provider_stop(struct provider *provider)
{
    int status = -1;
    close(provider->stdin_fd);
    waitpid(provider->pid, &status, 0);
    assert_int_equal(status, 0);
}

/* ca.pem and its kin, in a new folder whose name goes to ret_folder (at least 64 bytes). */
static inline void provider_certificates(char *ret_folder)
{
    int status = -1;
    strcpy(ret_folder, "/tmp/atoll-provider-XXXXXX");
    assert_non_null(mkdtemp(ret_folder));
    waitpid(provider_spawn("--make-certificates", ret_folder, -1, -1), &status, 0);
    assert_int_equal(status, 0);
}

static inline void provider_certificates_remove(const char *folder)
{
    static const char *const names[] = {"ca.pem",      "other-ca.pem",   "valid.pem",
                                        "expired.pem", "wrong-host.pem", "self-signed.pem"};
    char path[256];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

#endif
