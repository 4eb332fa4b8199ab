/* triton.c - a job goes from the queue to a child of the zygote, whose answer gives PTX; the PTX is judged and goes to ptxas; the
 * cubin, with the words on how it is launched in front of ptxas's, is kept and done.  The zygote is started for the first job, or
 * with the compiler (starts_now).  Where slots are idle, half of them help: the job's images are shared among several children, and
 * it goes on when all have answered.
 * When it dies, jobs under way go to a fresh one, once.  One that does not work is tried again only after a while, so that a
 * node without Triton says so at once for every candidate.  A job that another evaluator of the node has claimed waits for what
 * that one puts into the cache, for as long as compiling may take. */
#include "mpi-eval/backend/cuda/triton/triton.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "core/rules/rules.h"
#include "mpi-eval/backend/compile/compile_job.h"
#include "mpi-eval/backend/compile/compiler_driver.h"
#include "mpi-eval/backend/compile/diagnostics.h"
#include "mpi-eval/backend/cuda/compile/compile_cache.h"
#include "mpi-eval/backend/cuda/compile/toolkit.h"
#include "mpi-eval/backend/cuda/triton/printed.h"
#include "mpi-eval/backend/cuda/triton/request.h"
#include "mpi-eval/backend/cuda/triton/stages.h"
#include "mpi-eval/backend/cuda/triton/zygote.h"
#include "mpi-eval/torch/interpreter.h"

#define SLOT_LIMIT    256
#define ATTEMPTS      2
#define GRACE_NS      20e9 /* beyond a child's deadline, by which the zygote has ended it */
#define RETRY_NS      60e9 /* until a Triton that does not work is looked for again */
#define LOOK_NS       50e6 /* between two looks at what others compile */
#define EXIT_MEMORY   73
#define CAUSE_BYTES   1500
#define KEY_BYTES     ((size_t)20 << 20)
#define THREADS_BYTES ((uint64_t)1 << 30)
#define PTX_NAME      ATOLL_COMPILE_CANDIDATE "ptx"
#define PROBE_PTX                                                                                            \
    ".version %s\n.target %s\n.address_size 64\n.visible .entry probe(.param .u64 p)\n{\n.reg .b64 "         \
    "%%rd<2>;\nld.param.u64 "                                                                                \
    "%%rd1, [p];\nret;\n}\n"

enum stage { FREE, WAITS, COMPILES, ANSWERED, ASSEMBLES };

struct slot {
    enum stage stage;
    struct atoll_compile_job *job; /* owned; NULL: free, or a helper's */
    struct slot *lead;             /* whose job it is: itself, or the slot that it helps */
    unsigned part, parts;          /* which images; parts 0: not said yet */
    unsigned attempts;
    uint64_t serial;
    double since_ns, sent_ns, judged_ns;
    struct atoll_triton_reply reply; /* once it answered: its bytes are owned */
    struct atoll_triton_images images;
    struct atoll_compile_claim claim; /* of the job */
};

struct triton {
    struct atoll_compiler base;
    char *python, *script, *target, *probe;
    struct atoll_compiler_settings settings;
    struct atoll_compile_cache *cache; /* NULL: none */
    struct atoll_id identity;          /* of the interpreter's Triton; zero: not looked for yet */
    struct atoll_triton_zygote *zygote;
    struct atoll_compiler *ptxas;                    /* once the zygote was ready */
    char version[96], trouble[ATOLL_ERR_TEXT_BYTES]; /* trouble: why there is none, "" */
    double trouble_ns;
    uint64_t serial;
    struct slot *slots;
    unsigned slot_count;
    struct atoll_compile_queue queued, done;
    struct atoll_compile_queue waiting; /* others compile the same */
    double looked_ns;                   /* at those */
    struct atoll_triton_stages stages;
};

static void stage_end(struct triton *t, enum atoll_triton_stage stage, double since_ns)
{
    atoll_triton_stages_add(&t->stages, stage, atoll_clock_mono_ns() - since_ns);
}

static void reply_drop(struct slot *slot)
{
    free((void *)(uintptr_t)slot->reply.bytes);
    slot->reply.bytes = NULL;
}

