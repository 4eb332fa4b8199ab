/* bucket.c - the level is brought up to date whenever it is looked at; it may fall below zero, by calls that were larger
 * than the bucket or than their estimate. */
#include "llm-gateway/broker/bucket.h"

#include <math.h>

#define NS_PER_MINUTE   60e9
#define DEFICIT_RATIO   0.05 /* less is too little to tell a rate from: resets are rounded, some to seconds */
#define MINUTES_PER_DAY 1440.0 /* the longest window there is */

void atoll_bucket_init(struct atoll_bucket *bucket, double per_minute, double now_ns)
{
    double rate = per_minute > 0.0 ? per_minute : 0.0;
    *bucket = (struct atoll_bucket){
        .per_minute = rate, .size = rate, .level = rate, .filled_ns = now_ns, .configured = rate};
}

static void fill(struct atoll_bucket *bucket, double now_ns)
{
    if (now_ns <= bucket->filled_ns)
        return;
    double came = (now_ns - bucket->filled_ns) / NS_PER_MINUTE * bucket->per_minute;
    bucket->level = fmin(bucket->size, bucket->level + came);
    bucket->filled_ns = now_ns;
}

int atoll_bucket_take(struct atoll_bucket *bucket, double amount, double now_ns, double *ret_when_ns)
{
    if (bucket->per_minute <= 0.0)
        return 1;
    fill(bucket, now_ns);
    double missing = fmin(amount, bucket->size) - bucket->level;
    /* What a rounded waiting time leaves open must not make another wait. */
    if (missing > 1e-6 * bucket->size) {
        *ret_when_ns = now_ns + missing / bucket->per_minute * NS_PER_MINUTE;
        return 0;
    }
    bucket->level -= amount;
    return 1;
}

void atoll_bucket_return(struct atoll_bucket *bucket, double amount)
{
    if (bucket->per_minute > 0.0)
        bucket->level = fmin(bucket->size, bucket->level + amount);
}

static void learn_limit(struct atoll_bucket *bucket, double limit)
{
    int is_new = bucket->per_minute <= 0.0;
    double size = bucket->configured > 0.0 ? fmin(bucket->configured, limit) : limit;
    if (size != bucket->size)
        bucket->per_minute = size; /* until resets say otherwise */
    bucket->size = size;
    bucket->level = is_new ? size : fmin(bucket->level, size);
}

static void learn_rate(struct atoll_bucket *bucket, double limit, double left, double reset_s)
{
    if (!(reset_s > 0.0) || !(limit - left >= DEFICIT_RATIO * limit))
        return;
    double rate = fmax((limit - left) / reset_s * 60.0, limit / MINUTES_PER_DAY);
    bucket->per_minute = bucket->configured > 0.0 ? fmin(bucket->configured, rate) : rate;
}

void atoll_bucket_learn(struct atoll_bucket *bucket, double limit, double left, double reset_s, double now_ns)
{
    if (isfinite(limit) && limit > 0.0) {
        if (bucket->per_minute <= 0.0)
            bucket->filled_ns = now_ns;
        fill(bucket, now_ns);
        learn_limit(bucket, limit);
        learn_rate(bucket, limit, left, reset_s);
    }
    if (bucket->per_minute > 0.0 && isfinite(left) && left >= 0.0) {
        fill(bucket, now_ns);
        bucket->level = fmin(bucket->level, left);
    }
}
