/*
 * editors.c: agents add while somebody saves the same file in an editor, again and again.
 *
 * Each agent is the real program, one process per add. Each save carries a line of its own. In the
 * end every acknowledged entry stands in the file once, or a line of history lists that it was taken
 * out; and every save is in the file, in a version of history, or in a conflict copy.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/ledger.h"
#include "support/proof.h"

#define AGENTS 4
#define MOST_ADDS 4000 /* per agent */
#define PAUSE_US 4000  /* at most, between two adds */
#define THINK_US 3000  /* at most, between reading and saving */

struct bout {
    struct home home;
    char desk[PATH_MAX / 2]; /* a directory for the editor's own files */
    unsigned least;          /* adds of an agent */
    bool over;
    unsigned failed[AGENTS];
    bool acknowledged[AGENTS * MOST_ADDS];
};

struct agent {
    struct bout *bout;
    unsigned number;
};

/* One save of a line; false when the editor declined or failed. */
struct editor {
    const char *name;
    const char *tool;   /* what must be installed, or NULL */
    const char *script; /* for sh: $1 file, $2 line, $3 desk; or NULL */
    bool (*save)(struct bout *bout, const char *line, unsigned number);
    bool small; /* part of the small form */
};

/* ---- simulators ----------------------------------------------------------------------------- */

static char *with_line(char *text, const char *line)
{
    char *more = text_format("%s\n%s\n", text ? text : "", line);
    free(text);
    return more;
}

/* Truncates and writes in two pieces, as editors do that keep the inode. */
static void save_in_place(const char *path, const char *text)
{
    size_t size = strlen(text), half = size / 2;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, half) != (ssize_t)half)
        proof_die(path);
    proof_sleep_us(proof_random(300));
    if (write(fd, text + half, size - half) != (ssize_t)(size - half))
        proof_die(path);
    close(fd);
}

static bool in_place(struct bout *bout, const char *line, unsigned number)
{
    (void)number;
    char *text = with_line(path_read(bout->home.memory, NULL), line);
    proof_sleep_us(proof_random(THINK_US));
    save_in_place(bout->home.memory, text);
    free(text);
    return true;
}

static bool by_rename(struct bout *bout, const char *line, unsigned number)
{
    (void)number;
    char *text = with_line(path_read(bout->home.memory, NULL), line);
    proof_sleep_us(proof_random(THINK_US));
    path_replace(bout->home.memory, text);
    free(text);
    return true;
}

/* A buffer that is read once and saved five times, whatever happened meanwhile. */
static bool stale(struct bout *bout, const char *line, unsigned number)
{
    static char *buffer;
    if (number % 5 == 0) {
        free(buffer);
        buffer = path_read(bout->home.memory, NULL);
    }
    buffer = with_line(buffer, line);
    proof_sleep_us(proof_random(THINK_US));
    save_in_place(bout->home.memory, buffer);
    return true;
}

/* ---- real ones ------------------------------------------------------------------------------ */

/* vim declines to save over a file that changed since it was read; then it says nothing. */
#define VIM(mode)                                                                                  \
    "printf 'set backupcopy=" mode "\\n$a\\n%s\\n.\\nw\\nset modified?\\nq!\\n' \"$2\" |"          \
    "vim.tiny -es -u NONE -i NONE -n \"$1\" | grep -q nomodified"
#define COPY "cat \"$1\" >\"$3/copy\" && printf '\\n%s\\n' \"$2\" >>\"$3/copy\" && "

