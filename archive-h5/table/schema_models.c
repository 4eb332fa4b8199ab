/* schema_models.c - tables of what models were told, what they called and answered, and what came of it. */
#include "archive-h5/table/schema_columns.h"

#include "core/briefing.h"
#include "core/experience/hint.h"
#include "core/issue.h"
#include "core/tool_turn.h"

static const char *hint_origin_name(unsigned v)
{
    return atoll_hint_origin_name((enum atoll_hint_origin)v);
}

static const char *brief_kind_name(unsigned v)
{
    return atoll_brief_kind_name((enum atoll_brief_kind)v);
}

static const char *tool_status_name(unsigned v)
{
    return atoll_tool_status_name((enum atoll_tool_status)v);
}

static const char *outcome_name(unsigned v)
{
    static const char *const names[] = {"open", "no_gain", "gain"};
    return v < sizeof(names) / sizeof(*names) ? names[v] : "unknown";
}

static const char *item_kind_name(unsigned v)
{
    return atoll_item_kind_name((enum atoll_item_kind)v);
}

static const char *stage_name(unsigned v)
{
    return atoll_stage_name((enum atoll_issue_stage)v);
}

static const struct atoll_column hint_columns[] = {
    OWNER(hint),
    KEY(hint, id, ID, "", "hash of trigger, texts and where it holds"),
    COL(hint, name, TEXT, "", "name, for people"),
    COL(hint, trigger, TEXT, "", "what of a diagnosis it answers to"),
    COL(hint, language, TEXT, "", "language it is for, empty: any"),
    COL(hint, device, TEXT, "", "family of devices it is for, empty: any"),
    COL(hint, category, TEXT, "", "category of tasks it is for, empty: any"),
    COL(hint, role, TEXT, "", "role of the islands it is for, empty: all"),
    COL(hint, context, TEXT, "", "where it holds"),
    COL(hint, advice, TEXT, "", "what to do"),
    COL(hint, source, TEXT, "", "who says so"),
    ENUM(hint, origin, hint_origin_name, ATOLL_HINT_ORIGIN_COUNT, "where it comes from"),
    COL(hint, uses, F64, "", "asks of this campaign that were told it"),
    COL(hint, outcomes, F64, "", "of these, with a kernel that was measured"),
    COL(hint, wins, F64, "", "of these, followed by a gain"),
    COL(hint, expected, F64, "", "wins that asks of the same kinds had, with whatever they were told"),
    COL(hint, gains, F64, "", "outcomes with a time of parent and kernel"),
    COL(hint, mean_gain, F64, "", "their time of the parent over the kernel's, geometric mean, 0 = none"),
    COL(hint, confidence, F64, "", "wins per outcome, with its prior"),
    COL(hint, lift, F64, "", "wins over expected ones, with its prior"),
    COL(hint, dropped, U8, "", "1 = it loses, and is told no more"),
    COL(hint, prior_uses, F64, "", "uses of earlier campaigns, as far as they count"),
    COL(hint, prior_outcomes, F64, "", "their outcomes"),
    COL(hint, prior_wins, F64, "", "their wins"),
    COL(hint, prior_expected, F64, "", "their expected wins"),
    COL(hint, prior_gains, F64, "", "their outcomes with times"),
    COL(hint, prior_mean_gain, F64, "", "their mean gain, 0 = none"),
};

#define ORDINAL(row) KEY(row, ordinal, U32, "", "number of it in the event")
#define ASK(row)     COL(row, ask, U64, "", "number of the ask")

