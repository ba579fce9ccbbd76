/*
 * fuzz_policy.c: approval.yaml. A rule that is read is printed as one that is read as the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/approval/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_rule(const struct policy_rule *rule)
{
    struct str text;
    struct policy_rule again;
    str_init(&text, SIZE_MAX);
    require(policy_print_rule(rule, &text) == ETHOS_OK);
    require(policy_parse_rule(str_view(&text), &again, NULL) == ETHOS_OK);
    require(again.allows == rule->allows && view_eq(again.actor, rule->actor));
    require(again.actions == rule->actions && again.files == rule->files);
    require(again.max_chars == rule->max_chars && again.day == rule->day);
    str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct policy policy = {0};
    struct ethos_error error;
    arena_init(&arena);
    struct ethos_view text = view_of((const char *)data, size);
    int code = policy_parse(text, &arena, &policy, &error);
    require(code == ETHOS_OK || *error.text);
    for (size_t i = 0; i < policy.count; i++)
        try_rule(&policy.rules[i]);
    arena_release(&arena);
    return 0;
}
