#include "core/null_control.h"

/* The comment begins a line, for the last one may end within a comment of its own. */
void atoll_null_control_source(const char *source, const struct atoll_id *original, struct atoll_buffer *out)
{
    char hex[ATOLL_ID_HEX];
    atoll_id_hex(original, hex);
    atoll_buffer_printf(out, "%s\n/* no-op mutant of %s */\n", source, hex);
    atoll_buffer_put_u8(out, 0);
}
