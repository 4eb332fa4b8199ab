#include "core/text_limit.h"

#include <string.h>

#include "base/utf8.h"

void atoll_text_put(struct atoll_buffer *out, const char *text, size_t limit_bytes)
{
    size_t length = text ? strlen(text) : 0;
    atoll_buffer_put_blob(out, text ? text : "",
                          length > limit_bytes ? atoll_utf8_cut(text, limit_bytes) : length);
}

const char *atoll_text_take(struct atoll_reader *reader, struct atoll_arena *arena, size_t limit_bytes)
{
    const char *text = atoll_reader_text(reader, arena);
    if (strlen(text) <= limit_bytes)
        return text;
    reader->failed = ATOLL_E_PROTOCOL;
    return "";
}
