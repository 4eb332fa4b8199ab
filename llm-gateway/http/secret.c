/* secret.c - one secret in memory of its own: locked, kept out of dumps, read-only, gone in a forked child, wiped at the end.
 * Nothing here ever puts a byte of a secret into a text.  Comparing is by keyed digests of equal length, so its time tells
 * neither where two texts differ nor how long the secret is. */
#include "llm-gateway/http/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#define DIGEST_BYTES   crypto_generichash_BYTES
#define KEY_BYTES      crypto_generichash_KEYBYTES
#define SCRUBBED_BYTES 8 /* shorter ones may be words of a text */
#define SLASHES_MOST   15

struct atoll_secret {
    pid_t owner; /* reads 0 in a forked child: its copy of the page is wiped */
    size_t length;
    unsigned char key[KEY_BYTES], digest[DIGEST_BYTES];
    char text[ATOLL_SECRET_LIMIT_BYTES + 2]; /* room for what is too long, and the NUL */
};

static struct atoll_secret *create(struct atoll_err *err)
{
    struct atoll_secret *secret = sodium_init() < 0 ? NULL : sodium_malloc(sizeof(*secret));
    if (!secret) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no locked memory for a secret; raise ulimit -l");
        return NULL;
    }
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)secret & ~(page - 1);
    size_t bytes = (size_t)((uintptr_t)secret + sizeof(*secret) - start + page - 1) / page * page;
    madvise((void *)start, bytes, MADV_WIPEONFORK); /* Linux 4.14; without it, as all other memory */
    memset(secret, 0, sizeof(*secret));
    secret->owner = getpid();
    return secret;
}

void atoll_secret_destroy(struct atoll_secret *secret)
{
    if (secret && secret->owner == getpid())
        sodium_free(secret); /* wipes */
}

/* The first line; what surrounds it in files that people wrote is not part of it. */
static int check(struct atoll_secret *secret, const char *where, struct atoll_err *err)
{
    size_t length = strcspn(secret->text, "\n");
    size_t whole = strlen(secret->text);
    while (length > 0 && strchr(" \t\r", secret->text[length - 1]))
        length--;
    sodium_memzero(secret->text + length, whole - length);
    if (length == 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: holds no secret: its first line is empty", where);
    if (length > ATOLL_SECRET_LIMIT_BYTES)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: the secret is longer than %d bytes", where,
                             ATOLL_SECRET_LIMIT_BYTES);
    for (size_t i = 0; i < length; i++)
        if (secret->text[i] < ' ' || secret->text[i] > '~')
            return atoll_err_set(err, ATOLL_E_INPUT, "%s: byte %zu of the secret is not printable ASCII",
                                 where, i);
    secret->length = length;
    return 0;
}

static struct atoll_secret *finish(struct atoll_secret *secret, const char *where, struct atoll_err *err)
{
    if (check(secret, where, err) != 0) {
        atoll_secret_destroy(secret);
        return NULL;
    }
    randombytes_buf(secret->key, sizeof(secret->key));
    crypto_generichash(secret->digest, sizeof(secret->digest), (const unsigned char *)secret->text,
                       secret->length, secret->key, sizeof(secret->key));
    sodium_mprotect_readonly(secret);
    return secret;
}

/* What is looked at is what was opened: the name may mean another file by now. */
static int check_file(int fd, const char *path, struct atoll_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return atoll_err_errno(err, errno, "%s: cannot look at the file", path);
    if (!S_ISREG(st.st_mode))
        return atoll_err_set(err, ATOLL_E_DENIED, "%s: a secret is read from a regular file only", path);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return atoll_err_set(
            err, ATOLL_E_DENIED,
            "%s: belongs to another user (%lu): who owns it can change it; make a file of your own", path,
            (unsigned long)st.st_uid);
    if (st.st_mode & 077)
        return atoll_err_set(
            err, ATOLL_E_DENIED,
            "%s: others may read or write it (mode %04o): chmod 600 it, and change the secret if "
            "others can have read it",
            path, (unsigned)(st.st_mode & 07777));
    return 0;
}

