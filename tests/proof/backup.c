/*
 * backup.c: backups that are taken while everything writes.
 *
 *     backup [--long] [--only load|control]
 *
 *   load     processes add to one file, keep notes and append to a conversation without pause; each backup is
 *            restored into an empty home, where the strict reader finds nothing in any history, SQLite
 *            finds the database sound, and everything acknowledged before the backup began stands once
 *   control  the same with cp -r in place of ethos backup, in the long form: it must be found wrong
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/database.h"
#include "support/ledger.h"
#include "support/proof.h"

#define WRITERS 3
#define ROUND 10 /* backups of one home */
#define MOST_ENTRIES 60000
#define NOTES 20 /* that are added to, again and again */

struct load {
    struct home home;
    unsigned next; /* number of the next entry */
    volatile unsigned char added[MOST_ENTRIES];
    volatile unsigned messages, notes;
    volatile bool over;
};

/* ---- writers --------------------------------------------------------------------------------- */

static int add_entries(void *arg)
{
    struct load *load = arg;
    char entry[32];
    while (!load->over) {
        unsigned number = __atomic_fetch_add(&load->next, 1, __ATOMIC_RELAXED);
        if (number >= MOST_ENTRIES)
            break;
        snprintf(entry, sizeof entry, "agent-%u", number);
        load->added[number] = ethos_add(&load->home, NULL, entry) == 0;
    }
    return 0;
}

static int keep_notes(void *arg)
{
    struct load *load = arg;
    for (unsigned i = 0; !load->over; i++) {
        char *title = text_format("note %u", i % NOTES), *text = text_format("fact %u", i);
        const char *const words[] = {
            ethos_program(), "--home", load->home.path, "-w",  load->home.path,
            "remember",      text,     "--title",       title, NULL};
        load->notes += program_run(words, NULL, NULL) == 0;
        free(title);
        free(text);
    }
    return 0;
}

static int append_messages(void *arg)
{
    struct load *load = arg;
    for (unsigned i = 0; !load->over; i++) {
        char *text = text_format("message-%u", i);
        const char *const words[] = {ethos_program(),
                                     "--home",
                                     load->home.path,
                                     "sessions",
                                     "append",
                                     "--role",
                                     i % 2 ? "assistant" : "user",
                                     text,
                                     NULL};
        load->messages += program_run(words, NULL, NULL) == 0;
        free(text);
    }
    return 0;
}

/* ---- one backup ------------------------------------------------------------------------------ */

/* What was acknowledged when it began. */
struct before {
    unsigned messages, entries;
    unsigned char added[MOST_ENTRIES];
};

static void look_before(const struct load *load, struct before *out)
{
    out->entries = 0;
    for (unsigned i = 0; i < MOST_ENTRIES; i++) {
        out->added[i] = load->added[i];
        out->entries += out->added[i];
    }
    out->messages = load->messages;
}

static unsigned missing_entries(const struct home *home, const struct before *before)
{
    struct tokens tokens;
    size_t size = 0;
    unsigned missing = 0;
    char *text = path_read(home->memory, &size);
    tokens_make(&tokens, "agent", MOST_ENTRIES);
    if (text)
        tokens_count(&tokens, text, size);
    for (unsigned i = 0; i < MOST_ENTRIES; i++)
        missing += tokens.seen[i] > 1 || (before->added[i] && tokens.seen[i] != 1);
    tokens_free(&tokens);
    free(text);
    return missing;
}

static void check_scope(void *arg, const char *dir, const char *name)
{
    unsigned *errors = arg;
    struct ledger ledger;
    struct stat st;
    char *path = text_format("%s/%s/memory", dir, name);
    if (stat(path, &st) == 0) {
        ledger_check(&ledger, path, 0, NULL, NULL);
        *errors += ledger.errors;
        ledger_free(&ledger);
    }
    free(path);
}

