/* spending_journal.c - records of a journal, written and read.
 * A number of a reservation is the holder's number in the ledger, 24 bits, and a running one, 40 bits: unique in a folder.
 * What is written is booked after it was appended; both happen in memory, so a kill loses both or neither. */
#include "llm-gateway/budget/spending_journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNNING_BITS 40
#define LOST_NUMBERS ((uint64_t)1 << 24) /* more than fit into what a file keeps unsynced */

struct atoll_spending_journal *atoll_spending_journal_open(const char *path, enum atoll_frame_file_mode mode,
                                                           uint64_t ledger, uint64_t holder,
                                                           const struct atoll_frame_file_ops *ops,
                                                           struct atoll_err *err)
{
    struct atoll_spending_journal *journal = calloc(1, sizeof *journal);
    if (!journal) {
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to open it", path);
        return NULL;
    }
    journal->ledger = ledger;
    journal->holder = holder;
    journal->book.last_number = holder << RUNNING_BITS;
    atoll_buffer_init(&journal->payload, 4096);
    journal->file = atoll_frame_file_open(path, mode, ops, err);
    if (journal->file)
        return journal;
    atoll_spending_journal_close(journal);
    return NULL;
}

void atoll_spending_journal_close(struct atoll_spending_journal *journal)
{
    if (!journal)
        return;
    atoll_frame_file_close(journal->file);
    atoll_spending_book_fini(&journal->book);
    atoll_buffer_fini(&journal->payload);
    free(journal);
}

static int read_header(struct atoll_spending_journal *journal, struct atoll_reader *in, struct atoll_err *err)
{
    char name[ATOLL_SPENDING_NAME_BYTES];
    uint32_t schema = atoll_reader_u32(in);
    if (!in->failed && schema > ATOLL_SPENDING_SCHEMA)
        return atoll_err_set(err, ATOLL_E_SCHEMA, "schema %lu is newer than %d: use a newer Atoll",
                             (unsigned long)schema, ATOLL_SPENDING_SCHEMA);
    uint64_t ledger = atoll_reader_u64(in), holder = atoll_reader_u64(in);
    atoll_reader_fixed_text(in, name, sizeof name);
    atoll_reader_i64(in);
    if (!in->failed && (ledger != journal->ledger || holder != journal->holder))
        return atoll_err_set(err, ATOLL_E_PROTOCOL,
                             "the journal belongs to another ledger or holder: folders must be copied whole");
    journal->has_header = 1;
    return 0;
}

static int read_account(struct atoll_spending_journal *journal, struct atoll_reader *in,
                        struct atoll_err *err)
{
    struct atoll_spending_account account;
    atoll_spending_take_account(in, &account);
    if (in->failed)
        return 0;
    long expected = (long)journal->book.accounts.count;
    long number = atoll_spending_book_account(&journal->book, &account, err);
    if (number < 0)
        return -1;
    return number == expected ? 0 : atoll_err_set(err, ATOLL_E_PROTOCOL, "an account comes twice");
}

static int read_reserve(struct atoll_spending_journal *journal, struct atoll_reader *in,
                        struct atoll_err *err)
{
    uint32_t accounts[ATOLL_SCOPE_COUNT];
    struct atoll_id request;
    uint64_t number = atoll_reader_u64(in);
    atoll_reader_i64(in);
    struct atoll_spending_amount amount = atoll_spending_take_amount(in);
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++)
        accounts[i] = atoll_reader_u32(in);
    atoll_reader_bytes(in, request.bytes, sizeof request.bytes);
    return in->failed ? 0
                      : atoll_spending_book_reserve(&journal->book, number, accounts, amount, &request, err);
}

static int must_be_there(struct atoll_spending_journal *journal, uint64_t number, struct atoll_err *err)
{
    if (atoll_spending_book_find(&journal->book, number))
        return 0;
    return atoll_err_set(err, ATOLL_E_PROTOCOL, "reservation %llu is not open", (unsigned long long)number);
}

static int read_settle(struct atoll_spending_journal *journal, struct atoll_reader *in, struct atoll_err *err)
{
    uint64_t number = atoll_reader_u64(in);
    struct atoll_spending_amount amount = atoll_spending_take_amount(in);
    if (in->failed)
        return 0;
    if (must_be_there(journal, number, err) != 0)
        return -1;
    atoll_spending_book_settle(&journal->book, number, amount);
    return 0;
}

static int read_excuse(struct atoll_spending_journal *journal, struct atoll_reader *in, struct atoll_err *err)
{
    uint64_t number = atoll_reader_u64(in);
    if (in->failed)
        return 0;
    const struct atoll_spending_reservation *item = atoll_spending_book_find(&journal->book, number);
    if (!item || item->state == ATOLL_SPENDING_RESERVED)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "reservation %llu is not unknown",
                             (unsigned long long)number);
    atoll_spending_book_excuse(&journal->book, number);
    return 0;
}

