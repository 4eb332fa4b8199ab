/* Entries: who may be told which, what a diagnosis calls for, and a set that was labelled by hand (tests/fixtures/knowledge/entries.yaml) over
 * what knowledge/ holds. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "core/issue.h"
#include "evolution/knowledge/retrieve_state.h"
#include "tests/support/labelled_parts.h"

#define SUITES    ATOLL_SOURCE_DIR "/suites/"
#define LABELS    ATOLL_SOURCE_DIR "/tests/fixtures/knowledge/entries.yaml"
#define KNOWLEDGE ATOLL_SOURCE_DIR "/knowledge"
#define FIRST     5

/* ---- a base made for the purpose ---- */

#define CONSTRAINT(id, severity, rest)                                                                       \
    "  - {id: " id ", severity: " severity ", language: [c], " rest ", what: \"Rule of " id                  \
    ".\", wrong: \"int x\", right: \"int x;\", fails: compile, message: \"expected\", source: s}\n"
#define PATTERN(id, stage, rest)                                                                             \
    "  - {id: " id ", stage: " stage ", language: [c], " rest ", what: \"Do as " id                          \
    " says.\", before: \"int x;\", after: \"int y;\", why: w, expected: [1.1, 2], applies: always, source: " \
    "s}\n"

static const char index_text[] =
    "version: 1\n"
    "devices: [{name: cpu, vendor: x86, what: one}, {name: hopper, vendor: nvidia, what: two}, {name: "
    "arm-sve, "
    "vendor: arm, what: three}]\n"
    "features: [{name: avx2, device: cpu, what: v}, {name: avx512, device: cpu, what: w}, {name: tiles, "
    "device: cpu, what: t, types: [bf16, i8]}]\n"
    "families: [{name: norm, categories: [normalisation]}, {name: lines, words: [rmsnorm]}, {name: sparse, "
    "categories: [sparse]}]\n";
static const char constraints_text[] =
    "version: 1\nconstraints:\n" CONSTRAINT("c-always", "critical", "devices: \"*\"")
        CONSTRAINT("c-norms", "critical", "devices: \"*\", families: [norm]")
            CONSTRAINT("c-sparse", "critical", "devices: \"*\", families: [sparse]")
                CONSTRAINT("c-hopper", "critical", "devices: [hopper]")
                    CONSTRAINT("c-sve", "critical", "devices: [arm-sve]")
                        CONSTRAINT("c-wide", "critical", "devices: [cpu], features: [avx512]")
                            CONSTRAINT("c-tiles", "critical", "devices: [cpu], features: [tiles]")
                                CONSTRAINT("c-race", "warning", "devices: \"*\", errors: [race]")
                                    CONSTRAINT("c-detail", "info", "devices: \"*\"");
static const char patterns_text[] =
    "version: 1\npatterns:\n" PATTERN("c-block", "algorithm", "devices: \"*\", families: [norm]")
        PATTERN("c-prefetch", "memory", "devices: \"*\", limiters: [dram]")
            PATTERN("c-barriers", "persistent", "devices: \"*\", stalls: [barrier]")
                PATTERN("c-cells", "tuning", "devices: \"*\", cells: [\"memory 0\"]")
                    PATTERN("c-unroll", "tuning", "devices: \"*\"");
static const char varied_text[] = "version: 1\npatterns:\n" PATTERN(
    "c-causal", "algorithm", "devices: \"*\", families: [norm], about: [causal]")
    PATTERN("c-first", "algorithm", "devices: \"*\", families: [norm]")
        PATTERN("c-second", "algorithm", "devices: \"*\", families: [norm]")
            PATTERN("c-third", "algorithm", "devices: \"*\", families: [norm]")
                PATTERN("c-lines", "memory", "devices: \"*\", families: [lines]")
                    PATTERN("c-rms", "memory", "devices: \"*\", families: [norm], about: [rms, rmsnorm]");
static const char passage_text[] = "# One\nSource: a book\n\n## Caches\n\nThey are small.\n";

struct scene {
    struct atoll_knowledge_pack *pack;
    struct atoll_knowledge_base *base;
    struct atoll_retrieval *retrieval;
    struct atoll_task *task;
    struct atoll_retrieval_query query;
    struct atoll_retrieved found[128];
    size_t count;
};

