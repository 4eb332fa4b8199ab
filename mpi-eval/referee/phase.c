#include "mpi-eval/referee/phase.h"

const char *atoll_phase_name(enum atoll_phase phase)
{
    static const char *const names[ATOLL_PHASE_COUNT] = {"answer", "inputs", "flush",     "fork",
                                                         "span",   "death",  "untouched", "outputs"};
    return (unsigned)phase < ATOLL_PHASE_COUNT ? names[phase] : "unknown";
}
