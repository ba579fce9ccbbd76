/*
 * complete.c: what the word before the cursor can become.
 */
#include "chat/complete.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "ops/op.h"

#define SHORT_ID 8

struct completion_search {
    struct completion *out;
    struct ethos_view word;
    int folder;
    const char *above; /* of files: what stands before the name */
    const char *name;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_completion(struct completion_search *self, const char *candidate,
                           const char *remark)
{
    struct completion *out = self->out;
    if (!view_starts(view_str(candidate), self->word) ||
        json_array_size(out->candidates) == COMPLETE_MAX)
        return;
    json_array_append_new(out->candidates, json_string(candidate));
    json_array_append_new(out->remarks, json_string(remark));
}

/* ---- files ------------------------------------------------------------------------------------- */

static bool is_plain_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7F)
            return false;
    return utf8_valid(view_str(name));
}

static int add_file_candidate(void *arg, const char *name)
{
    struct completion_search *self = arg;
    struct stat info;
    char candidate[PATH_MAX];
    bool hidden = *name == '.' && *self->name != '.';
    if (hidden || strncmp(name, self->name, strlen(self->name)) != 0 || !is_plain_name(name) ||
        os_fstatat(self->folder, name, &info, 0) != 0)
        return 0;
    int size = snprintf(candidate, sizeof candidate, "@%s%s%s", self->above, name,
                        S_ISDIR(info.st_mode) ? "/" : "");
    if (size < (int)sizeof candidate)
        add_completion(self, candidate, "");
    return 0;
}

/* The word is @FOLDER/NAME, as far as it was typed. */
static void add_file_candidates(struct completion_search *self, const char *base)
{
    char path[PATH_MAX], folder[2 * PATH_MAX];
    if (self->word.size > sizeof path)
        return;
    snprintf(path, sizeof path, "%.*s", (int)self->word.size - 1, self->word.data + 1);
    char *slash = strrchr(path, '/');
    self->name = slash ? slash + 1 : path;
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%.*s", (int)(self->name - path), path);
    self->above = above;
    snprintf(folder, sizeof folder, "%s%s%s", *above == '/' ? "" : base, *above == '/' ? "" : "/",
             above);
    self->folder = os_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
    if (self->folder < 0)
        return;
    os_list(self->folder, add_file_candidate, self);
    os_close(self->folder);
}

/* ---- commands, and what they are about ----------------------------------------------------------- */

static void add_row_candidates(struct completion_search *self, struct chat_talk *talk,
                               const char *operation, const char *list, const char *member,
                               int size, const char *remark)
{
    size_t index;
    json_t *row;
    struct op_result result;
    if (talk_run(talk, operation, json_object(), &result))
        json_array_foreach (json_object_get(result.json, list), index, row) {
            char name[ETHOS_MAX_KEY + 1];
            const char *text = json_string_value(json_object_get(row, remark));
            snprintf(name, sizeof name, "%.*s", size,
                     json_string_value(json_object_get(row, member)));
            add_completion(self, name, text ? text : "");
        }
    op_result_release(&result);
}

static void add_argument_candidates(struct completion_search *self, struct chat_talk *talk,
                                    struct ethos_view before)
{
    if (view_eq(before, VIEW("/resume")))
        add_row_candidates(self, talk, "sessions.list", "items", "id", SHORT_ID, "displayTitle");
    if (view_eq(before, VIEW("/personality")))
        add_row_candidates(self, talk, "personalities.list", "items", "id", ETHOS_MAX_KEY,
                           "description");
    if (view_eq(before, VIEW("/memory")))
        add_completion(self, "edit", "");
    if (view_eq(before, VIEW("/memory")) || view_eq(before, VIEW("/memory edit")))
        add_row_candidates(self, talk, "notes.list", "notes", "key", ETHOS_MAX_KEY, "hook");
}

static void add_command_candidates(struct completion_search *self)
{
    for (const struct talk_command *row = talk_commands; row->name; row++)
        add_completion(self, row->name, row->help);
}

/* ---- what they have in common -------------------------------------------------------------------- */

static void find_common_prefix(struct completion *self)
{
    const char *first = json_string_value(json_array_get(self->candidates, 0));
    size_t index, size = strlen(first);
    json_t *value;
    json_array_foreach (self->candidates, index, value) {
        const char *other = json_string_value(value);
        size_t same = 0;
        while (same < size && first[same] == other[same])
            same++;
        size = same;
    }
    while (size > 0 && ((unsigned char)first[size] & 0xC0) == 0x80)
        size--; // characters stay whole
    str_add(&self->common, view_of(first, size));
}

static void sort_files(struct completion *self)
{
    size_t count = json_array_size(self->candidates);
    const char **names = malloc((count + 1) * sizeof *names);
    json_t *sorted = json_array();
    for (size_t i = 0; names && i < count; i++)
        names[i] = json_string_value(json_array_get(self->candidates, i));
    if (names)
        qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; names && i < count; i++)
        json_array_append_new(sorted, json_string(names[i]));
    if (json_array_size(sorted) == count) {
        json_decref(self->candidates);
        self->candidates = json_incref(sorted);
    }
    json_decref(sorted);
    free(names);
}

int complete_word(struct chat_talk *talk, bool idle, struct ethos_view text, size_t cursor,
                  struct completion *out)
{
    struct completion_search search = {.out = out};
    *out = (struct completion){
        .begin = cursor, .candidates = json_array(), .remarks = json_array()};
    str_init(&out->common, ETHOS_MAX_KEY + PATH_MAX);
    while (out->begin > 0 && (unsigned char)text.data[out->begin - 1] > ' ')
        out->begin--;
    search.word = view_of(text.data + out->begin, cursor - out->begin);
    if (!out->candidates || !out->remarks)
        return ETHOS_NOMEM;
    if (view_starts(search.word, VIEW("@"))) {
        add_file_candidates(&search, talk->choice.folder);
        sort_files(out);
    } else if (out->begin == 0 && view_starts(search.word, VIEW("/"))) {
        add_command_candidates(&search);
    } else if (idle && view_starts(text, VIEW("/"))) {
        add_argument_candidates(&search, talk, view_trim(view_of(text.data, out->begin)));
    }
    if (json_array_size(out->candidates) > 0)
        find_common_prefix(out);
    return str_code(&out->common);
}

void completion_release(struct completion *self)
{
    json_decref(self->candidates);
    json_decref(self->remarks);
    str_release(&self->common);
}
