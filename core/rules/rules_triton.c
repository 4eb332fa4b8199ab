/* rules_triton.c - the rules of language "triton".  They keep honest errors cheap and their messages clear: a source is a Python
 * program, and what it may do is its sandbox's to say; what it computes with, the finished PTX and image. */
#include "core/rules/rules_row.h"

#include <string.h>

/* Modules that a kernel needs; all of them are there. */
static int is_known_module(const struct atoll_token *t)
{
    return atoll_rule_any(t, " triton math __future__ ");
}

/* "import a.b, c as d" and "from a.b import c": the first name of each path counts. */
static int import_forbidden(const struct atoll_rule_site *s)
{
    const struct atoll_token *t = atoll_rule_token(s, 0);
    if (!t->first || t->kind != ATOLL_TOKEN_NAME ||
        !(atoll_token_is(t, "import") || atoll_token_is(t, "from")))
        return 0;
    for (size_t i = 1; s->at + i < s->count && !s->tokens[s->at + i].first; i++) {
        const struct atoll_token *name = atoll_rule_token(s, i);
        int begins = i == 1 || atoll_rule_is(s, i - 1, ",");
        if (begins && !is_known_module(name))
            return 1;
        if (atoll_token_is(t, "from"))
            break;
    }
    return 0;
}

/* eviction_policy="evict_last" */
static int names_persisting(const struct atoll_rule_site *s)
{
    const struct atoll_token *t = atoll_rule_token(s, 0);
    return t->kind == ATOLL_TOKEN_STRING && memmem(t->text, t->length, "evict_last", 10) != NULL;
}

static unsigned open_text(const char *body, const struct atoll_token_list *list)
{
    (void)body;
    return list->odd_line;
}

const struct atoll_rule atoll_rules_triton[] = {
    {"control-byte",
     "control bytes end lines for one reader and not for another; tabs and line ends are allowed",
     .raw = atoll_rule_control_byte, .of_text = 1},
    {"text", "this text never ends", .raw = open_text, .of_text = 1},
    {"import", "a kernel imports triton, triton.language and math, nothing else", .broken = import_forbidden},
    {"system",
     "a source is compiled where there is no network, no other program and no file to write; it describes "
     "kernels and does "
     "nothing else",
     .names = " os sys subprocess socket ctypes importlib builtins shutil pathlib signal threading "
              "multiprocessing pickle "
              "__import__ __builtins__ ",
     .calls =
         " open exec eval compile globals locals vars getattr setattr delattr input breakpoint exit quit "},
    {"dunder", "names that begin with __ reach into Python itself; a kernel needs none", .prefixes = " __ "},
    {"machinery",
     "how a kernel is compiled is Atoll's; use the plan (params, constexprs, num_warps, num_stages)",
     .names = " autotune heuristics Autotuner Config knobs backends runtime driver interpreter set_allocator "
              "add_pre_run_hook pre_hook warmup preload do_bench "},
    {"print", "kernels print nothing and stop nothing",
     .names = " device_print device_assert static_print debug_barrier_print ", .calls = " print "},
    {"clock", "kernels may not look at clocks or at where they run",
     .names = " globaltimer clock clock64 smid num_threads_of_sm ", .find = atoll_ptx_clock},
    {"persisting", "lines must not stay in the cache beyond a launch; leave the eviction policy out",
     .broken = names_persisting, .find = atoll_ptx_persisting},
    {"inline-assembly", "inline PTX may not call, trap, launch or hold directives",
     .find = atoll_ptx_forbidden},
    {"harness", "names that begin with atoll are the harness's", .prefixes = ATOLL_RULE_HARNESS},
};
const size_t atoll_rules_triton_count = ATOLL_RULE_COUNT(atoll_rules_triton);
