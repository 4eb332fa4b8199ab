/* shell_text.h - texts inside a shell script: any bytes but NUL come out of bash as they went in.
 * Layer: scheduler, pure. */
#ifndef ATOLL_SCHEDULER_JOB_SHELL_TEXT_H
#define ATOLL_SCHEDULER_JOB_SHELL_TEXT_H

#include "base/buffer.h"

/* One word between single quotes; plain ones (letters, digits, _ . / : = , + @ % -) as they are, "" as ''. */
void atoll_shell_put(struct atoll_buffer *out, const char *word);
/* A text for a comment: every control character becomes a blank, so that it cannot leave its line. */
void atoll_shell_put_comment(struct atoll_buffer *out, const char *text);

#endif
