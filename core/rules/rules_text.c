/* rules_text.c - what every language of the C family forbids: what a compiler might read in another way than the
 * lexer (control bytes, odd splices, digraphs, raw strings), odd directives, macros over words of the language,
 * attributes, builtins. */
#include <string.h>

#include "core/rules/rules_row.h"

#define ATTRIBUTE_TOKENS 256 /* of one attribute list; longer ones are refused */

const struct atoll_token *atoll_rule_token(const struct atoll_rule_site *s, size_t offset)
{
    static const struct atoll_token none = {.kind = ATOLL_TOKEN_ODD, .text = "", .first = 1};
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

int atoll_rule_includes(const struct atoll_rule_site *s, const char *headers, const char *const *folders,
                        size_t folder_count)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./";
    const char *name =
        atoll_rule_token(s, 1)->text + 1; /* raw, as a compiler reads it; the text ends with NUL */
    if (!atoll_rule_is(s, 1, "<"))
        return 0;
    struct atoll_token header = {.text = name, .length = (uint32_t)strspn(name, letters)};
    if (name[header.length] != '>')
        return 0;
    if (header.length > 0 && atoll_rule_any(&header, headers))
        return 1;
    for (size_t i = 0; i + 1 < header.length; i++)
        if (name[i] == '.' && name[i + 1] == '.')
            return 0;
    for (size_t i = 0; i < folder_count; i++)
        if (strlen(folders[i]) < header.length && strncmp(name, folders[i], strlen(folders[i])) == 0)
            return 1;
    return 0;
}

/* ---- text ---- */

static unsigned line_at(const char *body, const char *at)
{
    unsigned line = 1;
    for (; body < at; body++)
        line += *body == '\n';
    return line;
}

unsigned atoll_rule_control_byte(const char *body, const struct atoll_token_list *list)
{
    (void)list;
    for (const unsigned char *p = (const unsigned char *)body; *p; p++) {
        int is_order_mark =
            strncmp((const char *)p, "\xef\xbb\xbf", 3) == 0; /* no letter where a file begins */
        int is_end = *p == '\n' || (*p == '\r' && p[1] == '\n');
        if ((*p < ' ' && *p != '\t' && !is_end) || *p == 127 || is_order_mark)
            return line_at(body, (const char *)p);
    }
    return 0;
}

unsigned atoll_rule_splice(const char *body, const struct atoll_token_list *list)
{
    (void)list;
    for (const char *p = body; (p = strchr(p, '\\')); p++) {
        size_t blanks = strspn(p + 1, " \t\v\f\r");
        int is_plain = blanks == 0 || (blanks == 1 && p[1] == '\r');
        if ((p[1 + blanks] == '\n' && !is_plain) || !p[1 + blanks])
            return line_at(body, p);
    }
    return 0;
}

/* Trigraphs stand in raw text: where they are read at all, they are read before everything else. */
unsigned atoll_rule_trigraph(const char *body, const struct atoll_token_list *list)
{
    (void)list;
    for (const char *p = body; (p = strstr(p, "??")); p++)
        if (p[2] && strchr("=/'()!<>-", p[2]))
            return line_at(body, p);
    return 0;
}

unsigned atoll_rule_open_comment(const char *body, const struct atoll_token_list *list)
{
    (void)body;
    return list->odd_line;
}

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

/* Words of attributes that change how something is compiled, and nothing else. */
const char atoll_rule_attributes[] =
    " aligned vector_size always_inline noinline const pure hot cold may_alias packed unused "
    "nonnull assume_aligned flatten optimize target fallthrough noreturn leaf ext_vector_type "
    "malloc nothrow noclone noipa artificial gnu_inline returns_nonnull warn_unused_result "
    "alloc_size alloc_align unroll mode simd ";

static struct atoll_token bare_word(const struct atoll_token *t)
{
    struct atoll_token bare = *t;
    if (bare.length > 4 && memcmp(bare.text, "__", 2) == 0 &&
        memcmp(bare.text + bare.length - 2, "__", 2) == 0) {
        bare.text += 2;
        bare.length -= 4;
    }
    return bare;
}

static int attribute_allowed(const struct atoll_token *t)
{
    struct atoll_token bare = bare_word(t);
    return atoll_rule_any(&bare, atoll_rule_attributes);
}

/* Whose macro would make the rules read another program than the compiler. */
static const char keywords[] =
    " asm auto bool break case catch char class const constexpr consteval constinit const_cast continue "
    "decltype default delete do double dynamic_cast else enum explicit export extern float for friend goto "
    "if inline int long mutable namespace new noexcept nullptr operator private protected public register "
    "reinterpret_cast restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw try typedef typeid typename typeof union unsigned using virtual void "
    "volatile while defined GCC omp STDC clang gnu ";

static int is_reserved(const struct atoll_token *t)
{
    static const char harmless[] = " _GNU_SOURCE _DEFAULT_SOURCE _POSIX_C_SOURCE _XOPEN_SOURCE "
                                   "_USE_MATH_DEFINES __VA_ARGS__ __VA_OPT__ ";
    return t->kind == ATOLL_TOKEN_NAME && t->length > 1 && t->text[0] == '_' &&
           (t->text[1] == '_' || (t->text[1] >= 'A' && t->text[1] <= 'Z')) && !atoll_rule_any(t, harmless);
}

