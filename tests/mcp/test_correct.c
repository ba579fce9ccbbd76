/*
 * test_correct.c: how a model corrects what it remembered: notes, their lines, and what it may not do by accident.
 */
#include "client.h"

#define SECRET "ghp_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"

static void start(struct client *client, void **state)
{
    client_open(client, *state, OP_RIGHTS_AGENT);
    initialize(client, "2025-11-25");
}

static const json_t *success(const json_t *result)
{
    if (!json_is_false(at(result, "isError")))
        fail_msg("failed: %s", text_at(result, "content.0.text"));
    return at(result, "structuredContent");
}

static void assert_fails(const json_t *result, const char *part)
{
    assert_true(json_is_true(at(result, "isError")));
    if (!strstr(text_at(result, "content.0.text"), part))
        fail_msg("says: %s", text_at(result, "content.0.text"));
}

/* A call with the revision that a note has now. */
static const json_t *call_with_revision(struct client *client, const char *tool, const char *name,
                                        const char *more)
{
    char read[128], arguments[1024];
    snprintf(read, sizeof read, "{'name':'%s'}", name);
    const json_t *note = success(call(client, "note_read", read));
    snprintf(arguments, sizeof arguments, "{'name':'%s','if_match':'%s'%s}", name,
             text_at(note, "revision"), more);
    return call(client, tool, arguments);
}

/* What a prompt of this project gets. Freed by the caller. */
static char *prompt(struct client *client)
{
    json_t *args = json_object();
    struct op_call prefetch = {.ethos = client->world->ethos,
                               .request = &client->request,
                               .args = args,
                               .want_json = true};
    struct op_result result;
    op_result_init(&result);
    assert_int_equal(op_run(op_find("memory.prefetch"), &prefetch, &result, NULL), ETHOS_OK);
    char *text = strdup(text_at(result.json, "text"));
    op_result_release(&result);
    json_decref(args);
    return text;
}

static void assert_prompt(struct client *client, const char *has, const char *lacks)
{
    char *text = prompt(client);
    if (!strstr(text, has) || strstr(text, lacks))
        fail_msg("with '%s' and without '%s': %s", has, lacks, text);
    free(text);
}

/* ---- a title that exists ---------------------------------------------------------------------- */

static void test_a_title_that_exists_is_shown_and_not_changed(void **state)
{
    struct client client;
    start(&client, state);
    success(call(&client, "remember", "{'content':'It is host-a','title':'Staging Host'}"));
    const json_t *kept = success(
        call(&client, "remember", "{'content':'It is host-b','title':'STAGING  host'}"));
    assert_string_equal(text_at(kept, "effect"), "exists");
    assert_string_equal(text_at(kept, "key"), "staging-host.md");
    assert_non_null(strstr(text_at(kept, "content"), "It is host-a"));
    assert_non_null(strstr(text_at(kept, "warning"), "nothing was written"));
    assert_non_null(text_at(kept, "revision"));
    assert_int_equal(json_array_size(at(kept, "written")), 0);
    assert_prompt(&client, "host-a", "host-b");
    kept = success(call(&client, "remember", "{'content':'It is host-a','title':'staging host'}"));
    assert_string_equal(text_at(kept, "effect"), "unchanged");
    const json_t *list = success(call(&client, "note_list", "{}"));
    assert_int_equal(json_array_size(at(list, "notes")), 1);
    client_close(&client);
}

static void test_a_mode_says_what_to_do_with_it(void **state)
{
    struct client client;
    char arguments[512];
    start(&client, state);
    success(call(&client, "remember", "{'content':'It is host-a','title':'Staging'}"));
    const json_t *kept = success(
        call(&client, "remember", "{'content':'Port 22','title':'staging','mode':'append'}"));
    assert_string_equal(text_at(kept, "effect"), "appended");
    kept = success(
        call(&client, "remember", "{'content':'It is host-b','title':'staging','mode':'replace'}"));
    assert_string_equal(text_at(kept, "effect"), "exists"); // it has not said what it read
    snprintf(arguments, sizeof arguments,
             "{'content':'It is host-b','title':'staging','mode':'replace','if_match':'%s'}",
             text_at(kept, "revision"));
    kept = success(call(&client, "remember", arguments));
    assert_string_equal(text_at(kept, "effect"), "replaced");
    assert_prompt(&client, "host-b", "host-a");
    assert_fails(call(&client, "remember", arguments), "changed meanwhile");
    client_close(&client);
}

/* ---- note_write and note_remove --------------------------------------------------------------- */

