/* json_text.h - texts from outside (sources, compilers' words, paths) as JSON strings.
 * Layer: base. */
#ifndef ATOLL_BASE_JSON_TEXT_H
#define ATOLL_BASE_JSON_TEXT_H

#include <jansson.h>

/* Bytes that are not UTF-8 are taken as Latin-1, so that nothing is lost.  json_pack's 's' would refuse them
 * and with them the whole object. */
json_t *atoll_json_text(const char *text);

#endif
