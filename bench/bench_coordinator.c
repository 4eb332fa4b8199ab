/* bench_coordinator.c - what rank 0 costs: campaigns with the null backend, results a second and CPU of rank
 * 0 for each result (engine, journal with its syncs, orders, everything), over evaluators on local sockets
 * and over MPI ranks; and what ranks cost that have nothing to do. bench_coordinator [RESULTS]; the campaigns
 * are made and removed below the current folder. */
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive-h5/campaign/campaign.h"
#include "evolution/engine/engine.h"

#define DIR_NAME     "bench-coordinator.tmp"
#define LOCAL_MOST   32
#define MPI_MOST     32
#define ATTEMPTS     3
#define IDLE_SECONDS 10
#define PROCESSES    512

static const char task_yaml[] =
    "version: 1\nname: wide\nsummary: one template with many instances\ndims: [N]\ntensors:\n"
    "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {mean: 0, std: 1}}}\n"
    "  - {name: y, dtype: f32, shape: [N], role: out}\n"
    "reference: {file: reference.c, units: \"N\"}\nwork: {flops: \"N\"}\nprecisions: [f32]\n"
    "tolerance: {rtol: 1.0e-5, atol: 1.0e-6}\nvariants:\n  check: {N: 37}\n  bench: {N: 4096}\n"
    "  hidden: {N: 129}\nbaselines: [{name: naive, file: seeds/naive.c}]\n";
static const char reference_c[] = "void reference(const struct atoll_reference_args *a, long unit)\n{\n    "
                                  "put_y(a, unit, get_x(a, unit));\n}\n";
static const char body[] = "void wide(long begin, long end, const float *x, float *y)\n{\n"
                           "    for (long i = begin; i < end; i++)\n        y[i] = x[i];\n}\n";
static const char launch[] =
    "\"launch\": [{\"function\": \"wide\", \"units\": \"N\", \"args\": [\"x\", \"y\"]}]";

static FILE *file_open(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

/* Four parameters of 64 values each: the search never runs out of instances. */
static void task_write(void)
{
    mkdir(DIR_NAME, 0755);
    mkdir(DIR_NAME "/wide", 0755);
    mkdir(DIR_NAME "/wide/seeds", 0755);
    FILE *file = file_open(DIR_NAME "/wide/task.yaml");
    fputs(task_yaml, file);
    fclose(file);
    file = file_open(DIR_NAME "/wide/reference.c");
    fputs(reference_c, file);
    fclose(file);
    file = file_open(DIR_NAME "/wide/seeds/naive.c");
    fprintf(file, "/* atoll-plan {\"version\": 1, %s} */\n%s", launch, body);
    fclose(file);
    file = file_open(DIR_NAME "/wide/seeds/template.c");
    fprintf(file, "/* atoll-plan {\"version\": 1, \"params\": {");
    for (int p = 0; p < 4; p++) {
        fprintf(file, "%s\"P%d\": [", p ? ", " : "", p);
        for (int v = 1; v <= 64; v++)
            fprintf(file, "%s%d", v > 1 ? ", " : "", v);
        fprintf(file, "]");
    }
    fprintf(file, "}, %s} */\n%s", launch, body);
    fclose(file);
}

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    return remove(path);
}

