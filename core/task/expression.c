/* expression.c - precedence climbing over a token stream into postfix code, which runs on a small stack.
 * && and || become jumps over what must not be evaluated: "N == 0 || M % N == 0" is fine for N = 0. */
#include "core/task/expression.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define TEXT_LIMIT  4096u
#define DEPTH_LIMIT 64u
#define NAME_LIMIT  64u
#define STACK_LIMIT 512u /* values; the parser refuses what would need more */

enum op_kind {
    OP_NUMBER,
    OP_NAME,
    OP_NEGATE,
    OP_NOT,
    OP_ILOG2,
    OP_TRUTH,
    OP_AND, /* AND, OR: value is where to jump */
    OP_OR,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_REMAINDER,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_MIN,
    OP_MAX,
    OP_CDIV
};

struct op {
    enum op_kind kind;
    unsigned column; /* from 1, for messages */
    int64_t value;   /* number, index of the name, or jump target */
};

struct atoll_expression {
    const char *text;
    struct op *ops;
    size_t op_count;
    const char **names;
    size_t name_count;
};

enum token_kind { TOKEN_END, TOKEN_NUMBER, TOKEN_NAME, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    const char *start;
    size_t length;
    int64_t number;
};

struct parser {
    struct atoll_arena *arena;
    struct atoll_err *err;
    struct atoll_expression *e;
    struct token token; /* the one not yet consumed */
    unsigned depth;     /* of nesting, now */
    size_t stack;       /* values on the stack at this point of the code */
};

struct binary {
    const char *sign;
    int precedence;
    enum op_kind op;
};

static const struct binary binaries[] = {
    {"||", 1, OP_OR},         {"&&", 2, OP_AND},           {"==", 3, OP_EQUAL},   {"!=", 3, OP_NOT_EQUAL},
    {"<=", 4, OP_LESS_EQUAL}, {">=", 4, OP_GREATER_EQUAL}, {"<", 4, OP_LESS},     {">", 4, OP_GREATER},
    {"+", 5, OP_ADD},         {"-", 5, OP_SUBTRACT},       {"*", 6, OP_MULTIPLY}, {"/", 6, OP_DIVIDE},
    {"%", 6, OP_REMAINDER},
};

static const struct {
    const char *name;
    unsigned argument_count;
    enum op_kind op;
} functions[] = {{"min", 2, OP_MIN}, {"max", 2, OP_MAX}, {"cdiv", 2, OP_CDIV}, {"ilog2", 1, OP_ILOG2}};

static unsigned column_of(const struct parser *p, const char *place)
{
    return (unsigned)(place - p->e->text) + 1;
}

static int expected(const struct parser *p, const char *what)
{
    const struct token *t = &p->token;
    unsigned column = column_of(p, t->start);
    if (t->kind == TOKEN_END) {
        return atoll_err_set(p->err, ATOLL_E_INPUT,
                             "expression '%.200s', column %u: %s is expected, but it ends here", p->e->text,
                             column, what);
    }
    return atoll_err_set(p->err, ATOLL_E_INPUT, "expression '%.200s', column %u: %s is expected, not '%.*s'",
                         p->e->text, column, what, t->length > 40 ? 40 : (int)t->length, t->start);
}

static size_t sign_length(const char *s)
{
    for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++) {
        size_t length = strlen(binaries[i].sign);
        if (strncmp(s, binaries[i].sign, length) == 0)
            return length;
    }
    return *s && strchr("(),!", *s) ? 1 : 0;
}

static int read_number(struct parser *p, struct token *t)
{
    const char *s = t->start;
    for (; isdigit((unsigned char)*s); s++) {
        if (__builtin_mul_overflow(t->number, 10, &t->number) ||
            __builtin_add_overflow(t->number, *s - '0', &t->number)) {
            return atoll_err_set(p->err, ATOLL_E_INPUT,
                                 "expression '%.200s', column %u: number does not fit 64 bits", p->e->text,
                                 column_of(p, t->start));
        }
    }
    t->kind = TOKEN_NUMBER;
    t->length = (size_t)(s - t->start);
    return 0;
}

