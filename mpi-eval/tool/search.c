#include "mpi-eval/tool/search.h"

#include <string.h>

#define HIT_LIMIT  64 /* by words, looked through for a pattern */
#define SHOW_LIMIT 8
#define LINES      4 /* of each that is shown */
#define BESIDE     1
#define WORK       ((uint64_t)1 << 26) /* steps of a pattern: a quarter of a second */

struct search {
    atoll_searched_text *text_at;
    void *context;
    struct atoll_text_wanted wanted;
    struct atoll_buffer *out;
    size_t shown, more; /* of the texts that fit */
};

/* Whether the title alone is what is looked for. */
static int fits_by_title(const struct search *s, const struct atoll_searched *searched)
{
    size_t length = strlen(searched->title);
    return s->wanted.pattern
               ? atoll_pattern_matches(s->wanted.pattern, searched->title, length, s->wanted.work)
               : atoll_text_query_count(s->wanted.query, searched->title, length) > 0;
}

static void look_at(struct search *s, uint32_t position)
{
    struct atoll_searched searched;
    struct atoll_buffer lines;
    if (s->text_at(s->context, position, &searched) != 0)
        return;
    atoll_buffer_init(&lines, ATOLL_TOOL_RESULT_LIMIT);
    size_t count = atoll_text_excerpt(searched.text, searched.length, &s->wanted, LINES, BESIDE, &lines);
    int fits = count > 0 || fits_by_title(s, &searched);
    if (fits && s->shown < SHOW_LIMIT) {
        s->shown++;
        atoll_buffer_printf(s->out, "%zu. %s (%zu line%s fit%s)\n", s->shown, searched.title, count,
                            count == 1 ? "" : "s", count == 1 ? "s" : "");
        atoll_buffer_put_bytes(s->out, lines.data, lines.length);
    } else if (fits) {
        s->more++;
    }
    atoll_buffer_fini(&lines);
}

int atoll_search(const struct atoll_text_index *index, const uint32_t *order,
                 const struct atoll_tool_arguments *arguments, atoll_searched_text *text_at, void *context,
                 const char *what, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_text_hit hits[HIT_LIMIT];
    struct atoll_text_query query;
    struct atoll_pattern pattern;
    uint64_t work = WORK;
    int has_pattern = *arguments->pattern != '\0';
    struct search s = {.text_at = text_at, .context = context, .out = out};
    if (has_pattern && atoll_pattern_parse(arguments->pattern, &pattern, err) != 0)
        return -1;
    atoll_text_query_init(&query, arguments->words, strlen(arguments->words));
    s.wanted = (struct atoll_text_wanted){&query, has_pattern ? &pattern : NULL, &work};
    if (query.count > 0) {
        size_t count = atoll_text_index_find(index, &query, hits, HIT_LIMIT);
        for (size_t i = 0; i < count; i++)
            look_at(&s, hits[i].text);
    } else {
        for (uint32_t i = 0; i < atoll_text_index_count(index); i++)
            look_at(&s, order ? order[i] : i);
    }
    if (s.shown == 0)
        atoll_buffer_printf(out, "nothing fits; %u %s were looked through\n", atoll_text_index_count(index),
                            what);
    if (s.more > 0)
        atoll_buffer_printf(out, "%zu more fit; further words or a narrower pattern find them\n", s.more);
    if (work == 0)
        atoll_buffer_printf(out, "the search was ended: the pattern takes too long\n");
    return 0;
}