static void scene_init_with(struct scene *s, const char *patterns)
{
    const struct {
        const char *path, *text;
    } files[] = {{"index.yaml", index_text},
                 {"constraints/c.yaml", constraints_text},
                 {"patterns/c.yaml", patterns},
                 {"hardware/x86/cpu/one.md", passage_text}};
    struct atoll_err err = ATOLL_ERR_INIT;
    memset(s, 0, sizeof(*s));
    s->pack = atoll_knowledge_pack_create(&err);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        assert_int_equal(
            atoll_knowledge_pack_put(s->pack, files[i].path, files[i].text, strlen(files[i].text), &err), 0);
    s->base = atoll_knowledge_base_parse(s->pack, NULL, NULL, &err);
    if (!s->base)
        fail_msg("%s", err.text);
    s->retrieval = atoll_retrieval_create(s->base, s->pack, NULL, &err);
    s->task = atoll_task_load(SUITES "starter/rmsnorm", &err);
    assert_true(s->retrieval && s->task);
    s->query = (struct atoll_retrieval_query){
        .task = s->task, .language = "c", .device = "cpu", .stage = ATOLL_ISSUE_STAGE_COUNT};
}

static void scene_init(struct scene *s)
{
    scene_init_with(s, patterns_text);
}

static void scene_fini(struct scene *s)
{
    atoll_task_destroy(s->task);
    atoll_retrieval_destroy(s->retrieval);
    atoll_knowledge_base_destroy(s->base);
    atoll_knowledge_pack_destroy(s->pack);
}

static void look(struct scene *s)
{
    s->count = atoll_retrieval_entries(s->retrieval, &s->query, s->found, 128);
}

/* Its place from 1; 0: it is not told. */
static size_t place_of(const struct scene *s, const char *id)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->base->entries[s->found[i].at].id, id) == 0)
            return i + 1;
    return 0;
}

static void critical_constraints_are_always_told(void **state)
{
    static const char *const wide[] = {"avx2", "avx512", NULL}, *const narrow[] = {"avx2", NULL},
                             *const arm[] = {"arm-neon", "arm-sve", NULL};
    struct atoll_diagnosis diagnosis = {.error = ATOLL_ERROR_NONE, .limiter = ATOLL_LIMITER_DRAM};
    struct scene s;
    (void)state;
    scene_init(&s);
    s.query.features = wide;
    for (unsigned depth = 0; depth < 6; depth++) {
        s.query.depth = depth;
        s.query.diagnosis = depth ? &diagnosis : NULL;
        diagnosis.error = depth == 5 ? ATOLL_ERROR_RACE : ATOLL_ERROR_NONE;
        look(&s);
        size_t always = place_of(&s, "c-always"), norms = place_of(&s, "c-norms"),
               features = place_of(&s, "c-wide");
        assert_true(always && always <= 3 && norms && norms <= 3 && features && features <= 3);
        assert_true(!place_of(&s, "c-sparse") && !place_of(&s, "c-hopper"));
        assert_true(s.found[0].is_critical && !s.found[s.count - 1].is_critical);
    }
    s.query.features = narrow;
    look(&s);
    assert_true(place_of(&s, "c-always") && !place_of(&s, "c-wide") && !place_of(&s, "c-sve"));
    s.query.features = arm; /* of processors one family is told by its features */
    look(&s);
    assert_true(place_of(&s, "c-always") && !place_of(&s, "c-wide") && place_of(&s, "c-sve"));
    s.query.language = "cuda";
    look(&s);
    assert_false(place_of(&s, "c-always"));
    scene_fini(&s);
}

/* A draft is told what is broad; with evidence what it calls for comes first, and later nothing else. */
/* Tiles of bf16 are for tasks that have bf16, in a tensor or inside. */
static void features_compute_with_types(void **state)
{
    static const char *const features[] = {"avx2", "tiles", NULL};
    struct scene s;
    (void)state;
    scene_init(&s);
    s.query.features = features;
    look(&s);
    assert_int_equal(place_of(&s, "c-tiles"), 0);
    s.task->precisions |= 1u << ATOLL_BF16;
    look(&s);
    assert_true(place_of(&s, "c-tiles") > 0);
    s.task->precisions = 1u << ATOLL_F32;
    s.task->tensors[0].dtype = ATOLL_I8;
    look(&s);
    assert_true(place_of(&s, "c-tiles") > 0);
    s.query.task = NULL; /* nobody knows of what */
    look(&s);
    assert_true(place_of(&s, "c-tiles") > 0);
    scene_fini(&s);
}

