/*
 * test_postgres_parity.c: SQLite and PostgreSQL side by side: random operations, the same for both, have the
 * same answers, word for word.
 *
 * What is told apart on purpose: ids that a fork draws (a session has a number here), and the order
 * of hits within the same closeness, which is sorted; sorted by time it is the same. Each round has
 * a seed, which a failure names; CHECK_LONG has more of them.
 */
#include "base/clock.h"
#include "base/str.h"
#include "subjects.h"

#define SESSIONS 24 /* known at once */
#define STEPS 120
#define KEPT "m-first" /* a message that stays */
#define NOW INT64_C(1767225600000)
#define MOST 1048576 /* bytes of an answer */

struct twin {
    struct world *world;
    struct str said; /* what the operation at hand answered */
    char ids[SESSIONS][ETHOS_UUID_SIZE];
    char cursor[ETHOS_CURSOR_SIZE];
    char message[80]; /* the one that a rewind is about */
    size_t wanted;
};

struct pages {
    struct ethos_session_query query;
    char since[CLOCK_ISO_SIZE], until[CLOCK_ISO_SIZE];
};

struct round {
    struct twin twins[2];
    struct pages pages; /* that are being read */
    uint64_t seed;
    unsigned messages; /* ids given */
    size_t sessions;
    int64_t now;
};

static uint32_t draw(struct round *r, uint32_t below)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->seed >> 33) % below;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static const char *const words[] = {
    "deploy",
    "deployed",
    "deploying",
    "the",
    "and",
    "NOT",
    "OR",
    "NEAR(a b)",
    "release",
    "releases",
    "Café",
    "CAFE\xcc\x81",
    "stra\xc3\x9f"
    "e",
    "STRASSE",
    "東京都",
    "東",
    "京都に",
    "한국어",
    "ภาษาไทย",
    "👍🏽",
    "👨‍👩‍👧",
    "→",
    "—",
    "\"quoted\"",
    "it's",
    "\\",
    "%_%",
    "a*",
    "^start",
    "col:umn",
    "-minus",
    "+plus",
    "(paren",
    "'; DROP",
    "x",
    "1234",
    "3.14",
    "ﬁle",
    "İstanbul",
    "ǅungla",
    "=deploi",
    "don’t",
    "re-run",
    "snake_case",
    "camelCase",
    "\t",
    "\n",
    "\r\n",
    "\xe2\x80\x8b",
    "ａｂｃ",
    "naïve",
    "🇳🇴",
    "AND",
    "\"",
    "running",
    "runs",
    "ran",
    "generalization",
    "a",
};

static const char *any_word(struct round *r)
{
    return words[draw(r, sizeof words / sizeof *words)];
}

/* Some words, with a NUL among them now and then, or one long one. */
static void any_text(struct round *r, struct str *out)
{
    static const char letters[] = "abcdefghij";
    unsigned count = draw(r, 9);
    str_init(out, MOST);
    for (unsigned i = 0; i < count; i++)
        str_printf(out, "%s%s", any_word(r), draw(r, 6) ? " " : "");
    if (draw(r, 12) == 0)
        str_add(out, view_of("\0tail", 5));
    if (draw(r, 16) == 0) {
        for (unsigned i = draw(r, 3000); i > 0; i--)
            str_addc(out, letters[draw(r, 10)]);
    }
}

static const char *any_time(struct round *r, char out[CLOCK_ISO_SIZE])
{
    clock_iso(r->now - 5000 + draw(r, 8000), out);
    return out;
}

static const char *maybe(struct round *r, const char *text)
{
    return draw(r, 2) ? text : NULL;
}

/* ---- what is answered ------------------------------------------------------------------------ */

static const char *shown(const char *text)
{
    return text ? text : "~";
}

/* The number of a session instead of its id. */
static const char *named(const struct twin *twin, const char *id, char out[ETHOS_UUID_SIZE])
{
    for (size_t i = 0; id && i < SESSIONS; i++) {
        if (strcmp(twin->ids[i], id) == 0) {
            snprintf(out, ETHOS_UUID_SIZE, "#%zu", i);
            return out;
        }
    }
    return id ? "another" : "~";
}

