/* spending_ledger.c - the ledger's file: locked, read on, appended to.
 * Whoever appends has the lock, has read everything before, and has synced before it lets go of the lock; so records are in
 * the order of the decisions they tell, and each of those knew all before it.  A torn end is cut by the next who locks: it was
 * never acknowledged, so nobody acted on it. */
#include "llm-gateway/budget/spending_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "llm-gateway/budget/spending_journal.h"
#include "llm-gateway/budget/spending_line.h"

static struct atoll_spending_ledger *ledger_open(const char *path, enum atoll_frame_file_mode mode,
                                                 const struct atoll_spending_limit *limits,
                                                 size_t limit_count, const struct atoll_frame_file_ops *ops,
                                                 struct atoll_err *err)
{
    struct atoll_spending_ledger *ledger = calloc(1, sizeof *ledger);
    if (!ledger) {
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to open it", path);
        return NULL;
    }
    ledger->limits = limits;
    ledger->limit_count = limit_count;
    atoll_buffer_init(&ledger->payload, 4096);
    ledger->wants = calloc(ATOLL_SPENDING_WANT_LIMIT, sizeof *ledger->wants);
    if (ledger->wants)
        ledger->file = atoll_frame_file_open(path, mode, ops, err);
    else
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to open it", path);
    if (ledger->file)
        return ledger;
    atoll_spending_ledger_close(ledger);
    return NULL;
}

struct atoll_spending_ledger *
atoll_spending_ledger_open(const char *path, const struct atoll_spending_limit *limits, size_t limit_count,
                           const struct atoll_frame_file_ops *ops, struct atoll_err *err)
{
    return ledger_open(path, ATOLL_FRAME_FILE_WRITE, limits, limit_count, ops, err);
}

void atoll_spending_ledger_close(struct atoll_spending_ledger *ledger)
{
    if (!ledger)
        return;
    atoll_frame_file_close(ledger->file);
    atoll_spending_register_fini(&ledger->accounts);
    atoll_buffer_fini(&ledger->payload);
    free(ledger->lines);
    free(ledger->holders);
    free(ledger->grants);
    free(ledger->wants);
    free(ledger);
}

static int read_header(struct atoll_spending_ledger *ledger, struct atoll_reader *in, struct atoll_err *err)
{
    uint32_t schema = atoll_reader_u32(in);
    if (!in->failed && schema > ATOLL_SPENDING_SCHEMA)
        return atoll_err_set(err, ATOLL_E_SCHEMA, "schema %lu is newer than %d: use a newer Atoll",
                             (unsigned long)schema, ATOLL_SPENDING_SCHEMA);
    atoll_reader_i64(in);
    ledger->has_header = 1;
    return 0;
}

static int read_holder(struct atoll_spending_ledger *ledger, struct atoll_reader *in, struct atoll_err *err)
{
    char name[sizeof ledger->holders->name];
    uint64_t number = atoll_reader_u64(in);
    atoll_reader_fixed_text(in, name, sizeof name);
    return in->failed ? 0 : atoll_spending_line_holder(ledger, number, name, err);
}

static int read_account(struct atoll_spending_ledger *ledger, struct atoll_reader *in, struct atoll_err *err)
{
    struct atoll_spending_account account;
    atoll_spending_take_account(in, &account);
    return in->failed ? 0 : atoll_spending_line_account(ledger, &account, err);
}

/* What another process writes about this holder can only mean that it took it for dead. */
static void look_for_fence(struct atoll_spending_ledger *ledger, uint64_t holder, uint64_t by)
{
    if (ledger->is_joined && holder == ledger->self && by != ledger->self)
        ledger->is_fenced = 1;
}

static int read_grant(struct atoll_spending_ledger *ledger, struct atoll_reader *in, struct atoll_err *err)
{
    uint64_t holder = atoll_reader_u64(in);
    uint32_t account = atoll_reader_u32(in);
    struct atoll_spending_amount amount = atoll_spending_take_amount(in);
    uint64_t by = atoll_reader_u64(in);
    atoll_reader_i64(in);
    if (in->failed)
        return 0;
    look_for_fence(ledger, holder, by);
    return atoll_spending_line_grant(ledger, holder, account, amount, err);
}

