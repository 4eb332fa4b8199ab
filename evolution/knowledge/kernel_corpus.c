#include "evolution/knowledge/kernel_corpus.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPES_BYTES 512
#define FORM_BYTES  2048
#define HEAD_BYTES  ((size_t)16 << 10)
#define VALUE_BYTES 1000

/* Values of lines, in their order. */
static const struct {
    const char *key;
    size_t offset;
} keys[] = {
#define KEY(name)                                                                                            \
    {                                                                                                        \
        #name, offsetof(struct atoll_kernel_text, name)                                                      \
    }
    KEY(task), KEY(task_id), KEY(category), KEY(summary), KEY(types),
    KEY(form), KEY(device),  KEY(family),   KEY(shape),   KEY(note),
#undef KEY
};
#define KEY_COUNT (sizeof(keys) / sizeof(*keys))

static const struct {
    const char *language, *suffix;
} languages[] = {{"c", ".c"}, {"cuda", ".cu"}, {"triton", ".py"}, {"opencl", ".cl"}};
#define LANGUAGE_COUNT (sizeof(languages) / sizeof(*languages))

const char *atoll_kernel_suffix(const char *language)
{
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        if (strcmp(languages[i].language, language) == 0)
            return languages[i].suffix;
    return "";
}

const char *atoll_kernel_types(const struct atoll_task *task, struct atoll_arena *arena,
                               struct atoll_err *err)
{
    char types[TYPES_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < task->tensor_count && used < sizeof(types) - 16; i++)
        used += (size_t)snprintf(types + used, sizeof(types) - used, "%s%s", i ? " " : "",
                                 atoll_dtype_name(task->tensors[i].dtype));
    return atoll_arena_text(arena, types, used, err);
}

/* A letter for the name that an extent is of, in the order of their appearance; one that is computed has a mark. */
static int put_extent(const struct atoll_expression *e, const char **names, size_t *count, char *text,
                      size_t bytes)
{
    size_t i = 0;
    if (atoll_expression_name_count(e) == 0)
        return snprintf(text, bytes, "%.20s", atoll_expression_text(e));
    const char *name = atoll_expression_name(e, 0);
    while (i < *count && strcmp(names[i], name) != 0)
        i++;
    if (i == *count && *count < ATOLL_TASK_DIM_LIMIT)
        names[(*count)++] = name;
    return snprintf(text, bytes, "%c%s", (int)('a' + i % 26),
                    strcmp(name, atoll_expression_text(e)) == 0 ? "" : "*");
}

const char *atoll_kernel_form(const struct atoll_task *task, struct atoll_arena *arena, struct atoll_err *err)
{
    static const char *const roles[] = {[ATOLL_ROLE_IN] = "in",
                                        [ATOLL_ROLE_OUT] = "out",
                                        [ATOLL_ROLE_INOUT] = "inout",
                                        [ATOLL_ROLE_CONSTANT] = "in"};
    const char *names[ATOLL_TASK_DIM_LIMIT];
    char form[FORM_BYTES] = "";
    size_t used = 0, count = 0;
    for (size_t i = 0; i < task->tensor_count && used < sizeof(form) - 32 * ATOLL_TASK_RANK_LIMIT; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        used += (size_t)snprintf(form + used, sizeof(form) - used, "%s%s[", i ? " " : "", roles[t->role]);
        for (size_t d = 0; d < t->rank; d++) {
            used += (size_t)snprintf(form + used, sizeof(form) - used, "%s", d ? "," : "");
            used += (size_t)put_extent(t->shape[d], names, &count, form + used, sizeof(form) - used);
        }
        used += (size_t)snprintf(form + used, sizeof(form) - used, "]");
    }
    return atoll_arena_text(arena, form, used, err);
}

/* What only one generation of devices has. */
static const char *family_of(const char *source)
{
    return strstr(source, "tcgen05") ? "blackwell" : strstr(source, "wgmma") ? "hopper" : "";
}

static void find_families(const struct atoll_knowledge_index *index, struct atoll_kernel_text *k)
{
    char words[2 * VALUE_BYTES];
    snprintf(words, sizeof(words), "%s %s", k->task, k->summary);
    k->family_count =
        index ? atoll_knowledge_families_of(index, k->category, words, k->families, ATOLL_KERNEL_FAMILY_LIMIT)
              : 0;
}

