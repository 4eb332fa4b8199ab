/* sample_query.h - the sample campaign with its tables and a query: set up before each test that includes this. */
#ifndef ATOLL_TEST_ARCHIVE_SAMPLE_QUERY_H
#define ATOLL_TEST_ARCHIVE_SAMPLE_QUERY_H

#include "archive-h5/report/query.h"
#include "archive-h5/table/project.h"
#include "tests/unit/archive-h5/sample_campaign.h"

static char dir[PATH_MAX];
static struct atoll_campaign *campaign;
static struct atoll_projection *projection;
static const struct atoll_tables *tables;
static struct atoll_query *query;

static inline int set_up(void **state)
{
    scratch_make(dir);
    campaign = sample_campaign_create(dir);
    projection = atoll_projection_of_campaign(campaign, NULL, NULL);
    assert_non_null(projection);
    tables = atoll_projection_tables(projection);
    query = atoll_query_create(tables, NULL);
    assert_non_null(query);
    return 0;
}

static inline int tear_down(void **state)
{
    atoll_query_destroy(query);
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    scratch_remove(dir);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* How often a text holds another. */
static inline unsigned count_text(const char *text, const char *what)
{
    unsigned n = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

#endif
