/*
 * growing_transcript.c: random transcripts of other programs, as they grow.
 */
#include "growing_transcript.h"

#include <string.h>

#include "base/clock.h"
#include "base/view.h"

#define START_MS INT64_C(1735700000000) /* 2025-01-01 */
#define FAR_MS INT64_C(1863200000000)   /* years after the present of the tests */
#define UUID "aaaaaaaa-0000-4000-8000-%012u"

/* ---- chance ---------------------------------------------------------------------------------- */

unsigned grow_pick(struct grow *self, unsigned below)
{
    self->seed ^= self->seed << 13;
    self->seed ^= self->seed >> 7;
    self->seed ^= self->seed << 17;
    return (unsigned)(self->seed >> 20) % below;
}

static bool is_odd(struct grow *self)
{
    return grow_pick(self, 1000) < self->odd;
}

/* Few words, so that texts are often alike. */
static const char *word(struct grow *self)
{
    static const char *const words[] = {"go on",    "ok",    "fix it", "done",
                                        "why?",     "maybe", "a\\nb",  "caf\xc3\xa9",
                                        "<b>x</b>", "no",    "it is",  "again..."};
    return words[grow_pick(self, sizeof words / sizeof *words)];
}

static void put_time(struct grow *self)
{
    char iso[CLOCK_ISO_SIZE];
    int64_t ms = self->ms += grow_pick(self, 3000);
    if (is_odd(self))
        ms -= 100000;
    if (grow_pick(self, 8) == 0 && is_odd(self))
        ms = FAR_MS;
    clock_iso(ms, iso);
    if (!is_odd(self))
        str_printf(&self->text, "\"timestamp\":\"%s\",", iso);
}

/* ---- claude-code ----------------------------------------------------------------------------- */

/* The members that every line has; a line that others may follow becomes the last one. */
static void begin_line(struct grow *self, const char *type, unsigned up, bool question)
{
    str_printf(&self->text, "{\"type\":\"%s\",", type);
    if (!is_odd(self) && self->count + 1 < GROW_MAX) {
        self->leaf = ++self->count;
        self->up[self->leaf] = up;
        self->question[self->leaf] = question;
        str_printf(&self->text, "\"uuid\":\"" UUID "\",", self->leaf);
    }
    if (up > 0)
        str_printf(&self->text, "\"parentUuid\":\"" UUID "\",", up);
    else
        str_adds(&self->text, "\"parentUuid\":null,");
    str_printf(&self->text, "\"sessionId\":\"s%u\",", self->session);
    if (grow_pick(self, 3) == 0)
        str_adds(&self->text, "\"cwd\":\"/src/app\",");
    put_time(self);
}

static void ask_after(struct grow *self, unsigned up, const char *more)
{
    begin_line(self, "user", up, true);
    str_printf(&self->text, "%s\"message\":{\"role\":\"user\",\"content\":\"%s\"}}\n", more,
               word(self));
}

static void put_call(struct grow *self)
{
    unsigned id = is_odd(self) && self->call_next > 0 ? grow_pick(self, self->call_next)
                                                      : self->call_next++;
    if (self->call_count < GROW_MAX)
        self->calls[self->call_count++] = id;
    str_printf(&self->text,
               "{\"type\":\"tool_use\",\"id\":\"t%u\",\"name\":\"Read\",\"input\":{\"n\":%u}}", id,
               grow_pick(self, 3));
}

/* One answer of the model is up to three lines. */
static void answer(struct grow *self)
{
    unsigned number = is_odd(self) ? self->answers : ++self->answers;
    for (unsigned lines = 1 + grow_pick(self, 3), i = 0; i < lines; i++) {
        begin_line(self, "assistant", self->leaf, false);
        str_printf(&self->text, "\"message\":{\"id\":\"m%u\",\"model\":\"model-%u\",\"content\":[",
                   number, grow_pick(self, 40) == 0);
        unsigned kind = grow_pick(self, 4);
        if (kind == 0)
            str_adds(&self->text, "{\"type\":\"thinking\",\"thinking\":\"hm\"}");
        else if (kind == 1)
            put_call(self);
        else
            str_printf(&self->text, "{\"type\":\"text\",\"text\":\"%s\"}", word(self));
        str_printf(&self->text, "],\"usage\":{\"input_tokens\":%u,\"output_tokens\":%u}}}\n",
                   grow_pick(self, 100), i);
    }
}