static void dir_remove(const char *path)
{
    nftw(path, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void campaign_make(const char *dir, unsigned long results)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(DIR_NAME "/wide", &err);
    if (!task) {
        fprintf(stderr, "bench_coordinator: %s\n", err.text);
        exit(1);
    }
    struct atoll_campaign_task told = {task->name, DIR_NAME "/wide", task->id};
    struct atoll_config config = {.engine_version = ATOLL_ENGINE_VERSION, .task_count = 1, .tasks = &told};
    config.id = atoll_id_of(dir, strlen(dir));
    atoll_search_defaults(&config.search);
    config.search.evaluation_budget = results;
    config.search.wall_budget_ns = 0;
    config.search.queue_depth = 16;
    config.search.stagnation_limit = 0x7fffffff;
    struct atoll_campaign *campaign = atoll_campaign_create(dir, &config, NULL, &err);
    if (!campaign) {
        fprintf(stderr, "bench_coordinator: %s\n", err.text);
        exit(1);
    }
    atoll_campaign_close(campaign);
    atoll_task_destroy(task);
}

/* The command of one run over a carrier, its output in one stream. */
static void command_make(char *ret_command, size_t bytes, const char *program, int is_mpi,
                         unsigned evaluators, const char *more)
{
    if (is_mpi)
        snprintf(ret_command, bytes,
                 "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,tcp "
                 "OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo "
                 "OMPI_MCA_mpi_yield_when_idle=1 exec mpirun --oversubscribe -n %u %s/atoll-eval " DIR_NAME
                 "/campaign --null-backend %s 2>&1",
                 evaluators + 1, program, more);
    else
        snprintf(ret_command, bytes,
                 "exec %s/atoll-eval " DIR_NAME "/campaign --local --evaluators %u --null-backend %s 2>&1",
                 program, evaluators, more);
}

/* The line with which rank 0 ends; 0 when this is another one. */
static int result_print(const char *line, const char *carrier, unsigned evaluators)
{
    unsigned long long evaluated, compared;
    double seconds, cpu_us;
    const char *start = strstr(line, "eval.finished");
    start = start ? strpbrk(start, " ") : NULL;
    while (start && *start && (*start < '0' || *start > '9')) /* past blanks and "[rank 0]" */
        start = *start == '[' ? strchr(start, ']') : start + 1;
    if (!start || sscanf(start, "%llu evaluations, %llu comparisons in %lf s; rank 0 used %lf us", &evaluated,
                         &compared, &seconds, &cpu_us) != 4)
        return 0;
    printf("%-8s %10u %10llu %10.2f %12.0f %14.1f\n", carrier, evaluators, evaluated + compared, seconds,
           (double)(evaluated + compared) / (seconds > 0.01 ? seconds : 0.01), cpu_us);
    fflush(stdout);
    return 1;
}

/* MPI may fail to start so many ranks on a small machine: then once more, and again. */
static void measure(const char *program, int is_mpi, unsigned evaluators, unsigned long results)
{
    char command[4096], line[4096];
    const char *carrier = is_mpi ? "mpi" : "local";
    int found = 0;
    command_make(command, sizeof(command), program, is_mpi, evaluators, "");
    for (int attempt = 0; attempt < ATTEMPTS && !found; attempt++) {
        campaign_make(DIR_NAME "/campaign", results);
        FILE *out = popen(command, "r");
        while (out && fgets(line, sizeof(line), out))
            found |= result_print(line, carrier, evaluators);
        if (out)
            pclose(out);
        dir_remove(DIR_NAME "/campaign");
    }
    if (!found)
        printf("%-8s %10u   failed %d times: %s\n", carrier, evaluators, ATTEMPTS, command);
}

/* ---- idle ranks ---- */

enum role { OTHER, RANK, SPAWNER, EVALUATOR };

struct process {
    long pid, parent;
    enum role role;
    double cpu_s;
};

static size_t proc_read(long pid, const char *name, char *ret_text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(ret_text, 1, bytes - 1, file) : 0;
    if (file)
        fclose(file);
    ret_text[length] = '\0';
    return length;
}

/* A spawner is forked from its rank and has its command line. */
static enum role role_of(long pid)
{
    char text[4096] = "";
    size_t length = proc_read(pid, "cmdline", text, sizeof(text)), first = strlen(text);
    const char *name = strrchr(text, '/'), *word = first < length ? text + first + 1 : "";
    if (strcmp(name ? name + 1 : text, "atoll-eval") != 0)
        return OTHER;
    return !strcmp(word, "--evaluator") ? EVALUATOR : !strcmp(word, DIR_NAME "/campaign") ? RANK : OTHER;
}

static int process_read(long pid, struct process *ret_process)
{
    char text[1024];
    unsigned long user, system;
    *ret_process = (struct process){.pid = pid, .role = role_of(pid)};
    proc_read(pid, "stat", text, sizeof(text));
    const char *rest = strrchr(text, ')');
    if (!rest || sscanf(rest, ") %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &ret_process->parent,
                        &user, &system) != 3)
        return 0;
    ret_process->cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return ret_process->role != OTHER;
}

static const struct process *process_find(const struct process *all, size_t count, long pid)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].pid == pid)
            return &all[i];
    return NULL;
}

/* Ranks of the campaign below this folder, their spawners, and the evaluators of those. */
static size_t processes_read(struct process *ret_all)
{
    size_t count = 0, kept = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && count < PROCESSES && (entry = readdir(proc));) {
        long pid = strtol(entry->d_name, NULL, 10);
        count += pid > 0 && process_read(pid, &ret_all[count]);
    }
    if (proc)
        closedir(proc);
    for (size_t i = 0; i < count; i++) {
        const struct process *parent = process_find(ret_all, count, ret_all[i].parent);
        if (ret_all[i].role == RANK && parent && parent->role == RANK)
            ret_all[i].role = SPAWNER;
    }
    for (size_t i = 0; i < count; i++)
        if (ret_all[i].role != EVALUATOR || process_find(ret_all, count, ret_all[i].parent))
            ret_all[kept++] = ret_all[i];
    return kept;
}

/* Rank 0 under MPI has no spawner of its own; the only rank of a local run is rank 0. */
static int is_rank_0(const struct process *all, size_t count, const struct process *p)
{
    unsigned ranks = 0, has_spawner = 0;
    for (size_t i = 0; i < count; i++) {
        ranks += all[i].role == RANK;
        has_spawner |= all[i].role == SPAWNER && all[i].parent == p->pid;
    }
    return p->role == RANK && (ranks == 1 || !has_spawner);
}