/* Reads the token at place into p->token. */
static int read_token(struct parser *p, const char *place)
{
    while (*place == ' ' || *place == '\t' || *place == '\n' || *place == '\r')
        place++;
    struct token t = {TOKEN_END, place, 0, 0};
    if (isdigit((unsigned char)*place)) {
        if (read_number(p, &t))
            return -1;
    } else if (isalpha((unsigned char)*place) || *place == '_') {
        t.kind = TOKEN_NAME;
        while (isalnum((unsigned char)place[t.length]) || place[t.length] == '_')
            t.length++;
    } else if (*place) {
        t.kind = TOKEN_SIGN;
        t.length = sign_length(place);
    }
    p->token = t;
    if (t.kind == TOKEN_SIGN && t.length == 0) {
        p->token.length = 1;
        return expected(p, "one of + - * / % ( ) , < <= > >= == != && || !");
    }
    return 0;
}

static int advance(struct parser *p)
{
    return read_token(p, p->token.start + p->token.length);
}

static int is_sign(const struct parser *p, const char *sign)
{
    return p->token.kind == TOKEN_SIGN && p->token.length == strlen(sign) &&
           strncmp(p->token.start, sign, p->token.length) == 0;
}

static int take_sign(struct parser *p, const char *sign)
{
    return is_sign(p, sign) ? advance(p) : expected(p, sign);
}

/* The array has room: prepare() counted the tokens, and a token makes at most two operations. */
static size_t emit(struct parser *p, enum op_kind kind, const char *place, int64_t value)
{
    struct atoll_expression *e = p->e;
    e->ops[e->op_count] = (struct op){kind, column_of(p, place), value};
    if (kind == OP_NUMBER || kind == OP_NAME)
        p->stack++;
    else if (kind >= OP_AND)
        p->stack--;
    return e->op_count++;
}

static int parse_binary(struct parser *p, int least_precedence);

static int name_index(struct parser *p, const struct token *t)
{
    struct atoll_expression *e = p->e;
    for (size_t i = 0; i < e->name_count; i++)
        if (strlen(e->names[i]) == t->length && strncmp(e->names[i], t->start, t->length) == 0)
            return (int)i;
    if (e->name_count == NAME_LIMIT) {
        return atoll_err_set(p->err, ATOLL_E_INPUT, "expression '%.200s': more than %u names", e->text,
                             NAME_LIMIT);
    }
    const char *copy = atoll_arena_text(p->arena, t->start, t->length, p->err);
    if (!copy)
        return -1;
    e->names[e->name_count] = copy;
    return (int)e->name_count++;
}

static int parse_call(struct parser *p, const struct token *name)
{
    size_t f = 0, count = sizeof(functions) / sizeof(*functions);
    while (f < count && (strlen(functions[f].name) != name->length ||
                         strncmp(functions[f].name, name->start, name->length) != 0)) {
        f++;
    }
    if (f == count) {
        p->token = *name;
        return expected(p, "a function among min, max, cdiv, ilog2");
    }
    for (unsigned i = 0; i < functions[f].argument_count; i++)
        if (take_sign(p, i ? "," : "(") || parse_binary(p, 1))
            return -1;
    if (take_sign(p, ")"))
        return -1;
    emit(p, functions[f].op, name->start, 0);
    return 0;
}

static int parse_name(struct parser *p)
{
    struct token name = p->token;
    if (advance(p))
        return -1;
    if (is_sign(p, "("))
        return parse_call(p, &name);
    int index = name_index(p, &name);
    if (index < 0)
        return -1;
    emit(p, OP_NAME, name.start, index);
    return 0;
}

static int parse_operand(struct parser *p)
{
    struct token t = p->token;
    if (t.kind == TOKEN_NUMBER) {
        emit(p, OP_NUMBER, t.start, t.number);
        return advance(p);
    }
    if (t.kind == TOKEN_NAME)
        return parse_name(p);
    if (is_sign(p, "("))
        return advance(p) || parse_binary(p, 1) ? -1 : take_sign(p, ")");
    return expected(p, "a number, a name or (");
}

