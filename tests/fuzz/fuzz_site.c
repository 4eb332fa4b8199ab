/* fuzz_site.c - any bytes as a site profile: what is accepted keeps the promises of site.h, and every text and command that
 * comes of it is written whole or refused. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/campaign/batch_script.h"
#include "scheduler/job/pilot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int is_so)
{
    if (!is_so)
        abort();
}

static void check_words(const struct atoll_site_words *words)
{
    demand(words->items && words->count <= ATOLL_SITE_WORD_LIMIT && !words->items[words->count]);
    for (size_t i = 0; i < words->count; i++)
        demand(!strpbrk(words->items[i], "\n\r"));
}

static void check_site(const struct atoll_site *site)
{
    demand(site->name && strlen(site->name) < 64 && !strchr(site->name, '/'));
    demand(site->limits.poll_s > 0 && site->end.before_s > 0 && site->limits.time_s > site->end.before_s);
    demand(!strpbrk(site->files.scratch, "\"`\\\n(") && site->environment_count <= ATOLL_SITE_WORD_LIMIT);
    demand(strcmp(site->end.signal, "USR1") != 0 &&
           (site->step.is_uniform == 0 || site->step.is_uniform == 1));
    check_words(&site->step.extra);
    check_words(&site->job.directives);
    check_words(&site->modules);
    check_words(&site->setup);
    check_words(&site->container.binds);
}

static void use_script(const struct atoll_site *site, struct atoll_arena *arena)
{
    const struct atoll_batch_script script = {site, "/bin/atoll", "/c", "/c/site.yaml", NULL};
    struct atoll_job_request request = {.name = "a", .work_dir = "/c", .nodes = site->limits.nodes_min};
    struct atoll_buffer body, whole;

    atoll_buffer_init(&body, ATOLL_BATCH_SCRIPT_BYTES);
    atoll_buffer_init(&whole, 2 * ATOLL_BATCH_SCRIPT_BYTES);
    if (atoll_batch_script_text(&script, &body, NULL) == 0) {
        atoll_buffer_put_u8(&body, 0);
        demand(strncmp((const char *)body.data, "#!/bin/bash\n", 12) == 0);
        request.script = (const char *)body.data;
        if (atoll_site_request(site, 0, 0, arena, &request, NULL) == 0)
            (void)atoll_job_script(&request, &whole, NULL);
    }
    atoll_buffer_fini(&whole);
    atoll_buffer_fini(&body);
}

static void use_step(const struct atoll_site *site, struct atoll_arena *arena)
{
    static const char *const nodes[] = {"n1", "n2"}, *const bad[] = {"n3"};
    struct atoll_step_request request = {.nodes = nodes,
                                         .node_count = 2,
                                         .left_out = bad,
                                         .left_out_count = 1,
                                         .evaluators_per_node = 3,
                                         .gpus_per_node = 3,
                                         .program = "/bin/atoll-eval",
                                         .host_file = "/h"};
    const char *const *words = NULL;

    if (atoll_step_command(site, &request, arena, &words, NULL) == 0)
        demand(words && words[0]);
    (void)atoll_step_broadcast(site, &request, "/a", "/b", arena, &words, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_site *site = atoll_site_parse("s.yaml", (const char *)data, size, &err);
    struct atoll_arena *arena = site ? atoll_arena_create((size_t)1 << 20, NULL) : NULL;

    demand(site || err.code != ATOLL_OK);
    if (arena) {
        check_site(site);
        use_script(site, arena);
        use_step(site, arena);
    }
    atoll_arena_destroy(arena);
    atoll_site_destroy(site);
    return 0;
}
