#include "scheduler/job/shell_text.h"

#include <string.h>

static int is_plain(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";

    return word[0] && strspn(word, letters) == strlen(word);
}

void atoll_shell_put(struct atoll_buffer *out, const char *word)
{
    if (is_plain(word)) {
        atoll_buffer_put_bytes(out, word, strlen(word));
        return;
    }
    atoll_buffer_put_u8(out, '\'');
    for (const char *c = word; *c; c++) {
        if (*c == '\'') {
            atoll_buffer_put_bytes(out, "'\\''", 4);
        } else {
            atoll_buffer_put_u8(out, (uint8_t)*c);
        }
    }
    atoll_buffer_put_u8(out, '\'');
}

void atoll_shell_put_comment(struct atoll_buffer *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        int is_control = (unsigned char)*c < 0x20 || *c == 0x7f;

        atoll_buffer_put_u8(out, is_control ? ' ' : (uint8_t)*c);
    }
}
