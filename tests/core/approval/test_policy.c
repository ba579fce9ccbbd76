/*
 * test_policy.c: which writes wait for a person.
 */
#include "core/approval/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"

#define ADD (1u << ETHOS_ACTION_ADD)

struct world {
    struct arena arena;
    struct policy policy;
    struct ethos_error error;
};

static int parse(struct world *w, const char *yaml)
{
    *w = (struct world){0};
    arena_init(&w->arena);
    return policy_parse(view_str(yaml), &w->arena, &w->policy, &w->error);
}

static struct policy_write write_of(enum trust trust)
{
    return (struct policy_write){.trust = trust,
                                 .actor = "codex",
                                 .source = "tool",
                                 .action = ETHOS_ACTION_ADD,
                                 .files = POLICY_NOTES,
                                 .chars = 100};
}

static const struct policy modes[] = {
    {.mode = APPROVAL_OFF}, {.mode = APPROVAL_AUTOMATED}, {.mode = APPROVAL_ALL}};

static unsigned why;

/* ---- without rules ----------------------------------------------------------------------------- */

static void test_the_owner_never_waits(void **state)
{
    (void)state;
    struct policy_write write = write_of(TRUST_OWNER);
    write.instructs = write.large = true;
    write.source = "dream";
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(policy_decide(&modes[i], &write, &why), POLICY_ADMIT);
}

static void test_the_untrusted_wait_in_every_mode(void **state)
{
    (void)state;
    struct policy_write write = write_of(TRUST_UNTRUSTED);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(policy_decide(&modes[i], &write, &why), POLICY_WAIT);
        assert_true(why & WHY_UNTRUSTED);
    }
}

static void test_an_agent_waits_by_the_mode(void **state)
{
    (void)state;
    struct policy_write write = write_of(TRUST_AGENT);
    assert_int_equal(policy_decide(&modes[0], &write, &why), POLICY_ADMIT);
    assert_int_equal(policy_decide(&modes[1], &write, &why), POLICY_ADMIT);
    assert_int_equal(policy_decide(&modes[2], &write, &why), POLICY_WAIT);
    assert_int_equal(why, WHY_MODE);
    write.source = "capture";
    assert_int_equal(policy_decide(&modes[0], &write, &why), POLICY_ADMIT);
    assert_int_equal(policy_decide(&modes[1], &write, &why), POLICY_WAIT);
    assert_int_equal(why, WHY_AUTOMATED);
}

static void test_instructions_wait_in_every_mode(void **state)
{
    (void)state;
    struct policy_write write = write_of(TRUST_AGENT);
    write.instructs = true;
    assert_int_equal(policy_decide(&modes[0], &write, &why), POLICY_WAIT);
    assert_int_equal(why, WHY_INSTRUCTS);
}

static void test_much_removed_waits_where_approval_is_on(void **state)
{
    (void)state;
    struct policy_write write = write_of(TRUST_AGENT);
    write.large = true;
    assert_int_equal(policy_decide(&modes[0], &write, &why), POLICY_ADMIT);
    assert_int_equal(policy_decide(&modes[1], &write, &why), POLICY_WAIT);
    assert_int_equal(why, WHY_LARGE);
}

static void test_every_reason_has_a_sentence(void **state)
{
    (void)state;
    for (unsigned bit = WHY_UNTRUSTED; bit <= WHY_MODE; bit *= 2) {
        assert_non_null(policy_why_name(bit));
        assert_non_null(policy_why_sentence(view_str(policy_why_name(bit))));
    }
    assert_null(policy_why_sentence(VIEW("other")));
}

/* ---- rules ------------------------------------------------------------------------------------- */

static void test_rules_are_read(void **state)
{
    (void)state;
    struct world w;
    assert_int_equal(parse(&w, "# mine\nrules:\n  - allow claude-code add notes max 300\n"
                               "  # a remark\n"
                               "  - \"allow codex add,replace memory max 500 day 20\"\n"
                               "  - deny telegram:* any user # guests\n"),
                     ETHOS_OK);
    assert_int_equal(w.policy.count, 3);
    const struct policy_rule *rules = w.policy.rules;
    assert_true(rules[0].allows);
    assert_true(view_eq_str(rules[0].actor, "claude-code"));
    assert_int_equal(rules[0].actions, ADD);
    assert_int_equal(rules[0].files, POLICY_NOTES);
    assert_int_equal(rules[0].max_chars, 300);
    assert_int_equal(rules[1].actions, ADD | 1u << ETHOS_ACTION_REPLACE);
    assert_int_equal(rules[1].day, 20);
    assert_false(rules[2].allows);
    assert_true(view_eq_str(rules[2].actor, "telegram:*"));
    assert_true(policy_counts(&w.policy));
    arena_release(&w.arena);
}

