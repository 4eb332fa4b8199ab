/* bucket.h - token bucket: requests or tokens per minute of one endpoint and model, learned from headers.
 * Layer: llm-gateway, pure.  Plain value. */
#ifndef ATOLL_LLM_GATEWAY_BROKER_BUCKET_H
#define ATOLL_LLM_GATEWAY_BROKER_BUCKET_H

struct atoll_bucket {
    double per_minute; /* how fast it fills; 0: no limit is known */
    double size;       /* most it holds */
    double level, filled_ns;
    double configured; /* per minute; 0: what there is was learned */
};
void atoll_bucket_init(struct atoll_bucket *bucket, double per_minute, double now_ns);
/* 1: amount is taken; 0: not before ret_when_ns.  An amount above the bucket's size is admitted when it is full. */
int atoll_bucket_take(struct atoll_bucket *bucket, double amount, double now_ns, double *ret_when_ns);
/* What was taken in excess comes back (estimated - used), or more is taken (negative). */
void atoll_bucket_return(struct atoll_bucket *bucket, double amount);
/* From a reply's headers; NaN where unsaid, and what is not above 0 is as unsaid (some servers send -1).  limit is the size;
 * it fills by limit a minute, or, once 5 % of it are missing, by what comes back until reset_s: so a limit per day, per hour
 * or per second is met as well.  The level only falls: what is in flight the server may not have counted.  A configured limit
 * is never raised, only lowered. */
void atoll_bucket_learn(struct atoll_bucket *bucket, double limit, double left, double reset_s,
                        double now_ns);

#endif
