/* Where a parent stands: beside the best, beside what it came from, and on a device that has no registers of threads; and that nothing is
 * promised that the language, the strategy or the tools do not keep. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/issue.h"
#include "core/search.h"
#include "evolution/prompt/prompt.h"
#include "tests/support/texts.h"

#define STARTER ATOLL_SOURCE_DIR "/suites/starter/"

static const char first_source[] = "int one;\nint two;\nint three;\n";
static const char parent_source[] =
    "void sum(void) { }\nvoid pack(void) { }\nvoid join(void) { }\nvoid last(void) { }\n";

struct scene {
    struct atoll_task *task;
    struct atoll_ask ask;
    struct atoll_evaluation evaluation;
    struct atoll_prompt_kernel parent, ancestor, best;
    struct atoll_prompt_input input;
    struct atoll_prompt prompt;
};

static void scene_init(struct scene *s)
{
    memset(s, 0, sizeof(*s));
    s->task = atoll_task_load(STARTER "row_reduce", NULL);
    assert_non_null(s->task);
    s->ask = (struct atoll_ask){.number = 1,
                                .op = ATOLL_OPERATOR_UNIVERSAL,
                                .count = 1,
                                .role = ATOLL_ISLAND_ROLE_COUNT,
                                .stage = ATOLL_ISSUE_STAGE_COUNT};
    s->evaluation.verdict = ATOLL_V_CORRECT;
    s->parent =
        (struct atoll_prompt_kernel){.source = parent_source, .evaluation = &s->evaluation, .time_ns = 302e3};
    s->ancestor =
        (struct atoll_prompt_kernel){.source = first_source, .evaluation = &s->evaluation, .time_ns = 14e6};
    s->best =
        (struct atoll_prompt_kernel){.source = first_source, .evaluation = &s->evaluation, .time_ns = 393e3};
    s->input = (struct atoll_prompt_input){.texts = source_texts(),
                                           .ask = &s->ask,
                                           .task = s->task,
                                           .language = "c",
                                           .backend = "cpu",
                                           .parent = &s->parent,
                                           .baseline_ns = 14e6};
    atoll_prompt_init(&s->prompt);
}

static void scene_fini(struct scene *s)
{
    atoll_prompt_fini(&s->prompt);
    atoll_task_destroy(s->task);
}

static const char *written(struct scene *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_prompt_write(&s->input, &s->prompt, &err))
        fail_msg("%s", err.text);
    atoll_buffer_put_u8(&s->prompt.user, 0); /* an end, for strstr() */
    assert_false(s->prompt.user.failed);
    return (const char *)s->prompt.user.data;
}

static void has(const char *text, const char *words, int is_wanted)
{
    if ((strstr(text, words) != NULL) != is_wanted)
        fail_msg("'%s' is%s in:\n%s", words, is_wanted ? " not" : "", text);
}

/* The best has won its comparisons; a parent that is faster by its own time has not yet, and is not told to be slower. */
static void parent_may_be_ahead(void **state)
{
    struct scene s;
    scene_init(&s);
    s.input.best_ns = s.best.time_ns;
    s.input.best = &s.best;
    const char *text = written(&s);
    has(text, "- best that a comparison confirmed: 393 us", 1);
    has(text, "- the parent, faster but not confirmed yet: 302 us", 1);
    has(text, "## The best that a comparison confirmed, of another line", 1);
    has(text, "best so far: 393 us", 0);
    s.input.best_ns = s.best.time_ns = 301e3;
    text = written(&s);
    has(text, "- best so far: 301 us", 1);
    has(text, "- the parent: 302 us", 1);
    has(text, "## The best so far, of another line", 1);
    scene_fini(&s);
}

/* A parent that was written anew stands in its prompt once. */
static void parent_is_shown_once(void **state)
{
    struct scene s;
    scene_init(&s);
    s.input.ancestors = &s.ancestor;
    s.input.ancestor_count = 1;
    const char *text = written(&s), *at = strstr(text, "void join(void)");
    has(text, "no difference is shown: it is the kernel that stands above.", 1);
    assert_non_null(at);
    assert_null(strstr(at + 1, "void join(void)"));
    s.ancestor.source = parent_source; /* other params */
    text = written(&s);
    has(text, "The same source, with other params.", 1);
    has(text, "no difference is shown", 0);
    scene_fini(&s);
}