static int parse_unary(struct parser *p)
{
    int failed;
    struct token t = p->token;
    p->depth++;
    if (p->depth > DEPTH_LIMIT || p->stack >= STACK_LIMIT) {
        return atoll_err_set(p->err, ATOLL_E_INPUT,
                             "expression '%.200s', column %u: nested deeper than %u levels", p->e->text,
                             column_of(p, p->token.start), DEPTH_LIMIT);
    }
    if (is_sign(p, "-") || is_sign(p, "!")) {
        failed = advance(p) || parse_unary(p);
        if (!failed)
            emit(p, *t.start == '-' ? OP_NEGATE : OP_NOT, t.start, 0);
    } else {
        failed = parse_operand(p);
    }
    p->depth--;
    return failed ? -1 : 0;
}

static const struct binary *binary_here(const struct parser *p)
{
    for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++)
        if (is_sign(p, binaries[i].sign))
            return &binaries[i];
    return NULL;
}

static int parse_right_side(struct parser *p, const struct binary *b)
{
    const char *place = p->token.start;
    int is_jump = b->op == OP_AND || b->op == OP_OR;
    size_t jump = is_jump ? emit(p, b->op, place, 0) : 0;
    if (advance(p) || parse_binary(p, b->precedence + 1))
        return -1;
    size_t last = emit(p, is_jump ? OP_TRUTH : b->op, place, 0);
    if (is_jump)
        p->e->ops[jump].value = (int64_t)last + 1;
    return 0;
}

static int parse_binary(struct parser *p, int least_precedence)
{
    if (parse_unary(p))
        return -1;
    for (const struct binary *b = binary_here(p); b && b->precedence >= least_precedence; b = binary_here(p))
        if (parse_right_side(p, b))
            return -1;
    return 0;
}

/* Copies the text and makes room for the code; leaves p at the first token. */
static int prepare(struct parser *p, const char *text)
{
    size_t token_count = 0, length = strnlen(text, TEXT_LIMIT + 1);
    if (length > TEXT_LIMIT) {
        return atoll_err_set(p->err, ATOLL_E_INPUT, "expression '%.40s...': longer than %u bytes", text,
                             TEXT_LIMIT);
    }
    p->e = atoll_arena_alloc(p->arena, sizeof(*p->e), p->err);
    if (!p->e || !(p->e->text = atoll_arena_text(p->arena, text, length, p->err)) ||
        read_token(p, p->e->text)) {
        return -1;
    }
    while (p->token.kind != TOKEN_END) {
        token_count++;
        if (advance(p))
            return -1;
    }
    size_t name_limit = token_count < NAME_LIMIT ? token_count : NAME_LIMIT;
    p->e->ops = atoll_arena_alloc_array(p->arena, 2 * token_count, sizeof(*p->e->ops), p->err);
    p->e->names = atoll_arena_alloc_array(p->arena, name_limit, sizeof(*p->e->names), p->err);
    return p->e->ops && p->e->names ? read_token(p, p->e->text) : -1;
}

const struct atoll_expression *atoll_expression_parse(struct atoll_arena *arena, const char *text,
                                                      struct atoll_err *err)
{
    struct parser p = {.arena = arena, .err = err};
    if (prepare(&p, text) || parse_binary(&p, 1))
        return NULL;
    if (p.token.kind != TOKEN_END) {
        expected(&p, "an operator or the end");
        return NULL;
    }
    return p.e;
}

size_t atoll_expression_name_count(const struct atoll_expression *e)
{
    return e->name_count;
}

const char *atoll_expression_name(const struct atoll_expression *e, size_t index)
{
    return index < e->name_count ? e->names[index] : NULL;
}

const char *atoll_expression_text(const struct atoll_expression *e)
{
    return e->text;
}

/* ---- evaluation ---- */

