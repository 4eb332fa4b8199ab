/* expression_eval.c - runs postfix code on a small stack; && and || are jumps over what must not be
 * evaluated. */
#include "core/task/expression.h"

#include <string.h>

#include "core/task/expression_code.h"

static const char *divide(int64_t a, int64_t b, enum op_kind kind, int64_t *ret)
{
    if (b == 0) {
        return "division by zero";
    }
    if (a == INT64_MIN && b == -1) {
        return "overflow";
    }
    int64_t quotient = a / b, remainder = a % b;
    if (kind == OP_CDIV && remainder != 0 && (remainder < 0) == (b < 0)) {
        quotient++;
    }
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
    if (*value < 1) {
        return "ilog2 of less than 1";
    }
    *value = 63 - __builtin_clzll((unsigned long long)*value);
    return NULL;
}

static const struct atoll_binding *find_binding(const char *name, const struct atoll_binding *bindings,
                                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(bindings[i].name, name) == 0) {
            return &bindings[i];
        }
    }
    return NULL;
}

static int unknown_name(const struct atoll_expression *e, const struct op *op, struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_INPUT, "expression '%.200s', column %u: unknown name '%.64s'", e->text,
                         op->column, e->names[op->value]);
}

static size_t operand_count(enum op_kind kind)
{
    if (kind == OP_NUMBER || kind == OP_NAME) {
        return 0;
    }
    return kind <= OP_OR ? 1 : 2;
}

int atoll_expression_eval(const struct atoll_expression *e, const struct atoll_binding *bindings,
                          size_t binding_count, int64_t *ret_value, struct atoll_err *err)
{
    int64_t stack[ATOLL_EXPRESSION_STACK];
    size_t top = 0; /* values on it */
    stack[0] = 0;
    for (size_t i = 0; i < e->op_count; i++) {
        const struct op *op = &e->ops[i];
        const char *wrong = NULL;
        if (top < operand_count(op->kind)) {
            return atoll_err_set(err, ATOLL_E_INTERNAL, "expression '%.200s': no operand", e->text);
        }
        if (op->kind == OP_NUMBER) {
            stack[top++] = op->value;
        } else if (op->kind == OP_NAME) {
            const struct atoll_binding *b = find_binding(e->names[op->value], bindings, binding_count);
            if (!b) {
                return unknown_name(e, op, err);
            }
            stack[top++] = b->value;
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