enum share { RANK_0, OTHER_RANK, ITS_SPAWNER, ITS_EVALUATOR, SHARES };

static enum share share_of(const struct process *all, size_t count, const struct process *p)
{
    return p->role == EVALUATOR       ? ITS_EVALUATOR
           : p->role == SPAWNER       ? ITS_SPAWNER
           : is_rank_0(all, count, p) ? RANK_0
                                      : OTHER_RANK;
}

/* To all evaluators, or to rank 0. */
static void share_signal(enum share share, int signal_number)
{
    static struct process all[PROCESSES];
    size_t count = processes_read(all);
    for (size_t i = 0; i < count; i++)
        if (share_of(all, count, &all[i]) == share)
            kill((pid_t)all[i].pid, signal_number);
}

/* The run is killed, and its evaluators: a stopped process does not see that its socket is closed. */
static void run_end(void)
{
    static struct process all[PROCESSES];
    size_t count = processes_read(all);
    for (size_t i = 0; i < count; i++)
        kill((pid_t)all[i].pid, SIGKILL);
}

/* The busiest of each kind while one kind is stopped, in percent of a core. */
static void idle_watch(enum share stopped, double *ret_percent)
{
    static struct process before[PROCESSES], after[PROCESSES];
    share_signal(stopped, SIGSTOP);
    sleep(1);
    size_t count = processes_read(before);
    sleep(IDLE_SECONDS);
    size_t later = processes_read(after);
    share_signal(stopped, SIGCONT);
    for (int i = 0; i < SHARES; i++)
        ret_percent[i] = 0;
    for (size_t i = 0; i < later; i++) {
        const struct process *was = process_find(before, count, after[i].pid);
        double *place = &ret_percent[share_of(after, later, &after[i])];
        double percent = was ? 100 * (after[i].cpu_s - was->cpu_s) / IDLE_SECONDS : 0;
        *place = percent > *place ? percent : *place;
    }
}

/* With its evaluators stopped rank 0 has nothing to do, with rank 0 stopped all others have nothing. */
static void idle_print(const char *carrier, unsigned evaluators)
{
    double waits_for_results[SHARES], waits_for_orders[SHARES];
    idle_watch(ITS_EVALUATOR, waits_for_results);
    idle_watch(RANK_0, waits_for_orders);
    printf("%-8s %10u %8.2f %12.2f %12.2f %12.2f\n", carrier, evaluators, waits_for_results[RANK_0],
           waits_for_orders[OTHER_RANK], waits_for_orders[ITS_EVALUATOR], waits_for_orders[ITS_SPAWNER]);
    fflush(stdout);
}

static void idle_measure(const char *program, int is_mpi, unsigned evaluators)
{
    char command[4096], line[4096];
    unsigned hellos = 0;
    campaign_make(DIR_NAME "/campaign", 100000000);
    command_make(command, sizeof(command), program, is_mpi, evaluators, "--heartbeat-timeout 10m");
    FILE *out = popen(command, "r");
    while (out && hellos < evaluators && fgets(line, sizeof(line), out))
        hellos += strstr(line, "eval.peer.hello") != NULL;
    if (hellos == evaluators)
        idle_print(is_mpi ? "mpi" : "local", evaluators);
    else
        printf("%-8s %10u   did not start\n", is_mpi ? "mpi" : "local", evaluators);
    run_end();
    if (out)
        pclose(out);
    dir_remove(DIR_NAME "/campaign");
}

int main(int argc, char **argv)
{
    char program[2048];
    unsigned long results = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 64);
    if (n <= 0)
        return 1;
    program[n] = '\0';
    *strrchr(program, '/') = '\0'; /* the build folder is one above bench/ */
    *strrchr(program, '/') = '\0';
    dir_remove(DIR_NAME);
    task_write();
    printf("%-8s %10s %10s %10s %12s %14s\n", "carrier", "evaluators", "results", "seconds", "results/s",
           "us CPU/result");
    for (unsigned evaluators = 1; evaluators <= LOCAL_MOST; evaluators *= 2)
        measure(program, 0, evaluators, results);
    for (unsigned evaluators = 1; evaluators <= MPI_MOST; evaluators *= 2)
        measure(program, 1, evaluators, results);
    printf("\nidle, %% of a core over %d s, the busiest of each kind:\n%-8s %10s %8s %12s %12s %12s\n",
           IDLE_SECONDS, "carrier", "evaluators", "rank 0", "other rank", "evaluator", "spawner");
    idle_measure(program, 0, 1);
    idle_measure(program, 0, 8);
    idle_measure(program, 1, 2);
    dir_remove(DIR_NAME);
    return 0;
}