static void test_after_a_correction_only_the_new_fact_is_left(void **state)
{
    struct client client;
    start(&client, state);
    success(call(&client, "remember",
                 "{'content':'Staging runs on alpha.\\nWhy: cheap','title':'Staging host',"
                 "'hook':'staging is alpha'}"));
    success(call_with_revision(&client, "note_write", "staging-host",
                               ",'content':'Staging runs on beta.'"));
    assert_prompt(&client, "- [Staging host](staging-host.md) \u2014 Staging runs on beta.",
                  "alpha");
    const json_t *note = success(call(&client, "note_read", "{'name':'staging host'}"));
    assert_non_null(strstr(text_at(note, "content"), "description: Staging runs on beta."));
    assert_null(strstr(text_at(note, "content"), "alpha"));
    client_close(&client);
}

/* Title and file name came from the text: both follow it. */
static void test_a_made_title_and_its_file_follow_the_text(void **state)
{
    struct client client;
    start(&client, state);
    success(call(&client, "remember", "{'content':'Staging runs on alpha'}"));
    assert_prompt(&client, "- [Staging runs on alpha](staging-runs-on-alpha.md)", "beta");
    const json_t *kept = success(call_with_revision(&client, "note_write", "staging-runs-on-alpha",
                                                    ",'content':'Staging runs on beta'"));
    assert_string_equal(text_at(kept, "key"), "staging-runs-on-beta.md");
    assert_prompt(&client, "- [Staging runs on beta](staging-runs-on-beta.md)", "alpha");
    const json_t *note = success(call(&client, "note_read", "{'name':'staging-runs-on-beta'}"));
    assert_null(strstr(text_at(note, "content"), "alpha"));
    client_close(&client);
}

static void test_a_title_and_a_hook_are_written_alone(void **state)
{
    struct client client;
    start(&client, state);
    success(call(&client, "remember", "{'content':'Use make','title':'Bilding','hook':'old'}"));
    success(call(&client, "remember", "{'content':'Elsewhere','title':'Other'}"));
    success(call_with_revision(&client, "note_write", "bilding",
                               ",'title':'Building','hook':'before a build'"));
    assert_prompt(&client, "- [Building](building.md) \u2014 before a build",
                  "ilding.md) \u2014 old");
    const json_t *note = success(call(&client, "note_read", "{'name':'building'}"));
    assert_non_null(strstr(text_at(note, "content"), "Use make"));
    assert_fails(call_with_revision(&client, "note_write", "building", ",'title':'OTHER'"),
                 "other.md has this title");
    assert_fails(call_with_revision(&client, "note_write", "building", ""), "nothing to change");
    assert_fails(call_with_revision(&client, "note_write", "building", ",'content':' '"), "blank");
    client_close(&client);
}

static void test_who_changes_a_note_must_have_read_it(void **state)
{
    struct client client;
    start(&client, state);
    success(call(&client, "remember", "{'content':'one','title':'A'}"));
    assert_fails(call(&client, "note_write", "{'name':'a','content':'two'}"), "sha256:");
    assert_fails(call(&client, "note_write", "{'name':'a','content':'two'}"), "\n\none\n");
    assert_fails(call(&client, "note_remove", "{'name':'a'}"), "needs if_match");
    assert_fails(call(&client, "note_write", "{'name':'a','content':'x','if_match':'sha256:0'}"),
                 "changed meanwhile");
    assert_fails(call(&client, "note_remove", "{'name':'b','if_match':'sha256:0'}"),
                 "note_list shows");
    assert_prompt(&client, "(a.md)", "two");
    success(call_with_revision(&client, "note_remove", "a", ""));
    assert_int_equal(json_array_size(at(success(call(&client, "note_list", "{}")), "notes")), 0);
    client_close(&client);
}

/* What note_read shows is what is changed, wherever it is. */
static void test_a_note_of_every_project_is_corrected_too(void **state)
{
    struct client client;
    start(&client, state);
    success(call(&client, "remember", "{'content':'tabs','title':'Style','about':'everywhere'}"));
    const json_t *kept = success(
        call_with_revision(&client, "note_write", "style", ",'content':'blanks'"));
    assert_string_equal(text_at(kept, "scope"), "global");
    success(call_with_revision(&client, "note_remove", "style", ""));
    assert_fails(call(&client, "note_read", "{'name':'style'}"), "no such note");
    client_close(&client);
}

/* ---- memory_write ----------------------------------------------------------------------------- */