/* Who carries out a step that is chosen is told less. */
static void a_step_needs_less(void **state)
{
    struct scene s;
    (void)state;
    scene_init_with(&s, varied_text);
    look(&s);
    size_t all = s.count;
    s.query.is_narrow = 1;
    look(&s);
    assert_true(s.count > 0 && s.count < all && place_of(&s, "c-always"));
    scene_fini(&s);
}

static void evidence_narrows(void **state)
{
    static const char *const cells[] = {"memory 0", "algorithm 2", "coordination 1", NULL};
    struct atoll_diagnosis diagnosis = {.error = ATOLL_ERROR_NONE, .limiter = ATOLL_LIMITER_DRAM};
    struct scene s;
    (void)state;
    scene_init(&s);
    look(&s);
    size_t first_count = s.count;
    assert_true(place_of(&s, "c-block") && place_of(&s, "c-block") < place_of(&s, "c-prefetch"));
    assert_true(place_of(&s, "hardware/x86/cpu/one#caches"));
    s.query.diagnosis = &diagnosis;
    look(&s);
    assert_true(place_of(&s, "c-prefetch"));
    assert_true(s.found[place_of(&s, "c-prefetch") - 1].is_called_for);
    s.query.depth = 4;
    look(&s);
    assert_true(s.count < first_count &&
                place_of(&s, "c-prefetch") == 4); /* behind three that are critical */
    assert_true(!place_of(&s, "c-unroll") && !place_of(&s, "c-barriers"));
    s.query.stage = ATOLL_ISSUE_STAGE_TUNING;
    look(&s);
    assert_true(place_of(&s, "c-unroll"));
    assert_false(place_of(&s, "c-cells") && s.found[place_of(&s, "c-cells") - 1].is_called_for);
    s.query.cells = cells;
    look(&s);
    assert_true(place_of(&s, "c-cells") && s.found[place_of(&s, "c-cells") - 1].is_called_for);
    diagnosis = (struct atoll_diagnosis){.error = ATOLL_ERROR_RACE};
    s.query.message = "two runs differ";
    look(&s);
    assert_true(place_of(&s, "c-race") && s.found[place_of(&s, "c-race") - 1].is_called_for);
    assert_true(!place_of(&s, "c-prefetch") && !place_of(&s, "c-detail"));
    scene_fini(&s);
}

/* What is about this very kind of task comes first, what is about another kind last, and of each family of the task is told something
 * before a third of the same. */
static void a_draft_is_told_of_each_family(void **state)
{
    static const struct atoll_diagnosis dram = {.error = ATOLL_ERROR_NONE, .limiter = ATOLL_LIMITER_DRAM};
    struct scene s;
    (void)state;
    scene_init_with(&s, varied_text);
    look(&s);
    size_t rms = place_of(&s, "c-rms"), first = place_of(&s, "c-first"), lines = place_of(&s, "c-lines"),
           second = place_of(&s, "c-second"), third = place_of(&s, "c-third"),
           causal = place_of(&s, "c-causal");
    assert_true(rms && rms < first && first < second && second < third);
    assert_true(lines && lines < third);
    assert_false(causal);      /* the sixth pattern */
    s.query.diagnosis = &dram; /* then what it calls for decides, not variety */
    look(&s);
    assert_true(place_of(&s, "c-third") < place_of(&s, "c-lines"));
    scene_fini(&s);
}

