/* test_spending_cover.c - what went out before a sync, and a machine that stops: nothing of it is forgotten, no limit passed. */
#include "tests/support/expect.h"

#include "tests/unit/llm-gateway/failing_disk.h"
#include "base/process_id.h"
#include "llm-gateway/budget/spending.h"
#include "llm-gateway/budget/syncer.h"

#define NOON  ((int64_t)20000 * 86400 * 1000000000)
#define NONE  UINT64_MAX
#define LIMIT 100000

static const struct atoll_spending_limit limit = {ATOLL_SCOPE_CAMPAIGN, "", LIMIT, NONE};
static char folder[PATH_MAX], journal[PATH_MAX + 32], ledger[PATH_MAX + 32];
static off_t synced_bytes; /* of the journal, at its last sync */
static int sync_count;

static void name_files(void)
{
    snprintf(journal, sizeof journal, "%s/holders/a.atl", folder);
    snprintf(ledger, sizeof ledger, "%s/ledger.atl", folder);
}

static int set_up(void **state)
{
    scratch_make(folder);
    name_files();
    synced_bytes = sync_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    scratch_remove(folder);
    return 0;
}

static int watched_fdatasync(void *context, int fd)
{
    struct stat st, of_journal;
    assert_int_equal(fstat(fd, &st), 0);
    if (stat(journal, &of_journal) == 0 && st.st_ino == of_journal.st_ino) {
        synced_bytes = st.st_size;
        sync_count++;
    }
    return 0;
}

static struct atoll_spending *open_in(const char *boot, const char *holder)
{
    static struct atoll_frame_file_ops ops;
    struct atoll_err err = ATOLL_ERR_INIT;
    ops = *calm_ops();
    ops.fdatasync = watched_fdatasync;
    const struct atoll_spending_settings settings = {
        .folder = folder, .holder = holder, .limits = &limit, .limit_count = 1, .ops = &ops, .boot = boot};
    struct atoll_spending *spending = atoll_spending_open(&settings, NOON, &err);
    if (!spending)
        fail_msg("%s", err.text);
    return spending;
}

static uint64_t must_reserve(struct atoll_spending *spending, atoll_nanousd money)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_spending_purpose purpose = {.campaign = "c", .task = "t", .model = "m"};
    uint64_t number;
    if (atoll_spending_reserve(spending, &purpose, money, 1, NOON, &number, &err) != 0)
        fail_msg("%s", err.text);
    return number;
}

static void must_commit(struct atoll_spending *spending)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_spending_commit(spending, &err) != 0)
        fail_msg("%s", err.text);
}

/* spent, reserved, unknown, over all holders */
static uint64_t used_by_all(struct atoll_spending *spending)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending_sum sum;
    if (atoll_spending_sum(spending, &sum, &err) != 0)
        fail_msg("%s", err.text);
    return sum.spent_money + sum.reserved_money + sum.unknown_money;
}

static void a_commit_syncs_only_what_is_not_covered(void **state)
{
    struct atoll_spending *a = open_in("boot 1", "a");
    struct atoll_err err = ATOLL_ERR_INIT;
    int before = sync_count;
    uint64_t first = must_reserve(a, 100);
    must_commit(a);
    assert_int_equal(sync_count, before + 1); /* nothing was covered */
    assert_true(atoll_spending_is_synced(a));
    must_reserve(a, 100);
    must_commit(a);
    assert_int_equal(sync_count, before + 1);
    assert_false(atoll_spending_is_dirty(a));
    assert_false(atoll_spending_is_synced(a));
    assert_int_equal(atoll_spending_settle(a, first, 10, 1, &err), 0);
    must_commit(a);
    assert_int_equal(sync_count, before + 1);
    must_reserve(a, 5000);
    must_commit(a);
    assert_int_equal(sync_count, before + 2);
    assert_int_equal(atoll_spending_sync(a, &err), 0);
    atoll_spending_close(a);
}

/* ---- the machine stops ---- */

struct image { /* of both files */
    unsigned char *journal, *ledger;
    size_t journal_bytes, ledger_bytes;
};

static struct image image_take(void)
{
    struct image image;
    image.journal = scratch_read(journal, &image.journal_bytes);
    image.ledger = scratch_read(ledger, &image.ledger_bytes);
    return image;
}

static void image_free(struct image *image)
{
    free(image->journal);
    free(image->ledger);
}

