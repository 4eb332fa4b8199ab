#include "mpi-eval/backend/cuda/compile/compile_report.h"

#include <ctype.h>
#include <string.h>

static int starts(const char *line, size_t length, const char *words)
{
    size_t n = strlen(words);
    return length >= n && memcmp(line, words, n) == 0;
}

static int has(const char *line, size_t length, const char *words)
{
    return memmem(line, length, words, strlen(words)) != NULL;
}

/* "ptxas info    : Used 8 registers", "ptxas         .     0 bytes stack frame", "ptxas warning : ...", and from nvcc
 * also "    0 bytes stack frame" under such a line.  A candidate's lines start with its name or two blanks. */
static int is_report(const char *line, size_t length, int after_report)
{
    if (starts(line, length, "ptxas info") || starts(line, length, "ptxas warning") ||
        starts(line, length, "ptxas   "))
        return 1;
    return after_report && length > 4 && starts(line, length, "    ") && isdigit((unsigned char)line[4]) &&
           has(line, length, " bytes stack frame");
}

void atoll_compile_report_split(char *output, char ret_report[ATOLL_COMPILE_REPORT_BYTES])
{
    size_t kept = 0, reported = 0;
    int after_report = 0;
    for (size_t at = 0; output[at];) {
        size_t length = strcspn(output + at, "\n");
        size_t with_end = length + (output[at + length] == '\n');
        after_report = is_report(output + at, length, after_report);
        if (!after_report) {
            memmove(output + kept, output + at, with_end);
            kept += with_end;
        } else if (!has(output + at, length, "Compile time =") &&
                   reported + length + 2 <= ATOLL_COMPILE_REPORT_BYTES) {
            memcpy(ret_report + reported, output + at, length);
            reported += length;
            ret_report[reported++] = '\n';
        }
        at += with_end;
    }
    output[kept] = '\0';
    ret_report[reported] = '\0';
}
