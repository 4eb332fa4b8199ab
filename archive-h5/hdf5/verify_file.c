/* verify_file.c - what a file claims against what is in it. */
#include "archive-h5/hdf5/verify_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive-h5/campaign/knowledge.h"
#include "archive-h5/report/query.h"
#include "archive-h5/hdf5/segment.h"

struct check {
    atoll_verify_sink *sink;
    void *context;
    struct atoll_verify_report *report;
    const char *file; /* named in every line */
};

static void write_line(struct check *c, int is_problem, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void write_line(struct check *c, int is_problem, const char *format, ...)
{
    char line[1600];
    size_t at = c->file ? (size_t)snprintf(line, sizeof(line), "%.400s: ", c->file) : 0;
    va_list args;
    va_start(args, format);
    vsnprintf(line + at, sizeof(line) - at, format, args);
    va_end(args);
    if (is_problem && c->report->problems++ == 0)
        snprintf(c->report->first_problem, sizeof(c->report->first_problem), "%.500s", line);
    if (c->sink)
        c->sink(c->context, is_problem, line);
}

/* Candidates are not written again in later segments, so only whole archives must be closed under reference.
 */
static void check_references(struct check *c, const struct atoll_tables *t, const struct atoll_query *q)
{
    static const struct {
        enum atoll_table table;
        const char *column;
    } references[] = {{ATOLL_TABLE_EVALUATIONS, "candidate"},
                      {ATOLL_TABLE_PROFILES, "candidate"},
                      {ATOLL_TABLE_DUELS, "challenger"},
                      {ATOLL_TABLE_DUELS, "elite"},
                      {ATOLL_TABLE_ELITES, "candidate"},
                      {ATOLL_TABLE_ELITES, "replaced"},
                      {ATOLL_TABLE_CANDIDATES, "parent"},
                      {ATOLL_TABLE_TASKS, "best"},
                      {ATOLL_TABLE_TASKS, "baseline"},
                      {ATOLL_TABLE_MIGRATIONS, "candidate"},
                      {ATOLL_TABLE_ASKS, "parent"}};
    for (size_t r = 0; r < sizeof(references) / sizeof(*references); r++) {
        const struct atoll_table_schema *schema = atoll_table_schema(references[r].table);
        const uint32_t *campaigns = atoll_tables_column(t, references[r].table, 0);
        const struct atoll_id *ids = NULL;
        uint64_t missing = 0, count = atoll_tables_count(t, references[r].table);
        for (size_t i = 0; i < schema->column_count; i++)
            if (!strcmp(schema->columns[i].name, references[r].column))
                ids = atoll_tables_column(t, references[r].table, i);
        for (uint64_t i = 0; ids && i < count; i++)
            missing += !atoll_id_is_zero(&ids[i]) && atoll_query_candidate(q, campaigns[i], &ids[i]) < 0;
        if (missing) {
            write_line(c, 1, "%s.%s names %llu candidates that are not there", schema->name,
                       references[r].column, (unsigned long long)missing);
        }
    }
}

static void check_cells(struct check *c, const struct atoll_tables *t, enum atoll_table table)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    uint64_t count = atoll_tables_count(t, table);
    for (size_t k = 0; k < schema->column_count; k++) {
        const struct atoll_column *column = &schema->columns[k];
        const void *cells = atoll_tables_column(t, table, k);
        uint64_t bad = 0;
        for (uint64_t i = 0; column->value_name && i < count; i++)
            bad += ((const uint8_t *)cells)[i] >= column->value_count;
        for (uint64_t i = 0; column->type == ATOLL_COLUMN_F64 && i < count; i++)
            bad += isnan(((const double *)cells)[i]) ? !column->may_be_nan : ((const double *)cells)[i] < 0;
        if (bad) {
            write_line(c, 1, "%s.%s has %llu values out of range", schema->name, column->name,
                       (unsigned long long)bad);
        }
    }
    c->report->rows += count;
}

static void check_samples(struct check *c, const struct atoll_tables *t, const struct atoll_query *q)
{
    uint64_t bad = 0;
    for (uint64_t e = 0; e < atoll_tables_count(t, ATOLL_TABLE_EVALUATIONS); e++) {
        struct atoll_rows timings = atoll_query_timings(q, e);
        uint64_t promised = 0;
        for (size_t i = 0; i < timings.count; i++) {
            struct atoll_row_timing row;
            atoll_tables_get(t, ATOLL_TABLE_TIMINGS, timings.rows[i], &row);
            promised += row.sample_count;
        }
        bad += promised != atoll_query_samples(q, e).count;
    }
    if (bad) {
        write_line(c, 1, "%llu evaluations have not the samples their timings count",
                   (unsigned long long)bad);
    }
}