/* The slots that help this one have nothing to do; nor is any answer wanted any more. */
static void helpers_free(struct triton *t, struct slot *lead)
{
    for (unsigned i = 0; i < t->slot_count; i++) {
        struct slot *slot = &t->slots[i];
        if (slot->stage == FREE || slot->lead != lead)
            continue;
        reply_drop(slot);
        if (slot != lead)
            slot->stage = FREE;
    }
}

/* Of the job that a slot has or helps with. */
static void slot_finish(struct triton *t, struct slot *slot, enum atoll_compile_status status,
                        const char *diagnostics, const char *report)
{
    slot = slot->lead;
    helpers_free(t, slot);
    atoll_compile_job_finish(slot->job, status, diagnostics, report, atoll_clock_mono_ns() - slot->since_ns);
    atoll_compile_queue_put(&t->done, slot->job);
    atoll_compile_cache_unclaim(t->cache, &slot->claim);
    slot->job = NULL;
    slot->stage = FREE;
}

/* ---- the cache ---- */

static void job_key(const struct triton *t, const struct atoll_compile_job *job, struct atoll_id *ret_key)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, KEY_BYTES);
    atoll_buffer_put_bytes(&b, t->identity.bytes, ATOLL_ID_BYTES);
    atoll_buffer_put_blob(&b, job->text, job->length);
    memset(ret_key, 0, sizeof(*ret_key));
    if (!b.failed)
        *ret_key = atoll_id_of(b.data, b.length);
    atoll_buffer_fini(&b);
}

static int finish_from_cache(struct triton *t, struct atoll_compile_job *job)
{
    double start = atoll_clock_mono_ns();
    struct atoll_triton_images images;
    struct atoll_id key;
    char *report = NULL;
    job_key(t, job, &key);
    if (!t->cache || atoll_id_is_zero(&t->identity) || atoll_id_is_zero(&key) ||
        !atoll_compile_cache_get(t->cache, &key, &job->result.object, &job->result.object_length, &report))
        return 0;
    int is_whole = atoll_triton_images_read(report, &images) == 0;
    if (is_whole) {
        job->result.from_cache = 1;
        atoll_compile_job_finish(job, ATOLL_COMPILE_OK, "", report, atoll_clock_mono_ns() - start);
    } else {
        free(job->result.object);
        job->result.object = NULL;
    }
    free(report);
    return is_whole;
}

/* 1: the slot compiles its job; 0: the job went elsewhere. */
static int slot_claim(struct triton *t, struct slot *slot)
{
    struct atoll_compile_job *job = slot->job;
    struct atoll_id key;
    double now = atoll_clock_mono_ns();
    int is_patient = !(job->waits_until_ns > 0) || now < job->waits_until_ns;
    job_key(t, job, &key);
    if (slot->claim.fd >= 0 || !t->cache || atoll_id_is_zero(&key) || !is_patient)
        return 1;
    int is_ours = atoll_compile_cache_claim(t->cache, &key, &slot->claim);
    if (is_ours && !finish_from_cache(t, job))
        return 1;
    atoll_compile_cache_unclaim(t->cache, &slot->claim);
    if (!is_ours && !(job->waits_until_ns > 0))
        job->waits_until_ns = now + t->settings.deadline_ns + GRACE_NS;
    atoll_compile_queue_put(is_ours ? &t->done : &t->waiting, job);
    slot->job = NULL;
    slot->stage = FREE;
    return 0;
}

/* What others have put meanwhile is done; what they gave up, or take too long for, is queued again. */
static void waiting_look(struct triton *t)
{
    struct atoll_compile_queue looked_at = t->waiting;
    double now = atoll_clock_mono_ns();
    if (!t->waiting.first || now - t->looked_ns < LOOK_NS)
        return;
    t->looked_ns = now;
    t->waiting = (struct atoll_compile_queue){0};
    for (struct atoll_compile_job *job; (job = atoll_compile_queue_take(&looked_at));) {
        struct atoll_id key;
        struct atoll_compile_claim claim;
        job_key(t, job, &key);
        int is_free = atoll_compile_cache_claim(t->cache, &key, &claim);
        int is_done = is_free && finish_from_cache(t, job);
        if (is_free)
            atoll_compile_cache_unclaim(t->cache, &claim);
        atoll_compile_queue_put(is_done                                 ? &t->done
                                : is_free || now >= job->waits_until_ns ? &t->queued
                                                                        : &t->waiting,
                                job);
    }
}

