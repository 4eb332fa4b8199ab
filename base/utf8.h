/* utf8.h - where bytes stop being UTF-8, and texts of others made fit for one printed line.
 * Layer: base, pure. */
#ifndef ATOLL_BASE_UTF8_H
#define ATOLL_BASE_UTF8_H

#include <stddef.h>

/* How many bytes at the start are whole characters of UTF-8 (RFC 3629: no surrogates, nothing overlong, at most U+10FFFF);
 * length when all are. */
size_t atoll_utf8_valid_bytes(const void *bytes, size_t length);
/* Of the character that begins here, with at most left bytes to read; 0: none does.  A NUL byte stands for itself, so a
 * terminated text may be read with left = 4. */
size_t atoll_utf8_character_bytes(const void *bytes, size_t left);
/* Of the character that begins here, in a text that ends with NUL, when it is printable: no control character (C0 with line
 * end and tab, DEL, C1), none that turns the direction of reading, no noncharacter; else 0. */
size_t atoll_utf8_printable_bytes(const char *at);
/* Copies as one printable line: what is not printable becomes a space, what is no UTF-8 '?'; cut between characters. */
void atoll_utf8_line(char *ret_text, size_t text_bytes, const char *from, size_t length);
/* How many of the first `length` bytes of a longer text to keep, so that the last character of them is whole. */
size_t atoll_utf8_cut(const char *text, size_t length);

#endif