/* How much is wrong with a home. */
static unsigned judge(const struct home *home, const struct before *before)
{
    struct ledger ledger;
    unsigned errors = 0;
    ledger_check(&ledger, home->scope, 0, NULL, NULL);
    errors += ledger.errors;
    ledger_free(&ledger);
    char *workspaces = text_format("%s/workspaces", home->path);
    dir_each(workspaces, check_scope, &errors);
    free(workspaces);
    unsigned missing = missing_entries(home, before);
    if (missing > 0)
        proof_note("%u entries missing or doubled", missing);
    sqlite3 *database = database_open(home);
    bool sound = database_sound(database);
    int64_t messages = database_number(database, "SELECT count(*) FROM messages");
    sqlite3_close(database);
    if (!sound || messages < before->messages)
        proof_note("%lld messages of %u, database %s", (long long)messages, before->messages,
                   sound ? "sound" : "not sound");
    return errors + missing + !sound + (messages < before->messages);
}

static unsigned back_up_once(struct load *load, struct before *before)
{
    struct home place, restored;
    char *out = NULL;
    place_make(&place, PLACE_DISK);
    char *file = text_format("%s/b.tar", place.path), *to = text_format("%s/new", place.path);
    look_before(load, before);
    const char *const backup[] = {ethos_program(), "--home", load->home.path, "backup", file, NULL};
    const char *const restore[] = {ethos_program(), "--home", to, "restore", file, NULL};
    const char *const doctor[] = {ethos_program(), "--home", to, "doctor", NULL};
    unsigned wrong = program_run(backup, NULL, &out) != 0;
    if (wrong)
        proof_note("backup failed");
    free(out);
    wrong += program_run(restore, NULL, NULL) != 0;
    if (wrong == 0) {
        place_at(&restored, to);
        wrong += judge(&restored, before);
        wrong += program_run(doctor, NULL, NULL) != 0;
    }
    free(file);
    free(to);
    place_remove(&place);
    return wrong;
}

static unsigned copy_once(struct load *load, struct before *before)
{
    struct home place, copied;
    place_make(&place, PLACE_DISK);
    char *to = text_format("%s/new", place.path);
    look_before(load, before);
    const char *const copy[] = {"cp", "-r", load->home.path, to, NULL};
    program_run(copy, NULL, NULL);
    place_at(&copied, to);
    unsigned wrong = judge(&copied, before);
    free(to);
    place_remove(&place);
    return wrong;
}

/* ---- the two parts --------------------------------------------------------------------------- */

struct total {
    unsigned entries, notes, messages, wrong;
};

/* A home of its own, since what the strict reader needs grows with every add. */
static void run_some(unsigned times, unsigned (*once)(struct load *, struct before *),
                     struct total *total)
{
    struct load *load = shared_make(sizeof *load);
    struct before *before = shared_make(sizeof *before);
    pid_t pids[WRITERS + 2];
    place_make(&load->home, PLACE_DISK);
    for (unsigned i = 0; i < WRITERS; i++)
        pids[i] = child_start(add_entries, load);
    pids[WRITERS] = child_start(keep_notes, load);
    pids[WRITERS + 1] = child_start(append_messages, load);
    while (load->messages == 0 || load->notes == 0 || !load->added[0])
        proof_sleep_us(10000);
    for (unsigned i = 0; i < times; i++) {
        proof_sleep_us(50000);
        total->wrong += once(load, before) > 0;
    }
    load->over = true;
    for (unsigned i = 0; i < WRITERS + 2; i++)
        child_wait(pids[i]);
    look_before(load, before);
    total->entries += before->entries;
    total->notes += load->notes;
    total->messages += load->messages;
    place_remove(&load->home);
}

static void run(const char *name, unsigned times, unsigned (*once)(struct load *, struct before *),
                bool control)
{
    struct total total = {0};
    for (unsigned done = 0; done < times; done += ROUND)
        run_some(times - done < ROUND ? times - done : ROUND, once, &total);
    proof_say(control ? total.wrong > 0 : total.wrong == 0,
              "%s: %u taken while %u adds, %u notes and %u messages were acknowledged, %u wrong",
              name, times, total.entries, total.notes, total.messages, total.wrong);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    if (proof_part("load"))
        run("backup", proof_number("backups", 5, 100), back_up_once, false);
    if (proof_part("control") && proof_long())
        run("control: cp -r", proof_number("copies", 100, 100), copy_once, true);
    return proof_end();
}