/* ---- the zygote ---- */

static void trouble_set(struct triton *t, const char *why)
{
    snprintf(t->trouble, sizeof(t->trouble), "no Triton here: %.900s", why);
    t->trouble_ns = atoll_clock_mono_ns();
    atoll_log(ATOLL_LOG_WARNING, "eval.triton.none", "%s", t->trouble);
}

static int is_troubled(const struct triton *t)
{
    return t->trouble[0] && atoll_clock_mono_ns() - t->trouble_ns < RETRY_NS;
}

/* Of ptxas, for images side by side.  Each image's instructions are the same with any number, symbols come in one order with one and
 * in another with more: so the number does not depend on a machine's cores, and a source is one binary everywhere.  Threads want
 * their memory at the same time, and ptxas hangs where it cannot start them. */
static unsigned ptxas_threads(const struct triton *t)
{
    return t->settings.memory_bytes < THREADS_BYTES ? 1 : ATOLL_TRITON_PART_LIMIT;
}

/* What every job shares: whatever makes another image of the same request. */
static int identity_set(struct triton *t, const char *python, struct atoll_err *err)
{
    struct atoll_buffer b;
    const struct atoll_id none = {{0}};
    struct stat st = {0};
    json_t *says = atoll_torch_examine(python, err);
    if (!says)
        return -1;
    snprintf(t->version, sizeof(t->version), "triton %.40s %.20s", atoll_json_member(says, "triton"),
             t->target);
    atoll_buffer_init(&b, (size_t)1 << 20);
    atoll_buffer_put_text(&b, "triton images, 2");
    atoll_buffer_put_u32(&b, ptxas_threads(t));
    atoll_buffer_put_text(&b, t->target);
    atoll_buffer_put_text(&b, atoll_json_member(says, "triton"));
    atoll_buffer_put_text(&b, atoll_json_member(says, "python"));
    atoll_buffer_put_text(&b, atoll_json_member(says, "executable"));
    stat(python, &st);
    atoll_buffer_put_i64(&b, (int64_t)st.st_mtim.tv_sec);
    t->identity = b.failed ? none : atoll_id_of(b.data, b.length);
    atoll_buffer_fini(&b);
    json_decref(says);
    return 0;
}

static int python_find(struct triton *t, struct atoll_err *err)
{
    char python[PATH_MAX];
    if (t->settings.command) /* found before */
        return 0;
    if (atoll_triton_find(t->python, python, sizeof(python), err) != 0 || identity_set(t, python, err) != 0)
        return -1;
    t->settings.command = strdup(python);
    return t->settings.command ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a path");
}

static int zygote_start(struct triton *t)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (t->zygote)
        return 0;
    if (is_troubled(t))
        return -1;
    if (python_find(t, &err) == 0) {
        struct atoll_triton_zygote_settings settings = {.python = t->settings.command,
                                                        .script = t->script,
                                                        .arch = (unsigned)strtoul(t->target + 3, NULL, 10),
                                                        .deadline_ns = t->settings.deadline_ns,
                                                        .memory_bytes = t->settings.memory_bytes};
        t->zygote = atoll_triton_zygote_create(&settings, &err);
    }
    if (!t->zygote)
        trouble_set(t, err.text);
    return t->zygote ? 0 : -1;
}

/* Jobs that it had go to the next one, those it broke twice end. */
static void zygote_lost(struct triton *t, const struct atoll_err *why)
{
    atoll_triton_zygote_destroy(t->zygote);
    t->zygote = NULL;
    if (why->code == ATOLL_E_MISSING)
        trouble_set(t, why->text);
    for (unsigned i = 0; i < t->slot_count; i++) {
        struct slot *slot = &t->slots[i];
        if (slot->stage == COMPILES && ++slot->attempts >= ATTEMPTS)
            slot_finish(t, slot, ATOLL_COMPILE_BROKEN, why->text, "");
        else if (slot->stage == COMPILES)
            slot->stage = WAITS;
    }
}

