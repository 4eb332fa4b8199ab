/* rules_text.c - what every language of the C family forbids: what a compiler might read in another way than the
 * lexer (digraphs, raw strings, pasted or escaped names), odd directives, attributes, builtins. */
#include <string.h>

#include "core/rules/rules_row.h"

#define ATTRIBUTE_TOKENS 256 /* of one attribute list; longer ones are refused */

const struct atoll_token *atoll_rule_token(const struct atoll_rule_site *s, size_t offset)
{
    static const struct atoll_token none = {ATOLL_TOKEN_ODD, "", 0, 0, 0, 1};
    return s->at + offset < s->count ? &s->tokens[s->at + offset] : &none;
}

int atoll_rule_is(const struct atoll_rule_site *s, size_t offset, const char *text)
{
    return atoll_token_is(atoll_rule_token(s, offset), text);
}

int atoll_rule_any(const struct atoll_token *t, const char *words)
{
    for (const char *w = words + 1; *w; w++) {
        if (*w == *t->text && strncmp(w, t->text, t->length) == 0 && w[t->length] == ' ')
            return 1;
        while (*w != ' ')
            w++;
    }
    return 0;
}

int atoll_rule_starts(const struct atoll_token *t, const char *prefixes)
{
    for (const char *w = prefixes + 1; *w; w += strcspn(w, " ") + 1)
        if (strcspn(w, " ") <= t->length && memcmp(w, t->text, strcspn(w, " ")) == 0)
            return 1;
    return 0;
}

int atoll_rule_is_name(const struct atoll_rule_site *s)
{
    return atoll_rule_token(s, 0)->kind == ATOLL_TOKEN_NAME;
}

int atoll_rule_is_directive(const struct atoll_rule_site *s)
{
    return s->at > 0 && s->tokens[s->at].directive && s->tokens[s->at - 1].first && !s->tokens[s->at].first;
}

int atoll_rule_includes(const struct atoll_rule_site *s, const char *const *headers, size_t header_count,
                        const char *const *folders, size_t folder_count)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./";
    const char *name =
        atoll_rule_token(s, 1)->text + 1; /* raw, as a compiler reads it; the text ends with NUL */
    if (!atoll_rule_is(s, 1, "<"))
        return 0;
    size_t length = strspn(name, letters);
    if (name[length] != '>')
        return 0;
    for (size_t i = 0; i < header_count; i++)
        if (strlen(headers[i]) == length && strncmp(name, headers[i], length) == 0)
            return 1;
    for (size_t i = 0; i + 1 < length; i++)
        if (name[i] == '.' && name[i + 1] == '.')
            return 0;
    for (size_t i = 0; i < folder_count; i++)
        if (strlen(folders[i]) < length && strncmp(name, folders[i], strlen(folders[i])) == 0)
            return 1;
    return 0;
}

/* ---- text ---- */

int atoll_rule_odd_byte(const struct atoll_rule_site *s)
{
    return atoll_rule_token(s, 0)->kind == ATOLL_TOKEN_ODD;
}

int atoll_rule_digraph(const struct atoll_rule_site *s)
{
    static const char marks[] = " <: :> <% %> %: %:%: ";
    return atoll_rule_token(s, 0)->kind == ATOLL_TOKEN_MARK && atoll_rule_any(atoll_rule_token(s, 0), marks);
}

int atoll_rule_pasting(const struct atoll_rule_site *s)
{
    return atoll_rule_is(s, 0, "##");
}

/* R"(...)" would hide text from the lexer; prefixes stand without a blank before the quote. */
int atoll_rule_raw_string(const struct atoll_rule_site *s)
{
    const struct atoll_token *t = atoll_rule_token(s, 0), *next = atoll_rule_token(s, 1);
    return atoll_rule_is_name(s) && t->text[t->length - 1] == 'R' && next->kind == ATOLL_TOKEN_STRING &&
           next->text == t->text + t->length;
}

/* ---- preprocessor ---- */

int atoll_rule_directive_known(const struct atoll_rule_site *s)
{
    static const char known[] = " define undef if ifdef ifndef elif else endif include pragma error warning ";
    return atoll_rule_is_directive(s) && !atoll_rule_any(atoll_rule_token(s, 0), known);
}

