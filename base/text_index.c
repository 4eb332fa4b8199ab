/* text_index.c - for each word a chain of entries, one for each text that has it, the newest first. */
#include "base/text_index.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"

#define K1         1.2 /* BM25's usual constants */
#define B          0.75
#define WORD_LIMIT 64 /* bytes of one that count */

struct entry {
    uint32_t text, count, next;
};

struct word {
    uint64_t hash;
    uint32_t first, text_count;
};

struct atoll_text_index {
    struct word *words;
    struct entry *entries;
    uint32_t *lengths; /* of texts, in words */
    uint32_t word_count, word_capacity, entry_count, entry_capacity, text_count, text_capacity, entry_limit;
    uint64_t whole_length;
    struct atoll_index by_hash;
};

static int is_word_byte(unsigned char byte)
{
    return isalnum(byte) || byte == '_' || byte >= 0x80;
}

static uint64_t hash_of(const char *word, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, and a last stir */
    for (size_t i = 0; i < length && i < WORD_LIMIT; i++)
        hash = (hash ^ (uint64_t)tolower((unsigned char)word[i])) * 0x100000001b3u;
    hash = (hash ^ hash >> 31) * 0x7fb5d329728ea185u;
    return hash ^ hash >> 27;
}

/* Called for each word, and for each part of one with _. */
typedef int word_sink(void *context, uint64_t hash);

static int each_word(const char *text, size_t length, word_sink *sink, void *context)
{
    for (size_t at = 0; at < length;) {
        size_t begin = at, part, end;
        while (at < length && is_word_byte((unsigned char)text[at]))
            at++;
        end = at;
        if (end == begin) {
            at++;
            continue;
        }
        if (sink(context, hash_of(text + begin, end - begin)) != 0)
            return -1;
        if (!memchr(text + begin, '_', end - begin))
            continue;
        for (part = begin; part < end;) {
            size_t stop = part;
            while (stop < end && text[stop] != '_')
                stop++;
            if (stop - part >= 2 && sink(context, hash_of(text + part, stop - part)) != 0)
                return -1;
            part = stop + 1;
        }
    }
    return 0;
}

static int query_add(void *context, uint64_t hash)
{
    struct atoll_text_query *query = context;
    for (size_t i = 0; i < query->count; i++)
        if (query->words[i] == hash)
            return 0;
    if (query->count == ATOLL_TEXT_QUERY_LIMIT)
        return -1;
    query->words[query->count++] = hash;
    return 0;
}

void atoll_text_query_init(struct atoll_text_query *query, const char *words, size_t length)
{
    query->count = 0;
    each_word(words, length, query_add, query);
}

struct counting {
    const struct atoll_text_query *query;
    uint32_t seen; /* a bit for each word */
};

static int count_word(void *context, uint64_t hash)
{
    struct counting *c = context;
    for (size_t i = 0; i < c->query->count; i++)
        if (c->query->words[i] == hash)
            c->seen |= 1u << i;
    return 0;
}

size_t atoll_text_query_count(const struct atoll_text_query *query, const char *text, size_t length)
{
    struct counting c = {query, 0};
    each_word(text, length, count_word, &c);
    return (size_t)__builtin_popcount(c.seen);
}

struct atoll_text_index *atoll_text_index_create(uint32_t entry_limit, struct atoll_err *err)
{
    struct atoll_text_index *index = calloc(1, sizeof(*index));
    if (!index) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an index of texts");
        return NULL;
    }
    index->entry_limit = entry_limit;
    return index;
}

void atoll_text_index_destroy(struct atoll_text_index *index)
{
    if (!index)
        return;
    atoll_index_fini(&index->by_hash);
    free(index->words);
    free(index->entries);
    free(index->lengths);
    free(index);
}

uint32_t atoll_text_index_count(const struct atoll_text_index *index)
{
    return index->text_count;
}

struct wanted {
    const struct atoll_text_index *index;
    uint64_t hash;
};

