/*
 * test_threads.c: threads with a handle of the library each, as a server has them, and one group.
 *
 * Also built with -fsanitize=thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "../support/temp.h"
#include "memory/handle.h"
#include "store/group_commit.h"

#define THREADS 8
#define ADDS 10

struct hand {
    const char *home;
    struct group *group;
    unsigned number;
    const char *failed; /* what did, or NULL */
    struct ethos_error error;
};

static struct ethos_view view(const char *text)
{
    return (struct ethos_view){text, strlen(text)};
}

static bool add(struct hand *hand, struct ethos_turn *turn, const char *store, unsigned i)
{
    char line[64], id[32];
    snprintf(line, sizeof line, "entry <%u.%u>", hand->number, i);
    snprintf(id, sizeof id, "op-%u-%u", hand->number, i);
    const struct ethos_origin origin = {.op_id = id};
    const struct ethos_sync_how how = {.origin = &origin};
    const struct ethos_update update = {
        .action = ETHOS_ACTION_ADD, .store = store, .text = view(line)};
    return ethos_sync(turn, &update, 1, &how, &hand->error) == ETHOS_OK;
}

static bool remember(struct hand *hand, struct ethos_turn *turn)
{
    char title[32], text[32];
    snprintf(title, sizeof title, "Note %u", hand->number);
    snprintf(text, sizeof text, "what %u says", hand->number);
    const struct ethos_fact fact = {
        .text = view(text), .title = view(title), .scope = "personality"};
    return ethos_remember(turn, &fact, NULL, NULL, &hand->error) == ETHOS_OK;
}

/* One request after the other, as a worker of a server does them. */
static void *work(void *arg)
{
    struct hand *hand = arg;
    const struct ethos_options options = {.home = hand->home};
    const struct ethos_request request = {.personality = "default", .user = "me"};
    struct ethos *ethos = NULL;
    if (service_open(&options, hand->group, &ethos, &hand->error) != ETHOS_OK)
        hand->failed = "open";
    for (unsigned i = 0; !hand->failed && i < ADDS; i++) {
        struct ethos_turn *turn = NULL;
        struct ethos_block *block = NULL;
        if (ethos_turn_new(ethos, &request, &turn, &hand->error) != ETHOS_OK)
            hand->failed = "turn";
        else if (!add(hand, turn, i % 3 ? "memory" : "user", i))
            hand->failed = "add";
        else if (ethos_prefetch(turn, NULL, &block, &hand->error) != ETHOS_OK)
            hand->failed = "prefetch";
        else if (i == 4 && !remember(hand, turn))
            hand->failed = "remember";
        ethos_block_free(block);
        ethos_turn_free(turn);
    }
    ethos_close(ethos);
    return NULL;
}

static unsigned occurrences(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = text; at && (at = strstr(at, word)); at++)
        count++;
    return count;
}

static void assert_entries(struct temp *temp, const char *path, bool users)
{
    char *text = temp_read(temp, path, NULL);
    assert_non_null(text);
    for (unsigned number = 0; number < THREADS; number++) {
        for (unsigned i = 0; i < ADDS; i++) {
            char line[64];
            snprintf(line, sizeof line, "entry <%u.%u>", number, i);
            assert_int_equal(occurrences(text, line), (i % 3 == 0) == users);
        }
    }
    free(text);
}

static void test_handles_of_many_threads_share_writes_and_lose_nothing(void **state)
{
    struct temp temp;
    struct hand hands[THREADS] = {0};
    pthread_t threads[THREADS];
    struct group *group;
    char home[300];
    (void)state;
    temp_make(&temp);
    snprintf(home, sizeof home, "%s/home", temp.path);
    assert_int_equal(group_new(&group, NULL), ETHOS_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        hands[i] = (struct hand){.home = home, .group = group, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &hands[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (hands[i].failed)
            fail_msg("%s: %s", hands[i].failed, hands[i].error.text);
    }
    group_free(group);
    assert_entries(&temp, "home/personalities/default/MEMORY.md", false);
    assert_entries(&temp, "home/users/me/USER.md", true);
    char *index = temp_read(&temp, "home/personalities/default/MEMORY.md", NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        char name[32];
        snprintf(name, sizeof name, "note-%u.md", i);
        assert_true(occurrences(index, name) > 0);
    }
    free(index);
    temp_remove(&temp);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handles_of_many_threads_share_writes_and_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
