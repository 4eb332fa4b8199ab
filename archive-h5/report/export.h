/* export.h - a table as CSV (RFC 4180) or JSON lines.
 * Layer: archive-h5.  Ids are hex, texts are texts, enums are names; a number that is not finite is empty
 * (null).  CSV is for people: texts as base/print.h prints them, and with an apostrophe in front where a spreadsheet would
 * take them for a formula (they begin with = + - @).  JSON lines hold them exactly. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_EXPORT_H
#define ATOLL_ARCHIVE_H5_REPORT_EXPORT_H

#include <stdio.h>

#include "archive-h5/table/table.h"

enum atoll_export_format { ATOLL_EXPORT_CSV, ATOLL_EXPORT_JSONL };

/* Writes all rows to out (borrowed).  Errors: IO, FULL (from the stream), MEMORY. */
int atoll_export_table(const struct atoll_tables *tables, enum atoll_table table,
                       enum atoll_export_format format, FILE *out, struct atoll_err *err);
/* One field of such CSV, without its comma.  is_number: no text, so never taken for a formula. */
void atoll_export_csv_field(FILE *out, const char *text, int is_number);

#endif