/* ---- language ---- */

static int attribute_allowed(const struct atoll_token *t)
{
    static const char names[] =
        " aligned vector_size always_inline noinline const pure hot cold may_alias packed unused "
        "nonnull assume_aligned flatten optimize target fallthrough noreturn leaf ext_vector_type "
        "malloc nothrow noclone noipa artificial gnu_inline returns_nonnull warn_unused_result "
        "alloc_size alloc_align unroll mode simd ";
    struct atoll_token bare = *t;
    if (bare.length > 4 && memcmp(bare.text, "__", 2) == 0 &&
        memcmp(bare.text + bare.length - 2, "__", 2) == 0) {
        bare.text += 2;
        bare.length -= 4;
    }
    return atoll_rule_any(&bare, names);
}

/* Every name at the first level of the list must be allowed; arguments of attributes are skipped. */
int atoll_rule_attribute_forbidden(const struct atoll_rule_site *s)
{
    int depth = 0;
    if (!atoll_rule_is(s, 0, "__attribute__") && !atoll_rule_is(s, 0, "__attribute"))
        return 0;
    if (!atoll_rule_is(s, 1, "(") || !atoll_rule_is(s, 2, "("))
        return 1;
    for (size_t i = 1; s->at + i < s->count && i < ATTRIBUTE_TOKENS; i++) {
        const struct atoll_token *t = atoll_rule_token(s, i);
        if (atoll_token_is(t, "("))
            depth++;
        else if (atoll_token_is(t, ")") && --depth == 0)
            return 0;
        else if (depth == 2 && t->kind != ATOLL_TOKEN_MARK && !attribute_allowed(t))
            return 1;
        if (depth == 1 && i > 2 && !atoll_token_is(t, ")"))
            return 1;
    }
    return 1;
}

/* &&label: an address of a label stands where no left operand does. */
int atoll_rule_label_address(const struct atoll_rule_site *s)
{
    if (atoll_rule_is(s, 0, "goto") && atoll_rule_is(s, 1, "*"))
        return 1;
    if (!atoll_rule_is(s, 0, "&&") || atoll_rule_token(s, 1)->kind != ATOLL_TOKEN_NAME || s->at == 0)
        return 0;
    const struct atoll_token *before = &s->tokens[s->at - 1];
    if (before->kind == ATOLL_TOKEN_MARK) {
        return !atoll_token_is(before, ")") && !atoll_token_is(before, "]") &&
               !atoll_token_is(before, "++") && !atoll_token_is(before, "--") && !atoll_token_is(before, "}");
    }
    return atoll_token_is(before, "return");
}

int atoll_rule_builtin_forbidden(const struct atoll_rule_site *s)
{
    static const char names[] =
        " expect assume_aligned prefetch unreachable memcpy memset memmove fma fmaf sqrt sqrtf exp "
        "expf exp2 exp2f log logf log2 log2f tanh tanhf pow powf fabs fabsf floor floorf ceil "
        "ceilf trunc truncf round roundf rint rintf nearbyint nearbyintf fmin fminf fmax fmaxf "
        "copysign copysignf inf inff huge_val huge_valf nan nanf isnan isinf isfinite signbit "
        "signbitf abs labs clz clzl clzll ctz ctzl ctzll popcount popcountl popcountll ffs ffsl "
        "bswap16 bswap32 bswap64 shuffle shufflevector convertvector constant_p choose_expr "
        "types_compatible_p offsetof add_overflow sub_overflow mul_overflow assume reduce_add "
        "reduce_mul reduce_max reduce_min elementwise_max elementwise_min elementwise_abs "
        "nontemporal_load nontemporal_store isunordered isless isgreater tgmath "
        "speculation_safe_value ";
    struct atoll_token rest = *atoll_rule_token(s, 0);
    if (!atoll_rule_is_name(s) || !atoll_token_starts(&rest, "__builtin_"))
        return 0;
    rest.text += 10;
    rest.length -= 10;
    return !atoll_rule_any(&rest, names);
}