int atoll_rule_define(const struct atoll_rule_site *s)
{
    const struct atoll_token *name = atoll_rule_token(s, 0), *open = atoll_rule_token(s, 1);
    struct atoll_rule_site before = *s;
    before.at -= s->at > 0;
    if (!atoll_rule_is_name(s) || !atoll_rule_is_directive(&before) ||
        (!atoll_rule_is(&before, 0, "define") && !atoll_rule_is(&before, 0, "undef"))) {
        return 0;
    }
    if (is_reserved(name) || attribute_allowed(name) || atoll_rule_any(name, keywords))
        return 1;
    if (!atoll_token_is(open, "(") || open->text != name->text + name->length)
        return 0;
    for (size_t i = 2; !atoll_rule_token(s, i)->first && !atoll_rule_is(s, i, ")"); i++)
        if (is_reserved(atoll_rule_token(s, i)) || attribute_allowed(atoll_rule_token(s, i)))
            return 1;
    return 0;
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

/* [[a, gnu::b(1)]]: every name before a "(" or "," must be allowed; "gnu" and "clang" may qualify it. */
int atoll_rule_brackets_forbidden(const struct atoll_rule_site *s, const char *standard)
{
    static const char owners[] = " gnu __gnu__ clang _Clang using ";
    int depth = 0;
    if (!atoll_rule_is(s, 0, "[") || !atoll_rule_is(s, 1, "["))
        return 0;
    for (size_t i = 2; s->at + i < s->count && i < ATTRIBUTE_TOKENS; i++) {
        const struct atoll_token *t = atoll_rule_token(s, i);
        depth += atoll_token_is(t, "(") - atoll_token_is(t, ")");
        if (depth == 0 && atoll_token_is(t, "]"))
            return 0;
        if (depth > 0 || t->kind == ATOLL_TOKEN_MARK)
            continue;
        int is_owner = atoll_rule_any(t, owners) && atoll_rule_is(s, i + 1, ":");
        if (!is_owner && !attribute_allowed(t) && !atoll_rule_any(t, standard))
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

/* What follows "__builtin_". */
const char atoll_rule_builtins[] =
    " expect expect_with_probability assume_aligned prefetch unreachable memcpy memset memmove fma fmaf "
    "sqrt "
    "sqrtf exp expf exp2 exp2f log logf log2 log2f tanh tanhf pow powf fabs fabsf floor floorf ceil "
    "ceilf trunc truncf round roundf rint rintf nearbyint nearbyintf fmin fminf fmax fmaxf "
    "copysign copysignf copysignl inf inff infl huge_val huge_valf huge_vall nan nanf nanl isnan isinf "
    "isinf_sign isfinite isnormal fpclassify signbit signbitf signbitl abs labs llabs clz clzl clzll ctz "
    "ctzl ctzll clrsb clrsbl clrsbll parity parityl parityll popcount popcountl popcountll ffs ffsl "
    "ffsll "
    "bswap16 bswap32 bswap64 bitreverse8 bitreverse16 bitreverse32 bitreverse64 shuffle shufflevector "
    "convertvector constant_p choose_expr complex types_compatible_p offsetof add_overflow sub_overflow "
    "mul_overflow assume reduce_add reduce_mul reduce_max reduce_min elementwise_max elementwise_min "
    "elementwise_abs nontemporal_load nontemporal_store isunordered isless islessequal isgreater "
    "isgreaterequal islessgreater tgmath speculation_safe_value object_size alloca alloca_with_align ";
const char atoll_rule_builtin_prefixes[] = " ia32_ neon_ aarch64_ ";
/* Clocks, random numbers, lines pushed out of caches, waits, transactions, registers of the system. */
const char atoll_rule_builtins_refused[] =
    " ia32_rd ia32_wr ia32_clflush ia32_clwb ia32_cldemote ia32_clzero ia32_wb ia32_monitor ia32_mwait "
    "ia32_umonitor ia32_umwait ia32_tpause ia32_xbegin ia32_xend ia32_xabort ia32_xtest ia32_xget "
    "ia32_xset "
    "ia32_xsave ia32_xrstor ia32_fxsave ia32_fxrstor ia32_incssp ia32_saveprevssp ia32_rstorssp "
    "ia32_setssbsy ia32_clrssbsy ia32_slwpcb ia32_llwpcb ia32_lwp ia32_ptwrite ia32_enqcmd ia32_clui "
    "ia32_stui ia32_testui ia32_senduipi ia32_hreset ia32_loadiwkey ia32_cpu ia32_readeflags "
    "ia32_writeeflags ia32_serialize ia32_xsusldtrk ia32_xresldtrk aarch64_rnd aarch64_tstart "
    "aarch64_tcommit aarch64_tcancel aarch64_ttest aarch64_get_fp aarch64_set_fp aarch64_rsr "
    "aarch64_wsr ";

int atoll_rule_builtin_forbidden(const struct atoll_rule_site *s)
{
    struct atoll_token rest = *atoll_rule_token(s, 0);
    if (!atoll_rule_is_name(s) || !atoll_token_starts(&rest, "__builtin_"))
        return 0;
    rest.text += 10;
    rest.length -= 10;
    return !atoll_rule_any(&rest, atoll_rule_builtins) &&
           (!atoll_rule_starts(&rest, atoll_rule_builtin_prefixes) ||
            atoll_rule_starts(&rest, atoll_rule_builtins_refused));
}
