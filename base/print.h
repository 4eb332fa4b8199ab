/* print.h - texts for people: terminals, and files that they open.
 * Layer: base.
 *
 * Sources, plans, prompts, names and what compilers and models say may hold bytes that steer a terminal (ESC, OSC, the C1
 * controls) or turn the order of what is read (U+202A to U+202E, U+2066 to U+2069).  All of it is printed by these functions:
 * what is no printable character of UTF-8 is written as C writes it in a literal, each byte as \033, so that nothing is
 * hidden and a source means the same to its compiler.  Line ends (LF, CR LF) and tabs stay. */
#ifndef ATOLL_BASE_PRINT_H
#define ATOLL_BASE_PRINT_H

#include <stddef.h>
#include <stdio.h>

/* printf; -1 when there is no memory for it, and nothing was written. */
int atoll_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void atoll_print_text(FILE *out, const char *text);

/* Columns of the terminal that out is; 0 where it is none, or its size is not known. */
unsigned atoll_print_columns(FILE *out);
/* The text and a line end.  What does not fit into so many columns (0: whatever their number) goes on in further lines, indented;
 * it is cut at blanks, a longer word is left to the terminal. */
void atoll_print_folded(FILE *out, unsigned columns, unsigned indent, const char *text);
/* printf and a line end, folded where out is a terminal. */
void atoll_print_line(FILE *out, unsigned indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The character that begins here, of a text that ends with NUL; how many bytes it has. */
size_t atoll_print_character(FILE *out, const char *at);

#endif
