/*
 * fuzz_git_index.c: the index of a git repository that a home is in. Names are as many as it says at most,
 * and none is longer than what there is.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/view.h"
#include "core/formats/backup_manifest.h"
#include "core/formats/git_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int note(void *arg, const char *name)
{
    size_t *left = arg;
    assert(strlen(name) < GIT_MAX_NAME && *left > 0);
    --*left;
    return backup_class(name) < 0 ? 1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t left = size / 62 + 1;
    int code = git_index_names(view_of((const char *)data, size), note, &left);
    assert(code == ETHOS_OK || code == ETHOS_CORRUPT);
    return 0;
}
