/*
 * diary.c: a provider that shows nothing and keeps conversations, as far as a test asks: there is one, and
 * one API key. What it does not answer is not asked of it.
 */
#include <ethos/provider.h>
#include <ethos/session.h>

#include <string.h>

#define TIME "2025-11-16T08:00:00.000Z"

/* ---- memory --------------------------------------------------------------------------------- */

static const struct ethos_provider_ops provider_ops;
static struct ethos_provider provider = {&provider_ops, 0, 0};

static const struct ethos_option options[] = {
    {"title", ETHOS_OPTION_STRING, NULL, "of the conversation"},
    {NULL, ETHOS_OPTION_STRING, NULL, NULL},
};

static int open_provider(const struct ethos_setup *setup, struct ethos_provider **out,
                         struct ethos_error *error)
{
    (void)setup, (void)error;
    *out = &provider;
    return ETHOS_OK;
}

static void close_provider(struct ethos_provider *self)
{
    (void)self;
}

static int show_nothing(struct ethos_provider *self, const struct ethos_context *context,
                        const struct ethos_read_how *how, struct ethos_section *sections,
                        size_t count, struct ethos_error *error)
{
    (void)self, (void)context, (void)how, (void)sections, (void)count, (void)error;
    return ETHOS_OK;
}

static int take_nothing(struct ethos_provider *self, const struct ethos_context *context,
                        const struct ethos_update *updates, size_t count,
                        const struct ethos_sync_how *how, struct ethos_error *error)
{
    (void)self, (void)context, (void)updates, (void)count, (void)how, (void)error;
    return ETHOS_UNSUPPORTED;
}

static int find_something(struct ethos_provider *self, int fix, ethos_finding_fn *each, void *arg,
                          struct ethos_error *error)
{
    const struct ethos_finding finding = {ETHOS_FINDING_WARNING, "paper", "is nearly used up",
                                          "buy some"};
    (void)self, (void)fix, (void)error;
    each(arg, &finding);
    return ETHOS_OK;
}

static const struct ethos_provider_ops provider_ops = {
    .abi = ETHOS_ABI,
    .name = "diary",
    .options = options,
    .open = open_provider,
    .close = close_provider,
    .prefetch = show_nothing,
    .sync = take_nothing,
    .check = find_something,
};

/* ---- conversations -------------------------------------------------------------------------- */

static const struct ethos_sessions_ops sessions_ops;
static struct ethos_sessions sessions = {&sessions_ops, 0, 0};
static char title[64];

static int open_sessions(const struct ethos_setup *setup, struct ethos_sessions **out,
                         struct ethos_error *error)
{
    (void)error;
    strncpy(title, setup->setting_count ? setup->settings[0].value : "Dear diary",
            sizeof title - 1);
    *out = &sessions;
    return ETHOS_OK;
}

static void close_sessions(struct ethos_sessions *self)
{
    (void)self;
}

static int list_one(struct ethos_sessions *self, const struct ethos_session_query *query,
                    ethos_session_fn *each, void *arg, char out_cursor[ETHOS_CURSOR_SIZE],
                    struct ethos_error *error)
{
    const struct ethos_session session = {.id = "00000000-0000-4000-8000-000000000001",
                                          .key = "diary",
                                          .platform = "cli",
                                          .model = "",
                                          .provider = "",
                                          .title = title,
                                          .turns = 1,
                                          .created_at = TIME,
                                          .updated_at = TIME};
    (void)self, (void)query, (void)error;
    out_cursor[0] = 0;
    return each(arg, &session);
}

static int list_keys(struct ethos_sessions *self, ethos_key_fn *each, void *arg,
                     struct ethos_error *error)
{
    const struct ethos_key key = {.prefix = "eth_diary",
                                  .hash = "00",
                                  .name = "of the diary",
                                  .scopes = "memory:read",
                                  .origins = "",
                                  .created_at = TIME};
    (void)self, (void)error;
    return each(arg, &key);
}

static int find_nothing(struct ethos_sessions *self, int fix,
                        void (*each)(void *arg, const struct ethos_finding *finding), void *arg,
                        struct ethos_error *error)
{
    (void)self, (void)fix, (void)each, (void)arg, (void)error;
    return ETHOS_OK;
}

static const struct ethos_sessions_ops sessions_ops = {
    .abi = ETHOS_ABI,
    .name = "diary",
    .options = options,
    .open = open_sessions,
    .close = close_sessions,
    .list = list_one,
    .check = find_nothing,
    .keys = list_keys,
};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "diary",
    .provider = &provider_ops,
    .sessions = &sessions_ops,
};
