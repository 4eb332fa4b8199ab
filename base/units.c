/* units.c - numbers are read digit by digit: strtod would follow the locale and take hex, inf and nan. */
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FRACTION_DIGITS 15

struct unit {
    const char *name;
    double factor;
};

static const struct unit byte_units[] = {
    {"", 1},        {"B", 1},        {"K", 0x1p10}, {"kB", 0x1p10}, {"KiB", 0x1p10}, {"M", 0x1p20},
    {"MB", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30}, {"GB", 0x1p30}, {"GiB", 0x1p30}, {"T", 0x1p40},
    {"TB", 0x1p40}, {"TiB", 0x1p40}, {"P", 0x1p50}, {"PB", 0x1p50}, {"PiB", 0x1p50}, {NULL, 0},
};

static const struct unit duration_units[] = {
    {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},   {"s", 1},     {"sec", 1},     {"m", 60},
    {"min", 60},  {"h", 3600},  {"hour", 3600}, {"d", 86400}, {"day", 86400}, {NULL, 0},
};

/* A decimal number such as "12" or "1.5": its whole part, its fraction in [0, 1), and where it ends. */
struct number {
    uint64_t whole;
    double fraction;
    const char *end;
};

static int parse_number(const char *text, struct number *ret_number)
{
    struct number n = {0, 0.0, text};
    for (; isdigit((unsigned char)*n.end); n.end++) {
        if (__builtin_mul_overflow(n.whole, 10u, &n.whole) ||
            __builtin_add_overflow(n.whole, (uint64_t)(*n.end - '0'), &n.whole)) {
            return -1;
        }
    }
    int digits = n.end != text;
    if (*n.end == '.') {
        double numerator = 0.0, denominator = 1.0;
        int kept = 0;
        for (n.end++; isdigit((unsigned char)*n.end); n.end++, digits = 1) {
            if (kept++ < FRACTION_DIGITS) {
                numerator = numerator * 10.0 + (*n.end - '0');
                denominator *= 10.0;
            }
        }
        n.fraction = numerator / denominator;
    }
    if (!digits)
        return -1;
    *ret_number = n;
    return 0;
}

static double find_unit(const struct unit *units, const char *name, size_t length)
{
    for (; units->name; units++)
        if (strlen(units->name) == length && strncasecmp(units->name, name, length) == 0)
            return units->factor;
    return 0.0;
}

int atoll_bytes_parse(const char *text, uint64_t *ret_bytes, struct atoll_err *err)
{
    struct number n;
    if (parse_number(text, &n)) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "size '%.64s': a number such as 512, 64K, 1.5M or 2G is expected", text);
    }
    const char *unit = n.end + (*n.end == ' ');
    double factor = find_unit(byte_units, unit, strlen(unit));
    if (factor <= 0.0) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "size '%.64s': unknown unit '%.16s'; known are B, K, M, G, T, P", text, unit);
    }
    uint64_t whole, fraction = (uint64_t)(n.fraction * factor);
    if (__builtin_mul_overflow(n.whole, (uint64_t)factor, &whole) ||
        __builtin_add_overflow(whole, fraction, &whole)) {
        return atoll_err_set(err, ATOLL_E_INPUT, "size '%.64s': does not fit 64 bits", text);
    }
    *ret_bytes = whole;
    return 0;
}

/* "1-12:00:00", "12:00:00", "30:00", "1-12": days-hours:minutes:seconds, without days minutes:seconds at
 * least. */
static int parse_clock(const char *text, double *ret_seconds)
{
    uint64_t fields[3];
    size_t count = 0;
    double days = 0.0;
    struct number n;
    int has_days = strchr(text, '-') != NULL;
    if (has_days) {
        if (parse_number(text, &n) || *n.end != '-' || n.fraction > 0.0)
            return -1;
        days = (double)n.whole;
        text = n.end + 1;
    }
    for (;; text++) {
        if (count == 3 || !isdigit((unsigned char)*text) || parse_number(text, &n) || n.fraction > 0.0)
            return -1;
        fields[count++] = n.whole;
        text = n.end;
        if (*text != ':')
            break;
    }
    static const double scales[3] = {3600.0, 60.0, 1.0};
    size_t first = has_days ? 0 : 3 - count;
    double seconds = days * 86400.0;
    for (size_t i = 0; i < count; i++)
        seconds += (double)fields[i] * scales[first + i];
    *ret_seconds = seconds;
    return *text ? -1 : 0;
}

/* "1h30m", "250ms", "90": terms with units, or one number of seconds. */
static int parse_terms(const char *text, double *ret_seconds)
{
    double seconds = 0.0;
    struct number n;
    for (const char *start = text; *text; text = n.end) {
        if (parse_number(text, &n))
            return -1;
        const char *unit = n.end;
        while (isalpha((unsigned char)*n.end))
            n.end++;
        int is_bare = unit == n.end;
        double factor = is_bare ? 1.0 : find_unit(duration_units, unit, (size_t)(n.end - unit));
        if (factor <= 0.0 || (is_bare && (text != start || *n.end)))
            return -1;
        seconds += ((double)n.whole + n.fraction) * factor;
        if (*n.end == ' ')
            n.end++;
    }
    *ret_seconds = seconds;
    return 0;
}