/* ---- ptxas ---- */

static int check_cubin(const void *object, size_t length, struct atoll_err *err)
{
    if (length >= 4 && memcmp(object, "\177ELF", 4) == 0)
        return 0;
    return atoll_err_set(err, ATOLL_E_CHILD, "what it makes is no cubin");
}

/* Triton's own flags (backends/nvidia/compiler.py, make_cubin), and threads that take an image each. */
static int ptxas_create(struct triton *t, struct atoll_err *err)
{
    static const char *const flags[] = {"-lineinfo", "-v", NULL};
    static const char *const none[] = {NULL};
    const char *folders[] = {NULL};
    char own[64];
    if (t->ptxas)
        return 0;
    snprintf(own, sizeof(own), "--gpu-name=%s --split-compile=%u", t->target, ptxas_threads(t));
    const struct atoll_compiler_style style = {.flags = flags,
                                               .tail = none,
                                               .suffix = ".ptx",
                                               .object_name = "object.cubin",
                                               .folders = folders,
                                               .report = atoll_compile_report_split,
                                               .probe_name = "probe.ptx",
                                               .probe_text = t->probe,
                                               .check = check_cubin,
                                               .kind = "cubin",
                                               .remedy = "install Triton again"};
    struct atoll_compiler_settings settings = t->settings;
    settings.command = atoll_triton_zygote_ptxas(t->zygote);
    settings.flags = own;
    t->ptxas = atoll_compiler_driver_create(&style, &settings, err);
    return t->ptxas ? 0 : -1;
}

static void assembled(struct triton *t, struct slot *slot, struct atoll_compiled *c)
{
    struct atoll_buffer report;
    struct atoll_id key;
    stage_end(t, ATOLL_TRITON_STAGE_PTXAS, slot->judged_ns);
    if (c->status != ATOLL_COMPILE_OK) {
        slot_finish(t, slot, c->status, c->diagnostics ? c->diagnostics : "", "");
        return;
    }
    atoll_buffer_init(&report, ATOLL_COMPILE_REPORT_BYTES);
    atoll_triton_images_print(&slot->images, &report);
    size_t used = report.length, room = ATOLL_COMPILE_REPORT_BYTES - 1 - used;
    if (report.failed || used >= ATOLL_COMPILE_REPORT_BYTES - 1) {
        atoll_buffer_fini(&report);
        slot_finish(t, slot, ATOLL_COMPILE_PLAN,
                    "plan: the launches have too many classes of arguments to be kept", "");
        return;
    }
    size_t length = strnlen(c->report ? c->report : "", room); /* whole lines of it */
    while (length == room && length > 0 && c->report[length - 1] != '\n')
        length--;
    atoll_buffer_put_bytes(&report, c->report ? c->report : "", length);
    atoll_buffer_put_u8(&report, 0);
    job_key(t, slot->job, &key);
    if (t->cache && !atoll_id_is_zero(&key) && !report.failed)
        atoll_compile_cache_put(t->cache, &key, c->object, c->object_length, (const char *)report.data);
    slot->job->result.object = c->object;
    slot->job->result.object_length = c->object_length;
    c->object = NULL;
    slot_finish(t, slot, ATOLL_COMPILE_OK, "", (const char *)report.data);
    atoll_buffer_fini(&report);
}

static void ptxas_collect(struct triton *t)
{
    struct atoll_compiled c;
    while (t->ptxas && atoll_compiler_collect(t->ptxas, &c) == 1) {
        for (unsigned i = 0; i < t->slot_count; i++)
            if (t->slots[i].stage == ASSEMBLES && t->slots[i].serial == c.job) {
                assembled(t, &t->slots[i], &c);
                break;
            }
        atoll_compiled_fini(&c);
    }
}

/* ---- how a child ends ---- */

static void words_finish(struct triton *t, struct slot *slot, enum atoll_compile_status status,
                         const char *words)
{
    char text[ATOLL_DIAGNOSTICS_BYTES];
    size_t n = 0;
    for (; *words && n + 1 < sizeof(text); words++)
        text[n++] = *words == '\n' || (unsigned char)*words >= ' ' ? *words : ' ';
    text[n] = '\0';
    slot_finish(t, slot, status, text, "");
}