static int is_wanted(const void *context, uint32_t position)
{
    const struct wanted *w = context;
    return w->index->words[position].hash == w->hash;
}

static uint32_t find_word(const struct atoll_text_index *index, uint64_t hash)
{
    struct wanted wanted = {index, hash};
    return atoll_index_find(&index->by_hash, hash, is_wanted, &wanted);
}

struct adding {
    struct atoll_text_index *index;
    struct atoll_err *err;
};

static int add_word(void *context, uint64_t hash)
{
    struct adding *a = context;
    struct atoll_text_index *index = a->index;
    uint32_t text = index->text_count - 1, at = find_word(index, hash);
    struct word *word = at == ATOLL_NONE ? NULL : &index->words[at];
    index->lengths[text]++;
    index->whole_length++;
    if (word && word->first != ATOLL_NONE && index->entries[word->first].text == text) {
        index->entries[word->first].count++;
        return 0;
    }
    if (index->entry_count >= index->entry_limit)
        return atoll_err_set(a->err, ATOLL_E_LIMIT, "the index of texts is full");
    if (atoll_array_reserve(&index->entries, &index->entry_capacity, index->entry_count + 1,
                            sizeof(*index->entries), a->err) != 0)
        return -1;
    if (!word) {
        if (atoll_array_reserve(&index->words, &index->word_capacity, index->word_count + 1,
                                sizeof(*index->words), a->err) != 0 ||
            atoll_index_add(&index->by_hash, hash, index->word_count, a->err) != 0)
            return -1;
        word = &index->words[index->word_count++];
        *word = (struct word){hash, ATOLL_NONE, 0};
    }
    index->entries[index->entry_count] = (struct entry){text, 1, word->first};
    word->first = index->entry_count++;
    word->text_count++;
    return 0;
}

int atoll_text_index_add(struct atoll_text_index *index, const char *text, size_t length,
                         struct atoll_err *err)
{
    struct adding adding = {index, err};
    if (atoll_array_reserve(&index->lengths, &index->text_capacity, index->text_count + 1,
                            sizeof(*index->lengths), err) != 0)
        return -1;
    index->lengths[index->text_count++] = 0;
    return each_word(text, length, add_word, &adding);
}

static void score_word(const struct atoll_text_index *index, const struct word *word, double *scores)
{
    double texts = index->text_count, having = word->text_count;
    double mean = (double)index->whole_length / texts;
    double rarity = log(1 + (texts - having + 0.5) / (having + 0.5));
    for (uint32_t i = word->first; i != ATOLL_NONE; i = index->entries[i].next) {
        const struct entry *entry = &index->entries[i];
        double share = mean > 0 ? index->lengths[entry->text] / mean : 1;
        scores[entry->text] += rarity * entry->count * (K1 + 1) / (entry->count + K1 * (1 - B + B * share));
    }
}

size_t atoll_text_index_find(const struct atoll_text_index *index, const struct atoll_text_query *query,
                             struct atoll_text_hit *ret_hits, size_t limit)
{
    double *scores = calloc(index->text_count ? index->text_count : 1, sizeof(*scores));
    size_t count = 0;
    if (!scores)
        return 0;
    for (size_t i = 0; i < query->count; i++) {
        uint32_t word = find_word(index, query->words[i]);
        if (word != ATOLL_NONE)
            score_word(index, &index->words[word], scores);
    }
    for (uint32_t text = 0; text < index->text_count; text++) {
        size_t at = count;
        while (at > 0 && scores[text] > ret_hits[at - 1].score)
            at--;
        if (!(scores[text] > 0) || at >= limit)
            continue;
        count += count < limit;
        memmove(&ret_hits[at + 1], &ret_hits[at], (count - 1 - at) * sizeof(*ret_hits));
        ret_hits[at] = (struct atoll_text_hit){text, scores[text]};
    }
    free(scores);
    return count;
}