/* What lost eight times is told no more, unless it is critical; briefs say what they are of. */
static void what_loses_is_dropped(void **state)
{
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, NULL);
    struct scene s;
    struct atoll_briefing briefing = {.ask = 0};
    (void)state;
    scene_init(&s);
    look(&s);
    size_t block = place_of(&s, "c-block"), always = place_of(&s, "c-always");
    assert_true(block && always);
    assert_int_equal(
        atoll_retrieval_brief(s.retrieval, &s.found[always - 1], arena, &briefing.briefs[0], NULL), 0);
    assert_int_equal(
        atoll_retrieval_brief(s.retrieval, &s.found[block - 1], arena, &briefing.briefs[1], NULL), 0);
    briefing.count = 2;
    assert_int_equal(briefing.briefs[0].kind, ATOLL_BRIEF_CONSTRAINT);
    assert_string_equal(briefing.briefs[0].title, "constraint c-always");
    assert_string_equal(briefing.briefs[0].text, "Rule of c-always.\nSource: s\n");
    assert_int_equal(briefing.briefs[1].kind, ATOLL_BRIEF_KNOWLEDGE);
    assert_string_equal(briefing.briefs[1].title, "pattern c-block");
    assert_non_null(strstr(briefing.briefs[1].text, "Expected: 1.1 to 2 times the speed.\n"));
    assert_non_null(strstr(briefing.briefs[1].text, "After:\nint y;\n"));
    for (uint64_t ask = 1; ask <= 200; ask++) {
        struct atoll_briefing other = {.ask = 1000 + ask};
        briefing.ask = ask;
        assert_int_equal(atoll_retrieval_used(s.retrieval, NULL, &briefing, NULL), 0);
        assert_int_equal(atoll_retrieval_used(s.retrieval, NULL, &other, NULL), 0);
        atoll_retrieval_credit(s.retrieval, ask, 100, ATOLL_V_CORRECT, 200);
        atoll_retrieval_credit(s.retrieval, 1000 + ask, 100, ATOLL_V_CORRECT, 50);
    }
    look(&s);
    assert_true(place_of(&s, "c-always") && !place_of(&s, "c-block"));
    scene_fini(&s);
    atoll_arena_destroy(arena);
}

/* As many as knowledge/ has for any of its languages and devices: none is left out for want of room. */
static void all_that_are_critical_find_room(void **state)
{
    static const char *const scenes[][2] = {{"c", "cpu"},       {"cuda", "ampere"},    {"cuda", "ada"},
                                            {"cuda", "hopper"}, {"cuda", "blackwell"}, {"triton", "hopper"}};
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_read((const char *const[]){KNOWLEDGE}, 1, NULL);
    struct atoll_knowledge_base *base = atoll_knowledge_base_parse(pack, NULL, NULL, NULL);
    struct atoll_retrieval *r = atoll_retrieval_create(base, pack, NULL, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
        size_t count = 0;
        for (size_t e = 0; e < base->count; e++)
            count += base->entries[e].kind == ATOLL_KNOWLEDGE_CONSTRAINT &&
                     base->entries[e].severity == ATOLL_KNOWLEDGE_CRITICAL &&
                     atoll_knowledge_has(base->entries[e].languages, scenes[i][0]) &&
                     atoll_retrieval_is_for(base->entries[e].devices, scenes[i][1]);
        print_message("%s on %s: at most %zu\n", scenes[i][0], scenes[i][1], count);
        assert_in_range(count, 5, ATOLL_RETRIEVE_CRITICAL);
    }
    atoll_retrieval_destroy(r);
    atoll_knowledge_base_destroy(base);
    atoll_knowledge_pack_destroy(pack);
}