static int read_life(struct atoll_spending_journal *journal, struct atoll_reader *in, struct atoll_err *err)
{
    atoll_reader_i64(in);
    if (in->failed)
        return 0;
    atoll_spending_book_new_life(&journal->book, 0);
    journal->boot[0] = '\0';
    return 0;
}

static int read_cover(struct atoll_spending_journal *journal, struct atoll_reader *in, struct atoll_err *err)
{
    uint32_t account = atoll_reader_u32(in);
    struct atoll_spending_amount cover = atoll_spending_take_amount(in);
    if (in->failed)
        return 0;
    if (account >= journal->book.accounts.count)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "account %lu is not there", (unsigned long)account);
    journal->book.usages[account].cover = cover;
    return 0;
}

static int read_boot(struct atoll_spending_journal *journal, struct atoll_reader *in, struct atoll_err *err)
{
    char boot[ATOLL_BOOT_BYTES];
    atoll_reader_i64(in);
    int is_lost = atoll_reader_u8(in);
    uint64_t number = atoll_reader_u64(in);
    atoll_reader_fixed_text(in, boot, sizeof boot);
    if (in->failed)
        return 0;
    if (number < journal->book.last_number)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "numbers of reservations would come again");
    atoll_spending_book_new_life(&journal->book, is_lost);
    journal->book.last_number = number;
    memcpy(journal->boot, boot, sizeof journal->boot);
    return 0;
}

static const struct {
    unsigned type;
    int (*read)(struct atoll_spending_journal *journal, struct atoll_reader *in, struct atoll_err *err);
} kinds[] = {
    {ATOLL_SPENDING_JOURNAL_HEADER, read_header},   {ATOLL_SPENDING_JOURNAL_ACCOUNT, read_account},
    {ATOLL_SPENDING_JOURNAL_RESERVE, read_reserve}, {ATOLL_SPENDING_JOURNAL_SETTLE, read_settle},
    {ATOLL_SPENDING_JOURNAL_EXCUSE, read_excuse},   {ATOLL_SPENDING_JOURNAL_LIFE, read_life},
    {ATOLL_SPENDING_JOURNAL_COVER, read_cover},     {ATOLL_SPENDING_JOURNAL_BOOT, read_boot},
};

static int read_record(struct atoll_spending_journal *journal, const struct atoll_frame *record,
                       struct atoll_err *err)
{
    struct atoll_reader in;
    atoll_reader_init(&in, record->payload, record->length);
    if (journal->has_header == (record->type == ATOLL_SPENDING_JOURNAL_HEADER))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "the header must come first, once");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == record->type)
            return kinds[i].read(journal, &in, err) != 0 ? -1 : atoll_reader_finish(&in, "record", err);
    return atoll_err_set(err, ATOLL_E_SCHEMA, "a record of type %u: use a newer Atoll", record->type);
}

static int on_record(void *context, uint64_t offset, const struct atoll_frame *record, struct atoll_err *err)
{
    struct atoll_spending_journal *journal = context;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (read_record(journal, record, &why) == 0)
        return 0;
    if (why.code == ATOLL_E_PROTOCOL)
        return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: at offset %llu: %s; restore the file from a copy",
                             atoll_frame_file_path(journal->file), (unsigned long long)offset, why.text);
    return atoll_err_set(err, why.code, "%s: at offset %llu: %s", atoll_frame_file_path(journal->file),
                         (unsigned long long)offset, why.text);
}

int atoll_spending_journal_read(struct atoll_spending_journal *journal, int is_live, struct atoll_err *err)
{
    return atoll_frame_file_scan(journal->file, is_live, on_record, journal, err);
}

static int append(struct atoll_spending_journal *journal, enum atoll_spending_record type,
                  struct atoll_err *err)
{
    return atoll_frame_file_append(journal->file, (uint16_t)type, &journal->payload, NULL, err);
}

static int put_header(struct atoll_spending_journal *journal, const char *holder, int64_t unix_ns,
                      struct atoll_err *err)
{
    struct atoll_buffer *out = &journal->payload;
    atoll_buffer_clear(out);
    atoll_buffer_put_u32(out, ATOLL_SPENDING_SCHEMA);
    atoll_buffer_put_u64(out, journal->ledger);
    atoll_buffer_put_u64(out, journal->holder);
    atoll_buffer_put_text(out, holder);
    atoll_buffer_put_i64(out, unix_ns);
    if (append(journal, ATOLL_SPENDING_JOURNAL_HEADER, err) != 0)
        return -1;
    journal->has_header = 1;
    return 0;
}

int atoll_spending_journal_may_lack(const struct atoll_spending_journal *journal, const char *boot)
{
    return journal->boot[0] && strcmp(journal->boot, boot) != 0;
}