static int read_text(int fd, struct atoll_secret *secret, const char *path, struct atoll_err *err)
{
    size_t have = 0, room = sizeof(secret->text) - 1;
    while (have < room) {
        ssize_t n = read(fd, secret->text + have, room - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return atoll_err_errno(err, errno, "%s: cannot read the secret", path);
        if (n == 0)
            break;
        have += (size_t)n;
    }
    const char *end = memchr(secret->text, '\n', have), *nul = memchr(secret->text, '\0', have);
    if (nul && (!end || nul < end))
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: byte %zu of the secret is not printable ASCII", path,
                             (size_t)(nul - secret->text));
    return 0;
}

struct atoll_secret *atoll_secret_of_file(const char *path, struct atoll_err *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ELOOP) {
        atoll_err_set(err, ATOLL_E_DENIED, "%s: is a symbolic link; name the file itself", path);
        return NULL;
    }
    if (fd < 0) {
        atoll_err_errno(err, errno, "%s: cannot open the secret's file", path);
        return NULL;
    }
    struct atoll_secret *secret = check_file(fd, path, err) == 0 ? create(err) : NULL;
    if (secret && read_text(fd, secret, path, err) != 0) {
        atoll_secret_destroy(secret);
        secret = NULL;
    }
    close(fd);
    return secret ? finish(secret, path, err) : NULL;
}

/* Every entry of that name: getenv would see the first alone. */
static void wipe_environment(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            sodium_memzero(*entry + length + 1, strlen(*entry + length + 1));
    unsetenv(name);
}

struct atoll_secret *atoll_secret_of_environment(const char *name, struct atoll_err *err)
{
    const char *value = name && *name && !strchr(name, '=') ? getenv(name) : NULL;
    if (!value) {
        atoll_err_set(err, ATOLL_E_NOTFOUND, "the environment has no variable %s", name ? name : "");
        return NULL;
    }
    struct atoll_secret *secret = create(err);
    if (secret) {
        size_t length = strlen(value), room = sizeof(secret->text) - 1;
        memcpy(secret->text, value, length < room ? length : room);
    }
    wipe_environment(name);
    return secret ? finish(secret, name, err) : NULL;
}

const char *atoll_secret_text(const struct atoll_secret *secret)
{
    return secret->text;
}

int atoll_secret_matches(const struct atoll_secret *secret, const char *given, size_t length)
{
    unsigned char digest[DIGEST_BYTES];
    if (secret->length == 0) /* a forked child's: nothing matches */
        return 0;
    crypto_generichash(digest, sizeof(digest), (const unsigned char *)(length ? given : ""), length,
                       secret->key, sizeof(secret->key));
    int is_same = sodium_memcmp(digest, secret->digest, sizeof(digest)) == 0;
    sodium_memzero(digest, sizeof(digest));
    return is_same;
}

/* The value of count hexadecimal digits; -1: they are none. */
static long hex_value(const unsigned char *at, const unsigned char *end, size_t count)
{
    char digits[5] = "";
    if ((size_t)(end - at) < count)
        return -1;
    memcpy(digits, at, count);
    return strspn(digits, "0123456789abcdefABCDEF") == count ? strtol(digits, NULL, 16) : -1;
}

/* How many bytes at at stand for the character: \u0041, \/, %41 or itself; 0: they do not.  Each document around another one
 * doubles the backslashes, and nobody wraps four. */