/* What knowledge/ says of products is not told to tasks that have none, and is to those that have. */
static void texts_are_for_kinds_of_work(void **state)
{
    static const char *const products[] = {"wgmma", "fp8", "epilogue", "tensormap", "tensor-maps"};
    static const struct {
        const char *dir;
        int has_products;
    } tasks[] = {{SUITES "gpu/mamba_block", 0}, {SUITES "gpu/moe_gating", 0}, {SUITES "gpu/gemm_f8", 1}};
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_read((const char *const[]){KNOWLEDGE}, 1, NULL);
    struct atoll_knowledge_base *base = atoll_knowledge_base_parse(pack, NULL, NULL, NULL);
    struct atoll_retrieval *r = atoll_retrieval_create(base, pack, NULL, NULL);
    (void)state;
    for (size_t t = 0; t < sizeof(tasks) / sizeof(*tasks); t++) {
        static struct atoll_retrieved found[256];
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_task *task = atoll_task_load(tasks[t].dir, &err);
        struct atoll_diagnosis diagnosis = {.limiter = ATOLL_LIMITER_LATENCY};
        const char *told = NULL;
        if (!task)
            fail_msg("%s", err.text);
        const struct atoll_retrieval_query q = {.task = task,
                                                .language = "cuda",
                                                .device = "hopper",
                                                .diagnosis = &diagnosis,
                                                .stage = ATOLL_ISSUE_STAGE_COUNT,
                                                .depth = 2};
        size_t count = atoll_retrieval_entries(r, &q, found, 256);
        for (size_t i = 0; i < count; i++)
            for (size_t p = 0; p < sizeof(products) / sizeof(*products); p++)
                if (!found[i].is_critical && strstr(base->entries[found[i].at].id, products[p]))
                    told = base->entries[found[i].at].id;
        if ((told != NULL) != tasks[t].has_products)
            fail_msg("%s is told %s", tasks[t].dir, told ? told : "nothing of products");
        atoll_task_destroy(task);
    }
    atoll_retrieval_destroy(r);
    atoll_knowledge_base_destroy(base);
    atoll_knowledge_pack_destroy(pack);
}

/* ---- the labelled set ---- */

struct measuring {
    struct atoll_knowledge_base *base;
    struct atoll_retrieval *retrieval;
    struct atoll_task *task; /* of the query */
    struct parts parts;
};

struct sought {
    const struct measuring *m;
    const struct atoll_retrieved *found;
    size_t count, wanted, right, first;
};

static int seek(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct sought *s = target;
    const char *id = atoll_yaml_scalar(node);
    if (!atoll_knowledge_base_find(s->m->base, id))
        return atoll_yaml_fail(walk, node, "there is no entry '%s'", id);
    s->wanted++;
    for (size_t i = 0; i < s->count && i < FIRST; i++) {
        if (strcmp(s->m->base->entries[s->found[i].at].id, id) != 0)
            continue;
        s->right++;
        s->first = !s->first || i + 1 < s->first ? i + 1 : s->first;
    }
    return 0;
}

/* In the order in which they are told; critical ones stand in front whether they are called for or not, so those that are and the others
 * count. */
static size_t keep_called_for(struct atoll_retrieved *found, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!found[i].is_critical || found[i].is_called_for || found[i].score > 0.5)
            found[kept++] = found[i];
    return kept;
}

static int by_score(const void *a, const void *b)
{
    const struct atoll_retrieved *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score;
}

static const char *text_of(const struct atoll_yaml_node *query, const char *key)
{
    const struct atoll_yaml_node *node = atoll_yaml_find(query, key);
    return node ? atoll_yaml_scalar(node) : NULL;
}