static const struct editor editors[] = {
    {"in place", NULL, NULL, in_place, true},
    {"by rename", NULL, NULL, by_rename, true},
    {"stale buffer", NULL, NULL, stale, true},
    {"vim, backupcopy=yes", "vim.tiny", VIM("yes"), NULL, false},
    {"vim, backupcopy=no", "vim.tiny", VIM("no"), NULL, true},
    {"vim, backupcopy=auto", "vim.tiny", VIM("auto"), NULL, false},
    {"ed", "ed", "printf '$a\\n\\n%s\\n.\\nw\\nq\\n' \"$2\" | ed -s \"$1\"", NULL, false},
    {"sed -i", "sed", "sed -i \"\\$a$2\" \"$1\"", NULL, true},
    {"cat >", "cat", COPY "cat \"$3/copy\" >\"$1\"", NULL, false},
    {"mv", "mv", COPY "mv \"$3/copy\" \"$1\"", NULL, false},
    {"rsync", "rsync", COPY "rsync -I \"$3/copy\" \"$1\"", NULL, false},
    {"rsync --inplace", "rsync", COPY "rsync -I --inplace \"$3/copy\" \"$1\"", NULL, false},
    {"git checkout", "git",
     COPY "export GIT_DIR=\"$3/git\" GIT_WORK_TREE=\"${1%/*}\" && { [ -d \"$GIT_DIR\" ] || "
          "git init -q; } && blob=$(git hash-object -w \"$3/copy\") && git update-index --add "
          "--cacheinfo \"100600,$blob,MEMORY.md\" && git checkout -q -- MEMORY.md",
     NULL, false},
};
#define EDITORS (sizeof editors / sizeof *editors)

static bool save_once(const struct editor *editor, struct bout *bout, const char *line,
                      unsigned number)
{
    if (editor->save)
        return editor->save(bout, line, number);
    const char *words[] = {"sh",       "-c", editor->script, "sh", bout->home.memory, line,
                           bout->desk, NULL};
    return program_run(words, NULL, NULL) == 0;
}

/* ---- agents --------------------------------------------------------------------------------- */

static int add_until_over(void *arg)
{
    struct agent *self = arg;
    struct bout *bout = self->bout;
    char entry[32];
    proof_reseed(self->number + 1);
    for (unsigned i = 0; i < MOST_ADDS; i++) {
        if (*(volatile bool *)&bout->over && i >= bout->least)
            break;
        unsigned number = self->number * MOST_ADDS + i;
        snprintf(entry, sizeof entry, "agent-%u", number);
        bool done = ethos_add(&bout->home, NULL, entry) == 0;
        bout->acknowledged[number] = done;
        bout->failed[self->number] += !done;
        proof_sleep_us(proof_random(PAUSE_US));
    }
    return 0;
}

/* ---- judgement ------------------------------------------------------------------------------ */

struct findings {
    struct tokens agents, saves;     /* in the file */
    struct tokens kept_saves;        /* in any version or conflict copy */
    struct tokens before, after;     /* of one line of history */
    bool listed[AGENTS * MOST_ADDS]; /* taken out by a line that says so */
    unsigned conflicts;
};

static void look_at(void *arg, const struct version *version, const struct text *before,
                    const struct text *after, const struct text *kept)
{
    struct findings *found = arg;
    tokens_count(&found->kept_saves, kept->data, kept->size);
    if (strcmp(version->actions, "external") == 0)
        tokens_count(&found->kept_saves, after->data, after->size);
    if (!version->event)
        return;
    tokens_clear(&found->before);
    tokens_clear(&found->after);
    tokens_count(&found->before, before->data, before->size);
    tokens_count(&found->after, after->data, after->size);
    for (unsigned i = 0; i < found->before.count; i++)
        if (found->before.seen[i] && !found->after.seen[i])
            found->listed[i] = true;
}

static void look_at_copy(void *arg, const char *dir, const char *name)
{
    struct findings *found = arg;
    char path[PATH_MAX];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    char *text = path_read(path, &size);
    tokens_count(&found->kept_saves, text, size);
    found->conflicts++;
    free(text);
}

static struct findings *findings_make(unsigned saves)
{
    struct findings *found = calloc(1, sizeof *found);
    if (!found)
        proof_die("findings");
    tokens_make(&found->agents, "agent", AGENTS * MOST_ADDS);
    tokens_make(&found->before, "agent", AGENTS * MOST_ADDS);
    tokens_make(&found->after, "agent", AGENTS * MOST_ADDS);
    tokens_make(&found->saves, "human", saves);
    tokens_make(&found->kept_saves, "human", saves);
    return found;
}

static void findings_free(struct findings *found)
{
    tokens_free(&found->agents);
    tokens_free(&found->before);
    tokens_free(&found->after);
    tokens_free(&found->saves);
    tokens_free(&found->kept_saves);
    free(found);
}

