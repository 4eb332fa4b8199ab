/* prompt_text.h - the text of a prompt's section: how it is put together and cut, and the writer of each section.
 * Layer: evolution, private to prompt*.c.
 *
 * A section is written as pieces: text of ours, which is never cut, and what is quoted.  Quoted is everything that
 * somebody else wrote: sources, messages of compilers, summaries of tasks.  Code stands in a fence that is longer than
 * every run of backticks inside, other text behind "| " in every line, so that neither can end its quotation. */
#ifndef ATOLL_EVOLUTION_PROMPT_PROMPT_TEXT_H
#define ATOLL_EVOLUTION_PROMPT_PROMPT_TEXT_H

#include "evolution/prompt/prompt.h"

#define ATOLL_PROMPT_PIECE_LIMIT 256 /* of one section; what comes beyond is dropped and counted as cut */

enum atoll_prompt_cut {
    ATOLL_PROMPT_KEEP,   /* ours */
    ATOLL_PROMPT_MIDDLE, /* code: its middle goes first, at ends of lines */
    ATOLL_PROMPT_TAIL,   /* text: its end goes first */
    ATOLL_PROMPT_WHOLE,  /* code: all of it, or its size alone; the first ones get the room */
    ATOLL_PROMPT_RANKED, /* text: all of it, or its size alone; the lowest ranks get the room */
};

struct atoll_prompt_piece {
    size_t begin, length; /* in the section's text */
    enum atoll_prompt_cut cut;
    char info[16];             /* of a fence: "c", "cuda" */
    size_t cap;                /* never more of its bytes; 0 unlimited */
    size_t brief, title_bytes; /* the brief that it is of, from 1, 0 none; of a title in front */
    unsigned rank;             /* of RANKED; of equal ones the first is served first */
    size_t cut_bytes;          /* when it was rendered */
};

struct atoll_prompt_text {
    struct atoll_buffer text;
    size_t piece_count, dropped_bytes;
    size_t brief; /* that what is quoted next is of, from 1; 0 none */
    struct atoll_prompt_piece pieces[ATOLL_PROMPT_PIECE_LIMIT];
};

void atoll_prompt_text_init(struct atoll_prompt_text *t);
void atoll_prompt_text_fini(struct atoll_prompt_text *t);
/* Text of ours. */
void atoll_prompt_put(struct atoll_prompt_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Hostile: cleaned, and quoted when it is rendered.  cap: of its bytes, 0 unlimited. */
void atoll_prompt_put_code(struct atoll_prompt_text *t, const char *language, const char *code, size_t cap);
/* The same, whole or not at all. */
void atoll_prompt_put_whole(struct atoll_prompt_text *t, const char *language, const char *code);
void atoll_prompt_put_quote(struct atoll_prompt_text *t, const char *text, size_t cap);
/* So many bytes of text, whole or not at all.  cap: more room than that is not asked for. */
void atoll_prompt_put_ranked(struct atoll_prompt_text *t, const char *text, size_t length, size_t cap,
                             unsigned rank);
/* A line of a quotation that is never cut: for what is told whatever else is. */
void atoll_prompt_put_kept(struct atoll_prompt_text *t, const char *line, size_t length);
/* Title and text of a brief of the input, as one quotation. */
void atoll_prompt_put_brief(struct atoll_prompt_text *t, const struct atoll_prompt_input *input, size_t index,
                            size_t cap);
/* Bytes it takes when nothing beyond the caps is cut. */
size_t atoll_prompt_text_bytes(const struct atoll_prompt_text *t);
/* Of these what no limit cuts: ours, and the frames of quotations. */
size_t atoll_prompt_text_fixed_bytes(const struct atoll_prompt_text *t);
/* Appends it to out in at most limit bytes, unless ours alone is longer; returns what was cut of what was quoted. */
size_t atoll_prompt_text_render(struct atoll_prompt_text *t, size_t limit, struct atoll_buffer *out);
/* What was cut of a brief (from 1) of so many bytes when it was rendered; all of them: nothing but its title was shown. */
uint32_t atoll_prompt_text_cut_of(const struct atoll_prompt_text *t, size_t brief, size_t bytes);

/* The system text; errors: INPUT for a language without texts, and for a text that the pack has not. */
int atoll_prompt_write_system(const struct atoll_prompt_input *input, struct atoll_buffer *out,
                              struct atoll_err *err);

/* Writers of sections; one that has nothing to say writes nothing. */
typedef void atoll_prompt_writer(const struct atoll_prompt_input *input, struct atoll_prompt_text *t);
atoll_prompt_writer atoll_prompt_write_task, atoll_prompt_write_instructions, atoll_prompt_write_reference,
    atoll_prompt_write_device, atoll_prompt_write_shapes, atoll_prompt_write_state, atoll_prompt_write_parent,
    atoll_prompt_write_candidate, atoll_prompt_write_table, atoll_prompt_write_diagnosis,
    atoll_prompt_write_trajectory, atoll_prompt_write_siblings, atoll_prompt_write_inspiration,
    atoll_prompt_write_memory, atoll_prompt_write_hints, atoll_prompt_write_advice, atoll_prompt_write_issues,
    atoll_prompt_write_rounds, atoll_prompt_write_failures, atoll_prompt_write_knowledge,
    atoll_prompt_write_demonstrations, atoll_prompt_write_plans, atoll_prompt_write_regions,
    atoll_prompt_write_outcomes, atoll_prompt_write_plan, atoll_prompt_write_tools, atoll_prompt_write_answer;

#endif