/* A processor's binary is told by its instructions. */
static void registers_are_a_devices(void **state)
{
    static const enum atoll_ask_kind kinds[] = {ATOLL_ASK_WRITE, ATOLL_ASK_PLAN};
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        scene_init(&s);
        struct atoll_resources *r = &s.evaluation.profile.resources;
        s.ask.kind = kinds[i];
        s.ask.op = kinds[i] == ATOLL_ASK_PLAN ? ATOLL_OPERATOR_PLAN : ATOLL_OPERATOR_UNIVERSAL;
        r->kernel_count = 1;
        r->mix[0] = 24;
        const char *text = written(&s);
        has(text, "registers per thread", 0);
        has(text, "shared memory", 0);
        has(text, " 24", 1);
        r->registers = 40;
        text = written(&s);
        has(text, "40 registers per thread", 1);
        has(text, "0 bytes of static and 0 of dynamic shared memory", 1);
        scene_fini(&s);
    }
}

/* ---- what is promised ---- */

static const char *system_of(struct scene *s)
{
    written(s);
    atoll_buffer_put_u8(&s->prompt.system, 0);
    assert_false(s->prompt.system.failed);
    return (const char *)s->prompt.system.data;
}

/* Whoever may not wait for a tuner is told so, but for who writes the templates that it goes through. */
static void params_are_searched_where_somebody_does(void **state)
{
    for (int left = 0; left < 2; left++) {
        struct scene s;
        scene_init(&s);
        s.input.leaves_params = left;
        const char *text = system_of(&s);
        has(text, "Params are searched for you", !left);
        has(text, "only the first combination is measured", left);
        s.ask.kind = ATOLL_ASK_PLAN;
        s.ask.op = ATOLL_OPERATOR_PLAN;
        text = system_of(&s);
        has(text, "searched without you", 0);
        has(text, "Params are searched for you", !left);
        scene_fini(&s);
    }
}

static void analysts_are_told_of_issues_that_there_are(void **state)
{
    static const char *const of_devices[] = {"missing_bulk_copy", "missing_persistent", "workers_hardcoded",
                                             "uneven_waves",      "low_occupancy",      "no_cooperation",
                                             "subgroups_unused",  "excess_barriers",    "atomic_contention"};
    for (int is_device = 0; is_device < 2; is_device++) {
        struct scene s;
        scene_init(&s);
        s.ask.kind = ATOLL_ASK_ANALYSE;
        s.input.language = is_device ? "cuda" : "c";
        s.input.backend = is_device ? "cuda" : "cpu";
        const char *text = system_of(&s);
        for (size_t i = 0; i < sizeof(of_devices) / sizeof(*of_devices); i++)
            has(text, of_devices[i], is_device);
        has(text, "- missing_tiles: ", 1);
        has(text, "- launch_bound: ", 1);
        scene_fini(&s);
    }
}

