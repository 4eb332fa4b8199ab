#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

static json_t *from_latin1(const char *text)
{
    char *utf8 = malloc(2 * strlen(text) + 1), *to = utf8;
    json_t *string;

    if (!utf8) {
        return NULL;
    }
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at < 0x80) {
            *to++ = (char)*at;
        } else {
            *to++ = (char)(0xc0 | *at >> 6);
            *to++ = (char)(0x80 | (*at & 0x3f));
        }
    }
    *to = '\0';
    string = json_string(utf8);
    free(utf8);
    return string;
}

json_t *atoll_json_text(const char *text)
{
    json_t *string = json_string(text);

    return string ? string : from_latin1(text);
}
