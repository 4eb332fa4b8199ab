/* prompt_clean.c - what others wrote, made harmless before it is quoted (EXPLOITS.md, P1).  Markers are those that the
 * tokenizers of common model servers read as the end of a turn even inside of a user's text. */
#include <string.h>

#include "evolution/prompt/prompt_section.h"

static const char *const markers[] = {"<|",       "<\xef\xbd\x9c",   "</s>",          "[/INST]",
                                      "<</SYS>>", "<start_of_turn>", "<end_of_turn>", "<think>",
                                      "</think>"};

/* Bytes of the UTF-8 character at text, 0 when it is broken. */
static size_t character_bytes(const unsigned char *text)
{
    size_t n = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 0;
    if (text[0] >= 0xf5)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return n;
}

/* Zero-width characters, marks of direction, tags: a reader does not see them. */
static int is_hidden(const unsigned char *text, size_t bytes)
{
    if (bytes == 3 && text[0] == 0xe2)
        return (text[1] == 0x80 &&
                ((text[2] >= 0x8b && text[2] <= 0x8f) || (text[2] >= 0xa8 && text[2] <= 0xae))) ||
               (text[1] == 0x81 && text[2] >= 0xa0 && text[2] <= 0xaf);
    if (bytes == 3)
        return text[0] == 0xef &&
               ((text[1] == 0xbb && text[2] == 0xbf) || (text[1] == 0xbf && text[2] >= 0xb0));
    return bytes == 4 && text[0] == 0xf3 && text[1] == 0xa0;
}

static int starts_marker(const char *text)
{
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (strncmp(text, markers[i], strlen(markers[i])) == 0)
            return 1;
    return 0;
}

/* One character; returns how many bytes of text it was. */
static size_t clean_one(const char *text, struct atoll_buffer *out)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t n = character_bytes(at);
    if (at[0] == '\r' && at[1] == '\n')
        return 1;
    if (at[0] == '\r' || at[0] == '\f' || at[0] == '\v')
        atoll_buffer_put_bytes(out, "\n", 1);
    else if (n == 0 || (at[0] < ' ' && at[0] != '\n' && at[0] != '\t') || at[0] == 0x7f || is_hidden(at, n) ||
             (n == 2 && at[0] == 0xc2 && at[1] < 0xa0))
        atoll_buffer_put_bytes(out, "?", 1);
    else
        atoll_buffer_put_bytes(out, text, n);
    if (starts_marker(text))
        atoll_buffer_put_bytes(out, " ", 1); /* behind its first character */
    return n ? n : 1;
}

void atoll_prompt_clean(const char *text, struct atoll_buffer *out)
{
    while (*text)
        text += clean_one(text, out);
}

static int is_path_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("._+-~/", c));
}

/* Bytes of the folders of an absolute path that begins here; 0 when none does.  before: the two bytes in front of it,
 * which say "-I" where a compiler's option goes on with a path. */
static size_t folder_bytes(const char *text, const char before[2])
{
    size_t last = 0;
    int is_option = before[0] == '-' && is_path_byte(before[1]);
    if (text[0] != '/' || (is_path_byte(before[1]) && !is_option))
        return 0;
    for (size_t i = 0; is_path_byte(text[i]); i++)
        last = text[i] == '/' && is_path_byte(text[i + 1]) ? i : last;
    return last ? last + 1 : 0;
}

void atoll_prompt_clean_message(const char *text, struct atoll_buffer *out)
{
    for (char before[2] = {0, 0}; *text;) {
        text += folder_bytes(text, before);
        before[0] = before[1];
        before[1] = *text;
        if (*text)
            text += clean_one(text, out);
    }
}
