/* code.c - a piece of code is queued for each compiler that has to take it, or to refuse it; what plan and static rules say is known at
 * once.  Findings are told in the order in which entries came. */
#include "scheduler/knowledge/code.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "core/plan/plan_choices.h"
#include "core/rules/rules.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "scheduler/campaign/run_tasks.h"
#include "scheduler/knowledge/compilers.h"

#define OWN_TASK     "knowledge/check"
#define PART_BYTES   384 /* with a choice */
#define UNIT_BYTES   (ATOLL_SOURCE_LIMIT + 4096u)
#define SHOWN_BYTES  600 /* of what a compiler said */
#define FAULT_BYTES  1400
#define TARGET_LIMIT 16 /* devices of one entry */

enum outcome {
    OUTCOME_OPEN, /* a compiler is at it */
    OUTCOME_FINE,
    OUTCOME_COMPILE,
    OUTCOME_RULES,
    OUTCOME_PLAN,
    OUTCOME_NOBODY, /* could tell */
    OUTCOME_NONSENSE
};

struct job {
    const struct atoll_knowledge_entry *entry;
    char part[PART_BYTES];
    int is_wrong; /* it has to fail as the entry says */
    int may_be_mutable;
    enum outcome outcome;
    char *said; /* owned; NULL nothing */
};

struct atoll_check_code {
    const struct atoll_knowledge_base *base;
    struct atoll_task *task; /* the check's own; NULL: not read yet */
    struct atoll_check_compilers *compilers;
    struct job *jobs;
    uint32_t count, capacity;
    unsigned choices;
};

struct atoll_check_code *atoll_check_code_create(const struct atoll_knowledge_base *base, const char *python,
                                                 int cache, unsigned choices, struct atoll_err *err)
{
    struct atoll_check_code *code = calloc(1, sizeof(*code));
    if (!code) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for code of knowledge");
        return NULL;
    }
    code->base = base;
    code->choices = choices;
    code->compilers = atoll_check_compilers_create(python, cache, err);
    if (code->compilers)
        return code;
    free(code);
    return NULL;
}

void atoll_check_code_destroy(struct atoll_check_code *code)
{
    if (!code)
        return;
    atoll_check_compilers_destroy(code->compilers);
    for (uint32_t i = 0; i < code->count; i++)
        free(code->jobs[i].said);
    atoll_task_destroy(code->task);
    free(code->jobs);
    free(code);
}

static void conclude(struct job *job, enum outcome outcome, const char *said)
{
    job->outcome = outcome;
    job->said = said && *said ? strdup(said) : NULL;
}

static struct job *add_job(struct atoll_check_code *code, const struct atoll_knowledge_entry *entry,
                           const char *part, struct atoll_err *err)
{
    if (atoll_array_reserve(&code->jobs, &code->capacity, code->count + 1, sizeof(*code->jobs), err) != 0)
        return NULL;
    struct job *job = &code->jobs[code->count++];
    *job = (struct job){.entry = entry, .is_wrong = strcmp(part, "wrong") == 0};
    snprintf(job->part, sizeof(job->part), "%s", part);
    return job;
}

/* ---- units ---- */

static int has_plan(const char *source)
{
    return strstr(source, "atoll-plan") != NULL;
}

static const struct atoll_task *task_for_plans(struct atoll_check_code *code, struct atoll_err *err)
{
    char dir[PATH_MAX];
    if (!code->task && atoll_run_tasks_find_suite(OWN_TASK, dir, sizeof(dir), err) == 0)
        code->task = atoll_task_load(dir, err);
    return code->task;
}

static int submit(struct atoll_check_code *code, struct atoll_check_compiler *compiler, const char *language,
                  const char *name, const char *text, size_t length, struct atoll_err *err)
{
    const struct job *job = &code->jobs[code->count - 1];
    char expected[ATOLL_KNOWLEDGE_LINE_BYTES + 32] = "";
    if (job->is_wrong)
        snprintf(expected, sizeof(expected), "%s %s", atoll_knowledge_failure_name(job->entry->fails),
                 job->entry->message);
    const struct atoll_check_unit unit = {.number = code->count - 1,
                                          .language = language,
                                          .name = name,
                                          .text = text,
                                          .length = length,
                                          .may_be_mutable = job->may_be_mutable,
                                          .expected = expected};
    return atoll_check_compilers_submit(code->compilers, compiler, &unit, err);
}

/* Where a piece of code goes. */
struct target {
    struct atoll_check_compiler *compiler;
    enum atoll_check_compiler_kind kind;
    const char *language, *flags;
};

