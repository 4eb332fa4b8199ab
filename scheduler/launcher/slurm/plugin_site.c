/* plugin_site.c - nodes, partitions and limits as Slurm tells them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "scheduler/launcher/slurm/plugin_call.h"
#include "scheduler/launcher/slurm/version.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int is_bad(uint32_t state)
{
    uint32_t base = state & NODE_STATE_BASE;

    return base == NODE_STATE_DOWN || base == NODE_STATE_ERROR ||
           (state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND));
}

static int is_idle(uint32_t state)
{
    return (state & NODE_STATE_BASE) == NODE_STATE_IDLE && !is_bad(state) && !(state & NODE_STATE_COMPLETING);
}

/* Names that do not fit are an error: a caller would use what it does not hear of. */
static int add_name(char *names, size_t bytes, const char *name)
{
    size_t length = strlen(names);

    return (size_t)snprintf(names + length, bytes - length, "%s%s", length ? "," : "", name) < bytes - length
               ? 0
               : -1;
}

int atoll_slurm_call_bad_nodes(const char *nodes, char *ret_names, size_t bytes,
                               struct atoll_slurm_words *words)
{
    node_info_msg_t *all = NULL;
    atoll_slurm_hosts wanted = slurm_hostlist_create(nodes);

    *ret_names = '\0';
    if (!wanted) {
        return atoll_slurm_words_set(words, ESLURM_INVALID_NODE_NAME);
    }
    if (slurm_load_node(0, &all, SHOW_ALL) != SLURM_SUCCESS) {
        return atoll_slurm_words_set(words, errno);
    }
    for (uint32_t i = 0; i < all->record_count; i++) {
        const node_info_t *node = &all->node_array[i];

        if (node->name && is_bad(node->node_state) && slurm_hostlist_find(wanted, node->name) >= 0 &&
            add_name(ret_names, bytes, node->name) != 0) {
            return atoll_slurm_words_set(words, ENOMEM);
        }
    }
    return 0;
}

static double minutes_of(uint32_t limit)
{
    return limit == INFINITE || limit == NO_VAL ? HUGE_VAL : (double)limit;
}

/* node_inx: pairs of first and last index, ended by -1. */
static void count_nodes(const partition_info_t *info, const node_info_msg_t *nodes,
                        struct atoll_partition *out)
{
    for (const int32_t *pair = info->node_inx; pair && pair[0] >= 0; pair += 2) {
        for (int32_t i = pair[0]; i <= pair[1] && (uint32_t)i < nodes->record_count; i++) {
            const node_info_t *node = &nodes->node_array[i];

            out->idle_nodes += is_idle(node->node_state) ? 1 : 0;
            out->cpus_per_node = node->cpus > out->cpus_per_node ? node->cpus : out->cpus_per_node;
            if (!*out->gres) {
                atoll_slurm_text_copy(out->gres, sizeof(out->gres), node->gres);
            }
        }
    }
}

static void put_partition(const partition_info_t *info, const node_info_msg_t *nodes,
                          struct atoll_partition *out)
{
    atoll_slurm_text_copy(out->name, sizeof(out->name), info->name);
    atoll_slurm_text_copy(out->state, sizeof(out->state), info->state_up == PARTITION_UP ? "up" : "down");
    out->nodes = info->total_nodes;
    out->time_limit_min = minutes_of(info->max_time);
    out->default_min = minutes_of(info->default_time);
    out->is_default = (info->flags & PART_FLAG_DEFAULT) != 0;
    count_nodes(info, nodes, out);
}

static int put_limits(struct atoll_cluster *cluster, struct atoll_slurm_words *words)
{
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS) {
        return atoll_slurm_words_set(words, errno);
    }
    atoll_slurm_text_copy(cluster->version, sizeof(cluster->version), conf->version);
    atoll_slurm_text_copy(cluster->name, sizeof(cluster->name), conf->cluster_name);
    if (conf->control_cnt && conf->control_machine) {
        atoll_slurm_text_copy(cluster->controller, sizeof(cluster->controller), conf->control_machine[0]);
    }
    cluster->array_limit = conf->max_array_sz;
    cluster->job_limit = conf->max_job_cnt;
    return 0;
}

int atoll_slurm_call_cluster(struct atoll_cluster *ret_cluster, struct atoll_slurm_words *words)
{
    partition_info_msg_t *partitions = NULL;
    node_info_msg_t *nodes = NULL;
    double begin_s = atoll_clock_mono_s();

    if (slurm_ping(0) == SLURM_SUCCESS) {
        ret_cluster->answer_s = atoll_clock_mono_s() - begin_s;
    }
    if (put_limits(ret_cluster, words) != 0) {
        return -1;
    }
    if (slurm_load_partitions(0, &partitions, SHOW_ALL) != SLURM_SUCCESS ||
        slurm_load_node(0, &nodes, SHOW_ALL) != SLURM_SUCCESS) {
        return atoll_slurm_words_set(words, errno);
    }
    for (uint32_t i = 0; i < partitions->record_count && i < COUNT(ret_cluster->partitions); i++) {
        put_partition(&partitions->partition_array[i], nodes,
                      &ret_cluster->partitions[ret_cluster->partition_count++]);
    }
    return 0;
}
