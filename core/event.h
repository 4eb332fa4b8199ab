/* event.h - everything the engine consumes, as data: journaled and synced before the engine sees it
 * (DESIGN.md 3).
 * Layer: core.  docs/spec/journal.md is the contract. */
#ifndef ATOLL_CORE_EVENT_H
#define ATOLL_CORE_EVENT_H

#include "core/ask.h"
#include "core/briefing.h"
#include "core/device_shape.h"
#include "core/device_time.h"
#include "core/evaluation.h"
#include "core/rival.h"
#include "core/search.h"
#include "core/task/task.h"
#include "core/tool_turn.h"

enum atoll_event_type {
    ATOLL_EVENT_START = 1, /* struct atoll_search; once, first */
    ATOLL_EVENT_TASK,      /* a task and its seeds */
    ATOLL_EVENT_CAPACITY,  /* evaluator slots now available; also after every start and resume */
    ATOLL_EVENT_EVALUATED,
    ATOLL_EVENT_DUELLED,
    ATOLL_EVENT_SOURCE,      /* a source from outside: a model's reply, an imported kernel */
    ATOLL_EVENT_TICK,        /* time passed */
    ATOLL_EVENT_FINISH,      /* somebody asked for an orderly end: finals, then stop */
    ATOLL_EVENT_RESUME,      /* a new attempt took over: what was under way is dispatched again */
    ATOLL_EVENT_REPLY,       /* an ask is answered */
    ATOLL_EVENT_HINT,        /* a result of an earlier run or another device: prior knowledge for a tuner */
    ATOLL_EVENT_EXTEND,      /* more budget from here on; reopens a search that had stopped */
    ATOLL_EVENT_RIVAL,       /* a rival was measured */
    ATOLL_EVENT_DEVICE_TIME, /* where a device's time went so far; the engine does not look at it */
    ATOLL_EVENT_BRIEFING,    /* what an ask was given beside what it names; the engine does not look at it */
    ATOLL_EVENT_TOOL, /* a turn of an ask that called tools; the engine counts its tokens and its price */
    ATOLL_EVENT_TYPE_COUNT
};

#define ATOLL_MODEL_LIMIT 8 /* device models of one campaign */

struct atoll_capacity {
    char model[96]; /* of the devices, as they say it */
    uint32_t slots;
    uint32_t torch_slots;            /* of these, how many can measure rivals */
    struct atoll_device_shape shape; /* all 0: nobody says */
};

struct atoll_hint {
    struct atoll_id source; /* the template, by its text (atoll_source_id) */
    struct atoll_choice choice;
    double time_ns; /* 0: it failed */
};

/* What a campaign may spend from here on, beside what it has spent; 0: not given. */
struct atoll_extension {
    uint64_t evaluations;
    double device_ns, wall_ns;
    uint64_t tokens;
    double money_usd;
};

/* Of one device in this attempt, cumulative: tasks whose time has grown since the last such event. */
struct atoll_device_times {
    uint64_t device;               /* its key */
    struct atoll_task_time *times; /* owned, free() it */
    size_t count;
};

struct atoll_event {
    enum atoll_event_type type;
    /* time since the campaign's start without the gaps between attempts; never goes back */
    int64_t campaign_ns;
    int64_t unix_ns;
    /* which fields count depends on the type; task: of TASK, SOURCE, HINT */
    struct atoll_search search; /* START */
    uint32_t task;              /* its number, from 0, dense */
    const void *task_bytes;     /* TASK: atoll_task_encode, borrowed */
    size_t task_length;
    uint32_t slots;                                  /* CAPACITY: of all models together */
    uint32_t model_count;                            /* CAPACITY: 0 = all devices are alike */
    struct atoll_capacity models[ATOLL_MODEL_LIMIT]; /* in the order of their appearance in the campaign */
    struct atoll_evaluation evaluation;              /* EVALUATED; owned by the event */
    struct atoll_duel duel;                          /* DUELLED */
    struct atoll_rival rival;                        /* RIVAL; owned by the event */
    const char *language, *source;                   /* SOURCE, borrowed */
    const char *origin;                              /* SOURCE: "import", a model's name */
    uint32_t island;                                 /* SOURCE */
    struct atoll_reply reply;                        /* REPLY, its texts borrowed */
    struct atoll_hint hint;                          /* HINT */
    struct atoll_extension extension;                /* EXTEND */
    struct atoll_device_times device_times;          /* DEVICE_TIME; owned by the event */
    struct atoll_briefing briefing;                  /* BRIEFING, its texts borrowed */
    struct atoll_tool_turn tool_turn;                /* TOOL, its texts borrowed */
};

void atoll_event_init(struct atoll_event *e, enum atoll_event_type type);
void atoll_event_fini(struct atoll_event *e);
void atoll_event_encode(const struct atoll_event *e, struct atoll_buffer *out);
/* Texts and blobs are borrowed from bytes (texts copied into arena for their NUL). */
struct atoll_arena;
int atoll_event_decode(const void *bytes, size_t length, struct atoll_arena *arena, struct atoll_event *e,
                       struct atoll_err *err);

#endif
