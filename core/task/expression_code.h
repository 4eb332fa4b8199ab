/* expression_code.h - the postfix code between expression.c (parses) and expression_eval.c (runs).
 * Layer: core, private to these two. */
#ifndef ATOLL_CORE_TASK_EXPRESSION_CODE_H
#define ATOLL_CORE_TASK_EXPRESSION_CODE_H

#include <stddef.h>
#include <stdint.h>

#define ATOLL_EXPRESSION_STACK 512u /* values; the parser refuses what would need more */

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

#endif