static int read_want(struct atoll_spending_ledger *ledger, struct atoll_reader *in, struct atoll_err *err)
{
    struct atoll_spending_want want;
    want.holder = atoll_reader_u64(in);
    want.account = atoll_reader_u32(in);
    want.amount = atoll_spending_take_amount(in);
    atoll_reader_i64(in);
    return in->failed ? 0 : atoll_spending_line_want(ledger, &want, err);
}

static int read_join(struct atoll_spending_ledger *ledger, struct atoll_reader *in, struct atoll_err *err)
{
    uint64_t holder = atoll_reader_u64(in);
    atoll_reader_i64(in);
    if (in->failed)
        return 0;
    look_for_fence(ledger, holder, 0); /* a second one under this name */
    return atoll_spending_line_activity(ledger, holder, 1, err);
}

static int read_leave(struct atoll_spending_ledger *ledger, struct atoll_reader *in, struct atoll_err *err)
{
    uint64_t holder = atoll_reader_u64(in), by = atoll_reader_u64(in);
    atoll_reader_i64(in);
    if (in->failed)
        return 0;
    look_for_fence(ledger, holder, by);
    return atoll_spending_line_activity(ledger, holder, 0, err);
}

static const struct {
    unsigned type;
    int (*read)(struct atoll_spending_ledger *ledger, struct atoll_reader *in, struct atoll_err *err);
} kinds[] = {
    {ATOLL_SPENDING_LEDGER_HEADER, read_header},   {ATOLL_SPENDING_LEDGER_HOLDER, read_holder},
    {ATOLL_SPENDING_LEDGER_ACCOUNT, read_account}, {ATOLL_SPENDING_LEDGER_GRANT, read_grant},
    {ATOLL_SPENDING_LEDGER_JOIN, read_join},       {ATOLL_SPENDING_LEDGER_LEAVE, read_leave},
    {ATOLL_SPENDING_LEDGER_WANT, read_want},
};

static int read_record(struct atoll_spending_ledger *ledger, const struct atoll_frame *record,
                       struct atoll_err *err)
{
    struct atoll_reader in;
    atoll_reader_init(&in, record->payload, record->length);
    if (ledger->has_header == (record->type == ATOLL_SPENDING_LEDGER_HEADER))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "the header must come first, once");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == record->type)
            return kinds[i].read(ledger, &in, err) != 0 ? -1 : atoll_reader_finish(&in, "record", err);
    return atoll_err_set(err, ATOLL_E_SCHEMA, "a record of type %u: use a newer Atoll", record->type);
}

static int on_record(void *context, uint64_t offset, const struct atoll_frame *record, struct atoll_err *err)
{
    struct atoll_spending_ledger *ledger = context;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (read_record(ledger, record, &why) == 0)
        return 0;
    if (why.code == ATOLL_E_PROTOCOL)
        return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: at offset %llu: %s; restore the file from a copy",
                             atoll_frame_file_path(ledger->file), (unsigned long long)offset, why.text);
    return atoll_err_set(err, why.code, "%s: at offset %llu: %s", atoll_frame_file_path(ledger->file),
                         (unsigned long long)offset, why.text);
}

struct atoll_spending_ledger *atoll_spending_ledger_look(const char *path,
                                                         const struct atoll_spending_limit *limits,
                                                         size_t limit_count, struct atoll_err *err)
{
    struct atoll_spending_ledger *ledger =
        ledger_open(path, ATOLL_FRAME_FILE_READ, limits, limit_count, NULL, err);
    if (!ledger || atoll_frame_file_scan(ledger->file, 1, on_record, ledger, err) == 0)
        return ledger;
    atoll_spending_ledger_close(ledger);
    return NULL;
}

static int refresh(struct atoll_spending_ledger *ledger, struct atoll_err *err)
{
    int more = atoll_frame_file_has_more(ledger->file, err);
    if (more <= 0)
        return more;
    if (atoll_frame_file_scan(ledger->file, 0, on_record, ledger, err) != 0)
        return -1;
    return atoll_frame_file_cut(ledger->file, err);
}

int atoll_spending_ledger_lock(struct atoll_spending_ledger *ledger, double wait_s, struct atoll_err *err)
{
    if (atoll_frame_file_lock(ledger->file, wait_s, err) != 0)
        return -1;
    if (refresh(ledger, err) == 0)
        return 0;
    atoll_spending_ledger_unlock(ledger);
    return -1;
}

