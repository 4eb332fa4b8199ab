#include "core/knowledge/region.h"

#include <string.h>

#define BEGIN     "<!-- region "
#define BEGIN_END " -->"
#define END       "<!-- end -->"
#define NAME_SIZE 32

const char *atoll_region_name(enum atoll_region region)
{
    static const char *const names[ATOLL_REGION_COUNT] = {[ATOLL_REGION_PHILOSOPHY] = "philosophy",
                                                          [ATOLL_REGION_STRATEGIES] = "strategies",
                                                          [ATOLL_REGION_PITFALLS] = "pitfalls",
                                                          [ATOLL_REGION_ANALYSIS] = "analysis"};
    return (unsigned)region < ATOLL_REGION_COUNT ? names[region] : "unknown";
}

static enum atoll_region region_named(const char *name, size_t length)
{
    unsigned region = 0;
    while (region < ATOLL_REGION_COUNT &&
           (strlen(atoll_region_name((enum atoll_region)region)) != length ||
            memcmp(atoll_region_name((enum atoll_region)region), name, length) != 0))
        region++;
    return (enum atoll_region)region;
}

static size_t line_length(const char *line)
{
    return strcspn(line, "\n");
}

static const char *line_after(const char *line)
{
    line += line_length(line);
    return *line ? line + 1 : line;
}

static int is_end(const char *line)
{
    size_t length = line_length(line);
    return length == strlen(END) && memcmp(line, END, length) == 0;
}

/* The region that the line begins; ATOLL_REGION_COUNT: none. */
static enum atoll_region begun_by(const char *line)
{
    size_t length = line_length(line), front = strlen(BEGIN), back = strlen(BEGIN_END);
    if (length <= front + back || memcmp(line, BEGIN, front) != 0 ||
        memcmp(line + length - back, BEGIN_END, back) != 0)
        return ATOLL_REGION_COUNT;
    return region_named(line + front, length - front - back);
}

int atoll_region_find(const char *text, enum atoll_region region, const char **ret_text, size_t *ret_length)
{
    const char *line = text, *from;
    while (*line && begun_by(line) != region)
        line = line_after(line);
    if (!*line || (unsigned)region >= ATOLL_REGION_COUNT)
        return -1;
    for (from = line = line_after(line); *line && !is_end(line);)
        line = line_after(line);
    if (!*line)
        return -1;
    *ret_text = from;
    *ret_length = (size_t)(line - from);
    return 0;
}

int atoll_regions_check(const char *text, struct atoll_err *err)
{
    unsigned number = 0, seen = 0;
    enum atoll_region open = ATOLL_REGION_COUNT;
    const char *from = text;
    for (const char *line = text; *line; line = line_after(line)) {
        enum atoll_region begun = begun_by(line);
        number++;
        if (begun < ATOLL_REGION_COUNT) {
            if (open < ATOLL_REGION_COUNT || seen & 1u << begun)
                return atoll_err_set(
                    err, ATOLL_E_INPUT, "line %u: region %s %s", number, atoll_region_name(begun),
                    open < ATOLL_REGION_COUNT ? "begins inside of another" : "is there twice");
            seen |= 1u << begun;
            open = begun;
            from = line_after(line);
        } else if (is_end(line)) {
            if (open == ATOLL_REGION_COUNT)
                return atoll_err_set(err, ATOLL_E_INPUT, "line %u: the end of a region that has not begun",
                                     number);
            if ((size_t)(line - from) > ATOLL_REGION_LIMIT)
                return atoll_err_set(err, ATOLL_E_INPUT,
                                     "line %u: region %s is longer than %u bytes; shorten it", number,
                                     atoll_region_name(open), ATOLL_REGION_LIMIT);
            open = ATOLL_REGION_COUNT;
        } else if (strncmp(line, "<!--", 4) == 0) {
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "line %u: a marker is \"" BEGIN "NAME" BEGIN_END "\" or \"" END "\"",
                                 number);
        }
    }
    for (unsigned i = 0; i < ATOLL_REGION_COUNT; i++)
        if (!(seen & 1u << i) || open == i)
            return atoll_err_set(err, ATOLL_E_INPUT, "region %s is %s",
                                 atoll_region_name((enum atoll_region)i),
                                 open == i ? "not closed" : "missing");
    return 0;
}

void atoll_regions_strip(const char *text, struct atoll_buffer *out)
{
    for (const char *line = text; *line; line = line_after(line))
        if (begun_by(line) == ATOLL_REGION_COUNT && !is_end(line))
            atoll_buffer_put_bytes(out, line, (size_t)(line_after(line) - line));
}

/* ---- edits ---- */

