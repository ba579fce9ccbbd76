/*
 * suite.c: runs the rules, each with its own store and new scopes.
 */
#include <stdatomic.h>

#include "base/system/log.h"
#include "base/system/os.h"
#include "conformance/fixture.h"

/* ---- memory --------------------------------------------------------------------------------- */

#define GIVEN 256 /* recent allocations that are remembered */

/* The host for the stores: the default one, whose allocations can be made to fail. */
static atomic_ulong asked, failing;
static atomic_long blocks;
static struct {
    _Atomic(const void *) block;
    atomic_size_t size;
} given[GIVEN];

static void note_given(const void *block, size_t size)
{
    static atomic_uint next;
    unsigned at = atomic_fetch_add(&next, 1) % GIVEN;
    given[at].block = block;
    given[at].size = size;
}

static void forget_given(const void *block)
{
    for (size_t i = 0; block && i < GIVEN; i++)
        if (given[i].block == block)
            given[i].block = NULL;
}

static void *resize(void *arg, void *block, size_t size)
{
    (void)arg;
    if (size > 0 && atomic_fetch_add(&asked, 1) + 1 == atomic_load(&failing))
        return NULL;
    forget_given(block);
    void *other = log_default_host.resize(log_default_host.arg, block, size);
    if (other)
        note_given(other, size);
    blocks += !block && other;
    blocks -= block && size == 0;
    return other;
}

long memory_blocks(void)
{
    return blocks;
}

size_t memory_size(const void *block)
{
    for (size_t i = 0; i < GIVEN; i++)
        if (given[i].block == block)
            return given[i].size;
    return 0;
}

static struct ethos_host host;

void memory_fail_at(struct fixture *f, unsigned long n)
{
    if (f->subject->memory) {
        f->subject->memory->fail_at(n);
        return;
    }
    asked = 0;
    failing = n;
}

unsigned long memory_count(struct fixture *f)
{
    return f->subject->memory ? f->subject->memory->count() : asked;
}

/* ---- time ----------------------------------------------------------------------------------- */

static _Atomic int64_t later_ms; /* added to the clock of the host */

static int64_t now_ms(void *arg)
{
    (void)arg;
    return log_default_host.now_ms(log_default_host.arg) + later_ms;
}

void clock_forward(int64_t ms)
{
    later_ms += ms;
}

/* ---- revisions ------------------------------------------------------------------------------ */

void revision_of(struct fixture *f, const char *text, char out[ETHOS_REVISION_SIZE])
{
    if (!f->subject->own_revisions)
        hash_revision(view_str(text), out);
    else
        assert_int_equal(do_write(f, f->scratch_scope, "a.md", NULL, view_str(text), out),
                         ETHOS_OK);
}

/* ---- rules ---------------------------------------------------------------------------------- */

const struct rule *conformance_rule(size_t index)
{
    const struct {
        const struct rule *rules;
        size_t count;
    } parts[] = {{rules_store, rules_store_count},     {rules_history, rules_history_count},
                 {rules_graft, rules_graft_count},     {rules_batch, rules_batch_count},
                 {rules_several, rules_several_count}, {rules_race, rules_race_count}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (index < parts[i].count)
            return &parts[i].rules[index];
        index -= parts[i].count;
    }
    return NULL;
}

static bool is_for_stores(const struct rule *rule)
{
    const struct rule *other;
    for (size_t i = 0; (other = conformance_rule(i)) != NULL; i++)
        if (other == rule)
            return true;
    return false;
}

static void name_scopes(struct fixture *f)
{
    unsigned char bytes[6] = {0};
    os_random(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(f->tag + 2 * i, 3, "%02x", bytes[i]);
    snprintf(f->scope, sizeof f->scope, "personality:tester-%s", f->tag);
    snprintf(f->other_scope, sizeof f->other_scope, "user:tester-%s", f->tag);
    snprintf(f->scratch_scope, sizeof f->scratch_scope, "team:scratch-%s", f->tag);
}

enum rule_result conformance_check(const struct conformance_subject *subject,
                                   const struct rule *rule, char why[RULE_WHY_SIZE])
{
    struct fixture fixture = {.subject = subject, .host = &host}, *f = &fixture;
    host = log_default_host;
    host.resize = resize;
    host.now_ms = now_ms;
    later_ms = 0;
    name_scopes(f);
    memory_fail_at(f, 0);
    if (subject->reset)
        subject->reset();
    int code = !is_for_stores(rule) ? subject->open_provider(f->host, &f->provider, &f->error)
                                    : subject->open(f->host, &f->store, &f->error);
    if (code != ETHOS_OK) {
        snprintf(why, RULE_WHY_SIZE, "does not open: %.500s; %.190s", f->error.text, f->error.hint);
        return RULE_BROKEN;
    }
    enum rule_result result = rule_run(rule, f, why);
    memory_fail_at(f, 0);
    if (f->store)
        f->store->ops->close(f->store);
    if (f->provider)
        f->provider->ops->close(f->provider);
    if (subject->reset)
        subject->reset();
    f->host->resize(f->host->arg, f->text.data, 0);
    return result;
}

int conformance_run(const struct conformance_subject *subject)
{
    char why[RULE_WHY_SIZE], title[128];
    const struct rule *rule;
    size_t count = 0;
    int broken = 0;
    printf("# store: %s\n", subject->name);
    for (; (rule = conformance_rule(count)) != NULL; count++) {
        enum rule_result result = conformance_check(subject, rule, why);
        rule_title(rule, title, sizeof title);
        printf("%s %zu - %s\n", result == RULE_BROKEN ? "not ok" : "ok", count + 1, title);
        if (*why)
            printf("# %s%s\n", result == RULE_NOT_OFFERED ? "not offered: " : "", why);
        broken += result == RULE_BROKEN;
        fflush(stdout);
    }
    printf("1..%zu\n", count);
    return broken;
}