static const struct atoll_column hint_use_columns[] = {
    OWNER(hint_use),
    EVENT(hint_use),
    ORDINAL(hint_use),
    ASK(hint_use),
    COL(hint_use, hint, ID, "", "hint that it was told"),
    COL(hint_use, name, TEXT, "", "its name"),
    COL(hint_use, score, F64, "", "how well it fitted"),
    COL(hint_use, task, U32, "", "task"),
    COL(hint_use, model, U32, "", "device model"),
    ENUM(hint_use, error_class, error_class_name, ATOLL_ERROR_COUNT, "of the parent"),
    ENUM(hint_use, limiter, limiter_name, ATOLL_LIMITER_COUNT, "of the parent"),
    COL(hint_use, parent_ns, F64, "ns", "time of the parent, 0 = it is wrong, or there is none"),
    ENUM(hint_use, outcome, outcome_name, 3, "what followed"),
    COL(hint_use, candidate, ID, "", "the best candidate that answered so far"),
    ENUM(hint_use, verdict, verdict_name, ATOLL_VERDICT_COUNT, "its verdict"),
    COL(hint_use, time_ns, F64, "ns", "its time, 0 = not timed"),
};

static const struct atoll_column memory_columns[] = {
    OWNER(memory),
    EVENT(memory),
    ORDINAL(memory),
    ASK(memory),
    COL(memory, task, U32, "", "task"),
    COL(memory, model, U32, "", "device model"),
    COL(memory, slow, ID, "", "slower candidate of the pair"),
    COL(memory, fast, ID, "", "faster one"),
    COL(memory, slow_ns, F64, "ns", "time of the slower one, 0 = not known"),
    COL(memory, fast_ns, F64, "ns", "time of the faster one"),
    COL(memory, title, TEXT, "", "title of the rewrite"),
    COL(memory, text, TEXT, "", "what makes the difference"),
    COL(memory, before, TEXT, "", "sketch of the slower one"),
    COL(memory, after, TEXT, "", "sketch of the faster one"),
};

static const struct atoll_column brief_columns[] = {
    OWNER(brief),
    EVENT(brief),
    ORDINAL(brief),
    ASK(brief),
    ENUM(brief, kind, brief_kind_name, ATOLL_BRIEF_KIND_COUNT, "what was given"),
    COL(brief, id, ID, "", "of what was given, zero: it has none"),
    COL(brief, title, TEXT, "", "its title"),
    COL(brief, text, TEXT, "", "its text, as the prompt had it"),
    COL(brief, score, F64, "", "how well it fitted; of a candidate its time in ns"),
    ADDED(brief, cut_bytes, U32, "B",
          "of the text, that the prompt had no room for; all of them: it was not told, and gets no credit",
          7),
};

static const struct atoll_column tool_call_columns[] = {
    OWNER(tool_call),
    EVENT(tool_call),
    ORDINAL(tool_call),
    ASK(tool_call),
    COL(tool_call, turn, U32, "", "turn of the ask, from 0"),
    COL(tool_call, call, TEXT, "", "its identity, as the model said it"),
    COL(tool_call, name, TEXT, "", "what was called"),
    COL(tool_call, arguments, TEXT, "", "with what, JSON"),
    COL(tool_call, result, TEXT, "", "what it gave"),
    ENUM(tool_call, status, tool_status_name, ATOLL_TOOL_STATUS_COUNT, "how it went"),
    COL(tool_call, elapsed_s, F64, "s", "how long it took"),
    COL(tool_call, request, ID, "", "identity of the turn's request at the gateway"),
    COL(tool_call, said, TEXT, "",
        "what the model said in the turn; here and behind with its first call alone"),
    COL(tool_call, thought, TEXT, "", "what came in the reasoning channel"),
    COL(tool_call, input_tokens, U64, "", "tokens of the turn, in"),
    COL(tool_call, output_tokens, U64, "", "tokens of the turn, out"),
    COL(tool_call, cost_usd, F64, "USD", "what the turn cost"),
};

