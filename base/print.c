#include "base/print.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/utf8.h"

size_t atoll_print_character(FILE *out, const char *at)
{
    size_t length = *at == '\n' || *at == '\t' ? 1 : atoll_utf8_printable_bytes(at);
    if (at[0] == '\r' && at[1] == '\n')
        length = 2;
    if (length == 0) {
        fprintf(out, "\\%03o", (unsigned char)*at);
        return 1;
    }
    fwrite(at, 1, length, out);
    return length;
}

void atoll_print_text(FILE *out, const char *text)
{
    while (*text)
        text += atoll_print_character(out, text);
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