static void memory_finish(struct triton *t, struct slot *slot)
{
    char text[256], size[32];
    snprintf(text, sizeof(text),
             "the compiler ran out of memory: this source takes more than %s beyond Triton itself "
             "(--compile-memory)",
             atoll_bytes_text(t->settings.memory_bytes, size, sizeof(size)));
    slot_finish(t, slot, ATOLL_COMPILE_MEMORY, text, "");
}

static void ptx_take(struct triton *t, struct slot *slot, const char *ptx)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_rules_check_ptx(ptx, &err) != 0) {
        slot_finish(t, slot, err.code == ATOLL_E_INPUT ? ATOLL_COMPILE_FORBIDDEN : ATOLL_COMPILE_BROKEN,
                    err.text, "");
        return;
    }
    slot->stage = ASSEMBLES;
    if (atoll_compiler_submit(t->ptxas, slot->serial, PTX_NAME, ptx, strlen(ptx), NULL, 0, &err) != 0)
        slot_finish(t, slot, ATOLL_COMPILE_BROKEN, err.text, "");
}

static void answers_take(struct triton *t, struct slot *slot, const struct atoll_triton_answer *answers)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    enum atoll_triton_answer_kind kind;
    char *ptx = NULL, *words = NULL;
    if (atoll_triton_answer_read(answers, slot->parts, slot->job->text, &kind, &slot->images, &ptx, &words,
                                 &err) != 0)
        words_finish(t, slot,
                     err.code == ATOLL_E_MISSING ? ATOLL_COMPILE_PLAN
                     : err.code == ATOLL_E_INPUT ? ATOLL_COMPILE_ERROR
                                                 : ATOLL_COMPILE_BROKEN,
                     err.text);
    else if (kind == ATOLL_TRITON_ANSWER_PTX)
        ptx_take(t, slot, ptx);
    else if (kind == ATOLL_TRITON_ANSWER_MEMORY)
        memory_finish(t, slot);
    else
        words_finish(t, slot, kind == ATOLL_TRITON_ANSWER_PLAN ? ATOLL_COMPILE_PLAN : ATOLL_COMPILE_ERROR,
                     words);
    free(ptx);
    free(words);
}

/* Where an exception for want of memory ends in an assertion of LLVM, only what was taken until then shows it. */
static int is_out_of_memory(const struct triton *t, const struct atoll_triton_reply *r)
{
    if (r->end == ATOLL_TRITON_EXITED)
        return r->which == EXIT_MEMORY;
    return r->peak_bytes > t->settings.memory_bytes / 3 ||
           atoll_triton_printed_no_memory(r->bytes, r->length);
}

static void child_died(struct triton *t, struct slot *slot, const struct atoll_triton_reply *r)
{
    char text[ATOLL_DIAGNOSTICS_BYTES], cause[CAUSE_BYTES];
    int is_signal = r->end == ATOLL_TRITON_SIGNALLED;
    if (is_signal && (r->which == SIGXCPU || r->which == SIGKILL))
        slot_finish(t, slot, ATOLL_COMPILE_TIMEOUT, "the compiler used up its processor time", "");
    else if (is_out_of_memory(t, r))
        memory_finish(t, slot);
    else {
        atoll_triton_printed_cause(r->bytes, r->length, cause, sizeof(cause));
        snprintf(text, sizeof(text), "Triton %s on this source (%s %u)%s%s", is_signal ? "crashes" : "ends",
                 is_signal ? "signal" : "exit status", r->which, cause[0] ? "; it says: " : "", cause);
        words_finish(t, slot, ATOLL_COMPILE_ERROR, text);
    }
}

/* How a job ends of which a child gave no answer. */
static void unanswered(struct triton *t, struct slot *slot, const struct atoll_triton_reply *r)
{
    switch (r->end) {
    case ATOLL_TRITON_LATE:
        slot_finish(t, slot, ATOLL_COMPILE_TIMEOUT, "the compiler was not done in its time", "");
        break;
    case ATOLL_TRITON_LONG:
        slot_finish(t, slot, ATOLL_COMPILE_ERROR,
                    "the compiler makes far too much of this source; use less unrolling", "");
        break;
    default: child_died(t, slot, r);
    }
}