static void test_memory_write_leaves_notes_to_their_tools(void **state)
{
    struct client client;
    start(&client, state);
    success(call(&client, "remember", "{'content':'one','title':'A'}"));
    assert_fails(call(&client, "memory_write", "{'action':'add','key':'a.md','content':'x'}"),
                 "a.md is a note; note_write changes it");
    assert_fails(call(&client, "memory_write",
                      "{'action':'replace','key':'a','content':'x','if_match':'absent'}"),
                 "a.md is a note");
    assert_fails(call(&client, "memory_write", "{'action':'add','key':'stray.md','content':'x'}"),
                 "no such file: stray.md; remember makes a note");
    assert_false(world_exists(*state, "home/personalities/default/stray.md"));
    assert_false(world_exists(*state, "home/personalities/default/a.md"));
    success(call(&client, "memory_write", "{'action':'add','key':'MEMORY.md','content':'x'}"));
    client_close(&client);
}

static void test_what_is_there_is_not_added_again(void **state)
{
    struct client client;
    start(&client, state);
    success(call(&client, "memory_write", "{'action':'add','content':'Likes tea'}"));
    success(call(&client, "memory_write", "{'action':'add','content':'Likes figs'}"));
    const json_t *report = success(
        call(&client, "memory_write", "{'action':'add','content':' Likes tea\\n'}"));
    assert_int_equal(json_integer_value(at(report, "applied")), 0);
    assert_string_equal(text_at(report, "unchanged.0.warning"), "the file already says this");
    assert_file(*state, "home/personalities/default/MEMORY.md", "Likes tea\n\nLikes figs\n");
    json_t *args = json_pack("{s:s}", "updates", "{\"action\":\"add\",\"content\":\"Likes tea\"}");
    struct op_call sync = {
        .ethos = client.world->ethos, .request = &client.request, .args = args, .want_json = true};
    struct op_result result;
    op_result_init(&result);
    assert_int_equal(op_run(op_find("memory.sync"), &sync, &result, NULL), ETHOS_OK);
    assert_file(*state, "home/personalities/default/MEMORY.md",
                "Likes tea\n\nLikes figs\n\nLikes tea\n");
    op_result_release(&result);
    json_decref(args);
    client_close(&client);
}

/* ---- what the answer says besides ------------------------------------------------------------- */

static void test_notes_about_the_same_are_named(void **state)
{
    struct client client;
    start(&client, state);
    success(call(&client, "remember",
                 "{'content':'Staging is staging-1.example.com','title':'Staging host'}"));
    success(call(&client, "remember", "{'content':'Use make check','title':'Running the tests'}"));
    const json_t *kept = success(
        call(&client, "remember",
             "{'content':'The staging server is staging-2.example.com','title':'Staging server'}"));
    assert_string_equal(text_at(kept, "effect"), "created");
    assert_int_equal(json_array_size(at(kept, "similar")), 1);
    assert_string_equal(text_at(kept, "similar.0.key"), "staging-host.md");
    client_close(&client);
}

static void test_a_secret_is_in_no_file_name(void **state)
{
    struct client client;
    start(&client, state);
    const json_t *kept = success(
        call(&client, "remember", "{'content':'Token " SECRET " is for the mirror'}"));
    assert_string_equal(text_at(kept, "key"), "token-is-for-the-mirror.md");
    assert_non_null(strstr(text_at(kept, "warning"), "secret"));
    kept = success(call(&client, "remember", "{'content':'x','title':'" SECRET "'}"));
    assert_null(strstr(text_at(kept, "key"), "abcdefgh"));
    assert_non_null(strstr(text_at(kept, "warning"), "secret"));
    kept = success(call(&client, "remember", "{'content':'nothing to hide','title':'Open'}"));
    assert_null(at(kept, "warning"));
    client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_a_title_that_exists_is_shown_and_not_changed),
        CLIENT_TEST(test_a_mode_says_what_to_do_with_it),
        CLIENT_TEST(test_after_a_correction_only_the_new_fact_is_left),
        CLIENT_TEST(test_a_made_title_and_its_file_follow_the_text),
        CLIENT_TEST(test_a_title_and_a_hook_are_written_alone),
        CLIENT_TEST(test_who_changes_a_note_must_have_read_it),
        CLIENT_TEST(test_a_note_of_every_project_is_corrected_too),
        CLIENT_TEST(test_memory_write_leaves_notes_to_their_tools),
        CLIENT_TEST(test_what_is_there_is_not_added_again),
        CLIENT_TEST(test_notes_about_the_same_are_named),
        CLIENT_TEST(test_a_secret_is_in_no_file_name),
    };

    return cmocka_run_group_tests_name("mcp/correct", tests, NULL, NULL);
}
