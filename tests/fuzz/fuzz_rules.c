/* fuzz_rules.c - any text through the static rules and the classifier: no crash, the same answer twice. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/behaviour/behaviour.h"
#include "core/rules/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const char *language, const char *text)
{
    int first = atoll_rules_check(language, text, 1, NULL);
    struct atoll_behaviour a = atoll_behaviour_classify(language, text, NULL, NULL);
    struct atoll_behaviour b = atoll_behaviour_classify(language, text, NULL, NULL);
    if (first != atoll_rules_check(language, text, 1, NULL) ||
        atoll_behaviour_cell(a) != atoll_behaviour_cell(b) ||
        atoll_behaviour_cell(a) >= ATOLL_BEHAVIOUR_CELLS)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    look("c", text);
    look("cuda", text);
    free(text);
    return 0;
}
