/* fuzz_knowledge.c - any bytes as a file of knowledge of each kind: entries within their bounds, or an error with file and line. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/knowledge/knowledge_base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char index_text[] = "version: 1\n"
                                 "devices:\n"
                                 "  - {name: cpu, vendor: x86, what: a processor}\n"
                                 "  - {name: hopper, vendor: nvidia, what: a GPU, compile: {cuda: sm_90a}}\n"
                                 "features: [{name: avx512, device: cpu, what: wide vectors}]\n"
                                 "families: [{name: gemm, categories: [matmul], words: [gemm]}]\n";

static const char *const paths[] = {"constraints/a.yaml", "patterns/a.yaml", "examples/hopper/a/example.yaml",
                                    "hardware/nvidia/hopper/a.md", "index.yaml"};

static void must_be_sound(const struct atoll_knowledge_base *base)
{
    const char *families[4];
    for (size_t i = 0; i < base->count; i++) {
        const struct atoll_knowledge_entry *e = &base->entries[i];
        if (!e->id || !e->what || !e->source || !e->path || e->line == 0 ||
            atoll_knowledge_base_find(base, e->id) != e ||
            (e->kind == ATOLL_KNOWLEDGE_PATTERN && !e->after) ||
            (e->kind == ATOLL_KNOWLEDGE_HARDWARE && strlen(e->text) > ATOLL_KNOWLEDGE_PASSAGE_BYTES) ||
            (e->kind == ATOLL_KNOWLEDGE_CONSTRAINT && e->severity != ATOLL_KNOWLEDGE_INFO && !e->wrong)) {
            abort();
        }
        if (e->kind == ATOLL_KNOWLEDGE_EXAMPLE)
            (void)atoll_knowledge_is_proven(e);
    }
    if (atoll_knowledge_families_of(&base->index, "matmul", "gemm", families, 4) > 4)
        abort();
}

static void must_have_a_place(void *context, const struct atoll_err *problem)
{
    (void)context;
    if (problem->code != ATOLL_E_INPUT || !strchr(problem->text, ':'))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(NULL);
        if (!pack)
            abort();
        if (atoll_knowledge_pack_put(pack, "index.yaml", index_text, sizeof(index_text) - 1, NULL) != 0 ||
            atoll_knowledge_pack_put(pack, "examples/hopper/a/kernel.cu", "x\n", 2, NULL) != 0)
            abort();
        if (atoll_knowledge_pack_put(pack, paths[i], (const char *)data, size, NULL) == 0) {
            struct atoll_knowledge_base *base =
                atoll_knowledge_base_parse(pack, must_have_a_place, NULL, NULL);
            if (!base)
                abort();
            must_be_sound(base);
            atoll_knowledge_base_destroy(base);
            base = atoll_knowledge_base_parse(pack, NULL, NULL, &err);
            if (!base && (err.code != ATOLL_E_INPUT || !strchr(err.text, ':')))
                abort();
            atoll_knowledge_base_destroy(base);
        }
        atoll_knowledge_pack_destroy(pack);
    }
    return 0;
}