/* The number of a call that waits for its result, which it does no longer; or any. */
static unsigned take_call(struct grow *self)
{
    if (self->call_count == 0 || is_odd(self))
        return grow_pick(self, self->call_next + 2);
    unsigned at = grow_pick(self, self->call_count);
    unsigned id = self->calls[at];
    self->calls[at] = self->calls[--self->call_count];
    return id;
}

static void result(struct grow *self)
{
    begin_line(self, "user", self->leaf, false);
    str_printf(&self->text,
               "\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
               "\"tool_use_id\":\"t%u\",\"content\":\"%s\"}",
               take_call(self), word(self));
    if (is_odd(self))
        str_printf(&self->text, ",{\"type\":\"text\",\"text\":\"%s\"}", word(self));
    str_adds(&self->text, "]}}\n");
}

/* What is written when a slash command is run; much of it looks like that and is not. */
static void local_output(struct grow *self)
{
    static const char *const kinds[] = {"stdout", "stderr", "caveat"};
    const char *kind = kinds[grow_pick(self, 3)];
    begin_line(self, "user", self->leaf, false);
    if (is_odd(self))
        str_adds(&self->text, "\"promptSource\":\"typed\",");
    str_printf(&self->text,
               "\"message\":{\"content\":\"<local-command-%s>%s</local-command-%s>%s\"}}\n", kind,
               word(self), kind, is_odd(self) ? " why?" : "");
}

static void command(struct grow *self)
{
    if (grow_pick(self, 3) == 0)
        local_output(self);
    begin_line(self, "user", self->leaf, true);
    str_printf(&self->text,
               "\"message\":{\"content\":\"<command-name>/c%u</command-name>\\n   "
               "<command-message>c</command-message>\\n<command-args>%s</command-args>%s\"}}\n",
               grow_pick(self, 3), word(self), is_odd(self) ? " why?" : "");
    if (grow_pick(self, 3) == 0)
        str_adds(&self->text, "{\"type\":\"mode\"}\n");
    if (grow_pick(self, 3) > 0)
        local_output(self);
}

static void compact(struct grow *self)
{
    unsigned before = self->leaf;
    begin_line(self, "system", 0, false);
    str_printf(&self->text,
               "\"subtype\":\"compact_boundary\",\"logicalParentUuid\":\"" UUID "\"}\n", before);
    ask_after(self, self->leaf, "\"isCompactSummary\":true,");
}

static void side_chain(struct grow *self)
{
    unsigned leaf = self->leaf;
    ask_after(self, 0, "\"isSidechain\":true,");
    ask_after(self, self->leaf, "\"isSidechain\":true,");
    self->leaf = leaf;
}

/* The question whose turn this is, from a line up; 0: none. */
static unsigned question_of(const struct grow *self, unsigned line)
{
    while (line > 0 && !self->question[line])
        line = self->up[line];
    return line;
}

/* Asks anew what was asked last, or something before it. */
static void ask_anew(struct grow *self)
{
    unsigned question = question_of(self, self->leaf);
    for (unsigned turns = grow_pick(self, 3); turns > 0 && question > 0; turns--)
        question = question_of(self, self->up[question]);
    ask_after(self, self->up[question], "");
}

static void title(struct grow *self)
{
    static const char *const kinds[] = {"\"ai-title\",\"aiTitle\"",
                                        "\"custom-title\",\"customTitle\""};
    if (grow_pick(self, 2))
        str_printf(&self->text,
                   "{\"type\":\"summary\",\"summary\":\"sum %u\",\"leafUuid\":\"" UUID "\"}\n",
                   grow_pick(self, 9), 1 + grow_pick(self, self->count + 9));
    else
        str_printf(&self->text, "{\"type\":%s:\"%s%s\"}\n", kinds[grow_pick(self, 2)], word(self),
                   grow_pick(self, 2) ? "\\u0000" : "");
}