/* What is run and what is a cheat; nothing of how to write. */
static void a_judge_is_told_what_it_judges_by(void **state)
{
    static const struct {
        const char *language, *run;
    } rows[] = {{"c", "It computes\n  the units unit_begin"},
                {"cuda", "Blocks run in any order"},
                {"triton", "Programs run in any order"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct scene s;
        scene_init(&s);
        s.input.language = rows[i].language;
        s.input.backend = i ? "cuda" : "cpu";
        size_t writer = strlen(system_of(&s));
        s.ask.kind = ATOLL_ASK_JUDGE;
        const char *text = system_of(&s);
        has(text, rows[i].run, 1);
        has(text, "# The launch plan", 1);
        has(text, "# No cheating", 1);
        has(text, "# Your part: judge", 1);
        has(text, "## How it is written", 0);
        has(text, "## Static rules", 0);
        has(text, "What usually helps", 0);
        has(text, "Params are searched", 0);
        if (strlen(text) * 10 > writer * 7)
            fail_msg("%zu bytes for a judge, %zu for a writer in %s", strlen(text), writer, rows[i].language);
        scene_fini(&s);
    }
}

static void a_refiner_knows_how_many_attempts_there_are(void **state)
{
    struct scene s;
    scene_init(&s);
    s.ask.op = ATOLL_OPERATOR_STAGED;
    s.ask.stage = ATOLL_ISSUE_STAGE_MEMORY;
    s.ask.round = 1;
    has(written(&s), "Stage of the work: memory. Known issues", 1);
    s.input.round_limit = 3;
    has(written(&s), "Stage of the work: memory, attempt 2 of 3. Known issues", 1);
    s.ask.op = ATOLL_OPERATOR_EXTRACT;
    has(written(&s), "attempt 2 of 3", 0);
    scene_fini(&s);
}

/* Those who plan for the same parent are sent in different directions; one alone is told of no others. */
static void planners_are_told_apart(void **state)
{
    struct scene s;
    char last[3][512];
    scene_init(&s);
    s.ask.kind = ATOLL_ASK_PLAN;
    s.ask.op = ATOLL_OPERATOR_PLAN;
    has(written(&s), "answer the same question", 0);
    s.input.alternatives = 3;
    for (uint64_t i = 0; i < 3; i++) {
        s.ask.number = 7 + i;
        const char *text = strstr(written(&s), "3 answer the same question");
        assert_non_null(text);
        snprintf(last[i], sizeof(last[i]), "%s", text);
    }
    assert_true(strcmp(last[0], last[1]) != 0 && strcmp(last[1], last[2]) != 0 &&
                strcmp(last[0], last[2]) != 0);
    scene_fini(&s);
}

static void spills_are_told_where_a_tool_tells_them(void **state)
{
    struct scene s;
    scene_init(&s);
    s.input.tool_limit = 8;
    const char *text = written(&s);
    has(text, "until it compiles to the loop that you meant, and check", 1);
    has(text, "spills", 0);
    s.input.language = s.input.backend = "cuda";
    has(written(&s), "until it compiles without spills that you do not want, and check", 1);
    scene_fini(&s);
}

/* The floor beside the state is that beside the parent's times. */
static void there_is_one_floor(void **state)
{
    struct scene s;
    struct atoll_timing timing = {.variant = 0, .floor_ns = 180e3};
    scene_init(&s);
    while (s.task->variants[timing.variant].kind != ATOLL_VARIANT_BENCH)
        timing.variant++;
    timing.summary.median = 302e3;
    timing.summary.count = 9;
    s.input.floor_ns = 208e3;
    has(written(&s), ": 208 us", 1);
    s.evaluation.timings[0] = timing;
    s.evaluation.timing_count = 1;
    const char *text = written(&s);
    has(text, "208 us", 0);
    has(text, "arithmetic allow): 180 us", 1);
    has(text, "; floor 180 us", 1);
    scene_fini(&s);
}

/* What decides a floor, and what it leaves out. */
static void a_floor_says_what_it_is_of(void **state)
{
    static const struct {
        double floor_ns, cache, empty_ns;
        const char *says;
    } rows[] = {
        {12.6e3, 0, 1e3, "reached, by bandwidth for 12.6 MB)"},
        {20e3, 0, 1e3, "reached, by peak arithmetic)"},
        {12.6e3, 0, 12.6e3, "reached, by the launch alone)"},
        {12.583e3, 2048, 1e3,
         "reached, by bandwidth for 12.6 MB; 2.05 kB of writes may stay in the last-level cache)"},
        {3e3, 0, 1e3, "reached)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct scene s;
        struct atoll_device_info device = {.bandwidth_bytes_per_s = 1e12,
                                           .empty_launch_ns = rows[i].empty_ns,
                                           .last_level_cache_bytes = rows[i].cache};
        struct atoll_timing timing = {.variant = 0, .floor_ns = rows[i].floor_ns};
        scene_init(&s);
        while (s.task->variants[timing.variant].kind != ATOLL_VARIANT_BENCH)
            timing.variant++;
        timing.summary.median = 302e3;
        timing.summary.count = 9;
        s.input.device = &device;
        s.evaluation.timings[0] = timing;
        s.evaluation.timing_count = 1;
        const char *text = written(&s);
        has(text, rows[i].says, 1);
        has(text, "An empty launch alone takes", 0);
        has(text, "- an empty launch alone takes 12.6 us", rows[i].empty_ns > 10e3);
        scene_fini(&s);
    }
}

/* Without a limiter the launch is told, and what was counted of an ancestor as what it is. */
static void what_is_known_without_counters_is_told(void **state)
{
    struct scene s;
    struct atoll_device_info device = {.bandwidth_bytes_per_s = 1e12,
                                       .limits = {.multiprocessors = 132, .compute_capability = 90}};
    static struct atoll_evaluation counted;
    scene_init(&s);
    struct atoll_resources *r = &s.evaluation.profile.resources;
    for (unsigned i = 0; i < ATOLL_COUNTER_COUNT; i++)
        s.evaluation.profile.counters[i] = NAN;
    s.input.device = &device;
    *r = (struct atoll_resources){.kernel_count = 2,
                                  .blocks = 528,
                                  .threads_per_block = 256,
                                  .resident_blocks = 2,
                                  .occupancy = 0.5,
                                  .occupancy_by = ATOLL_OCCUPANCY_SHARED};
    const char *text = written(&s);
    text = strstr(text, "# Diagnosis");
    has(text, "What limits it is not known", 1);
    has(text,
        "Which of the launches of its 2 kernels takes the time was not measured. The one with the most "
        "blocks "
        "has 528 blocks of 256 threads on 132 multiprocessors: 2 at a time on each, "
        "limited by "
        "shared memory, 2.00 waves; 50 % of a multiprocessor's warps fit.",
        1);
    r->blocks = 1;
    r->threads_per_block = 64;
    has(written(&s),
        "The one with the most blocks has 1 block of 64 threads on 132 multiprocessors: 131 of these have "
        "nothing to "
        "do",
        1);
    has(strstr(written(&s), "# Diagnosis"), "Counted of", 0);
    counted = s.evaluation;
    counted.profile.counters[ATOLL_COUNTER_DRAM_THROUGHPUT] = 91;
    s.ancestor.evaluation = &counted;
    s.input.ancestors = &s.ancestor;
    s.input.ancestor_count = 1;
    has(strstr(written(&s), "# Diagnosis"),
        "Counted of the nearest ancestor that was, not of this one: 14.0 ms; dram 91 %.", 1);
    s.evaluation.profile.counters[ATOLL_COUNTER_ISSUE_ACTIVE] = 51; /* its own, though they name no limiter */
    text = strstr(written(&s), "# Diagnosis");
    has(text, "What limits it is not known", 1);
    has(text, "Counted of", 0);
    scene_fini(&s);
}

/* Of several timed shapes and paths counters and resources are of the first one, and say so; of one alone nothing is said. */
static void figures_say_what_they_are_of(void **state)
{
    static const char paths[] = "/* atoll-plan {\"version\": 1, \"paths\": [{\"when\": \"K > 5000\", "
                                "\"launch\": [{\"kernel\": \"f\", \"grid\": "
                                "[1], \"block\": [32], \"args\": []}]}, {\"launch\": [{\"kernel\": \"f\", "
                                "\"grid\": [1], \"block\": [32], "
                                "\"args\": []}]}]} */\nextern \"C\" __global__ void f()\n{\n}\n";
    struct scene s;
    struct atoll_device_info device = {.limits = {.multiprocessors = 132, .compute_capability = 90}};
    scene_init(&s);
    s.evaluation.profile.resources =
        (struct atoll_resources){.kernel_count = 1, .registers = 95, .blocks = 112, .threads_per_block = 32};
    for (unsigned i = 0; i < ATOLL_COUNTER_COUNT; i++)
        s.evaluation.profile.counters[i] = NAN;
    has(written(&s), " alone:\n", 0);
    atoll_task_destroy(s.task);
    s.task = atoll_task_load(ATOLL_SOURCE_DIR "/suites/gpu/quantised_gemm", NULL);
    assert_non_null(s.task);
    s.input.task = s.task;
    s.input.device = &device;
    s.input.language = s.input.backend = "cuda";
    const char *text = written(&s);
    has(text, "Of bench.decode alone:\nResources: 95 registers", 1);
    has(text, "At bench.decode: Its launch has 112 blocks", 1);
    s.parent.source = paths;
    text = written(&s);
    has(text, "Of bench.decode, path 2 of 2 alone:\nResources: 95 registers", 1);
    has(text, "At bench.decode, path 2 of 2: Its launch has 112 blocks", 1);
    scene_fini(&s);
}

/* Who compares two kernels is shown neither a wish for a kernel nor functions of paths that no timed shape takes. */
static void a_summarizer_sees_what_is_timed(void **state)
{
    static const char slow[] = "/* atoll-plan {\"version\": 1, \"paths\": [{\"when\": \"K > 5000\", "
                               "\"launch\": [{\"kernel\": \"far\", \"grid\": "
                               "[1], \"block\": [32], \"args\": []}]}, {\"launch\": [{\"kernel\": \"near\", "
                               "\"grid\": [1], \"block\": [32], "
                               "\"args\": []}]}]} */\nextern \"C\" __global__ void far()\n{\n    int "
                               "of_far;\n}\n\nextern \"C\" __global__ void "
                               "near()\n{\n    int of_near;\n}\n";
    struct scene s;
    static char fast[sizeof(slow) + 8];
    struct atoll_prompt_kernel other;
    scene_init(&s);
    atoll_task_destroy(s.task);
    s.task = atoll_task_load(ATOLL_SOURCE_DIR "/suites/gpu/quantised_gemm", NULL);
    assert_non_null(s.task);
    s.input.task = s.task;
    s.input.language = s.input.backend = "cuda";
    s.parent.source = slow;
    snprintf(fast, sizeof(fast), "%.*sint quick;\n}\n", (int)sizeof(slow) - 3, slow);
    other = s.parent;
    other.source = fast;
    s.input.inspirations = &other;
    s.input.inspiration_count = 1;
    has(written(&s), "int of_far;", 1);
    s.ask.kind = ATOLL_ASK_SUMMARISE;
    const char *text = written(&s);
    has(text, "Two kernels to compare, in language `cuda` for the task", 1);
    has(text, "Write a kernel", 0);
    has(text, "int of_near;", 1);
    has(text, "int quick;", 1);
    has(text, "int of_far;", 0);
    scene_fini(&s);
}

/* A prompt shows the part of a source that counts, and ends what it quotes with a sentence. */
static void what_is_cut_stays_useful(void **state)
{
    static char source[9000], text[6000];
    struct atoll_prompt_kernel other = {.source = source, .time_ns = 1e5};
    struct atoll_brief brief = {.kind = ATOLL_BRIEF_MEMORY, .title = "a title", .text = text};
    struct scene s;
    size_t used = (size_t)sprintf(
        source, "/* atoll-plan {\"launch\": [{\"function\": \"fast\"}]} */\nvoid slow(void)\n{\n");
    while (used < 4000)
        used += (size_t)sprintf(source + used, "    slow_line(%zu);\n", used);
    used += (size_t)sprintf(source + used, "}\n\nvoid fast(void)\n{\n    here();\n}\n\nvoid last(void)\n{\n");
    while (used < 8000)
        used += (size_t)sprintf(source + used, "    last_line(%zu);\n", used);
    sprintf(source + used, "}\n");
    for (used = 0; used < 5000;)
        used += (size_t)sprintf(text + used, "A sentence of several words is here, number %zu. ", used);
    scene_init(&s);
    s.input.inspirations = &other;
    s.input.inspiration_count = 1;
    s.input.user_limit_bytes = 12000;
    s.input.briefs = &brief;
    s.input.brief_count = 1;
    const char *shown = strstr(written(&s), "# Other kernels");
    assert_non_null(shown);
    has(shown, "bytes are left out here", 1);
    has(shown, "    here();", 1);
    shown = strstr(written(&s), "# Rewrites learnt");
    assert_non_null(shown);
    const char *mark = strstr(shown, "\n| ... (");
    assert_non_null(mark);
    assert_memory_equal(mark - 1, ".", 1);
    scene_fini(&s);
}

/* No step down from what the parent has just won by; no tree of threads for sums of tiles. */
static void directions_do_not_contradict(void **state)
{
    struct scene s;
    struct atoll_evaluation before;
    scene_init(&s);
    s.ask.advice_count = 1;
    s.ask.advice[0] = (struct atoll_advice){.dimension = 0, .level = 3, .sign = -1, .weight = 1};
    s.evaluation.behaviour.memory = 3;
    has(written(&s), "# Directions", 1);
    before = s.evaluation;
    before.behaviour.memory = 2;
    s.ancestor.evaluation = &before;
    s.input.ancestors = &s.ancestor;
    s.input.ancestor_count = 1;
    has(written(&s), "# Directions", 0);
    s.ancestor.time_ns = 100e3; /* it lost by going up */
    has(written(&s), "# Directions", 1);
    s.ask.advice[0] = (struct atoll_advice){.dimension = 2, .level = 0, .sign = 1, .weight = 1};
    has(written(&s), "# Directions", 1);
    s.task->category = "convolution";
    has(written(&s), "# Directions", 0);
    scene_fini(&s);
}

/* Rows and columns are none of a window's. */
static void a_convolution_has_no_sizes_of_a_product(void **state)
{
    struct scene s;
    struct atoll_device_info device = {.bandwidth_bytes_per_s = 1e12};
    scene_init(&s);
    s.input.device = &device;
    has(written(&s), "# Sizes", 1);
    s.task->category = "convolution";
    has(written(&s), "# Sizes", 0);
    s.task->category = "scan"; /* nor are rows of a recurrence worked on as a whole */
    has(written(&s), "# Sizes", 0);
    scene_fini(&s);
}

/* Two 4-bit values lie in a byte: a sum is as deep as its values. */
static void packed_values_are_counted(void **state)
{
    struct scene s;
    struct atoll_device_info device = {.bandwidth_bytes_per_s = 1e12,
                                       .limits = {.multiprocessors = 132,
                                                  .compute_capability = 90,
                                                  .warp_size = 32,
                                                  .threads_per_block = 1024,
                                                  .threads_per_multiprocessor = 2048,
                                                  .registers_per_multiprocessor = 65536,
                                                  .shared_bytes_per_block = 232448,
                                                  .shared_bytes_per_multiprocessor = 233472}};
    scene_init(&s);
    atoll_task_destroy(s.task);
    s.task = atoll_task_load(ATOLL_SOURCE_DIR "/suites/gpu/quantised_gemm", NULL);
    assert_non_null(s.task);
    s.input.task = s.task;
    s.input.device = &device;
    s.input.parent = NULL;
    s.input.language = s.input.backend = "cuda";
    const char *sizes = strstr(written(&s), "# Sizes");
    assert_non_null(sizes);
    has(sizes,
        "| bench.decode: 16 x 28672 results, each a sum of 8192\n|   2 values of the sum lie in one element\n"
        "| bench.prefill: 512 x 8192 results, each a sum of 8192\n",
        1);
    has(sizes, "each a sum of 4096", 0);
    has(sizes, " stages", 0);
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parent_may_be_ahead),
        cmocka_unit_test(parent_is_shown_once),
        cmocka_unit_test(registers_are_a_devices),
        cmocka_unit_test(params_are_searched_where_somebody_does),
        cmocka_unit_test(analysts_are_told_of_issues_that_there_are),
        cmocka_unit_test(a_judge_is_told_what_it_judges_by),
        cmocka_unit_test(a_refiner_knows_how_many_attempts_there_are),
        cmocka_unit_test(planners_are_told_apart),
        cmocka_unit_test(spills_are_told_where_a_tool_tells_them),
        cmocka_unit_test(there_is_one_floor),
        cmocka_unit_test(a_floor_says_what_it_is_of),
        cmocka_unit_test(what_is_known_without_counters_is_told),
        cmocka_unit_test(figures_say_what_they_are_of),
        cmocka_unit_test(a_summarizer_sees_what_is_timed),
        cmocka_unit_test(what_is_cut_stays_useful),
        cmocka_unit_test(directions_do_not_contradict),
        cmocka_unit_test(a_convolution_has_no_sizes_of_a_product),
        cmocka_unit_test(packed_values_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
