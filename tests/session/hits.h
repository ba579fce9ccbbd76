/*
 * hits.h: what the tests of searching share: a search whose hits become a text.
 */
#ifndef TESTS_SESSION_HITS_H
#define TESTS_SESSION_HITS_H

#include "world.h"

/* The contents of the hits, each ended by "|". */
struct hits {
    char text[8192];
    unsigned count;
    int stop_with;
};

static inline int note_hit(void *arg, const struct ethos_hit *hit)
{
    struct hits *hits = arg;
    size_t used = strlen(hits->text);
    assert_string_equal(hit->message->session, hit->session->id);
    assert_true(hit->hit < hit->hit_end && hit->hit_end <= hit->snippet.size);
    snprintf(hits->text + used, sizeof hits->text - used, "%.*s|", VIEW_ARG(hit->message->content));
    hits->count++;
    return hits->stop_with;
}

static inline struct hits do_search(struct world *w, const struct ethos_search *search)
{
    struct hits hits = {.count = 0};
    int code = w->ops->search(w->sessions, search, note_hit, &hits, &w->error);
    if (code != ETHOS_OK)
        fail_msg("%.*s: %s", VIEW_ARG(search->text), w->error.text);
    return hits;
}

static inline void assert_found(struct world *w, const char *text, const char *expected)
{
    struct hits hits = do_search(w, &(struct ethos_search){.text = view_str(text)});
    if (strcmp(hits.text, expected) != 0)
        fail_msg("'%s' finds '%s', not '%s'", text, hits.text, expected);
}

static inline unsigned count_hits(struct world *w, const char *text)
{
    return do_search(w, &(struct ethos_search){.text = view_str(text), .limit = 2000}).count;
}

#endif