/* Hash of the campaign's knowledge as its options say; 0: they name none. */
static int named_knowledge(const struct atoll_tables *t, uint32_t campaign, struct atoll_id *ret_id)
{
    static const char key[] = ATOLL_CAMPAIGN_KNOWLEDGE_OPTION ": ";
    struct atoll_row_campaign row;
    char hex[ATOLL_ID_HEX];
    atoll_tables_get(t, ATOLL_TABLE_CAMPAIGN, campaign, &row);
    const char *line = atoll_tables_text(t, row.options);
    while (line && strncmp(line, key, sizeof(key) - 1) != 0)
        line = (line = strchr(line, '\n')) != NULL ? line + 1 : NULL;
    if (!line)
        return 0;
    snprintf(hex, sizeof(hex), "%s", line + sizeof(key) - 1);
    return atoll_id_parse(hex, ret_id, NULL) == 0;
}

/* The texts as a campaign would freeze them. */
static int knowledge_of(const struct atoll_tables *t, uint32_t campaign, struct atoll_id *ret_id,
                        uint32_t *ret_count, struct atoll_err *err)
{
    struct atoll_buffer bytes;
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(err);
    int rc = pack ? 0 : -1;
    atoll_buffer_init(&bytes, ATOLL_KNOWLEDGE_JSON_BYTES);
    for (uint64_t i = 0; rc == 0 && i < atoll_tables_count(t, ATOLL_TABLE_KNOWLEDGE); i++) {
        struct atoll_row_knowledge row;
        atoll_tables_get(t, ATOLL_TABLE_KNOWLEDGE, i, &row);
        const char *text = atoll_tables_text(t, row.text);
        if (row.campaign == campaign)
            rc = atoll_knowledge_pack_put(pack, atoll_tables_text(t, row.path), text, strlen(text), err);
    }
    if (rc == 0 && (rc = atoll_knowledge_pack_to_json(pack, &bytes, err)) == 0) {
        *ret_id = atoll_id_of(bytes.data, bytes.length);
        *ret_count = pack->count;
    }
    atoll_buffer_fini(&bytes);
    atoll_knowledge_pack_destroy(pack);
    return rc;
}

/* Texts are all of them, unchanged, or not there at all. */
static int check_texts(struct check *c, const struct atoll_tables *t, struct atoll_err *err)
{
    for (uint32_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_CAMPAIGN); i++) {
        struct atoll_err why = ATOLL_ERR_INIT;
        struct atoll_id named, found;
        uint32_t count = 0;
        if (!named_knowledge(t, i, &named))
            continue;
        int rc = knowledge_of(t, i, &found, &count, &why);
        if (rc != 0 && why.code == ATOLL_E_MEMORY)
            return atoll_err_set(err, ATOLL_E_MEMORY, "%s", why.text);
        if (rc != 0 || (count > 0 && !atoll_id_equal(&named, &found)))
            write_line(c, 1, "table knowledge of campaign %u: %s", i,
                       rc != 0 ? why.text : "these are not the texts that the campaign names by their hash");
    }
    return 0;
}

static int check_tables(struct check *c, const struct atoll_tables *t, int is_segment, struct atoll_err *err)
{
    struct atoll_query *q = atoll_query_create(t, err);
    if (!q)
        return -1;
    for (size_t i = 0; i < ATOLL_TABLE_COUNT; i++)
        check_cells(c, t, (enum atoll_table)i);
    c->report->texts += atoll_tables_text_count(t);
    check_samples(c, t, q);
    if (!is_segment)
        check_references(c, t, q);
    atoll_query_destroy(q);
    return is_segment ? 0 : check_texts(c, t, err);
}

/* A problem of the file is counted; what kept us from looking, or a newer schema, is the caller's error. */
static int file_failed(struct check *c, const struct atoll_err *why, struct atoll_err *err)
{
    if (why->code == ATOLL_E_CORRUPT || why->code == ATOLL_E_INPUT || why->code == ATOLL_E_PROTOCOL) {
        c->file = NULL; /* the text names it */
        write_line(c, 1, "%s", why->text);
        return 0;
    }
    if (err)
        *err = *why;
    return -1;
}

static int verify_archive(struct check *c, const char *path, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    const char *name = strrchr(path, '/');
    uint64_t rows = c->report->rows;
    name = name ? name + 1 : path;
    c->file = path;
    c->report->files++;
    c->report->archives++;
    struct atoll_tables *t = atoll_segment_read_foreign(path, &why);
    if (!t)
        return file_failed(c, &why, err);
    int failed = check_tables(c, t, !strncmp(name, "segment-", 8), err);
    if (!failed) {
        write_line(c, 0, "%llu rows, %llu texts", (unsigned long long)(c->report->rows - rows),
                   (unsigned long long)atoll_tables_text_count(t));
    }
    atoll_tables_destroy(t);
    return failed;
}

static int verify_record(struct check *c, const struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_decision d;
    size_t cursor = 0;
    int got;
    c->report->records++;
    c->report->events += record->type == ATOLL_RECORD_EVENT;
    if (record->type != ATOLL_RECORD_DECISIONS)
        return 0;
    while ((got = atoll_record_decision(record, &cursor, &d, err)) == 1)
        c->report->decisions++;
    return got;
}