/* Another folder with so much of the journal, as the only one from here on. */
static void image_restore(const struct image *image, size_t journal_bytes)
{
    char path[PATH_MAX + 32];
    scratch_make(folder);
    name_files();
    snprintf(path, sizeof path, "%s/holders", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    scratch_write(journal, image->journal, journal_bytes);
    scratch_write(ledger, image->ledger, image->ledger_bytes);
}

/* What a provider knows: 64 open calls at most, and what was settled. */
struct outside {
    uint64_t open[64], amounts[64], spent;
    size_t count;
    uint64_t settled[1024], costs[1024];
    size_t settled_count;
};

static uint64_t outside_sum(const struct outside *outside)
{
    uint64_t sum = outside->spent;
    for (size_t i = 0; i < outside->count; i++)
        sum += outside->amounts[i];
    return sum;
}

static void one_thing(struct atoll_spending *a, struct outside *outside, unsigned *seed)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (outside->count < 64 && (outside->count == 0 || rand_r(seed) % 2)) {
        uint64_t money = 1 + (unsigned)rand_r(seed) % 100;
        outside->amounts[outside->count] = money;
        outside->open[outside->count++] = must_reserve(a, money);
        return;
    }
    size_t at = (unsigned)rand_r(seed) % outside->count;
    uint64_t cost = (unsigned)rand_r(seed) % (outside->amounts[at] + 1);
    assert_int_equal(atoll_spending_settle(a, outside->open[at], cost, 1, &err), 0);
    outside->spent += cost;
    outside->settled[outside->settled_count] = outside->open[at];
    outside->costs[outside->settled_count++] = cost;
    outside->open[at] = outside->open[--outside->count];
    outside->amounts[at] = outside->amounts[outside->count];
}

static void check_lost(const struct image *image, size_t bytes, const struct outside *outside,
                       int is_by_other)
{
    char before[PATH_MAX];
    atoll_nanousd lost;
    uint64_t tokens;
    memcpy(before, folder, sizeof before);
    image_restore(image, bytes);
    struct atoll_spending *other = is_by_other ? open_in("boot 2", "other") : NULL;
    uint64_t told = other ? used_by_all(other) : 0;
    struct atoll_spending *a = open_in("boot 2", "a");
    uint64_t used = used_by_all(a);
    if (used < outside_sum(outside) || used > LIMIT)
        fail_msg("%zu of %zu bytes are left: %llu went out, told are %llu", bytes, image->journal_bytes,
                 (unsigned long long)outside_sum(outside), (unsigned long long)used);
    if (other)
        assert_int_equal(told, used); /* it knew as much */
    atoll_spending_lost(a, &lost, &tokens);
    assert_true(used - lost <= outside_sum(outside) || bytes < image->journal_bytes);
    /* what the store of exchanges knows is settled again: its first settlement may have made room for calls that are lost */
    for (size_t i = 0; i < outside->settled_count; i++)
        atoll_spending_settle(a, outside->settled[i], outside->costs[i], 1, NULL);
    used = used_by_all(a);
    if (used < outside_sum(outside))
        fail_msg("settled again %zu of %zu bytes: %llu went out, told are %llu", bytes, image->journal_bytes,
                 (unsigned long long)outside_sum(outside), (unsigned long long)used);
    must_reserve(a, LIMIT - used); /* and the rest is there for all */
    atoll_spending_close(a);
    atoll_spending_close(other);
    scratch_remove(folder);
    memcpy(folder, before, sizeof folder);
    name_files();
}

static void what_went_out_is_never_forgotten(void **state)
{
    struct atoll_spending *a = open_in("boot 1", "a");
    struct atoll_err err = ATOLL_ERR_INIT;
    struct outside outside = {.count = 0};
    unsigned seed = 7, cuts = 0;
    for (int turn = 0; turn < 150; turn++) {
        for (int left = 1 + rand_r(&seed) % 8; left; left--)
            one_thing(a, &outside, &seed);
        must_commit(a);
        if (turn % 10 == 9)
            assert_int_equal(atoll_spending_sync(a, &err), 0);
        struct image image = image_take();
        size_t from = (size_t)synced_bytes, span = image.journal_bytes - from;
        for (int i = 0; i<3; i++, cuts += span> 0)
            check_lost(&image, from + (unsigned)rand_r(&seed) % (span + 1), &outside, i == 2);
        synced_bytes = (off_t)from;
        image_free(&image);
    }
    assert_true(cuts > 100);
    atoll_spending_close(a);
}

/* A killed process in the same boot loses nothing, and is charged nothing. */
static void the_same_boot_lost_nothing(void **state)
{
    struct atoll_spending *a = open_in("boot 1", "a");
    atoll_nanousd lost;
    uint64_t tokens;
    must_reserve(a, 100);
    must_commit(a);
    must_reserve(a, 50);
    must_commit(a);
    struct image image = image_take();
    char before[PATH_MAX];
    memcpy(before, folder, sizeof before);
    image_restore(&image, image.journal_bytes);
    struct atoll_spending *again = open_in("boot 1", "a");
    atoll_spending_lost(again, &lost, &tokens);
    assert_int_equal(lost, 0);
    assert_int_equal(used_by_all(again), 150);
    atoll_spending_close(again);
    /* one that ended in order neither, whichever boot comes */
    again = open_in("boot 3", "a");
    atoll_spending_lost(again, &lost, &tokens);
    assert_int_equal(lost, 0);
    assert_int_equal(used_by_all(again), 150);
    atoll_spending_close(again);
    scratch_remove(folder);
    memcpy(folder, before, sizeof folder);
    name_files();
    image_free(&image);
    atoll_spending_close(a);
}