/* Numbers that may have been used and are lost stand in the store of exchanges all the same: none comes twice. */
int atoll_spending_journal_begin(struct atoll_spending_journal *journal, const char *holder, const char *boot,
                                 int64_t unix_ns, struct atoll_err *err)
{
    int is_lost = atoll_spending_journal_may_lack(journal, boot);
    uint64_t number = journal->book.last_number + (is_lost ? LOST_NUMBERS : 0);
    if (!journal->has_header && put_header(journal, holder, unix_ns, err) != 0)
        return -1;
    atoll_buffer_clear(&journal->payload);
    atoll_buffer_put_i64(&journal->payload, unix_ns);
    atoll_buffer_put_u8(&journal->payload, (uint8_t)is_lost);
    atoll_buffer_put_u64(&journal->payload, number);
    atoll_buffer_put_text(&journal->payload, boot);
    if (append(journal, ATOLL_SPENDING_JOURNAL_BOOT, err) != 0)
        return -1;
    atoll_spending_book_new_life(&journal->book, is_lost);
    journal->book.last_number = number;
    snprintf(journal->boot, sizeof journal->boot, "%s", boot);
    return atoll_frame_file_sync(journal->file, err);
}

int atoll_spending_journal_cover(struct atoll_spending_journal *journal, uint32_t account,
                                 struct atoll_spending_amount cover, struct atoll_err *err)
{
    atoll_buffer_clear(&journal->payload);
    atoll_buffer_put_u32(&journal->payload, account);
    atoll_spending_put_amount(&journal->payload, cover);
    if (append(journal, ATOLL_SPENDING_JOURNAL_COVER, err) != 0)
        return -1;
    journal->book.usages[account].cover = cover;
    return 0;
}

long atoll_spending_journal_account(struct atoll_spending_journal *journal,
                                    const struct atoll_spending_account *account, struct atoll_err *err)
{
    long known = atoll_spending_register_find(&journal->book.accounts, account);
    if (known >= 0)
        return known;
    atoll_buffer_clear(&journal->payload);
    atoll_spending_put_account(&journal->payload, account);
    long number = atoll_spending_book_account(&journal->book, account, err);
    if (number < 0)
        return -1;
    if (append(journal, ATOLL_SPENDING_JOURNAL_ACCOUNT, err) == 0)
        return number;
    atoll_spending_register_drop(&journal->book.accounts);
    return -1;
}

static int reserve_failed(struct atoll_spending_journal *journal, uint64_t number)
{
    atoll_spending_book_forget(&journal->book, number);
    journal->book.last_number = number - 1;
    return -1;
}

int atoll_spending_journal_reserve(struct atoll_spending_journal *journal,
                                   const uint32_t accounts[ATOLL_SCOPE_COUNT],
                                   struct atoll_spending_amount amount, const struct atoll_id *request,
                                   int64_t unix_ns, uint64_t *ret_number, struct atoll_err *err)
{
    uint64_t number = journal->book.last_number + 1;
    struct atoll_buffer *out = &journal->payload;
    if (atoll_spending_book_reserve(&journal->book, number, accounts, amount, request, err) != 0)
        return -1;
    atoll_buffer_clear(out);
    atoll_buffer_put_u64(out, number);
    atoll_buffer_put_i64(out, unix_ns);
    atoll_spending_put_amount(out, amount);
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++)
        atoll_buffer_put_u32(out, accounts[i]);
    atoll_buffer_put_bytes(out, request->bytes, sizeof request->bytes);
    if (append(journal, ATOLL_SPENDING_JOURNAL_RESERVE, err) != 0)
        return reserve_failed(journal, number);
    *ret_number = number;
    return 0;
}

static int not_open(struct atoll_spending_journal *journal, uint64_t number, struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_NOTFOUND, "%s: reservation %llu is neither open nor unknown",
                         atoll_frame_file_path(journal->file), (unsigned long long)number);
}

int atoll_spending_journal_settle(struct atoll_spending_journal *journal, uint64_t number,
                                  struct atoll_spending_amount amount, struct atoll_err *err)
{
    if (!atoll_spending_book_find(&journal->book, number))
        return not_open(journal, number, err);
    atoll_buffer_clear(&journal->payload);
    atoll_buffer_put_u64(&journal->payload, number);
    atoll_spending_put_amount(&journal->payload, amount);
    if (append(journal, ATOLL_SPENDING_JOURNAL_SETTLE, err) != 0)
        return -1;
    return atoll_spending_book_settle(&journal->book, number, amount);
}

int atoll_spending_journal_excuse(struct atoll_spending_journal *journal, uint64_t number,
                                  struct atoll_err *err)
{
    const struct atoll_spending_reservation *item = atoll_spending_book_find(&journal->book, number);
    if (!item || item->state == ATOLL_SPENDING_RESERVED)
        return not_open(journal, number, err);
    atoll_buffer_clear(&journal->payload);
    atoll_buffer_put_u64(&journal->payload, number);
    if (append(journal, ATOLL_SPENDING_JOURNAL_EXCUSE, err) != 0)
        return -1;
    atoll_spending_book_excuse(&journal->book, number);
    return 0;
}