static int verify_journal(struct check *c, const char *path, struct atoll_err *err)
{
    static const char *const endings[] = {"closed", "killed between two records", "torn", "without a header"};
    struct atoll_err why = ATOLL_ERR_INIT;
    const struct atoll_record *record;
    struct atoll_journal_end end;
    int got;
    c->file = path;
    c->report->files++;
    c->report->journals++;
    struct atoll_journal_reader *r = atoll_journal_reader_open(path, &why);
    if (!r)
        return file_failed(c, &why, err);
    while ((got = atoll_journal_reader_next(r, &record, &why)) == 1 && verify_record(c, record, &why) == 0)
        ;
    atoll_journal_reader_end(r, &end);
    atoll_journal_reader_close(r);
    if (got != 0)
        return file_failed(c, &why, err);
    c->report->torn_bytes += end.lost_bytes;
    write_line(c, 0, "%llu records, %s, %llu bytes never acknowledged", (unsigned long long)end.record_count,
               endings[end.ending], (unsigned long long)end.lost_bytes);
    return 0;
}

static int has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);
    return n > s && !strcmp(name + n - s, suffix);
}

/* Every journal and HDF5 file of a folder, and of jobs/X below it. */
static int verify_folder(struct check *c, const char *dir, unsigned depth, struct atoll_err *err)
{
    struct dirent **entries;
    int failed = 0, count = scandir(dir, &entries, NULL, alphasort);
    if (count < 0)
        return atoll_err_errno(err, errno, "%s: cannot list the folder", dir);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        struct stat st;
        const char *name = entries[i]->d_name;
        int usable = name[0] != '.' &&
                     (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path) &&
                     stat(path, &st) == 0;
        if (!failed && usable && S_ISDIR(st.st_mode) && depth > 0 && strcmp(name, "tasks") != 0)
            failed = verify_folder(c, path, depth - 1, err);
        else if (!failed && usable && S_ISREG(st.st_mode) && !strcmp(name, ATOLL_JOURNAL_FILE))
            failed = verify_journal(c, path, err);
        else if (!failed && usable && S_ISREG(st.st_mode) && has_suffix(name, ".h5"))
            failed = verify_archive(c, path, err);
        free(entries[i]);
    }
    c->file = dir;
    free(entries);
    return failed;
}

/* What models are told of is what campaign.yaml names by its hash. */
static void check_knowledge(struct check *c, const struct atoll_campaign *campaign, const char *dir)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_knowledge_pack *pack = NULL;
    if (atoll_campaign_knowledge_read(campaign, &pack, &why) != 0) {
        c->file = NULL; /* the text names it */
        write_line(c, 1, "%s", why.text);
    } else if (pack) {
        c->file = dir;
        c->report->files++;
        write_line(c, 0, "knowledge.json: %u texts, %zu bytes", pack->count, pack->bytes);
    }
    atoll_knowledge_pack_destroy(pack);
}

static int verify_campaign(struct check *c, const char *dir, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_replay_report replay;
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, &why);
    if (!campaign) {
        c->file = dir;
        return file_failed(c, &why, err);
    }
    c->report->files++;
    check_knowledge(c, campaign, dir);
    int failed = atoll_campaign_replay(campaign, NULL, NULL, &replay, &why);
    atoll_campaign_close(campaign);
    c->file = dir;
    if (failed) {
        file_failed(c, &why, NULL);
    } else {
        c->report->quarantined_records = replay.quarantined_records;
        write_line(c, 0, "%llu events in %llu attempt%s, %llu records quarantined",
                   (unsigned long long)replay.event_count, (unsigned long long)replay.attempt_count,
                   replay.attempt_count == 1 ? "" : "s", (unsigned long long)replay.quarantined_records);
        for (size_t i = 0; i < replay.quarantined_count; i++) {
            write_line(c, 0, "%llu records of attempt %s written after its lease was lost are kept aside",
                       (unsigned long long)replay.quarantined[i].records, replay.quarantined[i].attempt);
        }
    }
    return verify_folder(c, dir, 2, err);
}

int atoll_verify_path(const char *path, atoll_verify_sink *sink, void *context,
                      struct atoll_verify_report *ret_report, struct atoll_err *err)
{
    struct atoll_verify_report report;
    struct check c = {sink, context, &report, NULL};
    struct stat st;
    memset(&report, 0, sizeof(report));
    if (stat(path, &st) != 0)
        return atoll_err_errno(err, errno, "%s: cannot verify", path);
    int failed = S_ISDIR(st.st_mode)       ? verify_campaign(&c, path, err)
                 : has_suffix(path, ".h5") ? verify_archive(&c, path, err)
                                           : verify_journal(&c, path, err);
    if (!failed)
        *ret_report = report;
    return failed;
}