/* The first one is settled, what that saves is used, both are lost; the store of exchanges knows the first one's cost. */
static void a_lost_settlement_saves_nothing_twice(void **state)
{
    struct atoll_spending *a = open_in("boot 1", "a");
    struct atoll_err err = ATOLL_ERR_INIT;
    char before[PATH_MAX];
    uint64_t first = must_reserve(a, 1000);
    must_commit(a);
    int syncs = sync_count;
    size_t length = (size_t)synced_bytes;
    assert_int_equal(atoll_spending_settle(a, first, 10, 1, &err), 0);
    must_reserve(a, 4990); /* up to the cover: five times the first one */
    must_commit(a);
    assert_int_equal(sync_count, syncs);
    struct image image = image_take();
    memcpy(before, folder, sizeof before);
    image_restore(&image, length);
    struct atoll_spending *again = open_in("boot 2", "a");
    assert_int_equal(used_by_all(again), 5000);
    assert_int_equal(atoll_spending_settle(again, first, 10, 1, &err), 0);
    assert_int_equal(used_by_all(again), 5000);
    atoll_spending_close(again);
    again = open_in("boot 2", "a"); /* read from the journal it is the same */
    assert_int_equal(used_by_all(again), 5000);
    atoll_spending_close(again);
    scratch_remove(folder);
    memcpy(folder, before, sizeof folder);
    name_files();
    image_free(&image);
    atoll_spending_close(a);
}

/* Numbers that are lost here may stand in a store. */
static void no_number_comes_twice(void **state)
{
    struct atoll_spending *a = open_in("boot 1", "a");
    must_reserve(a, 100);
    must_commit(a);
    size_t length = (size_t)synced_bytes;
    uint64_t last = must_reserve(a, 1);
    must_commit(a);
    struct image image = image_take();
    char before[PATH_MAX];
    memcpy(before, folder, sizeof before);
    image_restore(&image, length);
    struct atoll_spending *again = open_in("boot 2", "a");
    assert_true(must_reserve(again, 1) > last);
    atoll_spending_close(again);
    scratch_remove(folder);
    memcpy(folder, before, sizeof folder);
    name_files();
    image_free(&image);
    atoll_spending_close(a);
}

/* A dead holder's rest is taken back by one of the same boot, who knew all; later it must not be charged again. */
static void what_was_taken_back_is_not_charged_again(void **state)
{
    char before[PATH_MAX];
    struct atoll_spending *a = open_in("boot 1", "a");
    atoll_nanousd lost;
    uint64_t tokens;
    must_reserve(a, 100);
    must_commit(a);
    must_reserve(a, 50);
    must_commit(a);
    struct image image = image_take();
    memcpy(before, folder, sizeof before);
    image_restore(&image, image.journal_bytes);
    struct atoll_spending *other = open_in("boot 1", "other");
    must_reserve(other, LIMIT - 150);
    must_commit(other);
    struct atoll_spending *again = open_in("boot 2", "a");
    atoll_spending_lost(again, &lost, &tokens);
    assert_int_equal(lost, 0);
    assert_int_equal(used_by_all(again), LIMIT);
    atoll_spending_close(again);
    atoll_spending_close(other);
    scratch_remove(folder);
    memcpy(folder, before, sizeof folder);
    name_files();
    image_free(&image);
    atoll_spending_close(a);
}

static off_t bytes_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* Once it knows how much comes between two syncs, no call waits for a grant or a cover. */
static void grants_and_covers_come_ahead(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_syncer *syncer = atoll_syncer_create(&err);
    struct atoll_spending *a = open_in("boot 1", "a");
    assert_non_null(syncer);
    off_t first = 0;
    for (int round = 0; round < 300; round++) {
        off_t granted = bytes_of(ledger);
        int syncs = sync_count;
        for (int call = 0; call < 5; call++) {
            uint64_t number = must_reserve(a, 100);
            must_commit(a);
            assert_int_equal(atoll_spending_settle(a, number, 20, 1, &err), 0);
            must_commit(a);
        }
        if (round >= 10 && (bytes_of(ledger) != granted || sync_count != syncs))
            fail_msg("round %d: a call had to wait", round);
        first = round == 10 ? granted : first;
        assert_int_equal(atoll_spending_sync_begin(a, syncer, &err), 0);
        while (!atoll_spending_sync_end(a))
            usleep(100);
    }
    assert_true(bytes_of(ledger) > first); /* grants did run out meanwhile */
    atoll_spending_close(a);
    atoll_syncer_destroy(syncer);
}

static void a_boot_has_an_id(void **state)
{
    char one[ATOLL_BOOT_BYTES], two[ATOLL_BOOT_BYTES];
    atoll_boot_id(one);
    atoll_boot_id(two);
    assert_true(strlen(one) >= 32);
    if (access("/proc/sys/kernel/random/boot_id", R_OK) == 0)
        assert_string_equal(one, two);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_commit_syncs_only_what_is_not_covered),
        CASE(what_went_out_is_never_forgotten),
        CASE(the_same_boot_lost_nothing),
        CASE(a_lost_settlement_saves_nothing_twice),
        CASE(no_number_comes_twice),
        CASE(what_was_taken_back_is_not_charged_again),
        CASE(grants_and_covers_come_ahead),
        CASE(a_boot_has_an_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