void atoll_spending_ledger_unlock(struct atoll_spending_ledger *ledger)
{
    atoll_frame_file_discard(ledger->file);
    atoll_frame_file_unlock(ledger->file);
}

int atoll_spending_ledger_commit(struct atoll_spending_ledger *ledger, struct atoll_err *err)
{
    return atoll_frame_file_sync_into(ledger->file, on_record, ledger, err);
}

static int append(struct atoll_spending_ledger *ledger, enum atoll_spending_record type,
                  struct atoll_err *err)
{
    return atoll_frame_file_append(ledger->file, (uint16_t)type, &ledger->payload, NULL, err);
}

int atoll_spending_ledger_put_header(struct atoll_spending_ledger *ledger, int64_t unix_ns,
                                     struct atoll_err *err)
{
    atoll_buffer_clear(&ledger->payload);
    atoll_buffer_put_u32(&ledger->payload, ATOLL_SPENDING_SCHEMA);
    atoll_buffer_put_i64(&ledger->payload, unix_ns);
    return append(ledger, ATOLL_SPENDING_LEDGER_HEADER, err);
}

int atoll_spending_ledger_put_holder(struct atoll_spending_ledger *ledger, const char *name,
                                     struct atoll_err *err)
{
    atoll_buffer_clear(&ledger->payload);
    atoll_buffer_put_u64(&ledger->payload, ledger->holder_count + 1);
    atoll_buffer_put_text(&ledger->payload, name);
    return append(ledger, ATOLL_SPENDING_LEDGER_HOLDER, err);
}

int atoll_spending_ledger_put_account(struct atoll_spending_ledger *ledger,
                                      const struct atoll_spending_account *account, struct atoll_err *err)
{
    atoll_buffer_clear(&ledger->payload);
    atoll_spending_put_account(&ledger->payload, account);
    return append(ledger, ATOLL_SPENDING_LEDGER_ACCOUNT, err);
}

int atoll_spending_ledger_put_grant(struct atoll_spending_ledger *ledger, uint64_t holder, uint32_t account,
                                    struct atoll_spending_amount amount, int64_t unix_ns,
                                    struct atoll_err *err)
{
    atoll_buffer_clear(&ledger->payload);
    atoll_buffer_put_u64(&ledger->payload, holder);
    atoll_buffer_put_u32(&ledger->payload, account);
    atoll_spending_put_amount(&ledger->payload, amount);
    atoll_buffer_put_u64(&ledger->payload, ledger->self);
    atoll_buffer_put_i64(&ledger->payload, unix_ns);
    return append(ledger, ATOLL_SPENDING_LEDGER_GRANT, err);
}

int atoll_spending_ledger_put_want(struct atoll_spending_ledger *ledger, uint32_t account,
                                   struct atoll_spending_amount amount, int64_t unix_ns,
                                   struct atoll_err *err)
{
    atoll_buffer_clear(&ledger->payload);
    atoll_buffer_put_u64(&ledger->payload, ledger->self);
    atoll_buffer_put_u32(&ledger->payload, account);
    atoll_spending_put_amount(&ledger->payload, amount);
    atoll_buffer_put_i64(&ledger->payload, unix_ns);
    return append(ledger, ATOLL_SPENDING_LEDGER_WANT, err);
}

int atoll_spending_ledger_put_join(struct atoll_spending_ledger *ledger, int64_t unix_ns,
                                   struct atoll_err *err)
{
    atoll_buffer_clear(&ledger->payload);
    atoll_buffer_put_u64(&ledger->payload, ledger->self);
    atoll_buffer_put_i64(&ledger->payload, unix_ns);
    return append(ledger, ATOLL_SPENDING_LEDGER_JOIN, err);
}

int atoll_spending_ledger_put_leave(struct atoll_spending_ledger *ledger, uint64_t holder, int64_t unix_ns,
                                    struct atoll_err *err)
{
    atoll_buffer_clear(&ledger->payload);
    atoll_buffer_put_u64(&ledger->payload, holder);
    atoll_buffer_put_u64(&ledger->payload, ledger->self);
    atoll_buffer_put_i64(&ledger->payload, unix_ns);
    return append(ledger, ATOLL_SPENDING_LEDGER_LEAVE, err);
}
