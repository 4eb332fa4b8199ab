#include "scheduler/cli/model_words.h"

#include <string.h>
#include <sys/stat.h>

#define LINE_BYTES 2048

enum kind { KIND_OVER, KIND_BUDGET, KIND_FAILED, KIND_COUNT };

static const char *const ids[KIND_COUNT] = {"eval.ask.over", "eval.ask.budget", "eval.ask.failed"};

struct words {
    unsigned count;
    char text[1024]; /* of the last line */
};

long atoll_model_words_mark(const char *log_path)
{
    struct stat status;

    return stat(log_path, &status) == 0 ? (long)status.st_size : 0;
}

/* A line is: time level id text. */
static void line_note(const char *line, struct words words[KIND_COUNT])
{
    const char *id = line;
    size_t length;

    for (int word = 0; word < 2; word++) {
        id += strcspn(id, " ");
        id += strspn(id, " ");
    }
    length = strcspn(id, " ");
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        if (strlen(ids[kind]) == length && strncmp(ids[kind], id, length) == 0) {
            words[kind].count++;
            snprintf(words[kind].text, sizeof(words[kind].text), "%.1000s",
                     id + length + (id[length] == ' '));
        }
    }
}

static void print(const struct words words[KIND_COUNT], FILE *out)
{
    int is_told = words[KIND_OVER].count || words[KIND_BUDGET].count;

    for (size_t kind = 0; kind < KIND_FAILED; kind++) {
        if (words[kind].count) {
            fprintf(out, "atoll: warning: %s\n", words[kind].text);
        }
    }
    if (words[KIND_FAILED].count && !is_told) {
        fprintf(out, "atoll: warning: %u questions to the model failed, the last one: %s\n",
                words[KIND_FAILED].count, words[KIND_FAILED].text);
    }
}

void atoll_model_words_print(const char *log_path, long mark, FILE *out)
{
    struct words words[KIND_COUNT] = {{0, ""}};
    char line[LINE_BYTES];
    FILE *log = fopen(log_path, "re");

    if (!log) {
        return;
    }
    if (fseek(log, mark, SEEK_SET) == 0) {
        while (fgets(line, sizeof(line), log)) {
            line[strcspn(line, "\n")] = '\0';
            line_note(line, words);
        }
    }
    fclose(log);
    print(words, out);
}