static const struct atoll_column item_columns[] = {
    OWNER(item),
    KEY(item, ask, U64, "", "number of the ask"),
    KEY(item, ordinal, U32, "", "number of it in the reply"),
    ENUM(item, kind, item_kind_name, ATOLL_ITEM_KIND_COUNT, "what it is"),
    COL(item, issue, TEXT, "", "of an issue its type; one of the model's own is named by the title"),
    ENUM(item, stage, stage_name, ATOLL_ISSUE_STAGE_COUNT, "of an issue or proposal: stage that works on it"),
    COL(item, severity, U8, "", "of an issue: 1 to 5, 0 = unsaid"),
    COL(item, gain_low, F64, "", "expected speedup, from; 0 = unsaid"),
    COL(item, gain_high, F64, "", "to"),
    COL(item, title, TEXT, "", "title; of a hint its trigger"),
    COL(item, text, TEXT, "", "what is to be done, or what is wrong"),
    COL(item, why, TEXT, "", "why"),
    COL(item, before, TEXT, "", "the code it is about, or a sketch of it"),
    COL(item, after, TEXT, "", "the same afterwards; of an issue the fix"),
};

static const struct atoll_column section_columns[] = {
    OWNER(section),
    KEY(section, ask, U64, "", "number of the ask"),
    KEY(section, ordinal, U32, "", "number of it in the prompt"),
    COL(section, name, TEXT, "", "what it tells"),
    COL(section, bytes, U32, "B", "of the user text"),
    COL(section, cut_bytes, U32, "B", "what did not fit"),
};

static const struct atoll_column judgement_columns[] = {
    OWNER(judgement),
    KEY(judgement, ask, U64, "", "number of the ask"),
    COL(judgement, event, U64, "", "number of the journaled event that answered it"),
    COL(judgement, task, U32, "", "task"),
    COL(judgement, model, U32, "", "device model"),
    COL(judgement, candidate, ID, "", "candidate that was shown"),
    COL(judgement, source_id, ID, "",
        "hash of its language and source text: all candidates of it are judged"),
    ENUM(judgement, status, reply_name, ATOLL_REPLY_STATUS_COUNT + 1, "how it was answered"),
    COL(judgement, likelihood, F64, "",
        "that it cheats, 0 to 1; counts where the status is ok, else it stays"),
    COL(judgement, discarded, U8, "", "1 = above the limit: its candidates are correct no more"),
    COL(judgement, reason, TEXT, "", "why, in the judge's words"),
};

static const struct atoll_column knowledge_entry_columns[] = {
    OWNER(hint),
    KEY(hint, id, ID, "", "hash of the entry's identity"),
    COL(hint, name, TEXT, "", "its name"),
    {"kind", ATOLL_COLUMN_TEXT, 0, offsetof(struct atoll_row_hint, trigger), "",
     "constraint, pattern, example, hardware or kernel", NULL, 0, 0, 0, ATOLL_KNOWN_ALWAYS},
    {"text", ATOLL_COLUMN_TEXT, 0, offsetof(struct atoll_row_hint, advice), "", "as it was told first", NULL,
     0, 0, 0, ATOLL_KNOWN_ALWAYS},
    COL(hint, uses, F64, "", "asks of this campaign that were told it"),
    COL(hint, outcomes, F64, "", "of these, with a kernel that was measured"),
    COL(hint, wins, F64, "", "of these, followed by a gain"),
    COL(hint, expected, F64, "", "wins that asks of the same kinds had, with whatever they were told"),
    COL(hint, gains, F64, "", "outcomes with a time of parent and kernel"),
    COL(hint, mean_gain, F64, "", "their time of the parent over the kernel's, geometric mean, 0 = none"),
    COL(hint, confidence, F64, "", "wins per outcome, with its prior"),
    COL(hint, lift, F64, "", "wins over expected ones, with its prior"),
    COL(hint, dropped, U8, "", "1 = it loses, and is told no more unless it is critical"),
};