static size_t stands_for(const unsigned char *at, const unsigned char *end, unsigned char character)
{
    size_t slashes = 0;
    while (slashes < SLASHES_MOST && at + slashes < end && at[slashes] == '\\')
        slashes++;
    const unsigned char *behind = at + slashes;
    if (slashes && behind < end && *behind == 'u' && hex_value(behind + 1, end, 4) == character)
        return slashes + 5;
    if (slashes && character == '\\')
        return slashes;
    if (slashes && behind < end && *behind == character && strchr("\"'/", character))
        return slashes + 1;
    if (at < end && *at == '%' && hex_value(at + 1, end, 2) == character)
        return 3;
    return at < end && *at == character;
}

/* How many bytes at at stand for the secret's first count ones; 0: they do not. */
static size_t stands_for_secret(const struct atoll_secret *secret, size_t count, const unsigned char *at,
                                const unsigned char *end)
{
    const unsigned char *begin = at;
    for (size_t i = 0; i < count; i++) {
        size_t used = stands_for(at, end, (unsigned char)secret->text[i]);
        if (!used)
            return 0;
        at += used;
    }
    return (size_t)(at - begin);
}

size_t atoll_secret_scrub(const struct atoll_secret *secret, void *bytes, size_t length)
{
    unsigned char *at = bytes, *end = length ? at + length : at;
    size_t count = 0;
    if (!secret || secret->length < SCRUBBED_BYTES)
        return 0;
    while (at < end) {
        size_t used = (size_t)(end - at) >= secret->length && memcmp(at, secret->text, secret->length) == 0
                          ? secret->length
                          : stands_for_secret(secret, secret->length, at, end);
        memset(at, '*', used);
        count += used > 0;
        at += used ? used : 1;
    }
    return count;
}

void atoll_secret_scrub_line(const struct atoll_secret *secret, char *line)
{
    size_t length = strlen(line);
    atoll_secret_scrub(secret, line, length);
    for (size_t left = SCRUBBED_BYTES; secret && left < secret->length && left <= length; left++)
        if (memcmp(line + length - left, secret->text, left) == 0)
            memset(line + length - left, '*', left);
}

/* The outcome owns its calls' texts.  A name has no asterisks. */
static size_t scrub_call(const struct atoll_secret *secret, const struct atoll_llm_tool_call *call)
{
    char *name = (char *)(uintptr_t)call->name, *id = (char *)(uintptr_t)call->id,
         *arguments = (char *)(uintptr_t)call->arguments;
    size_t in_name = atoll_secret_scrub(secret, name, strlen(name));
    for (char *c = name; in_name && *c; c++)
        *c = *c == '*' ? '_' : *c;
    return in_name + atoll_secret_scrub(secret, id, strlen(id)) +
           atoll_secret_scrub(secret, arguments, strlen(arguments));
}

void atoll_secret_scrub_outcome(const struct atoll_secret *secret, struct atoll_llm_outcome *outcome)
{
    size_t in_texts =
        atoll_secret_scrub(secret, outcome->text.data, outcome->text.length) +
        atoll_secret_scrub(secret, outcome->reasoning.data, outcome->reasoning.length) +
        atoll_secret_scrub(secret, outcome->provider_state.data, outcome->provider_state.length);
    for (size_t i = 0; i < outcome->tool_call_count; i++)
        in_texts += scrub_call(secret, &outcome->tool_calls[i]);
    if (atoll_secret_scrub(secret, outcome->raw.data, outcome->raw.length) < in_texts)
        atoll_buffer_fini(&outcome->raw);
    atoll_secret_scrub_line(secret, outcome->detail);
    atoll_secret_scrub_line(secret, outcome->model);
    atoll_secret_scrub_line(secret, outcome->finish);
}

int atoll_secret_harden(struct atoll_err *err)
{
    const struct rlimit none = {0, 0};
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return atoll_err_set(err, ATOLL_E_DENIED, "this process cannot be made undumpable: %s",
                             strerror(errno));
    if (setrlimit(RLIMIT_CORE, &none) != 0)
        return atoll_err_set(err, ATOLL_E_DENIED, "core dumps cannot be turned off: %s", strerror(errno));
    return 0;
}