static int note_session(void *arg, const struct ethos_session *s)
{
    struct twin *twin = arg;
    char id[ETHOS_UUID_SIZE], parent[ETHOS_UUID_SIZE];
    const struct ethos_usage *u = &s->usage;
    str_printf(&twin->said, "%s %s %s %s %s %s", named(twin, s->id, id), s->key, s->platform,
               s->model, s->provider, shown(s->personality));
    str_printf(&twin->said, " %s %s %s %s", named(twin, s->parent, parent), shown(s->working_dir),
               shown(s->title), shown(s->metadata));
    str_printf(&twin->said, " %lld %lld %.6f %lld %lld", (long long)u->input_tokens,
               (long long)u->output_tokens, u->cost_usd, (long long)u->api_calls,
               (long long)u->compactions);
    return str_printf(&twin->said, " %lld %lld %d %s %s\n", (long long)s->turns,
                      (long long)s->last_compaction_turn, s->pinned, s->created_at, s->updated_at);
}

static void note_message_of(struct twin *twin, const struct ethos_message *m)
{
    char id[ETHOS_UUID_SIZE];
    str_printf(&twin->said, "%s %s %s %zu ", m->id[0] == 'm' ? m->id : "drawn",
               named(twin, m->session, id), m->role, m->content.size);
    str_add(&twin->said, m->content);
    str_printf(&twin->said, " %s %s %s %s %s %d %lld %.6f %s\n", shown(m->tool_call_id),
               shown(m->tool_name), shown(m->tool_calls), shown(m->content_blocks),
               shown(m->trace_id), m->has_usage, (long long)m->usage.input_tokens,
               m->usage.cost_usd, m->timestamp);
}

static int note_message(void *arg, const struct ethos_message *m)
{
    note_message_of(arg, m);
    return 0;
}

static int note_found(void *arg, const struct ethos_hit *hit)
{
    struct twin *twin = arg;
    note_message_of(twin, hit->message);
    str_add(&twin->said, hit->snippet);
    return str_printf(&twin->said, " %zu-%zu %d%d%d %s\n", hit->hit, hit->hit_end, hit->cut_before,
                      hit->cut_after, hit->withheld, hit->session->key);
}

static int count_found(void *arg, const struct ethos_hit *hit)
{
    (void)hit;
    ++*(unsigned *)arg;
    return 0;
}

static int note_key(void *arg, const struct ethos_key *key)
{
    struct twin *twin = arg;
    return str_printf(&twin->said, "%s %s %s %s %s %d %s %s %s\n", key->prefix, key->hash,
                      key->name, key->scopes, key->origins, key->agent, key->created_at,
                      shown(key->last_used_at), shown(key->revoked_at));
}

