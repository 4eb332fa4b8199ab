/* throttle.h - how many calls of an endpoint may be in flight: additive increase, multiplicative decrease.
 * Increase by one a round trip and decrease to a half: Chiu and Jain 1989, "Analysis of the increase and decrease
 * algorithms for congestion avoidance in computer networks"; the increase only while the window is used: RFC 7661; the
 * decrease at most once a round trip: RFC 6675, section 5.
 * Unlike TCP, which takes each loss for a full queue, one rejection lowers nothing: endpoints err at random, too, and a window
 * that gains 1 / w an answer and loses w / 2 at each of a share p of errors ends near sqrt(2 / p), whatever the endpoint can
 * do (Mathis, Semke, Mahdavi and Ott 1997, "The macroscopic behavior of the TCP congestion avoidance algorithm").
 * Answers are counted in epochs of as many as were in flight, at least 20; the window is lowered as soon as an epoch holds
 * more rejections than a tenth of its answers and two standard deviations of such a binomial count: the 5th of 20, the 29th of
 * 200, the 65th of 512.  Tenth, deviations and 20 are our choice: 6 errors in 100 answers, at random, lower a window of 20
 * once in 178 epochs and one of 200 once in 96,000.  Where p of all answers fail at random a window with the ceiling 512 is
 * on average 512 for p up to 8 %, 87 for 10 %, 28 for 12 %, 9 for 20 %.
 * Layer: llm-gateway, pure.  Plain value. */
#ifndef ATOLL_LLM_GATEWAY_BROKER_THROTTLE_H
#define ATOLL_LLM_GATEWAY_BROKER_THROTTLE_H

#include "llm-gateway/request/outcome.h"

struct atoll_throttle {
    double window;         /* now */
    double floor, ceiling; /* 1 and what the configuration says */
    double lowered_ns;
    unsigned in_flight;
    unsigned most_in_flight, answers, rejections; /* of this epoch */
};
void atoll_throttle_init(struct atoll_throttle *throttle, unsigned start, unsigned ceiling);
int atoll_throttle_admit(struct atoll_throttle *throttle); /* 1: it counts as in flight */
/* started_ns: of the call that ended so.  RATE, OVERLOADED and TIMEOUT are rejections; OK, TRUNCATED, EMPTY and REFUSED are
 * the other answers; the rest says nothing about load, nor does what was sent before the window was lowered. */
void atoll_throttle_note(struct atoll_throttle *throttle, enum atoll_llm_status status, double started_ns,
                         double now_ns);

#endif
