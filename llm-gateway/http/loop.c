/* loop.c - descriptors over epoll, timers in a binary heap.
 * Descriptors: a table by number; what epoll hands back is number and generation of a watch, so an event that waited in the
 * batch while its watch ended, or its number became another file's, is dropped.
 * Timers: slots with generations, and a heap of slot numbers ordered by time, then by the order they were set in.  A timer
 * set during a turn is never called in that turn, however early it is due: a callback that sets itself again cannot keep
 * the loop from its descriptors. */
#include "llm-gateway/http/loop.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

#define BATCH       256
#define FD_LIMIT    ((size_t)1 << 20)
#define TIMER_LIMIT ((size_t)1 << 20)

struct watch {
    atoll_loop_ready *ready; /* NULL: not watched */
    void *context;
    uint32_t generation, events;
};

struct timer {
    double when_ns;
    uint64_t order; /* of being set; 0 = free */
    atoll_loop_due *due;
    void *context;
    uint32_t generation;
    uint32_t place; /* in the heap, or the next free slot */
};

struct atoll_loop {
    int epoll_fd;
    double (*now_ns)(void *context);
    void *now_context;
    struct watch *watches;
    uint32_t watch_capacity;
    struct timer *timers;
    uint32_t *heap;
    size_t timer_capacity, timer_count; /* count: in the heap */
    uint32_t free_slot;                 /* timer_capacity: none */
    uint64_t next_order;
    double turn_ns; /* the time of the last turn's timers */
    struct epoll_event batch[BATCH];
};

static double system_now_ns(void *context)
{
    return atoll_clock_mono_ns();
}

struct atoll_loop *atoll_loop_create(double (*now_ns)(void *context), void *context, struct atoll_err *err)
{
    struct atoll_loop *loop = calloc(1, sizeof(*loop));
    if (!loop) {
        atoll_err_set(err, ATOLL_E_MEMORY, "loop: out of memory");
        return NULL;
    }
    loop->now_ns = now_ns ? now_ns : system_now_ns;
    loop->now_context = now_ns ? context : NULL;
    loop->turn_ns = -INFINITY;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0) {
        atoll_err_errno(err, errno, "loop: epoll_create1");
        free(loop);
        return NULL;
    }
    return loop;
}

void atoll_loop_destroy(struct atoll_loop *loop)
{
    if (!loop)
        return;
    close(loop->epoll_fd);
    free(loop->watches);
    free(loop->timers);
    free(loop->heap);
    free(loop);
}

double atoll_loop_now_ns(const struct atoll_loop *loop)
{
    return loop->now_ns(loop->now_context);
}

int atoll_loop_fd(const struct atoll_loop *loop)
{
    return loop->epoll_fd;
}

/* ---- descriptors ---- */

static int watches_reach(struct atoll_loop *loop, int fd, struct atoll_err *err)
{
    if ((size_t)fd >= FD_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "loop: descriptor %d is beyond the limit of %zu", fd,
                             FD_LIMIT);
    return atoll_array_reserve(&loop->watches, &loop->watch_capacity, (uint32_t)fd + 1,
                               sizeof(*loop->watches), err);
}

/* The table may be wrong about epoll where a descriptor was closed, or closed and opened again, behind its back. */
static int epoll_set(int epoll_fd, int fd, int is_known, struct epoll_event *event)
{
    if (epoll_ctl(epoll_fd, is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, event) == 0)
        return 0;
    if (errno == ENOENT && is_known)
        return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, event);
    if (errno == EEXIST && !is_known)
        return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, event);
    return -1;
}

int atoll_loop_watch(struct atoll_loop *loop, int fd, uint32_t epoll_events, atoll_loop_ready *ready,
                     void *context, struct atoll_err *err)
{
    if (fd < 0)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "loop: descriptor %d cannot be watched", fd);
    if (!epoll_events) {
        if ((size_t)fd < loop->watch_capacity && loop->watches[fd].ready) {
            /* It fails where the descriptor was closed before: then epoll has forgotten it by itself. */
            epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
            loop->watches[fd].ready = NULL;
            loop->watches[fd].generation++;
        }
        return 0;
    }
    if (!ready || (epoll_events & ~(uint32_t)(EPOLLIN | EPOLLOUT)))
        return atoll_err_set(err, ATOLL_E_INTERNAL, "loop: descriptor %d has no callback, or wrong events",
                             fd);
    if (watches_reach(loop, fd, err))
        return -1;
    struct watch *watch = &loop->watches[fd];
    struct epoll_event event = {.events = epoll_events,
                                .data.u64 = (uint64_t)watch->generation << 32 | (uint32_t)fd};
    if (epoll_set(loop->epoll_fd, fd, watch->ready != NULL, &event)) {
        int number = errno;
        watch->ready = NULL;
        watch->generation++;
        return atoll_err_errno(err, number, "loop: watching descriptor %d", fd);
    }
    *watch = (struct watch){ready, context, watch->generation, epoll_events};
    return 0;
}

/* ---- timers ---- */

static int is_before(const struct atoll_loop *loop, uint32_t a, uint32_t b)
{
    const struct timer *first = &loop->timers[a], *second = &loop->timers[b];
    if (first->when_ns < second->when_ns || first->when_ns > second->when_ns)
        return first->when_ns < second->when_ns;
    return first->order < second->order;
}

static void heap_put(struct atoll_loop *loop, size_t place, uint32_t slot)
{
    loop->heap[place] = slot;
    loop->timers[slot].place = (uint32_t)place;
}