/* A line again, as it stands. */
static void copy_line(struct grow *self)
{
    struct ethos_view rest = str_view(&self->text), line = {0};
    size_t size = rest.size;
    if (size == 0)
        return;
    rest = view_from(rest, grow_pick(self, (unsigned)size));
    view_line(&rest, &line);
    if (!view_line(&rest, &line) || rest.size == 0)
        return;
    struct str copy;
    str_init(&copy, SIZE_MAX);
    str_add(&copy, line);
    str_addc(&copy, '\n');
    str_add(&self->text, str_view(&copy));
    str_release(&copy);
}

static void claude_odd(struct grow *self)
{
    switch (grow_pick(self, 11)) {
    case 0:
        compact(self);
        break;
    case 9:
        local_output(self);
        break;
    case 1:
        side_chain(self);
        break;
    case 2:
    case 3:
        ask_anew(self);
        break;
    case 4:
        title(self);
        break;
    case 5:
        copy_line(self);
        break;
    case 6:
        self->leaf = grow_pick(self, self->count + 1);
        answer(self);
        break;
    case 7:
        str_adds(&self->text, "{\"type\":\"user\",\"message\":{\"con\n");
        break;
    case 8:
        ask_after(self, self->leaf, "\"isMeta\":true,");
        break;
    default:
        self->session += grow_pick(self, 4) == 0;
        str_adds(&self->text, "\r\n");
    }
}

static void claude_more(struct grow *self)
{
    if (grow_pick(self, 8) == 0)
        str_adds(&self->text, "{\"type\":\"file-history-snapshot\",\"snapshot\":{}}\n");
    if (is_odd(self))
        claude_odd(self);
    else if (self->call_count > 0 && !is_odd(self))
        result(self);
    else if (grow_pick(self, 12) == 0)
        command(self);
    else if (self->leaf > 0 && grow_pick(self, 3) > 0)
        answer(self);
    else
        ask_after(self, self->leaf, "");
}

/* ---- codex ----------------------------------------------------------------------------------- */

static void begin_item(struct grow *self, const char *type, const char *kind)
{
    str_adds(&self->text, "{");
    put_time(self);
    str_printf(&self->text, "\"type\":\"%s\",\"payload\":{\"type\":\"%s\"", type, kind);
}

static void meta(struct grow *self)
{
    str_printf(&self->text,
               "{\"type\":\"session_meta\",\"payload\":{\"id\":\"s%u\",\"cwd\":\"/src\","
               "\"model_provider\":\"p%u\"}}\n",
               self->session, self->session);
}

static void codex_text(struct grow *self, const char *role, const char *text)
{
    begin_item(self, "response_item", "message");
    str_printf(&self->text, ",\"role\":\"%s\",\"content\":[", role);
    if (is_odd(self))
        str_printf(&self->text,
                   "{\"type\":\"tool_result\",\"tool_use_id\":\"t%u\",\"content\":\"x\"},",
                   take_call(self));
    str_printf(&self->text, "{\"type\":\"input_text\",\"text\":\"%s\"}]}}\n", text);
}

/* What the screen showed, as versions differ. */
static void codex_screen(struct grow *self, const char *event, const char *item, const char *text)
{
    bool later = grow_pick(self, 2);
    begin_item(self, "event_msg", later ? "item_completed" : event);
    if (later)
        str_printf(&self->text, ",\"item\":{\"type\":\"%s\",\"content\":[{\"text\":\"%s\"}]}}}\n",
                   item, text);
    else
        str_printf(&self->text, ",\"message\":\"%s\"}}\n", text);
}

static void codex_typed(struct grow *self, const char *text)
{
    codex_screen(self, "user_message", "UserMessage", text);
}

static void codex_shown(struct grow *self, const char *text)
{
    codex_screen(self, "agent_message", "AgentMessage", text);
}

/* What is not typed is made by the program, if it looks so. */
static void codex_ask(struct grow *self)
{
    const char *text = word(self);
    if (grow_pick(self, 4) == 0)
        codex_text(self, "user", grow_pick(self, 2) ? "<a>x</a>" : "<b>x</b>");
    while (*text == '<' && !is_odd(self))
        text = word(self);
    codex_text(self, "user", text);
    if (!is_odd(self))
        codex_typed(self, text);
}

static void codex_call(struct grow *self)
{
    unsigned id = self->call_next++;
    if (self->call_count < GROW_MAX)
        self->calls[self->call_count++] = id;
    begin_item(self, "response_item", "function_call");
    str_printf(&self->text, ",\"name\":\"shell\",\"arguments\":\"{}\",\"call_id\":\"t%u\"}}\n", id);
}

