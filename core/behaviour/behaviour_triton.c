/* behaviour_triton.c - the cell of a Triton source.  What a CUDA source writes out (threads, barriers, shared tiles) Triton's
 * compiler decides; what the source says is which blocks it works on, how it goes through them, and how programs work
 * together.  A dimension's level is the highest one that something in the text speaks for. */
#include <string.h>

#include "core/behaviour/behaviour_triton.h"
#include "core/source/source_python.h"

enum word {
    ARANGE,
    LOAD,
    DOT,
    DESCRIPTOR,
    BLOCK_POINTER,
    REDUCTION,
    SCAN,
    ATOMIC,
    MAXIMUM,
    EXP,
    PIPELINED,
    SPECIALISED,
    PROGRAMS,
    STORE,
    APPROXIMATE,
    WORD_COUNT
};

static const struct {
    const char *name;
    enum word word;
} words[] = {{"arange", ARANGE},
             {"load", LOAD},
             {"gather", LOAD},
             {"dot", DOT},
             {"dot_scaled", DOT},
             {"make_tensor_descriptor", DESCRIPTOR},
             {"load_tensor_descriptor", DESCRIPTOR},
             {"make_block_ptr", BLOCK_POINTER},
             {"sum", REDUCTION},
             {"max", REDUCTION},
             {"min", REDUCTION},
             {"argmax", REDUCTION},
             {"argmin", REDUCTION},
             {"xor_sum", REDUCTION},
             {"reduce", REDUCTION},
             {"softmax", REDUCTION},
             {"associative_scan", SCAN},
             {"cumsum", SCAN},
             {"cumprod", SCAN},
             {"sort", SCAN},
             {"histogram", SCAN},
             {"atomic_add", ATOMIC},
             {"atomic_max", ATOMIC},
             {"atomic_min", ATOMIC},
             {"atomic_cas", ATOMIC},
             {"atomic_xchg", ATOMIC},
             {"maximum", MAXIMUM},
             {"exp", EXP},
             {"exp2", EXP},
             {"num_stages", PIPELINED},
             {"warp_specialize", SPECIALISED},
             {"num_programs", PROGRAMS},
             {"store", STORE},
             {"rsqrt", APPROXIMATE},
             {"fast_expf", APPROXIMATE},
             {"fast_dividef", APPROXIMATE},
             {"inline_asm_elementwise", APPROXIMATE}};

/* What stands where: how often, how often within a loop, and how many loops and kernels there are. */
struct sight {
    unsigned all[WORD_COUNT], looped[WORD_COUNT];
    unsigned loops, columns; /* columns: "[:, None]" and the like */
};

static void see_word(const struct atoll_token *t, int is_looped, struct sight *s)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (atoll_token_is(t, words[i].name)) {
            s->all[words[i].word]++;
            s->looped[words[i].word] += is_looped ? 1u : 0u;
        }
}

/* Lines that are indented more than a "for" or "while" before them are its body. */
static size_t indent_of(const struct atoll_token *t)
{
    size_t n = 0;
    const char *p = t->text;
    for (; t->line > 1 && p[-1] != '\n'; p--)
        n++;
    return n;
}

static void see(const struct atoll_token_list *list, struct sight *s)
{
    size_t loop = 0;
    int is_looped = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct atoll_token *t = &list->tokens[i];
        if (t->first && is_looped && indent_of(t) <= loop)
            is_looped = 0;
        if (t->first && (atoll_token_is(t, "for") || atoll_token_is(t, "while"))) {
            s->loops++;
            loop = is_looped ? loop : indent_of(t);
            is_looped = 1;
        }
        s->columns += atoll_token_is(t, "None") ? 1u : 0u;
        if (t->kind == ATOLL_TOKEN_NAME)
            see_word(t, is_looped, s);
    }
}

static unsigned memory_level(const struct sight *s, int is_pipelined)
{
    if (s->all[DESCRIPTOR] || s->all[SPECIALISED] || (s->looped[DOT] && is_pipelined))
        return 3;
    if (s->looped[DOT] || (s->columns && s->loops) || s->all[BLOCK_POINTER])
        return 2;
    return s->all[ARANGE] ? 1 : 0;
}

static unsigned algorithm_level(const struct sight *s, size_t launches)
{
    int is_online = s->looped[MAXIMUM] && s->looped[EXP];
    if ((is_online && s->looped[DOT]) || (s->all[SCAN] && launches > 1))
        return 3;
    if (is_online || s->all[SCAN] || s->all[APPROXIMATE])
        return 2;
    return s->all[REDUCTION] > 1 || s->all[LOAD] + s->all[STORE] > 4 ? 1 : 0;
}

static unsigned coordination_level(const struct sight *s, size_t launches)
{
    if (s->all[ATOMIC] || launches > 1 || (s->all[PROGRAMS] && s->loops))
        return 3;
    if (s->all[SCAN] || s->all[SPECIALISED])
        return 2;
    return s->all[REDUCTION] || s->all[DOT] ? 1 : 0;
}

/* 1: loads of a loop run ahead of it: the text says so, or the plan does by what is chosen. */
static int is_pipelined(const struct sight *s, const struct atoll_plan *plan,
                        const struct atoll_choice *choice)
{
    struct atoll_binding bindings[ATOLL_PLAN_PARAM_LIMIT];
    size_t count = 0;
    if (s->all[PIPELINED])
        return 1;
    for (; plan && choice && count < plan->param_count && count < choice->count; count++)
        bindings[count] = (struct atoll_binding){plan->params[count].name, choice->values[count]};
    for (size_t i = 0; plan && i < plan->launch_count; i++) {
        int64_t stages = 3;
        const struct atoll_expression *e = plan->launches[i].num_stages;
        if (!e || (atoll_expression_eval(e, bindings, count, &stages, NULL) == 0 && stages > 1))
            return 1;
    }
    return 0;
}

struct atoll_behaviour atoll_behaviour_triton(const char *body, const struct atoll_plan *plan,
                                              const struct atoll_choice *choice)
{
    struct atoll_behaviour cell = {0, 0, 0};
    struct atoll_token_list list;
    struct sight sight = {.loops = 0};
    size_t launches = 1; /* of the path that has most */
    for (size_t i = 0; plan && i < plan->path_count; i++)
        launches = plan->paths[i].count > launches ? plan->paths[i].count : launches;
    if (atoll_python_token_list_init(&list, body, NULL) != 0)
        return cell;
    see(&list, &sight);
    cell.memory = (unsigned char)memory_level(&sight, is_pipelined(&sight, plan, choice));
    cell.algorithm = (unsigned char)algorithm_level(&sight, launches);
    cell.coordination = (unsigned char)coordination_level(&sight, launches);
    atoll_token_list_fini(&list);
    return cell;
}