/* Who judges a part, and of a template which choice. */
static void name_part(struct job *job, const char *part, const struct target *target, const char *choice)
{
    int is_device = target->kind == ATOLL_CHECK_CUDA || target->kind == ATOLL_CHECK_TRITON;
    snprintf(job->part, sizeof(job->part), "%s%s%.256s, %s%s%.40s", part, *choice ? " " : "", choice,
             atoll_check_compiler_name(target->kind), is_device ? " " : "", is_device ? target->flags : "");
}

/* Rules and unit of one choice; the job is the last one. */
static int prepare_choice(struct atoll_check_code *code, const struct target *target,
                          const struct atoll_task *task, const char *source,
                          const struct atoll_choice *choice, struct atoll_err *err)
{
    struct job *job = &code->jobs[code->count - 1];
    const char *language = target->language;
    const struct atoll_backend *backend =
        atoll_backend_find(strcmp(language, "cuda") == 0 || strcmp(language, "triton") == 0 ? "cuda" : "cpu");
    const struct atoll_order_candidate candidate = {
        .language = language, .source = source, .choice = *choice};
    struct atoll_prepared *p = atoll_prepared_create(task, backend, &candidate, NULL, err);
    int rc = p ? 0 : -1;
    if (p && p->verdict != ATOLL_V_CORRECT)
        conclude(job, p->verdict == ATOLL_V_FORBIDDEN ? OUTCOME_RULES : OUTCOME_PLAN, p->detail);
    else if (p)
        rc = submit(code, target->compiler, language, p->unit_name, p->unit_text, p->unit_length, err);
    atoll_prepared_destroy(p);
    return rc;
}

/* What is right is so with every value of its params. */
static int prepare_more(struct atoll_check_code *code, const struct target *target,
                        const struct atoll_task *task, const char *part, const char *source,
                        const struct atoll_plan *plan, struct atoll_err *err)
{
    struct atoll_plan_choices *choices = malloc(sizeof(*choices));
    const struct atoll_knowledge_entry *entry = code->jobs[code->count - 1].entry;
    int may_be_mutable = code->jobs[code->count - 1].may_be_mutable, rc = 0;
    char text[256];
    if (!choices)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for choices of a kernel");
    atoll_plan_choices_cover(task, plan, choices);
    for (size_t i = 1; rc == 0 && i < choices->count && i <= code->choices; i++) {
        struct job *job = add_job(code, entry, part, err);
        if (!job)
            rc = -1;
        if (rc == 0) {
            job->may_be_mutable = may_be_mutable;
            name_part(job, part, target, atoll_choice_text(plan, &choices->choices[i], text, sizeof(text)));
            rc = prepare_choice(code, target, task, source, &choices->choices[i], err);
        }
    }
    free(choices);
    return rc;
}

/* As a candidate goes: plan, rules, unit. */
static int prepare_candidate(struct atoll_check_code *code, const struct target *target,
                             const struct atoll_task *task, const char *part, const char *source,
                             struct atoll_err *err)
{
    struct job *job = &code->jobs[code->count - 1];
    struct atoll_arena *arena = atoll_arena_create((size_t)8 << 20, err);
    struct atoll_choice first;
    struct atoll_err why = ATOLL_ERR_INIT;
    const char *body;
    int is_wrong = job->is_wrong;
    if (!task)
        task = task_for_plans(code, err);
    if (!arena || !task) {
        atoll_arena_destroy(arena);
        return -1;
    }
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, target->language, source, &body, &why);
    int rc = 0;
    if (plan) {
        atoll_plan_first_choice(plan, &first);
        rc = prepare_choice(code, target, task, source, &first, err);
        if (rc == 0 && !is_wrong && plan->param_count > 0 && target->kind != ATOLL_CHECK_CLANG)
            rc = prepare_more(code, target, task, part, source, plan, err);
    } else {
        conclude(job, OUTCOME_PLAN, why.text);
    }
    atoll_arena_destroy(arena);
    return rc;
}

/* Without a plan it is the body of one: the same rules, and no launches behind it. */
static int prepare_body(struct atoll_check_code *code, const struct target *target, const char *source,
                        struct atoll_err *err)
{
    const char *language = target->language;
    struct atoll_err why = ATOLL_ERR_INIT;
    struct job *job = &code->jobs[code->count - 1];
    const char *name = target->kind == ATOLL_CHECK_OPENCL ? ATOLL_COMPILE_CANDIDATE "cl"
                       : target->kind == ATOLL_CHECK_CUDA ? atoll_backend_find("cuda")->unit_name
                                                          : ATOLL_CC_CANDIDATE;
    if (atoll_rules_count(language) > 0 && atoll_rules_check(language, source, 1, &why) != 0) {
        conclude(job, OUTCOME_RULES, why.text);
        return 0;
    }
    struct atoll_buffer unit;
    atoll_buffer_init(&unit, UNIT_BYTES);
    atoll_buffer_printf(&unit, "%s\n", source);
    if (strcmp(name, ATOLL_CC_CANDIDATE) == 0)
        atoll_buffer_printf(&unit, "#line 1 \"" ATOLL_CC_HARNESS "\"\n");
    int rc = atoll_buffer_check(&unit, err);
    if (rc == 0)
        rc = submit(code, target->compiler, language, name, (const char *)unit.data, unit.length, err);
    atoll_buffer_fini(&unit);
    return rc;
}

