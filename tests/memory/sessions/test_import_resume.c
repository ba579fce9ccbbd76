/*
 * test_import_resume.c: an import that goes on from a place does what one of the whole file
 * does, whatever became of the file, the session or the place; and it does not read the file again.
 */
#include <sqlite3.h>

#include "../../support/growing_transcript.h"
#include "../world.h"
#include "base/str.h"
#include "memory/sessions/import.h"

#define FILE_NAME "a.jsonl"

/* ---- two homes ------------------------------------------------------------------------------- */

/* One that imports with a place, and one that does so without. */
struct side {
    char home[128];
    struct ethos *ethos;
    struct ethos_turn *turn;
    struct ethos_sessions *store;
    struct sessions_place *place;
    /* of the last import */
    struct str rows;
    char id[ETHOS_UUID_SIZE];
    uint64_t read, done, total;
    unsigned notes;
};

static void side_open(struct world *world, struct side *side, const char *name,
                      struct sessions_place *place)
{
    *side = (struct side){.place = place};
    snprintf(side->home, sizeof side->home, "%s/%s", world->temp.path, name);
    const struct ethos_options options = {.home = side->home, .host = &world->host};
    assert_ok(world, ethos_open(&options, &side->ethos, &world->error));
    assert_ok(world, ethos_turn_new(side->ethos, NULL, &side->turn, &world->error));
    assert_ok(world, ethos_sessions(side->ethos, &side->store, &world->error));
    str_init(&side->rows, 1 << 20);
}

static void side_close(struct side *side)
{
    ethos_turn_free(side->turn);
    ethos_close(side->ethos);
    str_release(&side->rows);
}

static void keep_row(void *arg, const struct sessions_import_row *row)
{
    struct side *side = arg;
    str_printf(&side->rows, "%s %s %llu/%llu %s %s", row->file, row->effect,
               (unsigned long long)row->messages, (unsigned long long)row->total,
               row->format ? row->format : "-", row->why ? row->why : "");
    snprintf(side->id, sizeof side->id, "%s", row->id ? row->id : "");
    side->read = row->read;
}

static void keep_note(void *arg, const char *file, size_t line, const char *what)
{
    struct side *side = arg;
    assert_true(*file && line > 0 && *what);
    side->notes++;
}

static void keep_progress(void *arg, uint64_t done, uint64_t total)
{
    struct side *side = arg;
    assert_true(done >= side->done && done <= total);
    side->done = done;
    side->total = total;
}

static int side_import(struct world *world, struct side *side)
{
    const struct sessions_import what = {.path = FILE_NAME,
                                         .each = keep_row,
                                         .note = keep_note,
                                         .arg = side,
                                         .progress = keep_progress,
                                         .progress_arg = side,
                                         .place = side->place};
    str_clear(&side->rows);
    side->notes = 0;
    side->read = side->done = side->total = 0;
    memset(&world->error, 0, sizeof world->error);
    int code = sessions_import(side->turn, &what, &world->error);
    if (code != ETHOS_OK)
        str_printf(&side->rows, "%d %s", code, world->error.text);
    assert_int_equal(side->done, side->total);
    return code;
}

/* What a database holds, but for what differs by chance: ids of sessions, and of what was said here. */
#define MESSAGES                                                                                   \
    "SELECT CASE substr(m.id,15,1) WHEN '8' THEN m.id END,s.key,role,content,tool_call_id,"        \
    "tool_name,tool_calls,m.input_tokens,m.output_tokens,m.cache_read_tokens,timestamp,"           \
    "deleted_at IS NULL FROM messages m JOIN sessions s ON s.id=session_id ORDER BY m.rowid"
#define SESSIONS                                                                                   \
    "SELECT key,platform,model,provider,working_dir,title,input_tokens,output_tokens,"             \
    "cache_read_tokens,cache_creation_tokens,api_call_count,turn_count,created_at,updated_at "     \
    "FROM sessions ORDER BY key"