static void heap_up(struct atoll_loop *loop, size_t place)
{
    uint32_t slot = loop->heap[place];
    while (place > 0 && is_before(loop, slot, loop->heap[(place - 1) / 2])) {
        heap_put(loop, place, loop->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    heap_put(loop, place, slot);
}

static void heap_down(struct atoll_loop *loop, size_t place)
{
    uint32_t slot = loop->heap[place];
    for (size_t child = 2 * place + 1; child < loop->timer_count; child = 2 * place + 1) {
        if (child + 1 < loop->timer_count && is_before(loop, loop->heap[child + 1], loop->heap[child]))
            child++;
        if (!is_before(loop, loop->heap[child], slot))
            break;
        heap_put(loop, place, loop->heap[child]);
        place = child;
    }
    heap_put(loop, place, slot);
}

static void timer_remove(struct atoll_loop *loop, uint32_t slot)
{
    struct timer *timer = &loop->timers[slot];
    size_t place = timer->place;
    uint32_t last = loop->heap[--loop->timer_count];
    if (last != slot) {
        heap_put(loop, place, last);
        heap_up(loop, place);
        heap_down(loop, loop->timers[last].place);
    }
    timer->order = 0;
    timer->generation++;
    timer->place = loop->free_slot;
    loop->free_slot = slot;
}

static int timers_grow(struct atoll_loop *loop, struct atoll_err *err)
{
    size_t capacity = loop->timer_capacity ? loop->timer_capacity * 2 : 64;
    if (capacity > TIMER_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "loop: more than %zu timers", TIMER_LIMIT);
    struct timer *timers = realloc(loop->timers, capacity * sizeof(*timers));
    if (timers)
        loop->timers = timers;
    uint32_t *heap = timers ? realloc(loop->heap, capacity * sizeof(*heap)) : NULL;
    if (!heap)
        return atoll_err_set(err, ATOLL_E_MEMORY, "loop: no memory for a timer");
    loop->heap = heap;
    for (size_t slot = loop->timer_capacity; slot < capacity; slot++)
        timers[slot] = (struct timer){.place = (uint32_t)(slot + 1)};
    loop->free_slot = (uint32_t)loop->timer_capacity;
    loop->timer_capacity = capacity;
    return 0;
}

int atoll_loop_at(struct atoll_loop *loop, double when_ns, atoll_loop_due *due, void *context,
                  uint64_t *ret_timer, struct atoll_err *err)
{
    if (isnan(when_ns) || !due)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "loop: a timer without a time or a callback");
    if (loop->free_slot == loop->timer_capacity && timers_grow(loop, err))
        return -1;
    uint32_t slot = loop->free_slot;
    struct timer *timer = &loop->timers[slot];
    loop->free_slot = timer->place;
    timer->when_ns = fmax(when_ns, loop->turn_ns); /* behind all that this turn still has to call */
    timer->order = ++loop->next_order;
    timer->due = due;
    timer->context = context;
    heap_put(loop, loop->timer_count++, slot);
    heap_up(loop, timer->place);
    if (ret_timer)
        *ret_timer = (uint64_t)timer->generation << 32 | (slot + 1);
    return 0;
}

void atoll_loop_cancel(struct atoll_loop *loop, uint64_t timer)
{
    uint64_t slot = (timer & 0xffffffffu) - 1;
    if (timer == 0 || slot >= loop->timer_capacity)
        return;
    const struct timer *it = &loop->timers[slot];
    if (it->order && it->generation == (uint32_t)(timer >> 32))
        timer_remove(loop, (uint32_t)slot);
}

int atoll_loop_wait_ms(const struct atoll_loop *loop, int limit_ms)
{
    if (loop->timer_count == 0)
        return limit_ms;
    double left_ms = ceil((loop->timers[loop->heap[0]].when_ns - atoll_loop_now_ns(loop)) / 1e6);
    if (left_ms <= 0)
        return 0;
    double limit = limit_ms < 0 ? 2147483647.0 : limit_ms;
    return left_ms < limit ? (int)left_ms : limit_ms;
}

int atoll_loop_run(struct atoll_loop *loop, int timeout_ms, struct atoll_err *err)
{
    int count = epoll_wait(loop->epoll_fd, loop->batch, BATCH, atoll_loop_wait_ms(loop, timeout_ms));
    if (count < 0 && errno != EINTR)
        return atoll_err_errno(err, errno, "loop: epoll_wait");
    for (int i = 0; i < count; i++) {
        int fd = (int)(loop->batch[i].data.u64 & 0xffffffffu);
        const struct watch *watch = &loop->watches[fd];
        if (watch->ready && watch->generation == (uint32_t)(loop->batch[i].data.u64 >> 32)) {
            /* Hang-ups and errors come unasked; what is no longer wanted is left out. */
            uint32_t events = loop->batch[i].events & (watch->events | EPOLLERR | EPOLLHUP);
            if (events)
                watch->ready(watch->context, fd, events);
        }
    }
    uint64_t last_order = loop->next_order;
    loop->turn_ns = atoll_loop_now_ns(loop);
    while (loop->timer_count > 0) {
        const struct timer *timer = &loop->timers[loop->heap[0]];
        if (timer->when_ns > loop->turn_ns || timer->order > last_order)
            break;
        atoll_loop_due *due = timer->due;
        void *context = timer->context;
        timer_remove(loop, loop->heap[0]);
        due(context);
    }
    return 0;
}