static int add_for(struct atoll_check_code *code, const struct atoll_knowledge_entry *entry, const char *part,
                   const char *source, const struct atoll_task *task, const char *language,
                   enum atoll_check_compiler_kind kind, const char *flags, struct atoll_err *err)
{
    const struct target target = {atoll_check_compilers_get(code->compilers, kind, flags, err), kind,
                                  language, flags};
    struct job *job = target.compiler ? add_job(code, entry, part, err) : NULL;
    if (!job)
        return -1;
    job->may_be_mutable = task && task->allow_mutable_globals;
    name_part(job, part, &target, "");
    if (kind != ATOLL_CHECK_TRITON &&
        (!has_plan(source) || kind == ATOLL_CHECK_OPENCL || kind == ATOLL_CHECK_CROSS))
        return prepare_body(code, &target, source, err);
    struct atoll_buffer defined; /* as a seed of the task is */
    size_t place = task ? atoll_task_definitions_place(task, source) : 0;
    atoll_buffer_init(&defined, UNIT_BYTES);
    atoll_buffer_printf(&defined, "%.*s%s%s%s", (int)place, source, place ? " " : "",
                        place ? task->definitions : "", source + place);
    int rc = atoll_buffer_check(&defined, err);
    rc = rc == 0 ? prepare_candidate(code, &target, task, part, (const char *)defined.data, err) : rc;
    atoll_buffer_fini(&defined);
    return rc;
}

/* ---- who compiles it ---- */

/* Flags of its features where it has some, else of its devices, else of the first device that has some.  How many. */
static size_t find_targets(const struct atoll_knowledge_index *index,
                           const struct atoll_knowledge_entry *entry, size_t language,
                           char ret[TARGET_LIMIT][ATOLL_CHECK_FLAG_BYTES])
{
    size_t count = 0;
    ret[0][0] = '\0';
    for (size_t i = 0; entry->features && entry->features[i]; i++) {
        const struct atoll_knowledge_device *f = atoll_knowledge_feature_find(index, entry->features[i]);
        size_t used = strlen(ret[0]);
        if (f && f->compile[language])
            snprintf(ret[0] + used, ATOLL_CHECK_FLAG_BYTES - used, "%s%s", used ? " " : "",
                     f->compile[language]);
    }
    if (ret[0][0])
        return 1;
    for (size_t i = 0; i < index->device_count && count < TARGET_LIMIT; i++) {
        const struct atoll_knowledge_device *d = &index->devices[i];
        if (!d->compile[language] || !atoll_knowledge_has(entry->devices, d->name))
            continue;
        snprintf(ret[count++], ATOLL_CHECK_FLAG_BYTES, "%s", d->compile[language]);
        if (!entry->devices)
            break;
    }
    return count;
}

static int add_part(struct atoll_check_code *code, const struct atoll_knowledge_entry *entry,
                    const char *part, const char *source, const struct atoll_task *task,
                    struct atoll_err *err)
{
    static const enum atoll_check_compiler_kind kinds[ATOLL_KNOWLEDGE_LANGUAGES] = {
        ATOLL_CHECK_CC, ATOLL_CHECK_CUDA, ATOLL_CHECK_TRITON, ATOLL_CHECK_OPENCL};
    char targets[TARGET_LIMIT][ATOLL_CHECK_FLAG_BYTES];
    size_t language = 0;
    const char *name = entry->languages ? entry->languages[0] : "";
    while (language < ATOLL_KNOWLEDGE_LANGUAGES && strcmp(atoll_knowledge_language(language), name) != 0)
        language++;
    size_t count =
        language < ATOLL_KNOWLEDGE_LANGUAGES ? find_targets(&code->base->index, entry, language, targets) : 0;
    if (count == 0) {
        struct job *job = add_job(code, entry, part, err);
        if (job)
            conclude(job, OUTCOME_NONSENSE,
                     *name
                         ? "index.yaml does not say how its language is compiled for any of its devices; add "
                           "'compile' there, or name the language of the code first"
                         : "code is in one language; name it first in 'language'");
        return job ? 0 : -1;
    }
    for (size_t i = 0; i < count; i++) {
        enum atoll_check_compiler_kind kind = kinds[language];
        if (kind == ATOLL_CHECK_CC && strstr(targets[i], "--target="))
            kind = ATOLL_CHECK_CROSS;
        if (add_for(code, entry, part, source, task, name, kind, targets[i], err) != 0)
            return -1;
        /* Wording differs between compilers; what is right is right with both. */
        if (kind == ATOLL_CHECK_CC && (strcmp(part, "right") == 0 || strcmp(part, "kernel") == 0) &&
            add_for(code, entry, part, source, task, name, ATOLL_CHECK_CLANG, targets[i], err) != 0) {
            return -1;
        }
    }
    return 0;
}

