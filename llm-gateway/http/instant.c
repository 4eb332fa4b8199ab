/* instant.c - every form is a pattern over one set of fields; what is behind the pattern's end is an error. */
#include "llm-gateway/http/instant.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

struct fields {
    int year, month, day, hour, minute, second; /* month 1..12 */
    int is_short_year;
    double fraction, offset_s;
};

static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

/* Exactly count digits. */
static int read_digits(const char **text, int count, int *ret_value)
{
    int value = 0;
    for (int i = 0; i < count; i++, ++*text) {
        if (!isdigit((unsigned char)**text))
            return -1;
        value = value * 10 + (**text - '0');
    }
    *ret_value = value;
    return 0;
}

/* W a name of a day, b a month's name, Y y m d e H M S numbers as in strftime; anything else is itself. */
static int read_field(const char **text, char kind, struct fields *f)
{
    int digits;
    switch (kind) {
    case 'W':
        if (!isalpha((unsigned char)**text))
            return -1;
        while (isalpha((unsigned char)**text))
            ++*text;
        return 0;
    case 'b':
        for (f->month = 1; f->month <= 12; f->month++) {
            if (strncmp(*text, month_names + 3 * (f->month - 1), 3) == 0) {
                *text += 3;
                return 0;
            }
        }
        return -1;
    case 'Y': return read_digits(text, 4, &f->year);
    case 'y': f->is_short_year = 1; return read_digits(text, 2, &f->year);
    case 'm': return read_digits(text, 2, &f->month);
    case 'd': return read_digits(text, 2, &f->day);
    case 'e': /* a day of the month after a space instead of its leading zero (asctime) */
        digits = **text == ' ' ? 1 : 2;
        *text += digits == 1;
        return read_digits(text, digits, &f->day);
    case 'H': return read_digits(text, 2, &f->hour);
    case 'M': return read_digits(text, 2, &f->minute);
    case 'S': return read_digits(text, 2, &f->second);
    default: return -1;
    }
}

/* 0 and *text behind what matched. */
static int match(const char **text, const char *pattern, struct fields *f)
{
    for (; *pattern; pattern++) {
        if (*pattern == '%') {
            if (read_field(text, *++pattern, f) != 0)
                return -1;
        } else if (*(*text)++ != *pattern) {
            return -1;
        }
    }
    return 0;
}

static int to_unix(const struct fields *f, double *ret_unix_s)
{
    static const signed char lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (f->year < 1 || f->month < 1 || f->month > 12 || f->day < 1 || f->day > lengths[f->month - 1] ||
        f->hour > 23 || f->minute > 59 || f->second > 60) {
        return -1;
    }
    /* Days since 1970-01-01 of the proleptic Gregorian calendar: years begin in March, so that a leap day ends one. */
    int64_t y = f->year - (f->month <= 2);
    int64_t day_of_year = (153 * (f->month + (f->month > 2 ? -3 : 9)) + 2) / 5 + f->day - 1;
    int64_t days = y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
    *ret_unix_s =
        (double)days * 86400.0 + f->hour * 3600.0 + f->minute * 60.0 + f->second + f->fraction - f->offset_s;
    return 0;
}

int atoll_instant_of_http(const char *text, double unix_s, double *ret_unix_s)
{
    static const char *const patterns[] = {"%W, %d %b %Y %H:%M:%S GMT", "%W, %d-%b-%y %H:%M:%S GMT",
                                           "%W %b %e %H:%M:%S %Y"};
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
        struct fields f = {0};
        const char *at = text;
        if (match(&at, patterns[i], &f) != 0 || *at)
            continue;
        if (f.is_short_year) {
            int now = 1970 + (int)(unix_s / (365.2425 * 86400.0));
            f.year += now / 100 * 100;
            f.year += f.year > now + 50 ? -100 : f.year <= now - 50 ? 100 : 0;
        }
        return to_unix(&f, ret_unix_s);
    }
    return -1;
}

int atoll_instant_of_rfc3339(const char *text, double *ret_unix_s)
{
    struct fields f = {0}, offset = {0};
    if (match(&text, "%Y-%m-%d", &f) != 0 || !*text || !strchr("Tt ", *text))
        return -1;
    text++;
    if (match(&text, "%H:%M:%S", &f) != 0)
        return -1;
    if (*text == '.') {
        double unit = 1.0;
        if (!isdigit((unsigned char)*++text))
            return -1;
        for (; isdigit((unsigned char)*text); text++) {
            unit /= 10.0;
            f.fraction += unit * (*text - '0');
        }
    }
    char sign = *text;
    if (!sign || !strchr("Zz+-", sign))
        return -1;
    text++;
    if (sign == '+' || sign == '-') {
        if (match(&text, "%H:%M", &offset) != 0 || offset.hour > 23 || offset.minute > 59)
            return -1;
        f.offset_s = (sign == '+' ? 1 : -1) * (offset.hour * 3600.0 + offset.minute * 60.0);
    }
    return *text ? -1 : to_unix(&f, ret_unix_s);
}