/* All parts of a job are there: what is wrong with the first that is wrong is wrong with the job. */
static void parts_take(struct triton *t, struct slot *slot, const struct slot *const *parts)
{
    struct atoll_triton_answer answers[ATOLL_TRITON_PART_LIMIT];
    for (unsigned p = 0; p < slot->parts; p++) {
        answers[p] = (struct atoll_triton_answer){parts[p]->reply.bytes, parts[p]->reply.length};
        if (parts[p]->reply.end != ATOLL_TRITON_ANSWERED) {
            unanswered(t, slot, &parts[p]->reply);
            return;
        }
    }
    double begin = atoll_clock_mono_ns();
    stage_end(t, ATOLL_TRITON_STAGE_CHILDREN, slot->since_ns);
    answers_take(t, slot, answers);
    stage_end(t, ATOLL_TRITON_STAGE_RULES, begin);
    slot->judged_ns = atoll_clock_mono_ns();
    if (slot->stage == ASSEMBLES)
        helpers_free(t, slot);
}

static void reply_take(struct triton *t, const struct atoll_triton_reply *r)
{
    struct slot *slot = NULL, *lead;
    const struct slot *parts[ATOLL_TRITON_PART_LIMIT] = {NULL};
    unsigned count = 0;
    for (unsigned i = 0; i < t->slot_count; i++)
        if (t->slots[i].stage == COMPILES && t->slots[i].serial == r->serial)
            slot = &t->slots[i];
    if (!slot)
        return;
    void *bytes = malloc(r->length + 1);
    if (!bytes) {
        slot_finish(t, slot, ATOLL_COMPILE_BROKEN, "no memory for what Triton answered", "");
        return;
    }
    memcpy(bytes, r->bytes, r->length);
    stage_end(t, ATOLL_TRITON_STAGE_CHILD, slot->sent_ns);
    t->stages.processor_ns += r->processor_ns;
    slot->reply = *r;
    slot->reply.bytes = bytes;
    slot->stage = ANSWERED;
    lead = slot->lead;
    for (unsigned i = 0; i < t->slot_count; i++)
        if (t->slots[i].stage == ANSWERED && t->slots[i].lead == lead) {
            parts[t->slots[i].part] = &t->slots[i];
            count++;
        }
    if (count == lead->parts)
        parts_take(t, lead, parts);
}

/* ---- moving on ---- */

static unsigned triton_idle_count(struct atoll_compiler *compiler)
{
    const struct triton *t = (const struct triton *)compiler;
    unsigned count = 0;
    for (unsigned i = 0; i < t->slot_count && !t->queued.first; i++)
        count += t->slots[i].stage == FREE;
    return count;
}

static void zygote_poll(struct triton *t)
{
    struct atoll_triton_reply reply;
    struct atoll_err err = ATOLL_ERR_INIT;
    int got = 1;
    while (t->zygote && (got = atoll_triton_zygote_poll(t->zygote, &reply, &err)) == 1) {
        if (!reply.is_ready)
            reply_take(t, &reply);
        else if (ptxas_create(t, &err) != 0) {
            err.code = ATOLL_E_MISSING;
            got = -1;
            break;
        } else {
            t->trouble[0] = '\0';
        }
    }
    if (t->zygote && got < 0)
        zygote_lost(t, &err);
}

/* One that neither answers nor ends its children is ended itself. */
static void deadlines_look(struct triton *t)
{
    double now = atoll_clock_mono_ns();
    int is_late = t->zygote && !atoll_triton_zygote_version(t->zygote)[0] &&
                  atoll_triton_zygote_age_ns(t->zygote) > ATOLL_TRITON_START_NS;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (is_late)
        atoll_err_set(&why, ATOLL_E_MISSING, "Triton was not imported within %.0f s",
                      ATOLL_TRITON_START_NS / 1e9);
    for (unsigned i = 0; i < t->slot_count && !is_late; i++)
        if (t->slots[i].stage == COMPILES && now - t->slots[i].sent_ns > t->settings.deadline_ns + GRACE_NS) {
            is_late = 1;
            atoll_err_set(&why, ATOLL_E_TIMEOUT, "the process of Triton does not answer");
        }
    if (is_late && t->zygote)
        zygote_lost(t, &why);
}