static void test_a_rule_is_printed_as_it_is_written(void **state)
{
    (void)state;
    static const char *const lines[] = {"allow claude-code add notes max 300",
                                        "allow codex add,replace memory,user max 500 day 20",
                                        "deny telegram:* any any", "deny x delete team,tree"};
    for (size_t i = 0; i < 4; i++) {
        struct policy_rule rule;
        struct str text;
        str_init(&text, SIZE_MAX);
        assert_int_equal(policy_parse_rule(view_str(lines[i]), &rule, NULL), ETHOS_OK);
        assert_int_equal(policy_print_rule(&rule, &text), ETHOS_OK);
        assert_string_equal(text.data, lines[i]);
        str_release(&text);
    }
}

static void test_bad_rules_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *message;
    } rows[] = {
        {"rules:\n  - allow a add notes\n  - permit a add notes\n",
         "approval.yaml: rule 2 must begin with allow or deny: 'permit'"},
        {"rules:\n  - allow a fly notes\n", "approval.yaml: rule 1 unknown action 'fly'"},
        {"rules:\n  - allow a add,fly notes\n", "approval.yaml: rule 1 unknown action 'add,fly'"},
        {"rules:\n  - allow a add shoes\n", "approval.yaml: rule 1 unknown files 'shoes'"},
        {"rules:\n  - allow a add notes max x\n", "approval.yaml: rule 1 no number after 'max'"},
        {"rules:\n  - allow a add notes max 0\n", "approval.yaml: rule 1 no number after 'max'"},
        {"rules:\n  - allow a add notes least 3\n", "approval.yaml: rule 1 unknown limit 'least'"},
        {"rules:\n  - allow\n", "approval.yaml: rule 1 has no actor 'allow'"},
        {"rule:\n  - allow a add notes\n", "approval.yaml:1: unknown key rule"},
        {"rules: allow a add notes\n", "approval.yaml:1: rules must be a list, one per line"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world w;
        assert_int_equal(parse(&w, rows[i].yaml), ETHOS_INVALID);
        assert_string_equal(w.error.text, rows[i].message);
        arena_release(&w.arena);
    }
}

static void test_no_rules_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "# nothing\n", "rules:\n"};
    for (size_t i = 0; i < 3; i++) {
        struct world w;
        assert_int_equal(parse(&w, texts[i]), ETHOS_OK);
        assert_int_equal(w.policy.count, 0);
        arena_release(&w.arena);
    }
}

static enum policy_verdict judge(const char *rule, const struct policy_write *write)
{
    struct policy_rule row;
    assert_int_equal(policy_parse_rule(view_str(rule), &row, NULL), ETHOS_OK);
    const struct policy policy = {.mode = APPROVAL_ALL, .rules = &row, .count = 1};
    return policy_decide(&policy, write, &why);
}

static void test_a_rule_exempts_by_actor_action_file_size_and_day(void **state)
{
    (void)state;
    struct policy_write write = write_of(TRUST_AGENT);
    assert_int_equal(judge("allow codex add notes max 100 day 2", &write), POLICY_ADMIT);
    assert_int_equal(judge("allow co* any any", &write), POLICY_ADMIT);
    assert_int_equal(judge("allow claude add notes", &write), POLICY_WAIT);
    assert_int_equal(judge("allow codex replace notes", &write), POLICY_WAIT);
    assert_int_equal(judge("allow codex add user", &write), POLICY_WAIT);
    assert_int_equal(judge("allow codex add notes max 99", &write), POLICY_WAIT);
    write.today = 2;
    assert_int_equal(judge("allow codex add notes day 2", &write), POLICY_WAIT);
}