static void codex_result(struct grow *self)
{
    begin_item(self, "response_item", "function_call_output");
    str_printf(&self->text, ",\"call_id\":\"t%u\",\"output\":\"%s\"}}\n", take_call(self),
               word(self));
}

static void codex_say(struct grow *self)
{
    const char *text = word(self);
    unsigned shown = grow_pick(self, 3);
    if (shown == 0)
        codex_shown(self, text);
    codex_text(self, "assistant", text);
    if (shown == 1)
        codex_shown(self, text);
}

static void codex_start(struct grow *self)
{
    begin_item(self, "event_msg", "task_started");
    str_adds(&self->text, "}}\n");
}

static void codex_count(struct grow *self)
{
    self->tokens += grow_pick(self, 3) > 0 ? 7 : 0;
    begin_item(self, "event_msg", "token_count");
    str_printf(&self->text,
               ",\"info\":{\"total_token_usage\":{\"total_tokens\":%lld},\"last_token_usage\":"
               "{\"input_tokens\":5,\"cached_input_tokens\":1,\"output_tokens\":2}}}}\n",
               (long long)self->tokens);
}

/* A summary, in a turn of its own or not, and that it is one: often, and often of another text. */
static void codex_compact(struct grow *self)
{
    const char *text = word(self);
    if (grow_pick(self, 3) > 0)
        codex_start(self);
    if (grow_pick(self, 4) > 0)
        codex_text(self, "assistant", text);
    if (grow_pick(self, 2))
        codex_count(self);
    if (is_odd(self))
        codex_shown(self, text);
    if (grow_pick(self, 8) > 0)
        str_printf(&self->text, "{\"type\":\"compacted\",\"payload\":{\"message\":\"Sum:%s%s\"}}\n",
                   grow_pick(self, 4) > 0 ? "\\n" : "", grow_pick(self, 4) > 0 ? text : word(self));
    if (grow_pick(self, 2))
        codex_count(self);
}

static void codex_odd(struct grow *self)
{
    switch (grow_pick(self, 7)) {
    case 0:
        self->session++;
        meta(self);
        break;
    case 1:
        codex_typed(self, grow_pick(self, 2) ? word(self) : "<b>x</b>");
        break;
    case 2:
        codex_count(self);
        break;
    case 3:
        copy_line(self);
        break;
    case 4:
        str_adds(&self->text, "{\"type\":\"compacted\",\"payload\":{\"message\":\"x\"}}\n\n");
        break;
    case 5:
        codex_result(self);
        break;
    default:
        str_printf(&self->text,
                   "{\"type\":\"turn_context\",\"payload\":{\"model\":\"model-%u\"}}\n",
                   grow_pick(self, 3));
    }
}

static void codex_more(struct grow *self)
{
    if (self->text.size == 0)
        meta(self);
    if (is_odd(self)) {
        codex_odd(self);
    } else if (self->call_count > 0 && !is_odd(self)) {
        codex_result(self);
    } else if (grow_pick(self, 3) == 0) {
        if (grow_pick(self, 2))
            codex_start(self);
        codex_ask(self);
    } else if (grow_pick(self, 10) == 0) {
        codex_compact(self);
    } else {
        if (grow_pick(self, 2))
            codex_say(self);
        else
            codex_call(self);
        if (grow_pick(self, 3) == 0)
            codex_count(self);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

void grow_init(struct grow *self, uint64_t seed, bool codex)
{
    *self = (struct grow){.seed = seed * UINT64_C(0x9E3779B97F4A7C15) + 1,
                          .codex = codex,
                          .session = 1,
                          .ms = START_MS};
    str_init(&self->text, SIZE_MAX);
    static const unsigned odd[] = {0, 10, 30, 100};
    self->odd = odd[grow_pick(self, 4)];
}

void grow_release(struct grow *self)
{
    str_release(&self->text);
}

void grow_more(struct grow *self)
{
    for (unsigned i = 1 + grow_pick(self, 6); i > 0; i--) {
        if (self->codex)
            codex_more(self);
        else
            claude_more(self);
    }
}
