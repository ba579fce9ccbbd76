/*
 * stable_read.c: reads a file that an editor may be saving at this moment.
 *
 * A reader takes no lock and waits for no writer of the store, which never shows half a file.
 * Editors do: some remove the file for a moment, some truncate it and write it again. So a file
 * that is missing though the history knows it, empty, or changed a moment ago is checked: if
 * somebody has it open for writing, the reader waits a little, and then returns the last recorded
 * version, marked as unsettled.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "store/update_steps.h"

#define WAITS 3 /* for somebody to finish */
#define WAIT_MS 50
#define YOUNG_MS 2000

bool files_is_recent(const struct ethos_text *text)
{
    return text->total == 0 || os_now_ms() - text->mtime_ms < YOUNG_MS;
}

static int open_scope_dir(const struct files *self, const char *scope, char path[FILES_PATH_SIZE])
{
    TRY(files_scope_path(scope, path, NULL));
    return files_open(self, path, O_RDONLY | O_DIRECTORY, NULL);
}

/* Whether the history says that the key has a text. */
static bool is_expected(struct files *self, const char *scope, const char *key)
{
    struct files_lock lock = {.fd = -1, .tmp = -1};
    struct files_journal journal;
    struct history_last last = {0};
    struct stat st;
    char path[FILES_PATH_SIZE + sizeof FILES_HISTORY];
    // mostly nothing was ever written there: one call tells
    int code = files_scope_path(scope, lock.path, NULL);
    snprintf(path, sizeof path, "%s/" FILES_HISTORY, lock.path);
    if (code != ETHOS_OK || os_fstatat(self->root, path, &st, 0) != 0)
        return false;
    lock.dir = open_scope_dir(self, scope, lock.path);
    if (lock.dir < 0)
        return false;
    if (files_journal_open(self, &lock, &journal, NULL) == ETHOS_OK)
        files_journal_last_change(&journal, key, &last, NULL);
    files_journal_close(&lock, &journal);
    os_close(lock.dir);
    return last.any && !last.absent;
}

int files_wait_for_file(struct files *self, const char *scope, const char *key, const char *path,
                        struct ethos_error *error)
{
    int fd = ETHOS_NOTFOUND;
    if (!is_expected(self, scope, key))
        return fd;
    for (int i = 0; fd == ETHOS_NOTFOUND && i < FILES_ABSENT_MS / FILES_ABSENT_STEP_MS; i++) {
        os_sleep_ms(FILES_ABSENT_STEP_MS);
        fd = files_open_text(self, scope, key, path, FILES_READ_FLAGS, error);
    }
    return fd;
}

/*
 * ---- the last recorded version ----------------------------------------------------------------
 */

/* Whether a line belongs to an unfinished change. */
static bool is_unfinished_change(int dir, const struct history_record *record)
{
    struct stat st;
    char path[FILES_TEMP_SIZE + sizeof FILES_TMP], key[ETHOS_MAX_KEY + 1], flat[ETHOS_MAX_KEY + 1];
    static const char *const suffixes[] = {FILES_DRAFT, FILES_NEW};
    snprintf(key, sizeof key, "%.*s", VIEW_ARG(record->key));
    files_key_to_name(key, flat);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, FILES_TMP "/%s.%.*s%s", flat, VIEW_ARG(record->txn_id),
                 suffixes[i]);
        if (os_fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return false;
}

/* The text after the newest finished change; ETHOS_NOTFOUND when there is none. */
static int read_last_recorded(const struct files *self, const char *scope, const char *key,
                              struct str *out)
{
    struct files_key_history past = {0};
    char path[FILES_PATH_SIZE];
    int dir = open_scope_dir(self, scope, path);
    if (dir < 0)
        return ETHOS_NOTFOUND;
    int code = files_key_history_load(self, dir, path, key, &past, NULL);
    size_t i = past.history.count;
    while (i > 0 && is_unfinished_change(dir, &past.history.records[i - 1]))
        i--;
    if (code == ETHOS_OK)
        code = i > 0 && !past.history.records[i - 1].absent_after
                   ? files_key_history_text(self, &past, i - 1, false, out, NULL)
                   : ETHOS_NOTFOUND;
    files_key_history_free(&past);
    os_close(dir);
    return code;
}

static int fill_last_recorded(struct files *self, const char *scope, const char *key,
                              const struct ethos_read_how *how, struct ethos_text *out_text,
                              struct ethos_error *error)
{
    struct str text;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    int code = read_last_recorded(self, scope, key, &text);
    if (code == ETHOS_OK) {
        code = files_fill_text(self, str_view(&text), how, out_text, error);
        out_text->unsettled = 1;
    }
    str_release(&text);
    return code;
}

/*
 * ---- waiting ----------------------------------------------------------------------------------
 */

/* Reads again. *out_settled: nobody has the file open for writing, as far as can be known. */
static int read_again(struct files *self, const char *scope, const char *key, const char *path,
                      const struct ethos_read_how *how, struct ethos_text *text, bool *out_settled,
                      struct ethos_error *error)
{
    int fd = files_open_text(self, scope, key, path, FILES_READ_FLAGS, error);
    if (fd < 0)
        return fd;
    int writer = os_has_writer(fd);
    int code = files_read_fd(self, fd, path, how, text, NULL, error);
    *out_settled = code == ETHOS_OK && (writer == 0 || (writer < 0 && text->total > 0));
    os_close(fd);
    return code;
}

int files_read_stable(struct files *self, const char *scope, const char *key, const char *path,
                      const struct ethos_read_how *how, struct ethos_text *out_text,
                      struct ethos_error *error)
{
    bool settled = false;
    int code = read_again(self, scope, key, path, how, out_text, &settled, error);
    for (int i = 0; !settled && i < WAITS; i++) {
        os_sleep_ms(WAIT_MS);
        code = read_again(self, scope, key, path, how, out_text, &settled, error);
    }
    if (settled)
        return ETHOS_OK;
    int recorded = fill_last_recorded(self, scope, key, how, out_text, error);
    return recorded == ETHOS_NOTFOUND || recorded == ETHOS_CORRUPT ? code : recorded;
}