static void test_no_rule_exempts_what_a_person_must_see(void **state)
{
    (void)state;
    struct policy_write write = write_of(TRUST_UNTRUSTED);
    assert_int_equal(judge("allow codex any any", &write), POLICY_WAIT);
    write = write_of(TRUST_AGENT);
    write.instructs = true;
    assert_int_equal(judge("allow codex any any", &write), POLICY_WAIT);
    write = write_of(TRUST_AGENT);
    write.large = true;
    assert_int_equal(judge("allow codex any any", &write), POLICY_WAIT);
}

static void test_a_denial_refuses_everybody_but_the_owner(void **state)
{
    (void)state;
    struct policy_write write = write_of(TRUST_UNTRUSTED);
    assert_int_equal(judge("deny codex any any", &write), POLICY_REFUSE);
    write.trust = TRUST_OWNER;
    assert_int_equal(judge("deny codex any any", &write), POLICY_ADMIT);
}

static void test_the_rule_that_is_offered_admits_the_next_one(void **state)
{
    (void)state;
    struct policy_rule rule;
    struct policy_write write = write_of(TRUST_AGENT);
    assert_int_equal(policy_decide(&modes[APPROVAL_ALL], &write, &why), POLICY_WAIT);
    assert_true(policy_rule_for(&write, why, &rule));
    const struct policy policy = {.mode = APPROVAL_ALL, .rules = &rule, .count = 1};
    assert_int_equal(policy_decide(&policy, &write, &why), POLICY_ADMIT);
    write.trust = TRUST_UNTRUSTED;
    assert_false(policy_rule_for(&write, WHY_UNTRUSTED, &rule));
    write.trust = TRUST_AGENT;
    assert_false(policy_rule_for(&write, WHY_MODE | WHY_LARGE, &rule));
}

static void test_files_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(policy_files_of("personality:p", "MEMORY.md"), POLICY_MEMORY);
    assert_int_equal(policy_files_of("global", "MEMORY.md"), POLICY_MEMORY);
    assert_int_equal(policy_files_of("global", "x.md"), POLICY_NOTES);
    assert_int_equal(policy_files_of("workspace:w-123456789012", "MEMORY.md"), POLICY_NOTES);
    assert_int_equal(policy_files_of("user:u", "USER.md"), POLICY_USER);
    assert_int_equal(policy_files_of("team:t", "MEMORY.md"), POLICY_TEAM);
    assert_int_equal(policy_files_of("memories:personality:p", "MEMORY.md"), POLICY_TREE);
}

static void test_modes_are_three_words(void **state)
{
    (void)state;
    enum approval_mode mode = APPROVAL_OFF;
    assert_int_equal(approval_mode_parse("all", &mode), ETHOS_OK);
    assert_int_equal(mode, APPROVAL_ALL);
    assert_int_equal(approval_mode_parse("automated", &mode), ETHOS_OK);
    assert_int_equal(mode, APPROVAL_AUTOMATED);
    assert_int_equal(approval_mode_parse("some", &mode), ETHOS_INVALID);
    assert_int_equal(approval_mode_parse(NULL, &mode), ETHOS_INVALID);
    assert_int_equal(mode, APPROVAL_AUTOMATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_owner_never_waits),
        cmocka_unit_test(test_the_untrusted_wait_in_every_mode),
        cmocka_unit_test(test_an_agent_waits_by_the_mode),
        cmocka_unit_test(test_instructions_wait_in_every_mode),
        cmocka_unit_test(test_much_removed_waits_where_approval_is_on),
        cmocka_unit_test(test_every_reason_has_a_sentence),
        cmocka_unit_test(test_rules_are_read),
        cmocka_unit_test(test_a_rule_is_printed_as_it_is_written),
        cmocka_unit_test(test_bad_rules_are_named),
        cmocka_unit_test(test_no_rules_are_none),
        cmocka_unit_test(test_a_rule_exempts_by_actor_action_file_size_and_day),
        cmocka_unit_test(test_no_rule_exempts_what_a_person_must_see),
        cmocka_unit_test(test_a_denial_refuses_everybody_but_the_owner),
        cmocka_unit_test(test_the_rule_that_is_offered_admits_the_next_one),
        cmocka_unit_test(test_files_are_told_apart),
        cmocka_unit_test(test_modes_are_three_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
