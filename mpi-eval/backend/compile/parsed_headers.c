#include "mpi-eval/backend/compile/parsed_headers.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* Under each name lies a text that includes the real one, should gcc not take the parsed one beside it. */
static int write_text(const struct atoll_parsed_headers *h, size_t header)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "#include <%s>\n", h->table[header - 1].name);
    int fd = openat(h->folder_fd, h->table[header - 1].file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    int status = n > 0 && (size_t)n < sizeof(text) ? atoll_write_all(fd, text, (size_t)n) : -1;
    close(fd);
    return status;
}

int atoll_parsed_headers_init(struct atoll_parsed_headers *headers, const char *base,
                              const struct atoll_parsed_header *table, struct atoll_err *err)
{
    *headers = (struct atoll_parsed_headers){.folder_fd = -1, .table = table};
    if (!table)
        return 0;
    if (asprintf(&headers->folder, "%s/" ATOLL_PARSED_HEADERS_FOLDER, base) < 0) {
        headers->folder = NULL;
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler's headers");
    }
    int failed = mkdir(headers->folder, 0700);
    if (!failed)
        headers->folder_fd = open(headers->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    failed |= headers->folder_fd < 0;
    while (!failed && headers->count < ATOLL_PARSED_HEADERS_LIMIT && table[headers->count].name)
        failed = write_text(headers, ++headers->count);
    return failed ? atoll_err_errno(err, errno, "cannot make the folder %s", headers->folder) : 0;
}

void atoll_parsed_headers_fini(struct atoll_parsed_headers *headers)
{
    if (headers->folder && headers->folder_fd >= 0)
        close(headers->folder_fd);
    free(headers->folder);
    *headers = (struct atoll_parsed_headers){.folder_fd = -1};
}

static int includes(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if (at > text && at[-1] == '<' && at[length] == '>')
            return 1;
    return 0;
}

static int is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static int has_word(const char *text, size_t length, const char *const *words)
{
    const char *end = text + length;
    for (; words && *words; words++)
        for (const char *at = text; (at = memmem(at, (size_t)(end - at), *words, strlen(*words))); at++)
            if (at == text || !is_letter(*at) || !is_letter(at[-1]))
                return 1;
    return 0;
}

/* In #if, #ifdef, #ifndef, #elif, to the end of their last line. */
static int asks_for(const char *text, const char *const *words)
{
    for (const char *at = text, *end; words && (at = strchr(at, '#')); at = end) {
        const char *name = at + 1 + strspn(at + 1, " \t");
        end = at + 1;
        if (strncmp(name, "if", 2) != 0 && strncmp(name, "el", 2) != 0)
            continue;
        do {
            end += strcspn(end, "\n");
            end += *end == '\n';
        } while (*end && (end[-2] == '\\' || (end[-2] == '\r' && end[-3] == '\\')));
        if (has_word(at, (size_t)(end - at), words))
            return 1;
    }
    return 0;
}

size_t atoll_parsed_headers_find(const struct atoll_parsed_headers *headers, const char *text)
{
    for (size_t i = 0; i < headers->count; i++)
        if (headers->states[i] != ATOLL_PARSED_NEVER && includes(text, headers->table[i].name) &&
            !has_word(text, strlen(text), headers->table[i].words) &&
            !asks_for(text, headers->table[i].asked_words))
            return i + 1;
    return 0;
}

void atoll_parsed_headers_unit(const struct atoll_parsed_headers *headers, size_t header, char *ret_text,
                               size_t bytes)
{
    snprintf(
        ret_text, bytes,
        "#if !defined(__GNUC__) || defined(__clang__) || __GNUC__ < 12\n#error parsed in each unit\n#endif\n"
        "%s#include <%s>\n",
        headers->table[header - 1].before ? headers->table[header - 1].before : "",
        headers->table[header - 1].name);
}

void atoll_parsed_headers_keep(struct atoll_parsed_headers *headers, size_t header, int from_folder_fd,
                               const char *object)
{
    char name[128];
    snprintf(name, sizeof(name), "%s.gch", headers->table[header - 1].file);
    int is_kept = object && renameat(from_folder_fd, object, headers->folder_fd, name) == 0;
    headers->states[header - 1] = is_kept ? ATOLL_PARSED_READY : ATOLL_PARSED_NEVER;
}

void atoll_parsed_headers_path(const struct atoll_parsed_headers *headers, size_t header, char *ret_path,
                               size_t bytes)
{
    snprintf(ret_path, bytes, "../" ATOLL_PARSED_HEADERS_FOLDER "/%s", headers->table[header - 1].file);
}

void atoll_parsed_headers_hide(const struct atoll_parsed_headers *headers, size_t header, char *preprocessed)
{
    static const char says[] = "#pragma GCC pch_preprocess ";
    char path[160];
    char *line =
        strncmp(preprocessed, says, sizeof(says) - 1) == 0 ? preprocessed : strstr(preprocessed, says);
    snprintf(path, sizeof(path), "/" ATOLL_PARSED_HEADERS_FOLDER "/%s.gch\"",
             headers->table[header - 1].file);
    size_t length = line ? strcspn(line, "\n") : 0, tail = strlen(path);
    if (line && (line == preprocessed || line[-1] == '\n') && length > tail &&
        strncmp(line + length - tail, path, tail) == 0)
        memset(line, ' ', length);
}
