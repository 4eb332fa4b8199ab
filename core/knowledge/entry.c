#include "core/knowledge/entry.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const char *name_of(const char *const *names, size_t count, unsigned index)
{
    return index < count ? names[index] : "unknown";
}

const char *atoll_knowledge_kind_name(enum atoll_knowledge_kind kind)
{
    static const char *const names[] = {"constraint", "pattern", "example", "hardware", "hint", "kernel"};
    return name_of(names, COUNT(names), kind);
}

const char *atoll_knowledge_severity_name(enum atoll_knowledge_severity severity)
{
    static const char *const names[] = {"critical", "warning", "info"};
    return name_of(names, COUNT(names), severity);
}

const char *atoll_knowledge_failure_name(enum atoll_knowledge_failure failure)
{
    static const char *const names[] = {"compile", "rules", "plan", "result"};
    return name_of(names, COUNT(names), failure);
}

int atoll_knowledge_has(const char *const *list, const char *word)
{
    for (size_t i = 0; list && list[i]; i++)
        if (strcmp(list[i], word) == 0)
            return 1;
    return list == NULL;
}

int atoll_knowledge_is_proven(const struct atoll_knowledge_entry *example)
{
    unsigned seen = 0;
    for (size_t i = 0; i < example->measured_count; i++) {
        const struct atoll_knowledge_measurement *m = &example->measured[i];
        if (!(m->rival_us >= ATOLL_KNOWLEDGE_PROVEN_SHARE * m->time_us))
            return 0;
        seen |= m->is_held_out ? 2u : 1u;
    }
    return seen == 3u;
}

int atoll_knowledge_is_kernel_of(const struct atoll_knowledge_entry *example, const char *source)
{
    const char *kernel = example->kernel;
    size_t length = kernel ? strlen(kernel) : 0, have = strlen(source), front = 0, back = 0;
    if (length == 0 || have < length)
        return 0;
    while (front < length && kernel[front] == source[front])
        front++;
    while (back < length && kernel[length - 1 - back] == source[have - 1 - back])
        back++;
    return front + back >= length;
}