static char *side_query(const struct side *side, const char *sql)
{
    char path[160], *text = NULL;
    size_t size;
    sqlite3 *db;
    sqlite3_stmt *statement;
    FILE *out = open_memstream(&text, &size);
    snprintf(path, sizeof path, "%s/sessions.db", side->home);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            for (int i = 0; i < sqlite3_column_count(statement); i++) {
                const char *value = (const char *)sqlite3_column_text(statement, i);
                fprintf(out, "%s|", value ? value : "-");
            }
            fputc('\n', out);
        }
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
    fclose(out);
    return text;
}

static void assert_same_text(const char *what, const char *with, const char *without)
{
    if (strcmp(with, without) != 0)
        fail_msg("%s\nwith a place:\n%s\nwithout:\n%s", what, with, without);
}

static void assert_same(const char *what, const struct side *with, const struct side *without)
{
    static const char *const queries[] = {SESSIONS, MESSAGES};
    assert_same_text(what, with->rows.data, without->rows.data);
    for (size_t i = 0; i < COUNT(queries); i++) {
        char *one = side_query(with, queries[i]), *other = side_query(without, queries[i]);
        assert_same_text(what, one, other);
        free(one);
        free(other);
    }
}

/* ---- what may happen in between -------------------------------------------------------------- */

/* The file with another text; or another file of the same name. */
static void put(struct world *world, struct ethos_view text, bool anew)
{
    char name[] = "work/" FILE_NAME;
    if (anew && world_exists(world, name))
        world_unlink(world, name);
    int fd = openat(world->temp.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.data, text.size), text.size);
    close(fd);
}

enum { UNDO, ANSWER, DELETE, RETITLE, SPEND, MODEL, HERE_KINDS };

/* What people and other programs do to the session of the last import; all may fail. */
static void do_here(const struct side *side, unsigned kind)
{
    struct ethos_sessions *store = side->store;
    const struct ethos_message messages[] = {{.role = "user", .content = VIEW("here")},
                                             {.role = "assistant", .content = VIEW("here, too")}};
    const struct ethos_usage usage = {.input_tokens = 5, .api_calls = 1};
    const struct ethos_session_patch patches[] = {
        [RETITLE] = {.title = ""}, [SPEND] = {.usage = &usage}, [MODEL] = {.model = "other"}};
    uint64_t count;
    if (kind == UNDO)
        store->ops->undo(store, side->id, 1, &count, NULL);
    else if (kind == ANSWER)
        store->ops->append(store, side->id, messages, COUNT(messages), 0, NULL);
    else if (kind == DELETE)
        store->ops->remove(store, side->id, NULL);
    else
        store->ops->update(store, side->id, &patches[kind], NULL);
}

static void assert_same_place(const struct sessions_place *one, const struct sessions_place *other)
{
    struct str texts[2];
    str_init(&texts[0], SESSIONS_PLACE_BYTES);
    str_init(&texts[1], SESSIONS_PLACE_BYTES);
    assert_int_equal(sessions_place_print(one, &texts[0]), ETHOS_OK);
    assert_int_equal(sessions_place_print(other, &texts[1]), ETHOS_OK);
    assert_string_equal(texts[0].data, texts[1].data);
    str_release(&texts[0]);
    str_release(&texts[1]);
}

/* Through its text, which is changed at one place or not. */
static void carry(struct grow *grow, struct sessions_place *place, bool spoil)
{
    struct sessions_place copy;
    struct str text;
    str_init(&text, SESSIONS_PLACE_BYTES);
    assert_int_equal(sessions_place_print(place, &text), ETHOS_OK);
    if (spoil && text.size > 0)
        text.data[grow_pick(grow, (unsigned)text.size)] = "0129ax\"}"[grow_pick(grow, 8)];
    bool parsed = sessions_place_parse(str_view(&text), &copy);
    assert_int_equal(parsed, copy.offset > 0);
    if (!spoil)
        assert_same_place(&copy, place);
    *place = copy;
    str_release(&text);
}