static void judge(const struct editor *editor, struct bout *bout, const bool *saved,
                  unsigned attempts)
{
    struct findings *found = findings_make(attempts);
    struct ledger ledger;
    char path[PATH_MAX];
    size_t size = 0;
    unsigned adds = 0, lost = 0, listed = 0, saves = 0, lost_saves = 0, failed = 0;
    ledger_check(&ledger, bout->home.scope, 0, look_at, found);
    snprintf(path, sizeof path, "%.2000s/.mem/conflicts", bout->home.scope);
    dir_each(path, look_at_copy, found);
    char *text = path_read(bout->home.memory, &size);
    tokens_count(&found->agents, text, size);
    tokens_count(&found->saves, text, size);
    for (unsigned i = 0; i < AGENTS * MOST_ADDS; i++) {
        bool missing = bout->acknowledged[i] && !found->agents.seen[i];
        adds += bout->acknowledged[i];
        listed += missing && found->listed[i];
        lost += missing && !found->listed[i];
        if (missing && !found->listed[i])
            proof_note("%s: agent-%u is gone", editor->name, i);
    }
    for (unsigned i = 0; i < attempts; i++) {
        saves += saved[i];
        if (saved[i] && !found->saves.seen[i] && !found->kept_saves.seen[i]) {
            lost_saves++;
            proof_note("%s: human-%u is gone", editor->name, i);
        }
    }
    for (unsigned i = 0; i < AGENTS; i++)
        failed += bout->failed[i];
    unsigned doubled = tokens_doubled(&found->agents);
    proof_say(lost + lost_saves + doubled + ledger.errors + failed == 0 && saves > 0 &&
                  ledger.count >= adds,
              "%s: %u adds of %d agents against %u saves (%u declined): %u entries lost, %u taken "
              "out and listed, %u doubled, %u adds failed, %u saves lost, %u in the file, "
              "%u conflict copies, %u errors in history",
              editor->name, adds, AGENTS, saves, attempts - saves, lost, listed, doubled, failed,
              lost_saves, tokens_present(&found->saves), found->conflicts, ledger.errors);
    free(text);
    ledger_free(&ledger);
    findings_free(found);
}

/* ---- one bout ------------------------------------------------------------------------------- */

static void prove(const struct editor *editor, unsigned attempts, unsigned least)
{
    struct bout *bout = shared_make(sizeof *bout);
    struct agent agents[AGENTS];
    pid_t pids[AGENTS];
    bool *saved = calloc(attempts, sizeof *saved);
    if (!saved)
        proof_die(editor->name);
    place_make(&bout->home, PLACE_DISK);
    snprintf(bout->desk, sizeof bout->desk, "%s/desk", bout->home.path);
    mkdir(bout->desk, 0700);
    bout->least = least;
    if (ethos_add(&bout->home, NULL, "the first entry") != 0)
        proof_die("the first add");
    for (unsigned i = 0; i < AGENTS; i++) {
        agents[i] = (struct agent){bout, i};
        pids[i] = child_start(add_until_over, &agents[i]);
    }
    proof_reseed(0);
    for (unsigned i = 0; i < attempts; i++) {
        char line[32];
        snprintf(line, sizeof line, "human-%u", i);
        saved[i] = save_once(editor, bout, line, i);
        proof_sleep_us(proof_random(THINK_US));
    }
    bout->over = true;
    for (unsigned i = 0; i < AGENTS; i++)
        child_wait(pids[i]);
    ethos_add(&bout->home, NULL, "the last entry"); // whatever was saved last is judged
    judge(editor, bout, saved, attempts);
    place_remove(&bout->home);
    free(saved);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    unsigned simulated = proof_number("simulated", 30, 500), real = proof_number("real", 10, 500);
    for (size_t i = 0; i < EDITORS; i++) {
        const struct editor *editor = &editors[i];
        if (!proof_part(editor->name) || (!editor->small && !proof_long()))
            continue;
        if (editor->tool && !program_found(editor->tool))
            proof_skip(editor->name, "not installed");
        else
            prove(editor, editor->save ? simulated : real, proof_number("adds", 20, 200));
    }
    return proof_end();
}