static int measure(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *query, void *target)
{
    struct measuring *m = target;
    const char *name = atoll_yaml_scalar(atoll_yaml_find(query, "task")), *says = text_of(query, "diagnosis"),
               *file = text_of(query, "source");
    struct atoll_diagnosis diagnosis = {.error = ATOLL_ERROR_NONE};
    struct atoll_trigger trigger;
    struct atoll_retrieved found[128];
    char dir[512];
    size_t length;
    snprintf(dir, sizeof(dir), SUITES "%s", file ? file : "");
    char *source = file ? atoll_file_read(dir, 1u << 20, &length, walk->err) : NULL;
    if (file && !source)
        return -1;
    snprintf(dir, sizeof(dir), SUITES "%s", name);
    m->task = atoll_task_load(dir, walk->err);
    if (!m->task || (says && atoll_trigger_parse(says, &trigger, walk->err) != 0))
        return -1;
    if (says && trigger.kind == ATOLL_TRIGGER_ERROR)
        diagnosis.error = (enum atoll_error_class)trigger.value;
    else if (says && trigger.kind == ATOLL_TRIGGER_LIMITER)
        diagnosis.limiter = (enum atoll_limiter)trigger.value;
    else if (says && trigger.kind == ATOLL_TRIGGER_STALL)
        diagnosis.stall = (enum atoll_stall)trigger.value;
    else if (says && trigger.kind == ATOLL_TRIGGER_UNUSED)
        diagnosis.unused = 1u << trigger.value;
    const struct atoll_retrieval_query q = {.task = m->task,
                                            .language = atoll_yaml_scalar(atoll_yaml_find(query, "language")),
                                            .device = atoll_yaml_scalar(atoll_yaml_find(query, "device")),
                                            .diagnosis = says ? &diagnosis : NULL,
                                            .message = text_of(query, "message"),
                                            .source = source,
                                            .stage = ATOLL_ISSUE_STAGE_COUNT,
                                            .depth = says && diagnosis.error == ATOLL_ERROR_NONE ? 2 : 0};
    size_t count = keep_called_for(found, atoll_retrieval_entries(m->retrieval, &q, found, 128));
    qsort(found, count, sizeof(*found), by_score);
    struct sought s = {.m = m, .found = found, .count = count};
    if (atoll_yaml_list(walk, atoll_yaml_find(query, "relevant"), 16, "entries", seek, &s) != 0)
        return -1;
    if (s.right < s.wanted || s.first != 1) {
        print_message("%s, %s: %zu of %zu, the first at %zu:", name, says ? says : "draft", s.right, s.wanted,
                      s.first);
        for (size_t i = 0; i < count && i < FIRST; i++)
            print_message(" %s %.2f", m->base->entries[found[i].at].id, found[i].score);
        print_message("\n");
    }
    parts_add(&m->parts, name, q.language, says,
              (double)s.right / (double)(s.wanted < FIRST ? s.wanted : FIRST), s.first);
    atoll_task_destroy(m->task);
    m->task = NULL;
    free(source);
    return 0;
}

static void what_is_wanted_is_found(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create((size_t)8 << 20, NULL);
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_read((const char *const[]){KNOWLEDGE}, 1, &err);
    struct measuring m = {.base = pack ? atoll_knowledge_base_parse(pack, NULL, NULL, &err) : NULL};
    struct atoll_yaml *labels = m.base ? atoll_yaml_load(LABELS, &err) : NULL;
    (void)state;
    m.retrieval = labels ? atoll_retrieval_create(m.base, pack, NULL, &err) : NULL;
    if (!m.retrieval)
        fail_msg("%s", err.text);
    struct atoll_yaml_walk walk = {labels, arena, NULL, &err};
    if (atoll_yaml_list(&walk, atoll_yaml_find(atoll_yaml_root(labels), "queries"), 256, "queries", measure,
                        &m) != 0)
        fail_msg("%s", err.text);
    m.parts.is_fresh = 1;
    if (atoll_yaml_list(&walk, atoll_yaml_find(atoll_yaml_root(labels), "fresh"), 256, "queries", measure,
                        &m) != 0)
        fail_msg("%s", err.text);
    m.parts.is_later = 1;
    if (atoll_yaml_list(&walk, atoll_yaml_find(atoll_yaml_root(labels), "later"), 256, "queries", measure,
                        &m) != 0)
        fail_msg("%s", err.text);
    int is_good = parts_reach(&m.parts, TUNING_HALF, 0.9, 0.7);
    is_good &= parts_reach(&m.parts, HELD_OUT_HALF, 0.9, 0.7);
    is_good &= parts_reach(&m.parts, FRESH, 0.9, 0.7);
    is_good &= parts_reach(&m.parts, LATER, 0.9, 0.7);
    assert_true(is_good);
    atoll_retrieval_destroy(m.retrieval);
    atoll_yaml_destroy(labels);
    atoll_knowledge_base_destroy(m.base);
    atoll_knowledge_pack_destroy(pack);
    atoll_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(critical_constraints_are_always_told),
                                       cmocka_unit_test(evidence_narrows),
                                       cmocka_unit_test(features_compute_with_types),
                                       cmocka_unit_test(a_step_needs_less),
                                       cmocka_unit_test(a_draft_is_told_of_each_family),
                                       cmocka_unit_test(what_loses_is_dropped),
                                       cmocka_unit_test(all_that_are_critical_find_room),
                                       cmocka_unit_test(texts_are_for_kinds_of_work),
                                       cmocka_unit_test(what_is_wanted_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
