/*
 * fuzz_identity.c: any text as an identity map.
 *
 * Whatever array it holds, everybody has one usable id, the same each time: that of the first entry
 * of their own with one, else a derived one that nobody else has.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/home/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_pair(const json_t *entry, const char *platform, const char *platform_user)
{
    return view_eq_str(json_view(entry, "platform"), platform) &&
           view_eq_str(json_view(entry, "platformUserId"), platform_user);
}

/* The first usable entry of the pair, or NULL. */
static const json_t *first_entry(const json_t *entries, const char *platform,
                                 const char *platform_user)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        if (is_pair(entry, platform, platform_user) && scope_id_ok(json_view(entry, "userId")))
            return entry;
    }
    return NULL;
}

static void check_pair(const struct identity_map *map, const char *platform,
                       const char *platform_user)
{
    char user[ETHOS_MAX_ID + 1], again[ETHOS_MAX_ID + 1];
    bool known;
    struct ethos_error error = {0};
    int code = identity_resolve(map, platform, platform_user, user, &known, &error);
    const json_t *entry = first_entry(map->entries, platform, platform_user);

    if (code != ETHOS_OK) {
        assert(code == ETHOS_EXISTS || code == ETHOS_DENIED);
        assert(error.code == code && error.text[0]);
        return;
    }
    assert(scope_id_ok(view_str(user)));
    assert(known == (entry != NULL));
    assert(!known || view_eq_str(json_view(entry, "userId"), user));
    for (size_t i = 0; !known && i < json_array_size(map->entries); i++) {
        const json_t *other = json_array_get(map->entries, i);
        assert(is_pair(other, platform, platform_user) ||
               !view_eq_str(json_view(other, "userId"), user));
    }
    assert(identity_resolve(map, platform, platform_user, again, &known, NULL) == ETHOS_OK);
    assert(strcmp(user, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct identity_map map = {0};

    if (json_parse(view_of((const char *)data, size), "map", &map.entries, NULL) != ETHOS_OK)
        return 0;
    if (json_is_array(map.entries)) {
        check_pair(&map, "cli", "me");
        check_pair(&map, "telegram", "4711");
        for (size_t i = 0; i < json_array_size(map.entries) && i < 8; i++) {
            const json_t *entry = json_array_get(map.entries, i);
            const char *platform = json_view(entry, "platform").data;
            const char *platform_user = json_view(entry, "platformUserId").data;
            if (platform && platform_user)
                check_pair(&map, platform, platform_user);
        }
    }
    identity_release(&map);
    return 0;
}
