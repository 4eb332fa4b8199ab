#include "base/print.h"

#include <stdarg.h>
#include <stdlib.h>

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
