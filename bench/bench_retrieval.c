/* bench_retrieval.c - which kernels a first draft of each task of the suites is shown, for bench/knowledge/embeddings.
 *   bench_retrieval SUITES KNOWLEDGE: what is embedded, a line of JSON for each kernel, then for each task.
 *   bench_retrieval SUITES KNOWLEDGE VECTORS LENGTH: what is found for each task and language by words and vectors, vectors being that file of
 *   floats, LENGTH for each of those lines; with LENGTH 0 by words alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "core/task/task.h"
#include "evolution/knowledge/retrieve_state.h"

#define TASK_LIMIT   256
#define ARENA_BYTES  ((size_t)8 << 20)
#define VECTOR_BYTES ((size_t)64 << 20)
#define WORDS_BYTES  6000 /* as mpi-eval/operator/embedder.c has them */

struct bench {
    struct atoll_arena *arena;
    struct atoll_knowledge_pack *pack;
    struct atoll_knowledge_base *base;
    struct atoll_retrieval *retrieval;
    struct atoll_task *tasks[TASK_LIMIT];
    const char *names[TASK_LIMIT]; /* "gpu/gemm_bf16" */
    size_t task_count, suites_length;
};

/* Its seeds become kernels of the pack, as a campaign freezes them. */
static int add_task(void *context, const char *dir, struct atoll_err *err)
{
    struct bench *b = context;
    struct atoll_task *task = b->task_count < TASK_LIMIT ? atoll_task_load(dir, err) : NULL;
    const char *below = dir + b->suites_length;
    if (!task)
        return -1;
    below += *below == '/';
    b->names[b->task_count] = atoll_arena_text(b->arena, below, strlen(below), err);
    b->tasks[b->task_count++] = task;
    for (size_t i = 0; i < task->seed_count; i++) {
        char name[256];
        struct atoll_kernel_text k;
        int length = snprintf(name, sizeof(name), "%s/%s%s", below, task->seeds[i].name,
                              atoll_kernel_suffix(task->seeds[i].language));
        if (task->seeds[i].is_baseline)
            continue;
        const char *kept = atoll_arena_text(b->arena, name, (size_t)length, err);
        if (!kept ||
            atoll_kernel_text_of(task, kept, task->seeds[i].language, task->seeds[i].source, NULL, b->arena,
                                 &k, err) != 0 ||
            atoll_kernel_text_put(&k, b->pack, err) != 0)
            return -1;
    }
    return 0;
}

static int bench_open(struct bench *b, const char *suites, const char *knowledge, struct atoll_err *err)
{
    b->suites_length = strlen(suites);
    if (!(b->arena = atoll_arena_create(ARENA_BYTES, err)) ||
        !(b->pack = atoll_knowledge_pack_read(&knowledge, 1, err)) ||
        !(b->base = atoll_knowledge_base_parse(b->pack, NULL, NULL, err)) ||
        atoll_suite_visit(suites, add_task, b, err) != 0)
        return -1;
    b->retrieval = atoll_retrieval_create(b->base, b->pack, NULL, err);
    return b->retrieval ? 0 : -1;
}

static void bench_close(struct bench *b)
{
    for (size_t i = 0; i < b->task_count; i++)
        atoll_task_destroy(b->tasks[i]);
    atoll_retrieval_destroy(b->retrieval);
    atoll_knowledge_base_destroy(b->base);
    atoll_knowledge_pack_destroy(b->pack);
    atoll_arena_destroy(b->arena);
}

static void print_texts(const struct bench *b)
{
    static char words[WORDS_BYTES];
    for (uint32_t i = 0; i < b->retrieval->kernel_count; i++) {
        const struct atoll_kernel_text *k = &b->retrieval->kernels[i];
        struct atoll_id id = atoll_id_of(k->source, strlen(k->source));
        char hex[ATOLL_ID_HEX];
        atoll_id_hex(&id, hex);
        atoll_retrieval_kernel_words(b->retrieval, i, words, sizeof(words));
        atoll_json_print(json_pack("{s:s, s:s, s:s, s:s, s:o}", "kernel", k->name, "task", k->task,
                                   "language", k->language, "source", hex, "text", atoll_json_text(words)),
                         JSON_COMPACT, stdout);
    }
    for (size_t i = 0; i < b->task_count; i++) {
        atoll_retrieval_task_words(b->tasks[i], words, sizeof(words));
        atoll_json_print(json_pack("{s:s, s:o}", "query", b->names[i], "text", atoll_json_text(words)),
                         JSON_COMPACT, stdout);
    }
}

static void print_found(struct bench *b, size_t task, const char *language)
{
    const struct atoll_retrieval_query q = {.task = b->tasks[task],
                                            .language = language,
                                            .device = strcmp(language, "c") == 0 ? "cpu" : "hopper"};
    struct atoll_retrieved found[ATOLL_RETRIEVE_KERNELS];
    size_t count = atoll_retrieval_kernels(b->retrieval, &q, found, ATOLL_RETRIEVE_KERNELS);
    json_t *tasks = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(tasks, json_string(b->retrieval->kernels[found[i].at].task));
    atoll_json_print(
        json_pack("{s:s, s:s, s:o}", "task", b->names[task], "language", language, "found", tasks),
        JSON_COMPACT, stdout);
}

static int print_all_found(struct bench *b, const char *file, size_t length, struct atoll_err *err)
{
    static const char *const languages[] = {"c", "cuda", "triton"};
    size_t bytes = 0, kernels = b->retrieval->kernel_count;
    float *vectors = length ? (float *)(void *)atoll_file_read(file, VECTOR_BYTES, &bytes, err) : NULL;
    if (length && (!vectors || bytes != (kernels + b->task_count) * length * sizeof(*vectors))) {
        if (vectors)
            atoll_err_set(err, ATOLL_E_INPUT, "%s: %zu bytes are not %zu vectors of %zu floats", file, bytes,
                          kernels + b->task_count, length);
        free(vectors);
        return -1;
    }
    for (size_t i = 0; i < b->task_count; i++) {
        if (vectors)
            atoll_retrieval_set_vectors(b->retrieval, vectors, vectors + (kernels + i) * length, length);
        for (size_t l = 0; l < sizeof(languages) / sizeof(*languages); l++)
            print_found(b, i, languages[l]);
    }
    free(vectors);
    return 0;
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (argc != 3 && argc != 5) {
        fprintf(stderr, "bench_retrieval: SUITES KNOWLEDGE [VECTORS LENGTH]\n");
        return 2;
    }
    int rc = bench_open(&b, argv[1], argv[2], &err);
    if (rc == 0 && argc == 3)
        print_texts(&b);
    else if (rc == 0)
        rc = print_all_found(&b, argv[3], strtoul(argv[4], NULL, 10), &err);
    if (rc != 0)
        fprintf(stderr, "bench_retrieval: %s\n", err.text);
    bench_close(&b);
    return rc != 0;
}