/* ---- growing --------------------------------------------------------------------------------- */

struct growth {
    struct world *world;
    struct grow grow;
    struct side with, without;
    struct sessions_place place, old;
    size_t shown;   /* bytes of the file */
    unsigned undos; /* to be done: what was said here is often taken back */
    unsigned imports, saved;
};

static void disturb(struct growth *self)
{
    struct grow *grow = &self->grow;
    bool back = self->undos > 0 && grow_pick(grow, 3) == 0;
    if (*self->with.id && (back || grow_pick(grow, 30) == 0)) {
        unsigned kind = back ? UNDO : grow_pick(grow, HERE_KINDS);
        self->undos = kind == ANSWER;
        do_here(&self->with, kind);
        do_here(&self->without, kind);
    }
    if (grow_pick(grow, 30) == 0)
        self->place = self->old;
    carry(grow, &self->place, grow_pick(grow, 30) == 0);
}

static void step(struct growth *self)
{
    struct grow *grow = &self->grow;
    char what[64];
    grow_more(grow);
    size_t cut = grow_pick(grow, 5) == 0 ? grow_pick(grow, 1500) : 0;
    self->shown = grow->text.size - (cut < grow->text.size ? cut : 0);
    put(self->world, view_of(grow->text.data, self->shown), grow_pick(grow, 30) == 0);
    disturb(self);
    if (grow_pick(grow, 6) == 0)
        self->old = self->place;
    int code = side_import(self->world, &self->with);
    assert_int_equal(side_import(self->world, &self->without), code);
    snprintf(what, sizeof what, "%s, seed %llu", grow->codex ? "codex" : "claude-code",
             (unsigned long long)grow->seed);
    assert_same(what, &self->with, &self->without);
    self->imports++;
    self->saved += self->with.read > 0 && self->with.read < self->shown;
}

static void grow_one(struct growth *self, struct world *world, uint64_t seed, bool codex)
{
    self->world = world;
    self->place = self->old = (struct sessions_place){0};
    self->undos = 0;
    grow_init(&self->grow, seed, codex);
    side_open(world, &self->with, "with", &self->place);
    side_open(world, &self->without, "without", NULL);
    for (unsigned i = 0; i < 24; i++)
        step(self);
    side_close(&self->with);
    side_close(&self->without);
    world_remove(world, "with");
    world_remove(world, "without");
    grow_release(&self->grow);
}

static void assert_grows(struct world *world, bool codex)
{
    struct growth self = {0};
    const char *text = getenv("GROW_ROUNDS");
    unsigned rounds = text ? (unsigned)strtoul(text, NULL, 10) : 20;
    for (uint64_t seed = 1; seed <= rounds; seed++)
        grow_one(&self, world, seed, codex);
    print_message("%u of %u imports went on from a place\n", self.saved, self.imports);
    assert_true(self.saved > self.imports / 4 && self.saved < self.imports);
}

static void test_claude_code_with_a_place_is_as_without(void **state)
{
    assert_grows(*state, false);
}

static void test_codex_with_a_place_is_as_without(void **state)
{
    assert_grows(*state, true);
}

/* ---- one place ------------------------------------------------------------------------------- */

#define ID(n) "aaaaaaaa-0000-4000-8000-00000000000" n
#define LINE(type, n, up, message)                                                                 \
    "{\"type\":\"" type "\",\"uuid\":\"" ID(n) "\",\"parentUuid\":\"" ID(                          \
        up) "\",\"sessionId\":"                                                                    \
            "\"s1\",\"timestamp\":\"2025-01-02T03:04:0" n ".000Z\",\"message\":" message "}\n"