int atoll_kernel_text_of(const struct atoll_task *task, const char *name, const char *language,
                         const char *source, const struct atoll_knowledge_index *index,
                         struct atoll_arena *arena, struct atoll_kernel_text *ret_kernel,
                         struct atoll_err *err)
{
    char id[ATOLL_ID_HEX];
    atoll_id_hex(&task->id, id);
    struct atoll_kernel_text k = {.name = name,
                                  .language = language,
                                  .task = task->name,
                                  .category = task->category ? task->category : "",
                                  .summary = task->summary ? task->summary : "",
                                  .task_id = atoll_arena_text(arena, id, strlen(id), err),
                                  .types = atoll_kernel_types(task, arena, err),
                                  .form = atoll_kernel_form(task, arena, err),
                                  .device = "",
                                  .family = family_of(source),
                                  .shape = "",
                                  .note = "",
                                  .source = source};
    if (!k.task_id || !k.types || !k.form)
        return -1;
    find_families(index, &k);
    *ret_kernel = k;
    return 0;
}

/* Of one line, whatever it was. */
static void put_line(struct atoll_buffer *out, const char *key, const char *value)
{
    atoll_buffer_printf(out, "%s: ", key);
    for (size_t i = 0; i < VALUE_BYTES && value[i]; i++) {
        char c = (unsigned char)value[i] < ' ' ? ' ' : value[i];
        atoll_buffer_put_bytes(out, &c, 1);
    }
    atoll_buffer_put_bytes(out, "\n", 1);
}

int atoll_kernel_text_put(const struct atoll_kernel_text *k, struct atoll_knowledge_pack *pack,
                          struct atoll_err *err)
{
    struct atoll_buffer out;
    char path[ATOLL_KNOWLEDGE_PATH_BYTES + 2];
    int length = snprintf(path, sizeof(path), ATOLL_KERNELS_FOLDER "%s", k->name);
    if (length < 0 || (size_t)length >= sizeof(path))
        return atoll_err_set(err, ATOLL_E_LIMIT, "the name of kernel %.60s is too long", k->name);
    atoll_buffer_init(&out, HEAD_BYTES + strlen(k->source));
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *value;
        memcpy(&value, (const char *)k + keys[i].offset, sizeof(value));
        if (*value)
            put_line(&out, keys[i].key, value);
    }
    if (k->time_us > 0)
        atoll_buffer_printf(&out, "time_us: %.6g\n", k->time_us);
    if (k->gain > 0)
        atoll_buffer_printf(&out, "gain: %.4g\n", k->gain);
    atoll_buffer_printf(&out, "\n");
    atoll_buffer_put_bytes(&out, k->source, strlen(k->source));
    int rc = atoll_buffer_check(&out, err);
    if (rc == 0)
        rc = atoll_knowledge_pack_put(pack, path, (const char *)out.data, out.length, err);
    atoll_buffer_fini(&out);
    return rc;
}

/* A line of the head, into the kernel. */
static int read_line(struct atoll_kernel_text *k, const char *line, size_t length, struct atoll_arena *arena,
                     struct atoll_err *err)
{
    const char *colon = memchr(line, ':', length);
    size_t name = colon ? (size_t)(colon - line) : 0, skip = name + 1;
    if (!colon)
        return 0;
    skip += skip < length && line[skip] == ' ';
    const char *value = atoll_arena_text(arena, line + skip, length - skip, err);
    if (!value)
        return -1;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (strlen(keys[i].key) == name && memcmp(keys[i].key, line, name) == 0)
            memcpy((char *)k + keys[i].offset, &value, sizeof(value));
    if (name == 7 && memcmp(line, "time_us", name) == 0)
        k->time_us = strtod(value, NULL);
    if (name == 4 && memcmp(line, "gain", name) == 0)
        k->gain = strtod(value, NULL);
    return 0;
}

int atoll_kernel_text_read(const struct atoll_knowledge_file *file, const struct atoll_knowledge_index *index,
                           struct atoll_arena *arena, struct atoll_kernel_text *ret_kernel,
                           struct atoll_err *err)
{
    size_t folder = strlen(ATOLL_KERNELS_FOLDER), l = 0;
    const char *dot = strrchr(file->path, '.'), *end = strstr(file->text, "\n\n");
    while (l < LANGUAGE_COUNT && dot && strcmp(languages[l].suffix, dot) != 0)
        l++;
    if (strncmp(file->path, ATOLL_KERNELS_FOLDER, folder) != 0 || !dot || l == LANGUAGE_COUNT || !end)
        return 0;
    struct atoll_kernel_text k = {.name = file->path + folder,
                                  .language = languages[l].language,
                                  .task = "",
                                  .task_id = "",
                                  .category = "",
                                  .summary = "",
                                  .types = "",
                                  .form = "",
                                  .device = "",
                                  .family = "",
                                  .shape = "",
                                  .note = "",
                                  .source = end + 2};
    for (const char *line = file->text; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next : end;
        if (read_line(&k, line, (size_t)(next - line), arena, err) != 0)
            return -1;
        line = next + 1;
    }
    k.time_us = k.time_us > 0 && k.time_us < 1e12 ? k.time_us : 0;
    k.gain = k.gain > 0 && k.gain < 1e6 ? k.gain : 0;
    find_families(index, &k);
    *ret_kernel = k;
    return 1;
}
