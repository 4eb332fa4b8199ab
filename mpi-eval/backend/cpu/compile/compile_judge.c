#include "mpi-eval/backend/cpu/compile/compile_judge.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* Which words in the output of the tools mean what. */
static const struct sign {
    const char *words;
    enum atoll_compile_status status;
} signs[] = {
    {"out of memory", ATOLL_COMPILE_MEMORY},
    {"virtual memory exhausted", ATOLL_COMPILE_MEMORY},
    {"memory exhausted", ATOLL_COMPILE_MEMORY},
    {"annot allocate memory", ATOLL_COMPILE_MEMORY},
    {"std::bad_alloc", ATOLL_COMPILE_MEMORY},
    {"Memory allocation failure", ATOLL_COMPILE_MEMORY},
    {"Killed signal terminated", ATOLL_COMPILE_MEMORY},
    {"CPU time limit exceeded", ATOLL_COMPILE_TIMEOUT},
    {"No space left on device", ATOLL_COMPILE_BROKEN},
    {"cannot execute", ATOLL_COMPILE_BROKEN},
};

/* Words count in lines of the tools themselves only: a candidate can put any words into "file:line: error:
 * ..." lines and the source lines under them. */
static const char *find_words(const char *output, const char *name, const char *words)
{
    for (const char *line = output; *line;) {
        size_t length = strcspn(line, "\n");
        int of_tool = line[0] != ' ' && strncmp(line, name, strlen(name)) != 0;
        if (of_tool && memmem(line, length, words, strlen(words)))
            return line;
        line += length + (line[length] == '\n');
    }
    return NULL;
}

enum atoll_compile_status atoll_compile_judge(const char *output, const char *file_name, int wait_status)
{
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return ATOLL_COMPILE_OK;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (find_words(output, file_name, signs[i].words))
            return signs[i].status;
    }
    return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL ? ATOLL_COMPILE_BROKEN
                                                                        : ATOLL_COMPILE_ERROR;
}
