#include "base/utf8.h"

#include <string.h>

/* The lead bytes of RFC 3629, section 4, and what their second byte may be. */
static const struct {
    unsigned char first, last, second_low, second_high;
    size_t length;
} leads[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
             {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
             {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

size_t atoll_utf8_character_bytes(const void *bytes, size_t left)
{
    const unsigned char *p = bytes;
    size_t row = 0, count = sizeof(leads) / sizeof(*leads);
    while (row < count && (*p < leads[row].first || *p > leads[row].last))
        row++;
    if (row == count || leads[row].length > left)
        return 0;
    if (leads[row].length > 1 && (p[1] < leads[row].second_low || p[1] > leads[row].second_high))
        return 0;
    for (size_t i = 2; i < leads[row].length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return leads[row].length;
}

size_t atoll_utf8_valid_bytes(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    size_t at = 0;
    while (at < length) {
        size_t step = p[at] < 0x80 ? 1 : atoll_utf8_character_bytes(p + at, length - at);
        if (!step)
            break;
        at += step;
    }
    return at;
}

/* Characters of three bytes that are not printable: they turn the direction of reading, or are none. */
static const struct {
    unsigned char first[3], last;
} unprintable[] = {{{0xe2, 0x80, 0xaa}, 0xae}, {{0xe2, 0x81, 0xa6}, 0xa9}, {{0xef, 0xbf, 0xbe}, 0xbf}};

static int is_printable(const unsigned char *p, size_t length)
{
    if (length == 1)
        return *p >= 0x20 && *p != 0x7f;
    if (length == 2)
        return p[0] != 0xc2 || p[1] >= 0xa0;
    for (size_t i = 0; length == 3 && i < sizeof(unprintable) / sizeof(*unprintable); i++) {
        const unsigned char *first = unprintable[i].first;
        if (p[0] == first[0] && p[1] == first[1] && p[2] >= first[2] && p[2] <= unprintable[i].last)
            return 0;
    }
    return length > 0;
}

size_t atoll_utf8_printable_bytes(const char *at)
{
    size_t length = atoll_utf8_character_bytes(at, 4);
    return is_printable((const unsigned char *)at, length) ? length : 0;
}

void atoll_utf8_line(char *ret_text, size_t text_bytes, const char *from, size_t length)
{
    const unsigned char *p = (const unsigned char *)from;
    size_t at = 0, put = 0;
    while (at < length) {
        size_t step = atoll_utf8_character_bytes(p + at, length - at), room = step ? step : 1;
        if (put + room >= text_bytes)
            break;
        if (!is_printable(p + at, step)) {
            ret_text[put++] = step ? ' ' : '?';
            at += room;
            continue;
        }
        memcpy(ret_text + put, p + at, step);
        put += step;
        at += step;
    }
    ret_text[put] = '\0';
}

size_t atoll_utf8_cut(const char *text, size_t length)
{
    size_t at = length;
    while (at > 0 && length - at < 4 && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
        at--;
    if (at == 0)
        return length;
    unsigned char lead = (unsigned char)text[at - 1];
    size_t needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return length - (at - 1) < needs ? at - 1 : length;
}
