/* experience.c - what models of a new campaign are told: Atoll's own hints first, so that these keep their names. */
#include "scheduler/campaign/campaign_plan.h"

#include <limits.h>

#include "base/program.h"
#include "base/yaml.h"
#include "core/experience/hint_file.h"

#define OWN_HINTS "knowledge/hints.yaml"

static int add_file(struct atoll_hint_file *sum, const char *path, struct atoll_err *err)
{
    struct atoll_hint_file more;
    size_t new, known;
    if (atoll_hint_file_load(path, &more, err) != 0)
        return -1;
    int rc = atoll_hint_file_merge(sum, &more, &new, &known, err);
    atoll_hint_file_fini(&more);
    return rc;
}

int atoll_plan_hints_write(const struct atoll_option_list *files, struct atoll_buffer *out,
                           struct atoll_err *err)
{
    struct atoll_hint_file sum = {0};
    char own[PATH_MAX];
    int rc = atoll_program_data(OWN_HINTS, own, sizeof(own), err);
    if (rc == 0)
        rc = add_file(&sum, own, err);
    for (size_t i = 0; rc == 0 && i < files->count; i++)
        rc = add_file(&sum, files->items[i], err);
    if (rc == 0) {
        atoll_hint_file_write_yaml(&sum, out);
        rc = out->failed == ATOLL_E_LIMIT
                 ? atoll_err_set(err, ATOLL_E_LIMIT,
                                 "the hints of all files together have more than %zu bytes; give fewer with "
                                 "--experience",
                                 ATOLL_YAML_FILE_BYTES)
                 : atoll_buffer_check(out, err);
    }
    atoll_hint_file_fini(&sum);
    return rc;
}
