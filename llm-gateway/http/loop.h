/* loop.h - the one thread of a gateway or client: descriptors and timers over epoll.
 * Layer: llm-gateway.  Lifetime: create/destroy.  One thread; callbacks run inside atoll_loop_run and may add or remove
 * anything, themselves included. */
#ifndef ATOLL_LLM_GATEWAY_HTTP_LOOP_H
#define ATOLL_LLM_GATEWAY_HTTP_LOOP_H

#include <stdint.h>

#include "base/err.h"

struct atoll_loop;

/* now_ns: monotonic clock, NULL = the system's; borrowed with its context (tests hand in their own time). */
struct atoll_loop *atoll_loop_create(double (*now_ns)(void *context), void *context, struct atoll_err *err);
void atoll_loop_destroy(struct atoll_loop *loop);
double atoll_loop_now_ns(const struct atoll_loop *loop);
/* Becomes readable when a callback is due because of a descriptor; timers: atoll_loop_wait_ms. */
int atoll_loop_fd(const struct atoll_loop *loop);
/* Milliseconds until the next timer, at most limit_ms. */
int atoll_loop_wait_ms(const struct atoll_loop *loop, int limit_ms);

typedef void atoll_loop_ready(void *context, int fd, uint32_t epoll_events);
/* Watches fd for EPOLLIN and/or EPOLLOUT (level-triggered); again with other events: changes them; 0 events: stops. */
int atoll_loop_watch(struct atoll_loop *loop, int fd, uint32_t epoll_events, atoll_loop_ready *ready,
                     void *context, struct atoll_err *err);

typedef void atoll_loop_due(void *context);
/* Calls due once, at a time of the loop's clock; *ret_timer > 0 names it until then. */
int atoll_loop_at(struct atoll_loop *loop, double when_ns, atoll_loop_due *due, void *context,
                  uint64_t *ret_timer, struct atoll_err *err);
void atoll_loop_cancel(struct atoll_loop *loop, uint64_t timer); /* 0 or one that was called: nothing */

/* At most one wait of timeout_ms (0: none), then every callback that is due. */
int atoll_loop_run(struct atoll_loop *loop, int timeout_ms, struct atoll_err *err);

#endif