/* What may stand in a region, whatever was there before. */
static int is_plain(const char *text, size_t length)
{
    unsigned fences = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        int is_first = i == 0 || text[i - 1] == '\n';
        if ((c < ' ' && c != '\n') || c > '~')
            return 0;
        if (length - i >= 3 && (memcmp(text + i, "-->", 3) == 0 || memcmp(text + i, "<!-", 3) == 0))
            return 0;
        if (!is_first)
            continue;
        size_t at = i;
        while (at < length && text[at] == ' ')
            at++;
        fences += length - at >= 3 && (memcmp(text + at, "```", 3) == 0 || memcmp(text + at, "~~~", 3) == 0);
        if (at < length && text[at] == '#' && !(fences % 2)) /* a heading; in code it is a directive */
            return 0;
    }
    return fences % 2 == 0;
}

static size_t trimmed(const char **text)
{
    const char *from = *text ? *text : "";
    while (*from == '\n')
        from++;
    size_t length = strlen(from);
    while (length > 0 && (from[length - 1] == '\n' || from[length - 1] == ' '))
        length--;
    *text = from;
    return length;
}

static const char *find_bytes(const char *text, size_t length, const char *part, size_t part_length)
{
    for (size_t i = 0; i + part_length <= length; i++)
        if (memcmp(text + i, part, part_length) == 0)
            return text + i;
    return NULL;
}

/* The region behind an edit, into out; 1, 0: it does not fit. */
static int edit_region(const char *region, size_t length, const struct atoll_reply_item *item,
                       struct atoll_buffer *out)
{
    const char *before = item->before, *after = item->after;
    size_t before_length = trimmed(&before), after_length = trimmed(&after);
    const char *at = region + length;
    if (before_length) {
        at = find_bytes(region, length, before, before_length);
        if (!at || find_bytes(at + 1, (size_t)(region + length - at - 1), before, before_length))
            return 0;
    }
    if ((!before_length && !after_length) ||
        (before_length == after_length && memcmp(before, after, before_length) == 0) ||
        length - before_length + after_length + 1 > ATOLL_REGION_LIMIT)
        return 0;
    const char *rest = at + before_length;
    atoll_buffer_clear(out);
    atoll_buffer_put_bytes(out, region, (size_t)(at - region));
    atoll_buffer_put_bytes(out, after, after_length);
    if (rest == region + length && out->length && !out->failed && out->data[out->length - 1] != '\n')
        atoll_buffer_put_u8(out, '\n');
    atoll_buffer_put_bytes(out, rest, (size_t)(region + length - rest));
    return !out->failed && is_plain((const char *)out->data, out->length);
}

static int apply_one(const struct atoll_reply_item *item, struct atoll_buffer *text,
                     struct atoll_buffer *region, struct atoll_buffer *next)
{
    const char *title = item->title ? item->title : "", *content, *whole = (const char *)text->data;
    size_t length;
    if (item->kind != ATOLL_ITEM_EDIT ||
        atoll_region_find(whole, region_named(title, strlen(title)), &content, &length) != 0 ||
        !edit_region(content, length, item, region))
        return 0;
    atoll_buffer_clear(next);
    atoll_buffer_put_bytes(next, whole, (size_t)(content - whole));
    atoll_buffer_put_bytes(next, region->data, region->length);
    atoll_buffer_put_bytes(next, content + length, strlen(content + length) + 1);
    if (next->failed)
        return 0;
    struct atoll_buffer old = *text;
    *text = *next;
    *next = old;
    return 1;
}

int atoll_regions_apply(const char *text, const struct atoll_reply_item *items, uint32_t item_count,
                        struct atoll_buffer *out, uint8_t *fits, struct atoll_err *err)
{
    struct atoll_buffer now, region, next;
    size_t limit = strlen(text) + (size_t)ATOLL_REGION_COUNT * ATOLL_REGION_LIMIT + 1;
    uint32_t applied = 0;
    atoll_buffer_init(&now, limit);
    atoll_buffer_init(&region, 2 * (size_t)ATOLL_REGION_LIMIT);
    atoll_buffer_init(&next, limit);
    atoll_buffer_put_bytes(&now, text, strlen(text) + 1);
    for (uint32_t i = 0; i < item_count && !now.failed; i++) {
        int fit = applied < ATOLL_REGION_EDIT_LIMIT && apply_one(&items[i], &now, &region, &next);
        applied += (uint32_t)fit;
        if (fits)
            fits[i] = (uint8_t)fit;
    }
    atoll_buffer_clear(out);
    atoll_buffer_put_bytes(out, now.data, now.length);
    int failed = atoll_buffer_check(&now, err) || atoll_buffer_check(&region, err) ||
                 atoll_buffer_check(&next, err) || atoll_buffer_check(out, err);
    atoll_buffer_fini(&now);
    atoll_buffer_fini(&region);
    atoll_buffer_fini(&next);
    return failed ? -1 : (int)applied;
}