#define ASK(n, up) LINE("user", n, up, "{\"content\":\"ask " n "\"}")
#define SAY(n, up)                                                                                 \
    LINE("assistant", n, up,                                                                       \
         "{\"id\":\"m" n "\",\"content\":\"say " n "\",\"usage\":{\"input_tokens\":1}}")
#define START ASK("1", "0") SAY("2", "1") ASK("3", "2") SAY("4", "3")
#define MORE START ASK("5", "4") SAY("6", "5")

/* One home, into which START was taken. */
static void begin(struct world *world, struct side *side, struct sessions_place *place)
{
    *place = (struct sessions_place){0};
    put(world, VIEW(START), true);
    side_open(world, side, "with", place);
    assert_ok(world, side_import(world, side));
    assert_string_equal(side->rows.data, FILE_NAME " created 4/4 claude-code ");
    assert_true(place->offset > 0);
}

static void finish(struct world *world, struct side *side)
{
    char *shown = side_query(side, "SELECT content FROM messages WHERE deleted_at IS NULL");
    char *spent = side_query(side, "SELECT input_tokens,api_call_count,turn_count FROM sessions");
    assert_string_equal(shown, "ask 1|\nsay 2|\nask 3|\nsay 4|\nask 5|\nsay 6|\n");
    assert_string_equal(spent, "3|3|3|\n");
    free(shown);
    free(spent);
    side_close(side);
    world_remove(world, "with");
}

/* Takes MORE in and says whether all of it was read. */
static bool reads_whole(struct world *world, struct side *side)
{
    put(world, VIEW(MORE), false);
    assert_ok(world, side_import(world, side));
    assert_string_equal(side->rows.data, FILE_NAME " appended 2/6 claude-code ");
    return side->read >= strlen(MORE);
}

static void test_what_stands_before_a_place_is_not_read_again(void **state)
{
    struct world *world = *state;
    struct sessions_place place;
    struct side side;
    begin(world, &side, &place);
    assert_false(reads_whole(world, &side));
    assert_int_equal(place.offset, strlen(START));
    assert_int_equal(place.messages, 4);
    assert_ok(world, side_import(world, &side));
    assert_string_equal(side.rows.data, FILE_NAME " unchanged 0/6 claude-code ");
    assert_int_equal(side.read, strlen(MORE) - strlen(START));
    assert_int_equal(side.notes, 0);
    finish(world, &side);
}

static void test_a_place_is_one_line_of_text(void **state)
{
    struct world *world = *state;
    struct sessions_place place, copy;
    struct side side;
    struct str text;
    begin(world, &side, &place);
    str_init(&text, SESSIONS_PLACE_BYTES);
    assert_int_equal(sessions_place_print(&place, &text), ETHOS_OK);
    assert_null(strchr(text.data, '\n'));
    assert_true(sessions_place_parse(str_view(&text), &copy));
    assert_same_place(&copy, &place);
    for (size_t size = 0; size < text.size; size++) {
        assert_false(sessions_place_parse(view_of(text.data, size), &copy));
        assert_int_equal(copy.offset, 0);
    }
    str_clear(&text);
    assert_int_equal(sessions_place_print(&copy, &text), ETHOS_OK);
    assert_int_equal(text.size, 0);
    str_release(&text);
    assert_false(reads_whole(world, &side));
    finish(world, &side);
}

static void test_rubbish_is_no_place(void **state)
{
    static const char *const texts[] = {
        "", "null", "[]", "{}", "{\"version\":1}", "\xff", "1 2 3", "{\"version\":2,\"offset\":1}"};
    struct sessions_place place;
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        memset(&place, 1, sizeof place);
        assert_false(sessions_place_parse(view_str(texts[i]), &place));
        assert_int_equal(place.offset, 0);
    }
}

