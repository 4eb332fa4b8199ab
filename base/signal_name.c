#include "base/signal_name.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int number;
} names[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"KILL", SIGKILL},   {"USR1", SIGUSR1},
    {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CONT", SIGCONT},   {"STOP", SIGSTOP},
    {"TSTP", SIGTSTP}, {"URG", SIGURG},   {"XCPU", SIGXCPU}, {"WINCH", SIGWINCH},
};

int atoll_signal_number(const char *name)
{
    const char *plain = name && strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
    char *end;
    long number;

    for (size_t i = 0; plain && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(plain, names[i].name) == 0) {
            return names[i].number;
        }
    }
    number = name && *name >= '0' && *name <= '9' ? strtol(name, &end, 10) : 0;
    return number >= 1 && number <= 64 && !*end ? (int)number : -1;
}