static const char *divide(int64_t a, int64_t b, enum op_kind kind, int64_t *ret)
{
    if (b == 0)
        return "division by zero";
    if (a == INT64_MIN && b == -1)
        return "overflow";
    int64_t quotient = a / b, remainder = a % b;
    if (kind == OP_CDIV && remainder != 0 && (remainder < 0) == (b < 0))
        quotient++;
    *ret = kind == OP_REMAINDER ? remainder : quotient;
    return NULL;
}

/* NULL, or what is wrong. */
static const char *apply_binary(enum op_kind kind, int64_t a, int64_t b, int64_t *ret)
{
    switch (kind) {
    case OP_ADD: return __builtin_add_overflow(a, b, ret) ? "overflow" : NULL;
    case OP_SUBTRACT: return __builtin_sub_overflow(a, b, ret) ? "overflow" : NULL;
    case OP_MULTIPLY: return __builtin_mul_overflow(a, b, ret) ? "overflow" : NULL;
    case OP_DIVIDE:
    case OP_REMAINDER:
    case OP_CDIV: return divide(a, b, kind, ret);
    case OP_LESS: *ret = a < b; return NULL;
    case OP_LESS_EQUAL: *ret = a <= b; return NULL;
    case OP_GREATER: *ret = a > b; return NULL;
    case OP_GREATER_EQUAL: *ret = a >= b; return NULL;
    case OP_EQUAL: *ret = a == b; return NULL;
    case OP_NOT_EQUAL: *ret = a != b; return NULL;
    case OP_MIN: *ret = a < b ? a : b; return NULL;
    case OP_MAX: *ret = a > b ? a : b; return NULL;
    default: return "unknown operation";
    }
}

static const char *apply_unary(enum op_kind kind, int64_t *value)
{
    switch (kind) {
    case OP_NEGATE: return __builtin_sub_overflow(0, *value, value) ? "overflow" : NULL;
    case OP_NOT: *value = !*value; return NULL;
    case OP_TRUTH: *value = *value != 0; return NULL;
    default: break;
    }
    if (*value < 1)
        return "ilog2 of less than 1";
    *value = 63 - __builtin_clzll((unsigned long long)*value);
    return NULL;
}

int atoll_expression_eval(const struct atoll_expression *e, const struct atoll_binding *bindings,
                          size_t binding_count, int64_t *ret_value, struct atoll_err *err)
{
    int64_t stack[STACK_LIMIT];
    size_t top = 0; /* values on it */
    stack[0] = 0;
    for (size_t i = 0; i < e->op_count; i++) {
        const struct op *op = &e->ops[i];
        const char *wrong = NULL;
        size_t operands = op->kind == OP_NUMBER || op->kind == OP_NAME ? 0 : op->kind <= OP_OR ? 1 : 2;
        if (top < operands)
            return atoll_err_set(err, ATOLL_E_INTERNAL, "expression '%.200s': no operand", e->text);
        if (op->kind == OP_NUMBER) {
            stack[top++] = op->value;
        } else if (op->kind == OP_NAME) {
            size_t b = 0;
            while (b < binding_count && strcmp(bindings[b].name, e->names[op->value]) != 0)
                b++;
            if (b == binding_count) {
                return atoll_err_set(err, ATOLL_E_INPUT,
                                     "expression '%.200s', column %u: unknown name '%.64s'", e->text,
                                     op->column, e->names[op->value]);
            }
            stack[top++] = bindings[b].value;
        } else if (op->kind == OP_AND || op->kind == OP_OR) {
            int is_true = stack[--top] != 0;
            if (is_true == (op->kind == OP_OR)) {
                stack[top++] = is_true;
                i = (size_t)op->value - 1;
            }
        } else if (op->kind < OP_AND) {
            wrong = apply_unary(op->kind, &stack[top - 1]);
        } else {
            top--;
            wrong = apply_binary(op->kind, stack[top - 1], stack[top], &stack[top - 1]);
        }
        if (wrong) {
            return atoll_err_set(err, ATOLL_E_INPUT, "expression '%.200s', column %u: %s", e->text,
                                 op->column, wrong);
        }
    }
    *ret_value = stack[0];
    return 0;
}
