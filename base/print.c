#include "base/print.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/utf8.h"

/* Bytes of the character that is printed as it is; 0: it is written as a literal. */
static size_t plain_bytes(const char *at)
{
    if (at[0] == '\r' && at[1] == '\n')
        return 2;
    return *at == '\n' || *at == '\t' ? 1 : atoll_utf8_printable_bytes(at);
}

size_t atoll_print_character(FILE *out, const char *at)
{
    size_t length = plain_bytes(at);
    if (length == 0) {
        fprintf(out, "\\%03o", (unsigned char)*at);
        return 1;
    }
    fwrite(at, 1, length, out);
    return length;
}

void atoll_print_text(FILE *out, const char *text)
{
    while (*text) {
        size_t length = 0, more; /* a stream without a buffer gets a run of them at once */
        while (text[length] && (more = plain_bytes(text + length)) > 0)
            length += more;
        if (length > 0)
            fwrite(text, 1, length, out);
        text += length;
        text += *text ? atoll_print_character(out, text) : 0;
    }
}

int atoll_print(FILE *out, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return -1;
    atoll_print_text(out, text);
    free(text);
    return length;
}

unsigned atoll_print_columns(FILE *out)
{
    struct winsize size;
    int fd = fileno(out);
    return fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Of so many bytes; each character that is no continuation of one has a column. */
static unsigned columns_of(const char *text, size_t length)
{
    unsigned count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static void print_part(FILE *out, const char *text, size_t length)
{
    char *part = strndup(text, length);
    if (part)
        atoll_print_text(out, part);
    free(part);
}

/* Bytes of the next word with the blanks before it; a number keeps its percent sign. */
static size_t word_bytes(const char *text)
{
    size_t blanks = strspn(text, " "), length = blanks + strcspn(text + blanks, " \n");
    return strncmp(text + length, " %", 2) ? length : length + 1 + strcspn(text + length + 1, " \n");
}

void atoll_print_folded(FILE *out, unsigned columns, unsigned indent, const char *text)
{
    unsigned at = 0;
    int is_empty = 1; /* nothing but the indent stands in this line */
    while (*text) {
        size_t blanks = strspn(text, " "), length = word_bytes(text);
        unsigned width = columns_of(text, length);
        if (*text == '\n') {
            fputc('\n', out);
            text++;
            at = 0;
            is_empty = 1;
        } else if (columns > 2 * indent && !is_empty && at + width > columns) {
            fprintf(out, "\n%*s", (int)indent, "");
            text += blanks;
            at = indent;
            is_empty = 1;
        } else {
            print_part(out, text, length);
            text += length;
            at += width;
            is_empty = 0;
        }
    }
    fputc('\n', out);
}

void atoll_print_line(FILE *out, unsigned indent, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return;
    atoll_print_folded(out, atoll_print_columns(out), indent, text);
    free(text);
}