/* Half of the slots that nobody waits for help with a job of several images. */
static void parts_spread(struct triton *t, struct slot *slot)
{
    size_t idle = triton_idle_count(&t->base), most = atoll_triton_request_classes(slot->job->text);
    most = most > ATOLL_TRITON_PART_LIMIT ? ATOLL_TRITON_PART_LIMIT : most;
    most = most > 1 + (idle + 1) / 2 ? 1 + (idle + 1) / 2 : most;
    slot->parts = most > 1 ? (unsigned)most : 1;
    for (unsigned i = 0, part = 1; i < t->slot_count && part < slot->parts; i++)
        if (t->slots[i].stage == FREE) {
            t->slots[i] = (struct slot){.stage = WAITS,
                                        .lead = slot,
                                        .part = part,
                                        .parts = slot->parts,
                                        .since_ns = atoll_clock_mono_ns(),
                                        .claim = {.fd = -1}};
            part++;
        }
}

static void slot_advance(struct triton *t, struct slot *slot)
{
    if (slot->stage == FREE) {
        struct atoll_compile_job *job = atoll_compile_queue_take(&t->queued);
        if (!job)
            return;
        *slot = (struct slot){
            .stage = WAITS, .job = job, .lead = slot, .since_ns = atoll_clock_mono_ns(), .claim = {.fd = -1}};
        stage_end(t, ATOLL_TRITON_STAGE_QUEUE, job->since_ns);
    }
    if (slot->stage != WAITS)
        return;
    if (zygote_start(t) != 0) {
        slot_finish(t, slot, ATOLL_COMPILE_BROKEN, t->trouble, "");
        return;
    }
    if (slot->lead == slot && !slot_claim(t, slot)) /* the identity is known now */
        return;
    if (slot->parts == 0)
        parts_spread(t, slot);
    uint64_t serial = t->serial + 1;
    const struct atoll_compile_job *job = slot->lead->job;
    int sent = atoll_triton_zygote_send(t->zygote, serial, slot->part, slot->parts, job->text, job->length);
    if (sent < 0)
        slot_finish(t, slot, ATOLL_COMPILE_ERROR, "the source is too long", "");
    if (sent != 1)
        return;
    t->serial = slot->serial = serial;
    slot->sent_ns = atoll_clock_mono_ns();
    stage_end(t, ATOLL_TRITON_STAGE_SEND, slot->since_ns);
    slot->stage = COMPILES;
}

static void advance(struct triton *t)
{
    zygote_poll(t);
    ptxas_collect(t);
    deadlines_look(t);
    waiting_look(t);
    for (unsigned i = 0; i < t->slot_count; i++) {
        slot_advance(t, &t->slots[i]);
        if (t->slots[i].stage == COMPILES && t->zygote)
            zygote_poll(t); /* what was sent for goes out now, so that the next one can */
    }
}

/* ---- the interface ---- */

static void triton_destroy(struct atoll_compiler *compiler)
{
    struct triton *t = (struct triton *)compiler;
    atoll_triton_stages_log(&t->stages);
    atoll_triton_zygote_destroy(t->zygote);
    atoll_compiler_destroy(t->ptxas);
    for (unsigned i = 0; i < t->slot_count; i++) {
        atoll_compile_cache_unclaim(t->cache, &t->slots[i].claim);
        atoll_compile_job_destroy(t->slots[i].job);
        reply_drop(&t->slots[i]);
    }
    atoll_compile_queue_fini(&t->queued);
    atoll_compile_queue_fini(&t->waiting);
    atoll_compile_queue_fini(&t->done);
    atoll_compile_cache_destroy(t->cache);
    free((char *)(uintptr_t)t->settings.command);
    free(t->python);
    free(t->script);
    free(t->target);
    free(t->probe);
    free(t->slots);
    free(t);
}

static const char *triton_version(const struct atoll_compiler *compiler)
{
    return ((const struct triton *)compiler)->version;
}

