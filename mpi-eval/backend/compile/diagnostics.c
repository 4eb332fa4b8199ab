/* A message is a line "file:line:column: error: ..." and the lines under it (source, caret, note of the same
 * error) up to the next message.  Linkers write free text: some of their phrases are errors, and where no line is
 * an error, every line counts. */
#include "mpi-eval/backend/compile/diagnostics.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define TEMPORARY_LENGTH 8 /* "ccXXXXXX" */

struct out {
    char *text;
    size_t length;
    const char *folder;
};

static int line_has(const char *line, size_t length, const char *what)
{
    return memmem(line, length, what, strlen(what)) != NULL;
}

/* What drivers say at the end tells nothing. */
static int is_summary(const char *line, size_t length)
{
    static const char *const phrases[] = {"collect2: error: ld returned", "error: linker command failed",
                                          "detected in the compilation of", "Ptx assembly aborted"};
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (line_has(line, length, phrases[i]))
            return 1;
    return length == 23 && memcmp(line, "Compilation terminated.", 23) == 0;
}

static int is_error(const char *line, size_t length)
{
    static const char *const phrases[] = {"undefined reference to ", "multiple definition of ",
                                          "relocation R_"};
    if (is_summary(line, length))
        return 0;
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (line_has(line, length, phrases[i]))
            return 1;
    return line_has(line, length, " error: ") || line_has(line, length, "; error   : ");
}

static int is_message(const char *line, size_t length)
{
    return line_has(line, length, " warning: ") || line_has(line, length, ": warning #") ||
           line_has(line, length, " note: ") || line_has(line, length, ": note #") ||
           line_has(line, length, ": remark #") || (length >= 6 && memcmp(line, "Note #", 6) == 0) ||
           (length >= 8 && memcmp(line, "Remark: ", 8) == 0) || line_has(line, length, ": In function") ||
           line_has(line, length, ": At top level") || (length >= 8 && memcmp(line, "In file ", 8) == 0);
}

/* Length of a path or temporary name of ours at the start of s; ret_name what to write instead. */
static size_t match_ours(const char *s, size_t left, const char *folder, const char **ret_name)
{
    size_t length = strlen(folder);
    if (length > 0 && left >= length && memcmp(s, folder, length) == 0) {
        *ret_name = "";
        return left > length && s[length] == '/' ? length + 1 : length;
    }
    if (left <= TEMPORARY_LENGTH + 2 || memcmp(s, "cc", 2) != 0 || memcmp(s + TEMPORARY_LENGTH, ".o", 2) != 0)
        return 0;
    for (size_t i = 2; i < TEMPORARY_LENGTH; i++)
        if (!isalnum((unsigned char)s[i]))
            return 0;
    *ret_name = "object";
    return TEMPORARY_LENGTH + 2;
}

static void put(struct out *out, const char *bytes, size_t length)
{
    size_t room = ATOLL_DIAGNOSTICS_BYTES - 1 - out->length;
    size_t n = length < room ? length : room;
    memcpy(out->text + out->length, bytes, n);
    out->length += n;
}

static void put_line(struct out *out, const char *line, size_t length)
{
    for (size_t i = 0; i < length;) {
        const char *name = "";
        size_t ours = match_ours(line + i, length - i, out->folder, &name);
        if (ours > 0) {
            put(out, name, strlen(name));
            i += ours;
            continue;
        }
        unsigned char c = (unsigned char)line[i++];
        if (c >= ' ' && c != 0x7f)
            put(out, (const char *)&c, 1);
        else if (c == '\t')
            put(out, " ", 1);
    }
    put(out, "\n", 1);
}

static size_t trim(const char *text, struct out *out, int errors_only)
{
    int wanted = !errors_only;
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        if (errors_only && is_error(line, length))
            wanted = 1;
        else if (errors_only && is_message(line, length))
            wanted = 0;
        if (wanted && length > 0 && !is_summary(line, length))
            put_line(out, line, length);
        line += length + (line[length] == '\n');
    }
    return out->length;
}

size_t atoll_diagnostics_trim(const char *text, const char *folder, char ret_text[ATOLL_DIAGNOSTICS_BYTES])
{
    struct out out = {ret_text, 0, folder};
    if (trim(text, &out, 1) == 0)
        trim(text, &out, 0);
    while (out.length > 0 && out.text[out.length - 1] == '\n')
        out.length--;
    out.length = atoll_utf8_cut(out.text, out.length); /* else its readers could not print it */
    out.text[out.length] = '\0';
    return out.length;
}
