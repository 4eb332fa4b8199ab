/* bench_coordinator.c - what rank 0 costs: campaigns with the null backend, results a second and CPU of rank
 * 0 for each result (engine, journal with its syncs, orders, everything), over evaluators on local sockets
 * and over MPI ranks. bench_coordinator [RESULTS]; the campaigns are made and removed below the current
 * folder. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive-h5/campaign.h"
#include "evolution/engine.h"

#define DIR_NAME "bench-coordinator.tmp"

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
    struct atoll_campaign_config config = {
        .engine_version = ATOLL_ENGINE_VERSION, .task_count = 1, .tasks = &told};
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

/* Runs the command and reads the line with which rank 0 ends. */
static void measure(const char *carrier, unsigned evaluators, const char *command)
{
    char line[4096];
    int found = 0;
    FILE *out = popen(command, "r");
    while (out && fgets(line, sizeof line, out)) {
        unsigned long long evaluated, compared;
        double seconds, cpu_us;
        const char *start = strstr(line, "eval.finished");
        start = start ? strpbrk(start, " ") : NULL;
        while (start && *start && (*start < '0' || *start > '9')) /* past blanks and "[rank 0]" */
            start = *start == '[' ? strchr(start, ']') : start + 1;
        if (!start || sscanf(start, "%llu evaluations, %llu comparisons in %lf s; rank 0 used %lf us",
                             &evaluated, &compared, &seconds, &cpu_us) != 4)
            continue;
        found = 1;
        printf("%-8s %10u %10llu %10.1f %12.0f %14.1f\n", carrier, evaluators, evaluated + compared, seconds,
               (double)(evaluated + compared) / (seconds > 0.05 ? seconds : 0.05), cpu_us);
        fflush(stdout);
    }
    if (out)
        pclose(out);
    if (!found)
        printf("%-8s %10u   failed: %s\n", carrier, evaluators, command);
}

int main(int argc, char **argv)
{
    char command[4096], program[2048];
    unsigned long results = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 64);
    if (n <= 0)
        return 1;
    program[n] = '\0';
    *strrchr(program, '/') = '\0'; /* the build folder is one above bench/ */
    *strrchr(program, '/') = '\0';
    dir_remove(DIR_NAME);
    task_write();
    printf("%-8s %10s %10s %10s %12s %14s\n", "carrier", "evaluators", "results", "seconds", "results/s",
           "us CPU/result");
    for (unsigned mpi = 0; mpi < 2; mpi++) {
        for (unsigned evaluators = 1; evaluators <= 8; evaluators *= 2) {
            campaign_make(DIR_NAME "/campaign", results);
            if (mpi)
                snprintf(command, sizeof command,
                         "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,tcp "
                         "OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo "
                         "OMPI_MCA_mpi_yield_when_idle=1 "
                         "mpirun --oversubscribe -n %u %s/atoll-eval " DIR_NAME
                         "/campaign --null-backend 2>&1",
                         evaluators + 1, program);
            else
                snprintf(command, sizeof command,
                         "%s/atoll-eval " DIR_NAME "/campaign --local --evaluators %u --null-backend 2>&1",
                         program, evaluators);
            measure(mpi ? "mpi" : "local", evaluators, command);
            dir_remove(DIR_NAME "/campaign");
        }
    }
    dir_remove(DIR_NAME);
    return 0;
}
