/* setup.h - what evaluators are sent at the start, from the campaign's frozen options.
 * Layer: mpi-eval.  Keys of campaign.yaml's options: compiler, compile-flags, compile-deadline,
 * compile-memory, sample-device, sample-wall, sample-min, interval, full-compares, threads, backend (cpu,
 * cuda or null), timing (cold or warm), include-path, counters (none, near or all), counters-ratio,
 * counters-budget, sanitize (none or finals), sanitize-deadline; others are somebody else's.
 * With the backend cuda, compiler and compile-flags are "nvrtc" and "" where the campaign does not change them. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_SETUP_H
#define ATOLL_MPI_EVAL_COORDINATOR_SETUP_H

#include "archive-h5/campaign/campaign.h"
#include "core/message.h"

/* How candidates and baselines are compiled unless the campaign says otherwise: fast, but no licence to
 * change NaN, Inf or the order of sums. */
#define ATOLL_SETUP_COMPILE_FLAGS                                                                            \
    "-std=gnu11 -O3 -march=native -fopenmp-simd -fno-math-errno -fno-trapping-math -ffp-contract=fast"

/* Candidates within this many times the time of their cell's elite have their counters read. */
#define ATOLL_SETUP_COUNTERS_RATIO 1.5
/* That takes this share of the device's time, at most. */
#define ATOLL_SETUP_COUNTERS_BUDGET 0.1

/* Without the secret (zero). */
void atoll_setup_defaults(struct atoll_setup *ret_setup);
/* Defaults, then the campaign's options, whether its search has Triton (setting triton), then a fresh secret.  is_null: the null backend whatever the
 * campaign says; it answers at once, or after the campaign's sample-device where that is given. ATOLL_E_INPUT
 * names the option. */
int atoll_setup_of_campaign(const struct atoll_campaign *campaign, int is_null, struct atoll_setup *ret_setup,
                            struct atoll_err *err);
/* One option; 1 when the key is one of the above, 0 when not, -1 when the value is wrong. */
int atoll_setup_option(struct atoll_setup *setup, const char *key, const char *value, struct atoll_err *err);

#endif