/* The code, and for one that is an error its text, without what is drawn. */
static void note_code(struct twin *twin, int code)
{
    const char *text = code == ETHOS_OK ? "" : twin->world->error.text;
    bool drawn = false;
    for (size_t i = 0; i < SESSIONS; i++)
        drawn = drawn || (*twin->ids[i] && strstr(text, twin->ids[i]));
    str_printf(&twin->said, "= %d %s\n", code, drawn ? "of a session" : text);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void compare(struct round *r, uint64_t seed, unsigned step, const char *what)
{
    struct str *one = &r->twins[0].said, *other = &r->twins[1].said;
    assert_int_equal(str_code(one), ETHOS_OK);
    if (!view_eq(str_view(one), str_view(other)))
        fail_msg("seed %llu, step %u, %s\n--- SQLite\n%s\n--- PostgreSQL\n%s",
                 (unsigned long long)seed, step, what, one->data, other->data);
    str_clear(one);
    str_clear(other);
}

#define BOTH(twin) for (struct twin *twin = r->twins; twin < r->twins + 2; twin++)
#define CALL(twin, name, ...)                                                                      \
    note_code(twin, (twin)->world->ops->name((twin)->world->sessions, __VA_ARGS__,                 \
                                             &(twin)->world->error))

static size_t any_session(struct round *r)
{
    return r->sessions && draw(r, 20) ? draw(r, (uint32_t)r->sessions) : SESSIONS - 1;
}

static const char *id_of(const struct twin *twin, size_t at)
{
    return *twin->ids[at] ? twin->ids[at] : "none";
}

static void create(struct round *r)
{
    char id[16], key[64], created[CLOCK_ISO_SIZE], updated[CLOCK_ISO_SIZE];
    if (r->sessions == SESSIONS - 1)
        return;
    snprintf(id, sizeof id, "s%u", draw(r, 40));
    snprintf(key, sizeof key, "cli:%s:%u", any_word(r), draw(r, 30));
    const struct ethos_session session = {.id = id,
                                          .key = key,
                                          .platform = draw(r, 3) ? "cli" : "web",
                                          .model = maybe(r, "m"),
                                          .personality = maybe(r, "muse"),
                                          .working_dir = draw(r, 2) ? "/srv/a" : "/srv/å",
                                          .title = maybe(r, any_word(r)),
                                          .metadata = maybe(r, "{\"a\": 1}"),
                                          .pinned = draw(r, 6) == 0,
                                          .created_at = maybe(r, any_time(r, created)),
                                          .updated_at = maybe(r, any_time(r, updated))};
    char made[2][ETHOS_UUID_SIZE] = {"", ""};
    BOTH(twin)
    CALL(twin, create, &session, made[twin - r->twins]);
    if (*made[0] && *made[1]) {
        BOTH(twin)
        memcpy(twin->ids[r->sessions], id, strlen(id) + 1);
        r->sessions++;
    }
}

/* Messages whose strings live as long as this. */
struct speech {
    struct ethos_message messages[4];
    struct str texts[4];
    char ids[4][16], times[4][CLOCK_ISO_SIZE];
    size_t count;
    unsigned flags;
};

static void any_message(struct round *r, struct speech *s, size_t i)
{
    static const char *const roles[] = {"user",        "user",   "assistant",  "assistant",
                                        "tool_result", "system", "user_steer", "nobody"};
    const char *role = roles[draw(r, draw(r, 8) ? 4 : 8)];
    any_text(r, &s->texts[i]);
    snprintf(s->ids[i], sizeof s->ids[i], "m%u", ++r->messages);
    if (draw(r, 25) == 0)
        memcpy(s->ids[i], i ? s->ids[0] : KEPT, sizeof KEPT);
    s->messages[i] = (struct ethos_message){
        .id = s->ids[i],
        .role = role,
        .content = str_view(&s->texts[i]),
        .tool_call_id = strcmp(role, "tool_result") == 0 ? "c1" : NULL,
        .tool_calls = draw(r, 9) == 0 ? "[{\"id\":\"c1\",\"name\":\"ls\"}]" : NULL,
        .content_blocks = draw(r, 9) == 0 ? "[]" : NULL,
        .trace_id = draw(r, 9) == 0 ? "t" : NULL,
        .has_usage = draw(r, 4) == 0,
        .usage = {.input_tokens = draw(r, 100), .cost_usd = draw(r, 100) / 7.0},
        .timestamp = maybe(r, any_time(r, s->times[i])),
    };
}

static void any_speech(struct round *r, struct speech *s)
{
    s->count = draw(r, 5);
    s->flags = draw(r, 3) ? 0 : draw(r, 4);
    for (size_t i = 0; i < s->count; i++)
        any_message(r, s, i);
}

static void speech_release(struct speech *s)
{
    for (size_t i = 0; i < s->count; i++)
        str_release(&s->texts[i]);
}

static void append(struct round *r)
{
    struct speech s;
    size_t at = any_session(r);
    any_speech(r, &s);
    BOTH(twin)
    CALL(twin, append, id_of(twin, at), s.messages, s.count, s.flags);
    speech_release(&s);
}

static int find_message(void *arg, const struct ethos_message *m)
{
    struct twin *twin = arg;
    snprintf(twin->message, sizeof twin->message, "%s", m->id);
    return twin->wanted-- == 0;
}

static void rewind_to(struct round *r)
{
    struct speech s;
    size_t at = any_session(r), wanted = draw(r, 12);
    any_speech(r, &s);
    BOTH(twin)
    {
        uint64_t hidden = 0;
        twin->wanted = wanted;
        snprintf(twin->message, sizeof twin->message, "none");
        twin->world->ops->messages(twin->world->sessions, id_of(twin, at), 0, find_message, twin,
                                   &twin->world->error);
        CALL(twin, rewind, id_of(twin, at), twin->message, s.messages, s.count, s.flags, &hidden);
        str_printf(&twin->said, "%llu hidden\n", (unsigned long long)hidden);
    }
    speech_release(&s);
}

static void undo(struct round *r)
{
    size_t at = any_session(r);
    unsigned turns = draw(r, 4);
    BOTH(twin)
    {
        uint64_t hidden = 0;
        CALL(twin, undo, id_of(twin, at), turns, &hidden);
        str_printf(&twin->said, "%llu hidden\n", (unsigned long long)hidden);
    }
}

static void fork_one(struct round *r)
{
    size_t at = any_session(r);
    if (r->sessions == SESSIONS - 1)
        return;
    BOTH(twin)
    CALL(twin, fork, id_of(twin, at), twin->ids[r->sessions]);
    r->sessions += *r->twins[0].ids[r->sessions] != 0;
}

static void update(struct round *r)
{
    size_t at = any_session(r);
    const int pinned = (int)draw(r, 2);
    const struct ethos_usage usage = {.input_tokens = draw(r, 9),
                                      .cost_usd = draw(r, 9) / 3.0,
                                      .api_calls = 1,
                                      .compactions = draw(r, 3) == 0};
    const struct ethos_session_patch patch = {
        .title = draw(r, 3) ? maybe(r, any_word(r)) : "",
        .model = maybe(r, "other"),
        .metadata = maybe(r, ""),
        .working_dir = maybe(r, "/srv/b"),
        .pinned = draw(r, 3) ? NULL : &pinned,
        .usage = draw(r, 2) ? &usage : NULL,
    };
    BOTH(twin)
    CALL(twin, update, id_of(twin, at), &patch);
}

/* The newest message is one that stays: SQLite would give the row of one that goes to another. */
static void say_last(struct round *r)
{
    char id[16];
    snprintf(id, sizeof id, "m%u", ++r->messages);
    const struct ethos_message message = {.id = id, .role = "user", .content = VIEW("kept")};
    BOTH(twin)
    CALL(twin, append, "first", &message, 1, 0);
}

static void take_away(struct round *r)
{
    size_t at = any_session(r), last = r->sessions - 1;
    if (draw(r, 3))
        return;
    say_last(r);
    BOTH(twin)
    CALL(twin, remove, id_of(twin, at));
    if (at == SESSIONS - 1)
        return;
    BOTH(twin)
    {
        memcpy(twin->ids[at], twin->ids[last], ETHOS_UUID_SIZE);
        twin->ids[last][0] = 0;
    }
    r->sessions--;
}

static void prune(struct round *r)
{
    char before[CLOCK_ISO_SIZE];
    int dry = draw(r, 8) != 0;
    clock_iso(r->now - draw(r, 20000), before);
    say_last(r);
    BOTH(twin)
    {
        uint64_t count = 0;
        CALL(twin, prune, before, dry, &count);
        str_printf(&twin->said, "%llu old\n", (unsigned long long)count);
    }
}

static void look(struct round *r)
{
    size_t at = any_session(r);
    unsigned last = draw(r, 6);
    BOTH(twin)
    {
        CALL(twin, get, id_of(twin, at), note_session, twin);
        CALL(twin, messages, id_of(twin, at), last, note_message, twin);
    }
}

/* What a first page asks, and those behind it as well. */
static void any_query(struct round *r, struct pages *pages)
{
    pages->query = (struct ethos_session_query){
        .platform = draw(r, 5) ? NULL : "web",
        .personality = draw(r, 5) ? NULL : "muse",
        .working_dir = draw(r, 5) ? NULL : "/srv/å",
        .id_prefix = draw(r, 7) ? NULL : "s1",
        .text = draw(r, 4) ? NULL : any_word(r),
        .since = draw(r, 5) ? NULL : any_time(r, pages->since),
        .until = draw(r, 5) ? NULL : any_time(r, pages->until),
        .limit = 1 + draw(r, 4),
    };
}

static void list(struct round *r)
{
    bool on = *r->twins[0].cursor && draw(r, 4);
    if (!on)
        any_query(r, &r->pages);
    BOTH(twin)
    {
        r->pages.query.cursor = on ? twin->cursor : NULL;
        CALL(twin, list, &r->pages.query, note_session, twin, twin->cursor);
        str_printf(&twin->said, "%s\n", *twin->cursor ? "and more" : "no more");
    }
}

static void search(struct round *r)
{
    char since[CLOCK_ISO_SIZE];
    struct str text;
    size_t at = any_session(r);
    any_text(r, &text);
    if (text.size && draw(r, 2)) // a start of what was typed, a word or two
        text.size = 1 + draw(r, (uint32_t)text.size) % 12;
    struct ethos_search search = {.text = str_view(&text),
                                  .role = draw(r, 5) ? NULL : "user",
                                  .working_dir = draw(r, 5) ? NULL : "/srv/å",
                                  .since = draw(r, 5) ? NULL : any_time(r, since),
                                  .guarded = draw(r, 3) == 0,
                                  .newest = 1};
    bool within = draw(r, 5) == 0;
    search.limit = draw(r, 3) ? 2000 : 1 + draw(r, 5);
    BOTH(twin)
    {
        unsigned ranked = 0;
        search.session = within ? id_of(twin, at) : NULL;
        search.newest = 1;
        CALL(twin, search, &search, note_found, twin);
        search.newest = 0;
        CALL(twin, search, &search, count_found, &ranked);
        str_printf(&twin->said, "%u by rank of %.*s\n", ranked, VIEW_ARG(str_view(&text)));
    }
    str_release(&text);
}

static void keys(struct round *r)
{
    char prefix[32], hash[32], time[CLOCK_ISO_SIZE];
    snprintf(prefix, sizeof prefix, "k%u", draw(r, 6));
    snprintf(hash, sizeof hash, "h%u", draw(r, 6));
    const struct ethos_key key = {.prefix = prefix,
                                  .hash = hash,
                                  .name = any_word(r),
                                  .scopes = "memory:read",
                                  .origins = "",
                                  .agent = draw(r, 2) != 0,
                                  .created_at = maybe(r, any_time(r, time))};
    unsigned what = draw(r, 3);
    BOTH(twin)
    {
        if (what == 0)
            CALL(twin, key_add, &key);
        else if (what == 1)
            CALL(twin, key_revoke, prefix);
        else
            CALL(twin, key_used, hash);
        CALL(twin, keys, note_key, twin);
    }
}

static void take_ids(struct round *r)
{
    struct speech s;
    any_speech(r, &s);
    BOTH(twin)
    {
        size_t at = 99;
        CALL(twin, taken, s.messages, s.count, &at);
        str_printf(&twin->said, "%zu\n", at);
    }
    speech_release(&s);
}

static void note_finding(void *arg, const struct ethos_finding *finding)
{
    struct twin *twin = arg;
    if (strncmp(finding->subject, "session ", 8) == 0)
        twin->wanted++; // in the order of ids, which are drawn
    else
        str_printf(&twin->said, "%s %s\n", finding->subject, finding->problem);
}

static void examine(struct round *r)
{
    BOTH(twin)
    {
        twin->wanted = 0;
        CALL(twin, check, 0, note_finding, twin);
        str_printf(&twin->said, "%zu refused\n", twin->wanted);
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(struct round *r);
    unsigned weight;
} operations[] = {
    {"create", create, 4},  {"append", append, 12}, {"rewind", rewind_to, 3}, {"undo", undo, 3},
    {"fork", fork_one, 2},  {"update", update, 3},  {"remove", take_away, 2}, {"prune", prune, 1},
    {"look", look, 4},      {"list", list, 8},      {"search", search, 10},   {"keys", keys, 3},
    {"taken", take_ids, 1}, {"check", examine, 1},
};

static void step_of(struct round *r, uint64_t seed, unsigned step)
{
    unsigned total = 0, at = 0;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        total += operations[i].weight;
    for (unsigned drawn = draw(r, total); drawn >= operations[at].weight; at++)
        drawn -= operations[at].weight;
    r->now += draw(r, 4) ? draw(r, 1500) : -(int64_t)draw(r, 600);
    BOTH(twin)
    twin->world->now = r->now;
    operations[at].run(r);
    compare(r, seed, step, operations[at].name);
}

static void begin(struct round *r)
{
    const struct ethos_session session = {
        .id = "first", .key = "first", .platform = "cli", .pinned = 1};
    const struct ethos_message message = {.id = KEPT, .role = "user", .content = VIEW("kept")};
    char made[ETHOS_UUID_SIZE];
    BOTH(twin)
    {
        twin->world->now = NOW;
        CALL(twin, create, &session, made);
        CALL(twin, append, "first", &message, 1, 0);
    }
    compare(r, r->seed, 0, "begin");
}

static void play(uint64_t seed)
{
    struct round round = {.seed = seed, .now = NOW}, *r = &round;
    BOTH(twin)
    {
        void *state = NULL;
        world_subject = twin == r->twins ? NULL : &subject_postgres;
        world_setup(&state);
        twin->world = state;
        str_init(&twin->said, MOST);
    }
    begin(r);
    for (unsigned i = 0; i < STEPS; i++)
        step_of(r, seed, i);
    BOTH(twin)
    {
        void *state = twin->world;
        assert_sound(twin->world);
        str_release(&twin->said);
        world_teardown(&state);
    }
}

static void random_operations_have_the_same_answers(void **state)
{
    unsigned rounds = getenv("CHECK_LONG") ? 200 : 6;
    (void)state;
    for (uint64_t seed = 1; seed <= rounds; seed++)
        play(seed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_have_the_same_answers),
    };
    const char *missing = pg_server_missing();
    if (missing) {
        printf("1..0 # SKIP %s\n", missing);
        return 0;
    }
    pg_server_start(&subject_server);
    if (argc > 1)
        play(strtoull(argv[1], NULL, 10));
    int failed = argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
    pg_server_stop(&subject_server);
    return failed;
}