static const struct atoll_column knowledge_use_columns[] = {
    OWNER(hint_use),
    EVENT(hint_use),
    ORDINAL(hint_use),
    ASK(hint_use),
    {"entry", ATOLL_COLUMN_ID, 0, offsetof(struct atoll_row_hint_use, hint), "", "entry that it was told",
     NULL, 0, 0, 0, ATOLL_KNOWN_ALWAYS},
    COL(hint_use, name, TEXT, "", "its name"),
    COL(hint_use, score, F64, "", "how well it fitted"),
    COL(hint_use, task, U32, "", "task"),
    COL(hint_use, model, U32, "", "device model"),
    ENUM(hint_use, error_class, error_class_name, ATOLL_ERROR_COUNT, "of the parent"),
    ENUM(hint_use, limiter, limiter_name, ATOLL_LIMITER_COUNT, "of the parent"),
    COL(hint_use, parent_ns, F64, "ns", "time of the parent, 0 = it is wrong, or there is none"),
    ENUM(hint_use, outcome, outcome_name, 3, "what followed"),
    COL(hint_use, candidate, ID, "", "the best candidate that answered so far"),
    ENUM(hint_use, verdict, verdict_name, ATOLL_VERDICT_COUNT, "its verdict"),
    COL(hint_use, time_ns, F64, "ns", "its time, 0 = not timed"),
};

static const struct atoll_column knowledge_columns[] = {
    OWNER(knowledge),
    KEY(knowledge, id, ID, "", "hash of its path"),
    COL(knowledge, path, TEXT, "", "below the folder of knowledge"),
    COL(knowledge, text, TEXT, "", "all of it"),
};

static const struct atoll_column prompt_columns[] = {
    OWNER(prompt),
    KEY(prompt, task, U32, "", "task whose asks draw from it, 4294967295 = all of the device model"),
    KEY(prompt, model, U32, "", "device model"),
    KEY(prompt, language, TEXT, "", "whose text it is"),
    KEY(prompt, version, U32, "", "the ask whose answer made it, 0 = the text as it came"),
    COL(prompt, parent, U32, "", "version that was edited"),
    COL(prompt, uses, U32, "", "asks that were worded with it"),
    COL(prompt, answers, U32, "", "candidates of theirs that were evaluated"),
    COL(prompt, fitness, F64, "",
        "factor of the speed over the parent, beside what the task and the parent give; 1 = nothing"),
    COL(prompt, best, F64, "", "largest speedup of one of them over its parent; 1 = none"),
    COL(prompt, dropped, U8, "", "1 = it lost, or gave way to others; its figures are those of that time"),
    COL(prompt, text, TEXT, "", "all of it"),
};

const struct atoll_table_schema atoll_model_tables[ATOLL_TABLE_COUNT - ATOLL_TABLE_HINTS] = {
    TABLE6(hint, "hints", "one row per hint that the campaign has, as it stood last"),
    TABLE6(hint_use, "hint_uses", "one row per ask and hint that it was told, as it stood last"),
    TABLE6(memory, "memory", "one row per rewrite that a model made of a slow and a fast kernel"),
    TABLE6(brief, "briefs", "one row per thing that an ask was given beside what it names"),
    TABLE6(tool_call, "tool_calls", "one row per call of a tool by a model"),
    TABLE6(item, "items", "one row per plan, issue, proposal, rewrite or hint in a reply"),
    TABLE6(section, "sections", "one row per section of a prompt"),
    {"knowledge_entries", "one row per entry of the knowledge base that was told, as it stood last",
     sizeof(struct atoll_row_hint), sizeof(knowledge_entry_columns) / sizeof(*knowledge_entry_columns),
     knowledge_entry_columns, 6},
    {"knowledge_uses", "one row per ask and entry of the knowledge base that it was told, as it stood last",
     sizeof(struct atoll_row_hint_use), sizeof(knowledge_use_columns) / sizeof(*knowledge_use_columns),
     knowledge_use_columns, 6},
    TABLE6(knowledge, "knowledge", "one row per text of what models were told of (knowledge.json)"),
    TABLE6(judgement, "judgements", "one row per answer of a judge, who says how likely a candidate cheats"),
    TABLE6(prompt, "prompts", "one row per version of a language's prompt text, as it stood last"),
};
