/* sample_campaign.c - the sample campaign of the unit tests in a folder, for tests of the command: sample_campaign DIR */
#include "tests/support/expect.h"

#include "tests/unit/archive-h5/sample_campaign.h"

static const char *target;

static void make(void **state)
{
    (void)state;
    struct atoll_campaign *campaign = sample_campaign_create(target);
    assert_non_null(campaign);
    atoll_campaign_close(campaign);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(make)};
    target = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
