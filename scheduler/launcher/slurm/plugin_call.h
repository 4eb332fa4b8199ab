/* plugin_call.h - the parts of the plugin: submitting, asking after jobs, asking after the site.  Layer: scheduler, inside the
 * plugin alone.  Functions as plugin.h says of them; nothing is freed, because the process ends after one call. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_PLUGIN_CALL_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_PLUGIN_CALL_H

#include "scheduler/launcher/slurm/plugin.h"

/* Words of an error number of Slurm's; -1. */
int atoll_slurm_words_set(struct atoll_slurm_words *words, int number);
/* A copy that ends where the array ends; NULL is "". */
void atoll_slurm_text_copy(char *to, size_t bytes, const char *text);

int atoll_slurm_call_submit(const struct atoll_slurm_submission *submission, uint32_t *ret_id,
                            struct atoll_slurm_words *words);
int atoll_slurm_call_list(uint32_t user_id, atoll_slurm_job_sink *sink, void *context,
                          struct atoll_slurm_words *words);
int atoll_slurm_call_load(uint32_t job_id, atoll_slurm_job_sink *sink, void *context,
                          struct atoll_slurm_words *words);
int atoll_slurm_call_bad_nodes(const char *nodes, char *ret_names, size_t bytes,
                               struct atoll_slurm_words *words);
int atoll_slurm_call_cluster(struct atoll_cluster *ret_cluster, struct atoll_slurm_words *words);

#endif