int atoll_check_code_add(struct atoll_check_code *code, const struct atoll_knowledge_entry *entry,
                         const struct atoll_task *task, struct atoll_err *err)
{
    const struct {
        const char *part, *source;
    } parts[] = {{"wrong", entry->wrong},
                 {"right", entry->right},
                 {"before", entry->before},
                 {"after", entry->after},
                 {"kernel", entry->kernel}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i].source && add_part(code, entry, parts[i].part, parts[i].source, task, err) != 0)
            return -1;
    return 0;
}

/* ---- what came of it ---- */

/* Who says so, as an entry's `fails`. */
static enum atoll_knowledge_failure failure_of(enum outcome outcome)
{
    return outcome == OUTCOME_COMPILE ? ATOLL_KNOWLEDGE_FAILS_COMPILE
           : outcome == OUTCOME_RULES ? ATOLL_KNOWLEDGE_FAILS_RULES
           : outcome == OUTCOME_PLAN  ? ATOLL_KNOWLEDGE_FAILS_PLAN
                                      : ATOLL_KNOWLEDGE_FAILS_RESULT;
}

/* NULL: it is as the entry says. */
static const char *fault_of(const struct job *job, char *ret, size_t bytes)
{
    const struct atoll_knowledge_entry *e = job->entry;
    const char *said = job->said ? job->said : "";
    enum atoll_knowledge_failure failure = failure_of(job->outcome);
    int must_pass = !job->is_wrong || e->fails == ATOLL_KNOWLEDGE_FAILS_RESULT;
    if (job->outcome == OUTCOME_NONSENSE)
        return said;
    if (must_pass && job->outcome == OUTCOME_FINE)
        return NULL;
    if (must_pass) {
        snprintf(ret, bytes, "it must compile, and does not (%s): %.*s",
                 atoll_knowledge_failure_name(failure), SHOWN_BYTES, said);
        return ret;
    }
    if (job->outcome == OUTCOME_FINE) {
        snprintf(ret, bytes, "it must fail (%s: %.200s), and is accepted",
                 atoll_knowledge_failure_name(e->fails), e->message);
        return ret;
    }
    if (failure == e->fails && strstr(said, e->message))
        return NULL;
    snprintf(ret, bytes, "it must fail (%s: %.200s), and fails otherwise (%s): %.*s",
             atoll_knowledge_failure_name(e->fails), e->message, atoll_knowledge_failure_name(failure),
             SHOWN_BYTES, said);
    return ret;
}

static int on_verdict(void *context, const struct atoll_check_verdict *verdict)
{
    struct atoll_check_code *code = context;
    enum outcome outcome = OUTCOME_COMPILE;
    char text[FAULT_BYTES];
    if (verdict->number >= code->count)
        return 0;
    if (verdict->status == ATOLL_COMPILE_OK)
        outcome = OUTCOME_FINE;
    else if (verdict->status == ATOLL_COMPILE_BROKEN)
        outcome = OUTCOME_NOBODY;
    else if (verdict->status == ATOLL_COMPILE_FORBIDDEN)
        outcome = OUTCOME_RULES;
    else if (verdict->status == ATOLL_COMPILE_PLAN)
        outcome = OUTCOME_PLAN;
    conclude(&code->jobs[verdict->number], outcome, verdict->said);
    return outcome != OUTCOME_NOBODY && !fault_of(&code->jobs[verdict->number], text, sizeof(text));
}

int atoll_check_code_finish(struct atoll_check_code *code, atoll_finding_row *row, void *context,
                            struct atoll_err *err)
{
    if (atoll_check_compilers_finish(code->compilers, on_verdict, code, err) != 0)
        return -1;
    for (uint32_t i = 0; i < code->count; i++) {
        const struct job *job = &code->jobs[i];
        char text[FAULT_BYTES];
        int is_nobody = job->outcome == OUTCOME_NOBODY || job->outcome == OUTCOME_OPEN;
        const char *fault = is_nobody ? NULL : fault_of(job, text, sizeof(text));
        atoll_finding_tell(row, context,
                           is_nobody ? ATOLL_FINDING_SKIPPED
                           : fault   ? ATOLL_FINDING_FAILED
                                     : ATOLL_FINDING_OK,
                           job->entry, job->part,
                           fault                    ? fault
                           : is_nobody && job->said ? job->said
                                                    : "");
    }
    return 0;
}
