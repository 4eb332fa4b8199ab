/* batch_script.h - the body of the batch script that a job of a campaign runs: the site's set-up, then the pilot.
 * Layer: scheduler, pure.
 *
 * The script runs the pilot in the background and waits for it.  TERM, INT and the site's signal reach the pilot as TERM,
 * which makes it drain; the script ends with the pilot's exit status.  Nothing in the text depends on the queue: with
 * directives in front (atoll_job_script) it is submitted, without them it runs in any allocation. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_BATCH_SCRIPT_H
#define ATOLL_SCHEDULER_CAMPAIGN_BATCH_SCRIPT_H

#include "scheduler/site/site.h"

#define ATOLL_BATCH_SCRIPT_BYTES ((size_t)1 << 20) /* a limit that a buffer for it may have */

struct atoll_batch_script {
    const struct atoll_site *site;
    const char *program;          /* the command atoll, absolute */
    const char *campaign;         /* folder, absolute */
    const char *site_file;        /* absolute; the campaign's copy of the profile */
    const char *const *arguments; /* further words for `atoll job`, NULL at the end; may be NULL */
};

/* Appends the text, which starts with "#!/bin/bash\n".  Any bytes may stand in paths and words.
 * Errors: INPUT for a path that is not absolute, LIMIT and MEMORY of the buffer. */
int atoll_batch_script_text(const struct atoll_batch_script *script, struct atoll_buffer *out,
                            struct atoll_err *err);

/* Texts inside a shell script: any bytes but NUL come out of bash as they went in. */
/* One word between single quotes; plain ones (letters, digits, _ . / : = , + @ % -) as they are, "" as ''. */
void atoll_shell_put(struct atoll_buffer *out, const char *word);
/* A text for a comment: every control character becomes a blank, so that it cannot leave its line. */
void atoll_shell_put_comment(struct atoll_buffer *out, const char *text);

#endif