static int triton_submit(struct atoll_compiler *compiler, uint64_t number, const char *file_name,
                         const char *text, size_t length, const char *const *defines, size_t define_count,
                         struct atoll_err *err)
{
    struct triton *t = (struct triton *)compiler;
    struct atoll_compile_job *job =
        atoll_compile_job_create(number, file_name, ".py", text, length, defines, define_count, err);
    if (!job)
        return -1;
    atoll_compile_queue_put(finish_from_cache(t, job) ? &t->done : &t->queued, job);
    advance(t);
    return 0;
}

static size_t triton_pollfds(const struct atoll_compiler *compiler, struct pollfd *ret_fds, size_t limit)
{
    const struct triton *t = (const struct triton *)compiler;
    size_t count = 0;
    if (t->zygote && limit > 0)
        ret_fds[count++] = atoll_triton_zygote_pollfd(t->zygote);
    return count + (t->ptxas ? atoll_compiler_pollfds(t->ptxas, ret_fds + count, limit - count) : 0);
}

static int triton_timeout_ms(const struct atoll_compiler *compiler)
{
    const struct triton *t = (const struct triton *)compiler;
    int least = t->ptxas ? atoll_compiler_timeout_ms(t->ptxas) : -1, waits = 0;
    if (t->done.first)
        return 0;
    for (unsigned i = 0; i < t->slot_count; i++)
        waits |= t->slots[i].stage == COMPILES || t->slots[i].stage == WAITS;
    int look_ms = t->waiting.first ? (int)(LOOK_NS / 1e6) : waits ? 1000 : -1;
    return look_ms >= 0 && (least < 0 || least > look_ms) ? look_ms : least;
}

static int triton_collect(struct atoll_compiler *compiler, struct atoll_compiled *ret_compiled)
{
    struct triton *t = (struct triton *)compiler;
    advance(t);
    return atoll_compile_queue_collect(&t->done, ret_compiled);
}

static void triton_pause(struct atoll_compiler *compiler)
{
    (void)compiler; /* as of the backend's other language: nothing on the host disturbs a device */
}

static const struct atoll_compiler_kind triton_kind = {triton_destroy,    triton_version,    triton_submit,
                                                       triton_pollfds,    triton_timeout_ms, triton_collect,
                                                       triton_idle_count, triton_pause,      triton_pause};

struct atoll_compiler *atoll_triton_create(const struct atoll_triton_settings *settings,
                                           struct atoll_err *err)
{
    const struct atoll_compiler_settings *s = &settings->compiler;
    struct triton *t = calloc(1, sizeof(*t));
    if (!t || s->slots < 1 || s->slots > SLOT_LIMIT || !(t->slots = calloc(s->slots, sizeof(t->slots[0]))) ||
        !(t->python = strdup(settings->python ? settings->python : "")) ||
        (settings->script && !(t->script = strdup(settings->script))) ||
        !(t->target = strdup(s->target ? s->target : "sm_90a")) ||
        asprintf(&t->probe, PROBE_PTX, strtoul(t->target + 3, NULL, 10) < 100 ? "8.0" : "8.7", t->target) <
            0) {
        atoll_err_set(err, t && s->slots - 1 >= SLOT_LIMIT ? ATOLL_E_LIMIT : ATOLL_E_MEMORY,
                      "no compiler for Triton: %s",
                      t && s->slots - 1 >= SLOT_LIMIT ? "1 to 256 slots are possible" : "no memory");
        if (t) {
            free(t->slots);
            free(t->python);
            free(t->script);
            free(t->target);
        }
        free(t);
        return NULL;
    }
    t->base.kind = &triton_kind;
    t->settings = *s;
    t->settings.command = NULL;
    t->settings.flags = "";
    t->slot_count = s->slots;
    for (unsigned i = 0; i < t->slot_count; i++)
        t->slots[i].claim.fd = -1;
    snprintf(t->version, sizeof(t->version), "triton");
    if (!settings->cache || settings->cache[0]) {
        struct atoll_err why = ATOLL_ERR_INIT;
        t->cache = atoll_compile_cache_create(settings->cache, ATOLL_COMPILE_CACHE_BYTES, &why);
    }
    if (settings->starts_now)
        zygote_start(t);
    return &t->base;
}