/* What is in no hash of its own is under the seal. */
static void test_a_place_that_was_edited_is_none(void **state)
{
    struct world *world = *state;
    struct sessions_place place;
    struct side side;
    for (unsigned i = 0; i < 14; i++) {
        begin(world, &side, &place);
        struct sessions_place edited[14];
        for (size_t k = 0; k < COUNT(edited); k++)
            edited[k] = place;
        snprintf(edited[0].format, sizeof place.format, "codex");
        snprintf(edited[1].session, sizeof place.session, "s2");
        edited[2].offset = strlen(ASK("1", "0"));
        edited[3].offset = UINT64_MAX;
        edited[4].lines++;
        edited[5].messages--;
        edited[6].before[0] ^= 1;
        snprintf(edited[7].time, sizeof place.time, "2025-01-01T00:00:00.000Z");
        edited[8].usage.input_tokens = 1000000;
        snprintf(edited[9].response, sizeof place.response, "m9");
        edited[10].tokens = 7;
        edited[11].titled = !place.titled;
        edited[12].check[0] ^= 1;
        edited[13].seal[0] ^= 1;
        place = edited[i];
        if (!reads_whole(world, &side))
            fail_msg("%u", i);
        finish(world, &side);
    }
}

static void test_a_place_is_of_one_file_and_one_home(void **state)
{
    struct world *world = *state;
    struct sessions_place place, other;
    struct side side, elsewhere;
    begin(world, &elsewhere, &other);
    side_close(&elsewhere);
    world_remove(world, "with");
    begin(world, &side, &place);
    place = other;
    assert_true(reads_whole(world, &side));
    finish(world, &side);
    begin(world, &side, &place);
    world_rename(world, "work/" FILE_NAME, "work/moved");
    put(world, VIEW(START), true);
    assert_true(reads_whole(world, &side));
    finish(world, &side);
}

static void test_a_session_that_was_changed_is_looked_at_whole(void **state)
{
    static const unsigned kinds[] = {RETITLE, SPEND, MODEL};
    struct world *world = *state;
    struct sessions_place place;
    struct side side;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        begin(world, &side, &place);
        do_here(&side, kinds[i]);
        assert_int_equal(reads_whole(world, &side), kinds[i] != RETITLE); // there was no title
        assert_ok(world, side_import(world, &side));
        assert_true(side.read < strlen(MORE)); // and then no more
        finish(world, &side);
    }
}

static void test_a_session_that_went_on_here_has_no_place(void **state)
{
    struct world *world = *state;
    struct sessions_place place;
    struct side side;
    begin(world, &side, &place);
    do_here(&side, ANSWER);
    assert_ok(world, side_import(world, &side));
    assert_string_equal(side.rows.data, FILE_NAME " unchanged 0/6 claude-code ");
    assert_int_equal(place.offset, 0);
    put(world, VIEW(MORE), false);
    assert_ok(world, side_import(world, &side));
    assert_string_equal(side.rows.data, FILE_NAME
                        " conflict 0/6 claude-code the session here continued differently");
    assert_int_equal(place.offset, 0);
    do_here(&side, UNDO);
    assert_true(reads_whole(world, &side));
    assert_true(place.offset > 0);
    side_close(&side);
}

static void test_a_dry_run_leaves_the_place(void **state)
{
    struct world *world = *state;
    struct sessions_place place, before;
    struct side side;
    begin(world, &side, &place);
    const struct sessions_import what = {.path = FILE_NAME, .dry_run = 1, .place = &place};
    before = place;
    put(world, VIEW(MORE), false);
    assert_ok(world, sessions_import(side.turn, &what, &world->error));
    assert_same_place(&before, &place);
    assert_false(reads_whole(world, &side));
    finish(world, &side);
}

/* What becomes of such a time depends on all before. */
static void test_after_a_time_to_come_all_is_read(void **state)
{
    struct world *world = *state;
    struct sessions_place place;
    struct side side;
    char text[] = START;
    memcpy(strstr(text, "2025-01-02T03"), "2025-11-16T03", 13);
    put(world, view_str(text), true);
    place = (struct sessions_place){0};
    side_open(world, &side, "with", &place);
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(world, side_import(world, &side));
        assert_true(place.offset > 0 && side.read >= strlen(text));
    }
    side_close(&side);
}