int atoll_duration_parse(const char *text, double *ret_seconds, struct atoll_err *err)
{
    double seconds = 0.0;
    int is_clock = strchr(text, ':') || strchr(text, '-');
    if (!*text || (is_clock ? parse_clock(text, &seconds) : parse_terms(text, &seconds))) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "duration '%.64s': 90, 90s, 2m, 1h30m, 250ms or 1-12:00:00 "
                             "(days-hours:minutes:seconds) is expected",
                             text);
    }
    *ret_seconds = seconds;
    return 0;
}

/* Three digits that count; 999.6 is moved on to the next prefix by the caller's limit. */
static const char *digits_text(double value, const char *unit, char *ret_text, size_t text_bytes)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(ret_text, text_bytes, "%.*f%s%s", decimals, value, *unit ? " " : "", unit);
    return ret_text;
}

const char *atoll_bytes_text(uint64_t bytes, char *ret_text, size_t text_bytes)
{
    static const char *const prefixes[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(ret_text, text_bytes, "%u B", (unsigned)bytes);
        return ret_text;
    }
    double value = (double)bytes / 1024.0;
    size_t i = 0;
    for (; value >= 1023.95 && i < 5; i++)
        value /= 1024.0;
    snprintf(ret_text, text_bytes, "%.1f %s", value, prefixes[i]);
    return ret_text;
}

const char *atoll_size_text(double bytes, char *ret_text, size_t text_bytes)
{
    static const char *const prefixes[] = {"MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1e7) {
        snprintf(ret_text, text_bytes, "%.0f bytes", bytes);
        return ret_text;
    }
    size_t i = 0;
    for (bytes /= 1e6; bytes >= 999.95 && i + 1 < sizeof(prefixes) / sizeof(*prefixes); i++)
        bytes /= 1e3;
    snprintf(ret_text, text_bytes, bytes < 1e4 ? "%.1f %s" : "%.3g %s", bytes, prefixes[i]);
    return ret_text;
}

const char *atoll_duration_text(double ns, char *ret_text, size_t text_bytes)
{
    static const struct unit steps[] = {{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}};
    if (!(ns >= 0.0 && ns < 1e27)) {
        snprintf(ret_text, text_bytes, "?");
        return ret_text;
    }
    if (ns == 0.0) {
        snprintf(ret_text, text_bytes, "0 s");
        return ret_text;
    }
    for (size_t i = 0; i < 3; i++)
        if (ns / steps[i].factor < 999.5)
            return digits_text(ns / steps[i].factor, steps[i].name, ret_text, text_bytes);
    double seconds = ns / 1e9;
    if (seconds < 59.95)
        return digits_text(seconds, "s", ret_text, text_bytes);
    unsigned long long s = (unsigned long long)(seconds + 0.5);
    if (s < 3600)
        snprintf(ret_text, text_bytes, "%llum %02llus", s / 60, s % 60);
    else if (s < 86400)
        snprintf(ret_text, text_bytes, "%lluh %02llum", s / 3600, s / 60 % 60);
    else
        snprintf(ret_text, text_bytes, "%llud %02lluh", s / 86400, s / 3600 % 24);
    return ret_text;
}

/* The value's text and half its interval. */
static const char *interval_text(const char *text, double value, double lo, double hi, char *ret_text,
                                 size_t text_bytes)
{
    double percent = 50 * (hi - lo) / value;
    if (hi > 0 && percent > 0 && percent < 0.5)
        snprintf(ret_text, text_bytes, "%s  <1%%", text);
    else if (hi > 0)
        snprintf(ret_text, text_bytes, "%s %3.0f%%", text, percent);
    else
        snprintf(ret_text, text_bytes, "%s     ", text);
    return ret_text;
}

const char *atoll_duration_interval_text(double ns, double lo, double hi, char *ret_text, size_t text_bytes)
{
    char time[32];
    if (!(ns > 0))
        return "-";
    atoll_duration_text(ns, time, sizeof(time));
    return interval_text(time, ns, lo, hi, ret_text, text_bytes);
}

const char *atoll_ratio_interval_text(int is_rough, double ratio, double lo, double hi, char *ret_text,
                                      size_t text_bytes)
{
    char text[32];
    if (!(ratio > 0))
        return "-";
    snprintf(text, sizeof(text), "%s%.2fx", is_rough ? "~" : "", ratio);
    return interval_text(text, ratio, lo, hi, ret_text, text_bytes);
}

const char *atoll_count_text(double count, char *ret_text, size_t text_bytes)
{
    static const char *const prefixes[] = {"k", "M", "G", "T", "P", "E"};
    if (fabs(count) < 999.5 || !isfinite(count)) {
        snprintf(ret_text, text_bytes, "%.4g", count);
        return ret_text;
    }
    size_t i = 0;
    double value = count / 1000.0;
    for (; fabs(value) >= 999.5 && i < 5; i++)
        value /= 1000.0;
    return digits_text(value, prefixes[i], ret_text, text_bytes);
}

const char *atoll_number_text(double value, char *ret_text, size_t text_bytes)
{
    int digits = 6;
    do
        snprintf(ret_text, text_bytes, "%.*g", digits, value);
    while (strtod(ret_text, NULL) != value && ++digits <= 17);
    return ret_text;
}
