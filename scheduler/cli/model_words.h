/* model_words.h - what went wrong with a run's language model, from its log, for who started the run.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_MODEL_WORDS_H
#define ATOLL_SCHEDULER_CLI_MODEL_WORDS_H

#include <stdio.h>

/* Bytes of a log now; 0 where there is none. */
long atoll_model_words_mark(const char *log_path);
/* At most a line for each kind of trouble that the log tells of behind mark: that the model is asked no more, that a limit is
 * reached; without these, how many questions failed and how the last one did. */
void atoll_model_words_print(const char *log_path, long mark, FILE *out);

#endif