/* A format that is asked for may be another than the one that would be guessed. */
static void test_a_place_is_of_one_way_to_read(void **state)
{
    struct world *world = *state;
    struct sessions_place place;
    struct side side;
    begin(world, &side, &place);
    const struct sessions_import what = {.path = FILE_NAME,
                                         .format = "claude-code",
                                         .each = keep_row,
                                         .arg = &side,
                                         .place = &place};
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(world, sessions_import(side.turn, &what, &world->error));
        assert_int_equal(side.read >= strlen(START), i == 0);
    }
    assert_true(reads_whole(world, &side));
    finish(world, &side);
}

static void test_many_messages_after_a_place_come_in_batches(void **state)
{
    struct world *world = *state;
    struct sessions_place place;
    struct side side;
    struct str text;
    begin(world, &side, &place);
    str_init(&text, SIZE_MAX);
    str_adds(&text, START);
    for (unsigned i = 4; i < 3 * SESSIONS_IMPORT_BATCH + 4; i++)
        str_printf(
            &text,
            "{\"type\":\"%s\",\"uuid\":\"aaaaaaaa-0000-4000-8000-%012u\",\"parentUuid\":"
            "\"aaaaaaaa-0000-4000-8000-%012u\",\"sessionId\":\"s1\",\"message\":{\"content\":"
            "\"%u\"}}\n",
            i % 2 ? "assistant" : "user", i + 1, i, i);
    put(world, str_view(&text), false);
    assert_ok(world, side_import(world, &side));
    assert_string_equal(side.rows.data, FILE_NAME " appended 1500/1504 claude-code ");
    assert_true(side.read < text.size);
    str_release(&text);
    side_close(&side);
}

static void test_an_import_from_a_place_without_memory_leaves_nothing_half(void **state)
{
    struct world *world = *state;
    struct sessions_place place, before;
    struct side side;
    int code;
    begin(world, &side, &place);
    before = place;
    put(world, VIEW(MORE), false);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        place = before;
        code = side_import(world, &side);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    finish(world, &side);
}

/* Whatever fails while the rest is read, the whole may still be. */
static void test_a_file_that_cannot_be_read_on_is_read_whole(void **state)
{
    struct world *world = *state;
    struct nth nth = {.number = 1, .name = "pread", .errnum = EIO};
    struct sessions_place place;
    struct side side;
    begin(world, &side, &place);
    os_hook(nth_fails, &nth);
    assert_true(reads_whole(world, &side));
    os_hook(NULL, NULL);
    assert_string_equal(nth.failed, "pread");
    finish(world, &side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_LOOP(test_claude_code_with_a_place_is_as_without),
        WORLD_LOOP(test_codex_with_a_place_is_as_without),
        WORLD_LOOP(test_what_stands_before_a_place_is_not_read_again),
        WORLD_LOOP(test_a_place_is_one_line_of_text),
        WORLD_LOOP(test_rubbish_is_no_place),
        WORLD_LOOP(test_a_place_that_was_edited_is_none),
        WORLD_LOOP(test_a_place_is_of_one_file_and_one_home),
        WORLD_LOOP(test_a_session_that_was_changed_is_looked_at_whole),
        WORLD_LOOP(test_a_session_that_went_on_here_has_no_place),
        WORLD_LOOP(test_a_dry_run_leaves_the_place),
        WORLD_LOOP(test_after_a_time_to_come_all_is_read),
        WORLD_LOOP(test_a_place_is_of_one_way_to_read),
        WORLD_LOOP(test_many_messages_after_a_place_come_in_batches),
        WORLD_LOOP(test_an_import_from_a_place_without_memory_leaves_nothing_half),
        WORLD_LOOP(test_a_file_that_cannot_be_read_on_is_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
