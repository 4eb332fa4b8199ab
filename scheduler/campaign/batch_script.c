/* batch_script.c - the body of a job's batch script, its parts in the order in which the shell runs them; the #SBATCH lines in
 * front of it are launcher/job_script.c.
 * Modules and set-up lines run before `set -u`: module functions and site files read variables that are not set. */
#include "scheduler/campaign/batch_script.h"

#include <string.h>

void atoll_shell_put(struct atoll_buffer *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";

    if (word[0] && strspn(word, plain) == strlen(word)) {
        atoll_buffer_put_bytes(out, word, strlen(word));
        return;
    }
    atoll_buffer_put_u8(out, '\'');
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            atoll_buffer_put_bytes(out, "'\\''", 4);
        else
            atoll_buffer_put_u8(out, (uint8_t)*c);
    atoll_buffer_put_u8(out, '\'');
}

void atoll_shell_put_comment(struct atoll_buffer *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        int is_control = (unsigned char)*c < 0x20 || *c == 0x7f;

        atoll_buffer_put_u8(out, is_control ? ' ' : (uint8_t)*c);
    }
}

static void put(struct atoll_buffer *out, const char *text)
{
    atoll_buffer_put_bytes(out, text, strlen(text));
}

static void put_modules(const struct atoll_site *site, struct atoll_buffer *out)
{
    if (site->modules.count == 0)
        return;
    put(out, "if ! command -v module >/dev/null 2>&1; then\n"
             "    for file in \"${LMOD_PKG:-/usr/share/lmod/lmod}/init/bash\" "
             "\"${MODULESHOME:-/usr/share/modules}/init/bash\" "
             "/etc/profile.d/lmod.sh /etc/profile.d/modules.sh; do\n"
             "        if [ -r \"$file\" ]; then\n"
             "            . \"$file\"\n"
             "            break\n"
             "        fi\n"
             "    done\n"
             "fi\n");
    for (size_t i = 0; i < site->modules.count; i++) {
        put(out, "module load ");
        atoll_shell_put(out, site->modules.items[i]);
        put(out, " || {\n    printf 'atoll: module %s does not load here; mend \"modules\" in the site "
                 "profile\\n' ");
        atoll_shell_put(out, site->modules.items[i]);
        put(out, " >&2\n    exit 69\n}\n");
    }
    put(out, "\n");
}

static void put_variable(struct atoll_buffer *out, const char *name, const char *value)
{
    put(out, "export ");
    put(out, name);
    put(out, "=");
    atoll_shell_put(out, value);
    put(out, "\n");
}

/* Slurm's default, fences by trees, lets ranks out of MPI_Init while others are in it yet; Open MPI 4.1 then crashes when
 * the first message comes (docs/spec/site.md).  The site's own variables come behind, so they have the last word. */
static void put_fence(const struct atoll_site *site, struct atoll_buffer *out)
{
    const char *mpi = site->step.mpi ? site->step.mpi : "pmix"; /* the cluster's own way may be that one */

    if (site->step.start == ATOLL_SITE_SRUN && strncmp(mpi, "pmix", 4) == 0)
        put_variable(out, "SLURM_PMIX_FENCE", "ring");
}

static void put_environment(const struct atoll_site *site, struct atoll_buffer *out)
{
    static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"};
    static const char *const direct[] = {"no_proxy", "NO_PROXY"};

    for (size_t i = 0; site->network.proxy && i < sizeof(proxies) / sizeof(proxies[0]); i++)
        put_variable(out, proxies[i], site->network.proxy);
    for (size_t i = 0; site->network.no_proxy && i < sizeof(direct) / sizeof(direct[0]); i++)
        put_variable(out, direct[i], site->network.no_proxy);
    put_fence(site, out);
    for (size_t i = 0; i < site->environment_count; i++)
        put_variable(out, site->environment[i].name, site->environment[i].value);
    put(out, "export ATOLL_SCRATCH=\"");
    put(out,
        site->files.scratch); /* its reader let variables through, and nothing that runs or ends the quotes */
    put(out, "\"\n");
    if (site->step.start ==
        ATOLL_SITE_SRUN) { /* the job's layout is not the step's; srun would take these for options */
        put(out, "unset SLURM_NTASKS_PER_NODE SLURM_GPUS_PER_TASK SLURM_DISTRIBUTION\n");
    }
    if (site->step.start == ATOLL_SITE_MPIRUN) {
        put(out,
            "export LD_LIBRARY_PATH=\"${LD_LIBRARY_PATH:-}\"\n"); /* mpirun -x complains about what is not there */
    }
    put(out, "\n");
}

/* wait(1) returns early when a trap runs, with a status of its own.  In the end it is asked once more; a shell that has
 * forgotten the pilot by then says 127, and the status before was the true one. */
static void put_pilot(const struct atoll_batch_script *script, struct atoll_buffer *out)
{
    const char *signal = script->site->end.signal;

    put(out, "pilot='' asked=''\nforward() {\n    asked=1\n    [ -z \"$pilot\" ] || kill -TERM \"$pilot\" "
             "2>/dev/null\n}\ntrap forward TERM INT");
    if (strcmp(signal, "TERM") != 0 && strcmp(signal, "INT") != 0) {
        put(out, " ");
        put(out, signal);
    }
    put(out, "\n\n");
    atoll_shell_put(out, script->program);
    put(out, " job ");
    atoll_shell_put(out, script->campaign);
    put(out, " --site ");
    atoll_shell_put(out, script->site_file);
    for (size_t i = 0; script->arguments && script->arguments[i]; i++) {
        put(out, " ");
        atoll_shell_put(out, script->arguments[i]);
    }
    put(out, " &\npilot=$!\n"
             "[ -z \"$asked\" ] || kill -TERM \"$pilot\" 2>/dev/null # asked before there was a pilot\n\n"
             "status=127\n"
             "while :; do\n"
             "    asked=''\n"
             "    wait \"$pilot\"\n"
             "    code=$?\n"
             "    [ \"$code\" -eq 127 ] || status=$code\n"
             "    [ -n \"$asked\" ] || break\n"
             "done\n"
             "exit \"$status\"\n");
}

static int check_path(const char *what, const char *path, struct atoll_err *err)
{
    if (path && path[0] == '/')
        return 0;
    return atoll_err_set(err, ATOLL_E_INPUT, "%s '%.200s' of a batch script must be an absolute path", what,
                         path ? path : "");
}

int atoll_batch_script_text(const struct atoll_batch_script *script, struct atoll_buffer *out,
                            struct atoll_err *err)
{
    if (check_path("program", script->program, err) != 0 ||
        check_path("campaign", script->campaign, err) != 0 ||
        check_path("site profile", script->site_file, err) != 0) {
        return -1;
    }
    put(out, "#!/bin/bash\n"
             "# Written by atoll submit: works on the parts of a campaign until all have ended or the time "
             "is over.\n"
             "# Submitted again, or run inside any allocation, it goes on where the last job stopped.\n"
             "# Site profile: ");
    atoll_shell_put_comment(out, script->site->name);
    put(out, " (");
    atoll_shell_put_comment(out, script->site_file);
    put(out, ")\n\n");
    put_modules(script->site, out);
    for (size_t i = 0; i < script->site->setup.count; i++) {
        put(out, script->site->setup.items[i]);
        put(out, "\n");
    }
    put(out, script->site->setup.count ? "\nset -u\n" : "set -u\n");
    put_environment(script->site, out);
    put_pilot(script, out);
    return atoll_buffer_check(out, err);
}
