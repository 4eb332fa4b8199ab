/* export.c - cells as text, fit for a terminal and a spreadsheet. */
#include "archive-h5/report/export.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/print.h"

/* The cell as characters: a number, a name, hex, or a borrowed text.  scratch: room for 80 bytes. ret_number:
 * 1 when it may stand unquoted in JSON. */
static const char *cell_text(const struct atoll_tables *t, const struct atoll_column *column,
                             const void *cells, uint64_t row, char *scratch, int *ret_number)
{
    double f;
    *ret_number = 1;
    switch (column->type) {
    case ATOLL_COLUMN_U8: {
        unsigned v = ((const uint8_t *)cells)[row];
        if (column->value_name && v < column->value_count) {
            *ret_number = 0;
            return column->value_name(v);
        }
        snprintf(scratch, 80, "%u", v);
        return scratch;
    }
    case ATOLL_COLUMN_U64: snprintf(scratch, 80, "%" PRIu64, ((const uint64_t *)cells)[row]); return scratch;
    case ATOLL_COLUMN_I64: snprintf(scratch, 80, "%" PRId64, ((const int64_t *)cells)[row]); return scratch;
    case ATOLL_COLUMN_F64:
        f = ((const double *)cells)[row];
        snprintf(scratch, 80, "%.17g", f);
        return isfinite(f) ? scratch : "";
    case ATOLL_COLUMN_ID: atoll_id_hex(&((const struct atoll_id *)cells)[row], scratch); break;
    case ATOLL_COLUMN_TEXT: *ret_number = 0; return atoll_tables_text(t, ((const uint32_t *)cells)[row]);
    default: snprintf(scratch, 80, "%" PRIu32, ((const uint32_t *)cells)[row]); return scratch;
    }
    *ret_number = 0;
    return scratch;
}

/* RFC 4180: quotes around a field with a comma, quote or line end; quotes doubled.  A text that a spreadsheet would take for a
 * formula gets an apostrophe in front, which makes it a text there, and quotes. */
void atoll_export_csv_field(FILE *out, const char *text, int is_number)
{
    int is_formula = !is_number && *text && strchr("=+-@\t\r", *text);
    int is_quoted = is_formula || strpbrk(text, ",\"\r\n");
    if (is_quoted)
        fputs(is_formula ? "\"'" : "\"", out);
    while (*text) {
        if (*text == '"')
            fputc('"', out);
        text += atoll_print_character(out, text);
    }
    if (is_quoted)
        fputc('"', out);
}

static int put_row(FILE *out, const struct atoll_tables *t, enum atoll_table table,
                   enum atoll_export_format format, uint64_t row)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    if (format == ATOLL_EXPORT_JSONL)
        fputc('{', out);
    for (size_t c = 0; c < schema->column_count; c++) {
        char scratch[80];
        int number;
        int is_known = atoll_tables_is_known(t, table, c, row);
        const char *text =
            cell_text(t, &schema->columns[c], atoll_tables_column(t, table, c), row, scratch, &number);
        if (c)
            fputs(format == ATOLL_EXPORT_CSV ? "," : ", ", out);
        if (format == ATOLL_EXPORT_CSV) {
            atoll_export_csv_field(out, is_known ? text : "", number);
            continue;
        }
        fprintf(out, "\"%s\": ", schema->columns[c].name);
        if (number) {
            fputs(*text && is_known ? text : "null", out);
        } else {
            json_t *string = atoll_json_text(text);
            int failed = !string || atoll_json_write(string, JSON_ENCODE_ANY, out) != 0;
            json_decref(string);
            if (failed)
                return -1;
        }
    }
    fputs(format == ATOLL_EXPORT_CSV ? "\r\n" : "}\n", out);
    return 0;
}

int atoll_export_table(const struct atoll_tables *t, enum atoll_table table, enum atoll_export_format format,
                       FILE *out, struct atoll_err *err)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    for (size_t c = 0; format == ATOLL_EXPORT_CSV && c < schema->column_count; c++)
        fprintf(out, "%s%s", schema->columns[c].name, c + 1 < schema->column_count ? "," : "\r\n");
    for (uint64_t i = 0; i < atoll_tables_count(t, table); i++) {
        if (put_row(out, t, table, format, i) != 0) {
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to write row %llu of %s",
                                 (unsigned long long)i, schema->name);
        }
    }
    if (fflush(out) != 0 || ferror(out))
        return atoll_err_errno(err, errno ? errno : EIO, "cannot write the exported table %s", schema->name);
    return 0;
}
