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

static int read_month(const char **text, int *ret_month)
{
    for (int i = 0; i < 12; i++) {
        if (strncmp(*text, month_names + 3 * i, 3) == 0) {
            *ret_month = i + 1;
            *text += 3;
            return 0;
        }
    }
    return -1;
}

/* A day of the month after a space instead of its leading zero (asctime). */
static int read_padded(const char **text, int *ret_day)
{
    if (**text != ' ')
        return read_digits(text, 2, ret_day);
    ++*text;
    return read_digits(text, 1, ret_day);
}

/* W a name of a day, b a month's name, Y y m d e H M S numbers as in strftime; anything else is itself. */
static int read_field(const char **text, char kind, struct fields *f)
{
    switch (kind) {
    case 'W':
        if (!isalpha((unsigned char)**text))
            return -1;
        while (isalpha((unsigned char)**text))
            ++*text;
        return 0;
    case 'b': return read_month(text, &f->month);
    case 'Y': return read_digits(text, 4, &f->year);
    case 'y': f->is_short_year = 1; return read_digits(text, 2, &f->year);
    case 'm': return read_digits(text, 2, &f->month);
    case 'd': return read_digits(text, 2, &f->day);
    case 'e': return read_padded(text, &f->day);
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

/* Days since 1970-01-01 of the proleptic Gregorian calendar: years begin in March, so that a leap day ends one. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2);
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static int is_possible(const struct fields *f)
{
    static const signed char lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return f->year >= 1 && f->month >= 1 && f->month <= 12 && f->day >= 1 &&
           f->day <= lengths[f->month - 1] && f->hour <= 23 && f->minute <= 59 && f->second <= 60;
}

static int to_unix(const struct fields *f, double *ret_unix_s)
{
    if (!is_possible(f))
        return -1;
    double day = (double)days_of(f->year, f->month, f->day);
    *ret_unix_s = day * 86400.0 + f->hour * 3600.0 + f->minute * 60.0 + f->second + f->fraction - f->offset_s;
    return 0;
}

static void complete_year(struct fields *f, double unix_s)
{
    int now = 1970 + (int)(unix_s / (365.2425 * 86400.0));
    f->year += now / 100 * 100;
    if (f->year > now + 50)
        f->year -= 100;
    else if (f->year <= now - 50)
        f->year += 100;
}

int atoll_instant_of_http(const char *text, double unix_s, double *ret_unix_s)
{
    static const char *const patterns[] = {"%W, %d %b %Y %H:%M:%S GMT", "%W, %d-%b-%y %H:%M:%S GMT",
                                           "%W %b %e %H:%M:%S %Y"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct fields f = {0};
        const char *at = text;
        if (match(&at, patterns[i], &f) != 0 || *at)
            continue;
        if (f.is_short_year)
            complete_year(&f, unix_s);
        return to_unix(&f, ret_unix_s);
    }
    return -1;
}

static int read_fraction(const char **text, double *ret_fraction)
{
    double unit = 1.0, fraction = 0.0;
    if (!isdigit((unsigned char)**text))
        return -1;
    for (; isdigit((unsigned char)**text); ++*text) {
        unit /= 10.0;
        fraction += unit * (**text - '0');
    }
    *ret_fraction = fraction;
    return 0;
}

static int read_offset(const char **text, double *ret_offset_s)
{
    struct fields f = {0};
    char sign = *(*text)++;
    if (sign == 'Z' || sign == 'z')
        return 0;
    if ((sign != '+' && sign != '-') || match(text, "%H:%M", &f) != 0 || f.hour > 23 || f.minute > 59)
        return -1;
    *ret_offset_s = (sign == '+' ? 1 : -1) * (f.hour * 3600.0 + f.minute * 60.0);
    return 0;
}

int atoll_instant_of_rfc3339(const char *text, double *ret_unix_s)
{
    struct fields f = {0};
    if (match(&text, "%Y-%m-%d", &f) != 0 || !*text || !strchr("Tt ", *text))
        return -1;
    text++;
    if (match(&text, "%H:%M:%S", &f) != 0)
        return -1;
    if (*text == '.' && (text++, read_fraction(&text, &f.fraction)) != 0)
        return -1;
    if (!*text || read_offset(&text, &f.offset_s) != 0 || *text)
        return -1;
    return to_unix(&f, ret_unix_s);
}
