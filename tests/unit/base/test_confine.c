/* A confined child reads files and answers; it writes none, starts nothing and reaches nobody. */
#include "tests/support/expect.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"

#define MEMORY_BYTES ((uint64_t)64 << 30) /* sanitizers want much */

/* A bit for each thing that went otherwise than it should. */
static int confined(void)
{
    char byte;
    int own = open("/dev/zero", O_RDONLY | O_CLOEXEC), wrong = 0;
    if (own < 0 || atoll_confine_reader(MEMORY_BYTES, 60) != 0)
        return 1;
    wrong |= read(own, &byte, 1) == 1 ? 0 : 2;
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    wrong |= file >= 0 && read(file, &byte, 1) == 1 ? 0 : 4;
    wrong |= open("/tmp/atoll-confined", O_WRONLY | O_CREAT, 0600) < 0 && errno == EPERM ? 0 : 8;
    wrong |= socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM ? 0 : 16;
    wrong |= kill(getpid(), 0) < 0 && errno == EPERM ? 0 : 32;
    wrong |= unlink("/tmp/atoll-confined") < 0 && errno == EPERM ? 0 : 64;
    return wrong;
}

static void test_what_is_left(void **state)
{
#if defined(__x86_64__) || defined(__aarch64__)
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(confined());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
#else
    print_message("no filter on this processor\n");
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
