/* ask_many.c - asks a gateway's door (or any server of Chat Completions) many questions, so many at once.
 *
 * Question N says id=PREFIX-N and has the key PREFIX/N; it is asked until it is answered: a broken or refused connection, a reply
 * without the gateway's mark (a full door) and `cancelled` are no answers.  Every answer becomes one line of the file of answers,
 * "N HTTP STATUS NANODOLLARS TRIES FROM-STORE MICROSECONDS"; what stands there is not asked again, so that a killed driver
 * goes on.  At the end: one line of JSON. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define REPLY_BYTES ((size_t)1 << 20)
#define TEXT_BYTES  4096
#define AGAIN_NS    10e6
#define SLOT_LIMIT  4096

struct options {
    const char *to, *path, *model, *prefix, *campaign, *token, *answers;
    unsigned count, first, at_once;
    double deadline_s, seconds, spread_ms;
    int is_plain; /* no gateway of ours: every HTTP reply is an answer */
};

struct slot {
    int fd, is_busy, is_connected;
    unsigned question;
    double asked_ns, again_ns; /* of the first try; when the next one may be made, 0 now */
    char out[TEXT_BYTES];
    size_t out_length, out_sent;
    char *in;
    size_t in_length;
};

struct driver {
    struct options options;
    struct sockaddr_storage address;
    socklen_t address_length;
    int epoll, answers;
    struct slot *slots;
    unsigned char *is_answered;
    unsigned next, left;
    uint32_t *microseconds;
    unsigned long answered, again,
        failed; /* failed: answers that are none of ok, truncated, refused, empty */
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "ask_many: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- where to ---- */

static void address_read(struct driver *driver)
{
    const char *to = driver->options.to;
    if (strncmp(to, "unix:", 5) == 0) {
        struct sockaddr_un *address = (struct sockaddr_un *)&driver->address;
        address->sun_family = AF_UNIX;
        snprintf(address->sun_path, sizeof(address->sun_path), "%s", to + 5);
        driver->address_length = sizeof(*address);
        return;
    }
    struct sockaddr_in *address = (struct sockaddr_in *)&driver->address;
    const char *port = strrchr(to, ':');
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address->sin_port = htons((uint16_t)(port ? atoi(port + 1) : 0));
    driver->address_length = sizeof(*address);
}

/* ---- one slot ---- */

static void slot_hang_up(struct slot *slot)
{
    if (slot->fd >= 0)
        close(slot->fd);
    slot->fd = -1;
    slot->is_connected = 0;
    slot->in_length = slot->out_sent = 0;
}

static void slot_ask_again(struct driver *driver, struct slot *slot)
{
    slot_hang_up(slot);
    slot->again_ns = now_ns() + AGAIN_NS;
    driver->again++;
}

static void slot_watch(const struct driver *driver, struct slot *slot, int operation)
{
    uint32_t events = slot->out_sent < slot->out_length ? (uint32_t)(EPOLLIN | EPOLLOUT) : (uint32_t)EPOLLIN;
    struct epoll_event event = {.events = events, .data.ptr = slot};
    if (epoll_ctl(driver->epoll, operation, slot->fd, &event))
        die("epoll_ctl");
}

static void question_compose(const struct driver *driver, struct slot *slot)
{
    const struct options *o = &driver->options;
    char body[2048], token[512] = "", atoll[1024] = "";
    if (!o->is_plain)
        snprintf(atoll, sizeof(atoll),
                 ",\"atoll\":{\"key\":\"%s/%u\",\"campaign\":\"%s\",\"task\":\"t%u\",\"deadline_s\":%.3f}",
                 o->prefix, slot->question, o->campaign, slot->question % 4, o->deadline_s);
    int length =
        snprintf(body, sizeof(body),
                 "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"say id=%s-%u\"}]%s}",
                 o->model, o->prefix, slot->question, atoll);
    if (o->token)
        snprintf(token, sizeof(token), "Authorization: Bearer %s\r\n", o->token);
    slot->out_length = (size_t)snprintf(slot->out, sizeof(slot->out),
                                        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                        "application/json\r\n%sContent-Length: %d\r\n\r\n%s",
                                        o->path, token, length, body);
    slot->out_sent = slot->in_length = 0;
}

static void slot_write(struct driver *driver, struct slot *slot)
{
    while (slot->out_sent < slot->out_length) {
        ssize_t wrote =
            send(slot->fd, slot->out + slot->out_sent, slot->out_length - slot->out_sent, MSG_NOSIGNAL);
        if (wrote < 0 && errno == EAGAIN) {
            slot_watch(driver, slot, EPOLL_CTL_MOD);
            return;
        }
        if (wrote < 0) {
            slot_ask_again(driver, slot);
            return;
        }
        slot->out_sent += (size_t)wrote;
    }
    slot_watch(driver, slot, EPOLL_CTL_MOD);
}

static void slot_connect(struct driver *driver, struct slot *slot)
{
    int one = 1;
    slot->fd = socket(driver->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (slot->fd < 0)
        die("socket");
    if (driver->address.ss_family == AF_INET)
        setsockopt(slot->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(slot->fd, (struct sockaddr *)&driver->address, driver->address_length) &&
        errno != EINPROGRESS) {
        slot_ask_again(driver, slot);
        return;
    }
    slot->is_connected = 1;
    slot->out_sent = 0;
    slot_watch(driver, slot, EPOLL_CTL_ADD);
}

static int question_take(struct driver *driver, struct slot *slot)
{
    const struct options *o = &driver->options;
    while (driver->next < o->first + o->count && driver->is_answered[driver->next - o->first])
        driver->next++;
    if (driver->next >= o->first + o->count)
        return 0;
    slot->question = driver->next++;
    slot->is_busy = 1;
    slot->asked_ns = now_ns();
    slot->again_ns = 0;
    question_compose(driver, slot);
    return 1;
}

static void slot_go_on(struct driver *driver, struct slot *slot, double now)
{
    if (slot->again_ns > now || (!slot->is_busy && !question_take(driver, slot)))
        return;
    slot->again_ns = 0;
    if (slot->fd < 0)
        slot_connect(driver, slot);
    else if (slot->out_sent == 0)
        slot_write(driver, slot);
}

/* ---- replies ---- */

/* Bytes of the whole reply in in, 0: not all of it is there. */
static size_t reply_is_whole(const struct slot *slot)
{
    const char *end = strstr(slot->in, "\r\n\r\n"), *line = strcasestr(slot->in, "\r\ncontent-length:");
    if (!end || !line || line > end)
        return 0;
    size_t whole = (size_t)(end + 4 - slot->in) + strtoull(line + 17, NULL, 10);
    return slot->in_length >= whole ? whole : 0;
}

static const char *member(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? at + strlen(name) + strspn(at + strlen(name), ": \"") : "";
}

static void answer_keep(struct driver *driver, struct slot *slot, int http, const char *status,
                        const char *atoll)
{
    char line[256];
    double spent = strtod(member(atoll, "\"cost_usd\""), NULL) * 1e9;
    uint32_t took_us = (uint32_t)((now_ns() - slot->asked_ns) / 1e3);
    int length = snprintf(line, sizeof(line), "%u %d %.*s %.0f %ld %d %u\n", slot->question, http,
                          (int)strspn(status, "abcdefghijklmnopqrstuvwxyz_"), status, spent,
                          strtol(member(atoll, "\"tries\""), NULL, 10),
                          strncmp(member(atoll, "\"is_from_store\""), "true", 4) == 0, took_us);
    if (driver->answers >= 0 && write(driver->answers, line, (size_t)length) != length)
        die("answers");
    driver->microseconds[driver->answered++] = took_us;
    driver->failed += http != 200;
    driver->left--;
    slot->is_busy = 0;
}

static void slot_answer(struct driver *driver, struct slot *slot)
{
    int http = 0, is_last = strcasestr(slot->in, "\r\nconnection: close") != NULL;
    const char *atoll = strstr(slot->in, "\"atoll\""), *status = "none";
    sscanf(slot->in, "HTTP/1.1 %d", &http);
    if (atoll)
        status = member(atoll, "\"status\"");
    if (!driver->options.is_plain && (!atoll || strncmp(status, "cancelled", 9) == 0)) {
        slot_ask_again(driver, slot);
        return;
    }
    answer_keep(driver, slot, http, status, atoll ? atoll : "");
    slot->in_length = 0;
    if (is_last)
        slot_hang_up(slot);
}

static void slot_read(struct driver *driver, struct slot *slot)
{
    for (;;) {
        ssize_t got = recv(slot->fd, slot->in + slot->in_length, REPLY_BYTES - 1 - slot->in_length, 0);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            if (slot->is_busy && slot->out_sent)
                slot_ask_again(driver, slot);
            else
                slot_hang_up(slot);
            return;
        }
        slot->in_length += (size_t)got;
        slot->in[slot->in_length] = '\0';
        if (slot->is_busy && reply_is_whole(slot)) {
            slot_answer(driver, slot);
            return;
        }
    }
}

static void slot_event(struct driver *driver, struct slot *slot, uint32_t events)
{
    if (slot->fd < 0)
        return;
    if (slot->is_busy && (events & EPOLLOUT) && slot->out_sent < slot->out_length)
        slot_write(driver, slot);
    if (slot->fd >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        slot_read(driver, slot);
}

/* ---- all of it ---- */

static void answers_read(struct driver *driver)
{
    const struct options *o = &driver->options;
    char line[256], end = '\n';
    unsigned question;
    FILE *file = fopen(o->answers, "r");
    while (file && fgets(line, sizeof(line), file)) {
        end = line[strlen(line) - 1];
        if (end == '\n' && sscanf(line, "%u ", &question) == 1 && question >= o->first &&
            question - o->first < o->count && !driver->is_answered[question - o->first]) {
            driver->is_answered[question - o->first] = 1;
            driver->left--;
        }
    }
    if (file)
        fclose(file);
    driver->answers = open(o->answers, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (driver->answers < 0 || (end != '\n' && write(driver->answers, "\n", 1) != 1))
        die(o->answers);
}

static void run(struct driver *driver)
{
    struct epoll_event events[256];
    double end_ns = now_ns() + driver->options.seconds * 1e9;
    while (driver->left > 0 && now_ns() < end_ns) {
        double now = now_ns();
        for (unsigned i = 0; i < driver->options.at_once; i++)
            slot_go_on(driver, &driver->slots[i], now);
        int count = epoll_wait(driver->epoll, events, 256, 5);
        for (int i = 0; i < count; i++)
            slot_event(driver, events[i].data.ptr, events[i].events);
    }
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void summary(struct driver *driver, double seconds)
{
    unsigned long n = driver->answered;
    uint32_t *us = driver->microseconds;
    qsort(us, n, sizeof(*us), compare);
    printf("{\"answered\": %lu, \"left\": %u, \"asked_again\": %lu, \"not_200\": %lu, \"seconds\": %.3f, "
           "\"p50_us\": %u, "
           "\"p99_us\": %u, \"most_us\": %u}\n",
           n, driver->left, driver->again, driver->failed, seconds, n ? us[n / 2] : 0,
           n ? us[n * 99 / 100] : 0, n ? us[n - 1] : 0);
}

static void driver_fini(struct driver *driver)
{
    for (unsigned i = 0; i < driver->options.at_once; i++) {
        slot_hang_up(&driver->slots[i]);
        free(driver->slots[i].in);
    }
    free(driver->slots);
    free(driver->is_answered);
    free(driver->microseconds);
}

static const struct option names[] = {
    {"to", 1, NULL, 't'},      {"path", 1, NULL, 'p'},      {"model", 1, NULL, 'm'},
    {"prefix", 1, NULL, 'x'},  {"campaign", 1, NULL, 'c'},  {"token", 1, NULL, 'k'},
    {"answers", 1, NULL, 'a'}, {"count", 1, NULL, 'n'},     {"first", 1, NULL, 'f'},
    {"at-once", 1, NULL, 'o'}, {"seconds", 1, NULL, 's'},   {"deadline", 1, NULL, 'd'},
    {"plain", 0, NULL, 'P'},   {"spread-ms", 1, NULL, 'w'}, {NULL, 0, NULL, 0}};

static void options_read(struct options *o, int argc, char **argv)
{
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (c) {
        case 't': o->to = optarg; break;
        case 'p': o->path = optarg; break;
        case 'm': o->model = optarg; break;
        case 'x': o->prefix = optarg; break;
        case 'c': o->campaign = optarg; break;
        case 'k': o->token = optarg; break;
        case 'a': o->answers = optarg; break;
        case 'n': o->count = (unsigned)atoi(optarg); break;
        case 'f': o->first = (unsigned)atoi(optarg); break;
        case 'o': o->at_once = (unsigned)atoi(optarg); break;
        case 's': o->seconds = atof(optarg); break;
        case 'd': o->deadline_s = atof(optarg); break;
        case 'w': o->spread_ms = atof(optarg); break;
        case 'P': o->is_plain = 1; break;
        default: exit(2);
        }
    }
    if (!o->to || !o->count || !o->at_once || o->at_once > SLOT_LIMIT) {
        fprintf(stderr,
                "ask_many --to URL|unix:PATH --count N --at-once N [--model NAME] [--answers FILE] ...\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct driver driver = {.options = {.path = "/v1/chat/completions",
                                        .model = "ok",
                                        .prefix = "q",
                                        .campaign = "c",
                                        .count = 1000,
                                        .at_once = 64,
                                        .deadline_s = 60,
                                        .seconds = 3600},
                            .answers = -1};
    options_read(&driver.options, argc, argv);
    const struct options *o = &driver.options;
    address_read(&driver);
    driver.next = o->first;
    driver.left = o->count;
    driver.is_answered = calloc(o->count, 1);
    driver.microseconds = calloc(o->count, sizeof(*driver.microseconds));
    driver.slots = calloc(o->at_once, sizeof(*driver.slots));
    driver.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!driver.is_answered || !driver.microseconds || !driver.slots || driver.epoll < 0)
        die("start");
    for (unsigned i = 0; i < o->at_once; i++) {
        driver.slots[i].fd = -1;
        driver.slots[i].again_ns = now_ns() + driver.options.spread_ms * 1e6 * i / driver.options.at_once;
        if (!(driver.slots[i].in = malloc(REPLY_BYTES)))
            die("slots");
    }
    if (o->answers)
        answers_read(&driver);
    double begin_ns = now_ns();
    run(&driver);
    summary(&driver, (now_ns() - begin_ns) / 1e9);
    driver_fini(&driver);
    return driver.left ? 3 : 0;
}
