/*
 * notes.c: notes and their index never part.
 *
 *     together  many processes remember at once: as many files, as many lines
 *     killed    `ethos remember`, `notes mv` and `notes rm` die before every system call they make; the
 *               next command finds index and files in agreement, and the same call again ends as if
 *               nothing had happened
 *     imported  `ethos import` dies before its system calls: whatever came has its line, and the same call
 *               again ends as if nothing had happened
 *     by-hand   an index with prose, headings and lines in the person's order lives through operations:
 *               what is no entry stays byte for byte
 *
 * All of it through the program, in the scope of a workspace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/proof.h"

#define FAR 4000 /* system calls that no operation makes */

/* A home, a project folder in it, and once known the folder of its notes. */
struct desk {
    struct home home;
    char project[PATH_MAX / 2];
    char notes[PATH_MAX - 64];
};

static void desk_make(struct desk *desk, enum place place)
{
    place_make(&desk->home, place);
    snprintf(desk->project, sizeof desk->project, "%s/project", desk->home.path);
    if (mkdir(desk->project, 0700) != 0)
        proof_die(desk->project);
    desk->notes[0] = 0;
}

static void find_notes(void *arg, const char *dir, const char *name)
{
    struct desk *desk = arg;
    if (strncmp(name, "project-", 8) == 0)
        snprintf(desk->notes, sizeof desk->notes, "%s/%s/memory", dir, name);
}

static const char *desk_notes(struct desk *desk)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/.ethos/workspaces", desk->home.path);
    if (!*desk->notes)
        dir_each(dir, find_notes, desk);
    return desk->notes;
}

/* Runs the program in the project; out may be NULL. */
static int run(const struct desk *desk, const char *program, char **out, const char *const *more)
{
    const char *words[16] = {program, "-q", "-w", desk->project, "--home"};
    char home[PATH_MAX];
    size_t n = 6;
    snprintf(home, sizeof home, "%s/.ethos", desk->home.path);
    words[5] = home;
    while (*more)
        words[n++] = *more++;
    words[n] = NULL;
    return program_run(words, NULL, out);
}

#define RUN(desk, program, out, ...)                                                               \
    run(desk, program, out, (const char *const[]){__VA_ARGS__, NULL})

/* ---- agreement -------------------------------------------------------------------------------- */

struct count {
    unsigned files, lines, without_line;
    char *index;
};

static void count_file(void *arg, const char *dir, const char *name)
{
    struct count *count = arg;
    char line[PATH_MAX];
    size_t size = strlen(name);
    (void)dir;
    if (*name == '.' || size < 4 || strcmp(name + size - 3, ".md") != 0 ||
        strcmp(name, "MEMORY.md") == 0 || strcmp(name, "memory-archive.md") == 0)
        return;
    count->files++;
    snprintf(line, sizeof line, "](%s)", name);
    count->without_line += !count->index || !strstr(count->index, line);
}

/* Counts by own means: names in the folder, lines that hold a link to a note. */
static struct count take_count(struct desk *desk)
{
    struct count count = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/MEMORY.md", desk_notes(desk));
    count.index = path_read(path, NULL);
    for (const char *at = count.index; at && (at = strstr(at, ".md)")); at++)
        count.lines++;
    dir_each(desk_notes(desk), count_file, &count);
    free(count.index);
    return count;
}

static bool agrees(struct desk *desk)
{
    struct count count = take_count(desk);
    return count.files == count.lines && count.without_line == 0;
}

/* ---- together --------------------------------------------------------------------------------- */

struct crowd {
    const struct desk *desk;
    unsigned number, each;
};

static int remember_many(void *arg)
{
    const struct crowd *crowd = arg;
    int failed = 0;
    for (unsigned i = 0; i < crowd->each; i++) {
        char title[64], text[64];
        snprintf(title, sizeof title, "Fact %u of %u", i, crowd->number);
        snprintf(text, sizeof text, "fact-%u", crowd->number * crowd->each + i);
        failed += RUN(crowd->desk, ethos_program(), NULL, "remember", text, "--title", title) != 0;
    }
    return failed > 0;
}

static void prove_together(void)
{
    enum { CROWD = 8 };
    struct desk desk;
    struct crowd crowd[CROWD];
    pid_t pids[CROWD];
    unsigned each = proof_number("each", 25, 125), failed = 0;
    desk_make(&desk, PLACE_DISK);
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i] = (struct crowd){&desk, i, each};
        pids[i] = child_start(remember_many, &crowd[i]);
    }
    for (unsigned i = 0; i < CROWD; i++)
        failed += child_wait(pids[i]) != 0;
    struct count count = take_count(&desk);
    proof_say(failed == 0 && count.files == CROWD * each && count.lines == CROWD * each &&
                  count.without_line == 0,
              "notes: %u processes remembered %u facts each: %u files, %u lines, %u files without "
              "line, %u processes refused",
              CROWD, each, count.files, count.lines, count.without_line, failed);
    place_remove(&desk.home);
}

/* ---- killed ----------------------------------------------------------------------------------- */

/* The program with the fault hooks: beside this one, or $ETHOS_TEST_BIN. */
static const char *hooked_program(void)
{
    const char *given = getenv("ETHOS_TEST_BIN");
    return given && *given ? given : "build/test/bin/ethos";
}

static int do_deed(const struct desk *desk, unsigned deed)
{
    switch (deed) {
    case 0:
        return RUN(desk, hooked_program(), NULL, "remember", "The text.", "--title", "New fact");
    case 1:
        return RUN(desk, hooked_program(), NULL, "remember", "More text.", "--title", "First");
    case 2:
        return RUN(desk, hooked_program(), NULL, "notes", "mv", "first", "renamed");
    default:
        return RUN(desk, hooked_program(), NULL, "notes", "rm", "first");
    }
}

/* A step that was done before it died answers "no such note" when it is asked for again. */
static bool done_again(const struct desk *desk, unsigned deed, unsigned call)
{
    int status = do_deed(desk, deed);
    bool done = status == 0 || (deed >= 2 && status == 3);
    if (!done)
        proof_note("deed %u, call %u: asked again, it ends with %d", deed, call, status);
    return done;
}

struct kills {
    unsigned points, apart, refused, wrong;
};

static char *texts_of(struct desk *desk)
{
    static const char *const names[] = {"MEMORY.md", "first.md", "second.md", "new-fact.md",
                                        "renamed.md"};
    char *all = text_format("%s", "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", desk_notes(desk), names[i]);
        char *text = path_read(path, NULL);
        char *more = text_format("%s== %s\n%s", all, names[i], text ? text : "(absent)\n");
        free(all);
        free(text);
        all = more;
    }
    return all;
}

/* Kills the deed before one call and looks what the next commands make of it; false at the end. */
static bool kill_at(const struct desk *start, struct desk *desk, unsigned deed, unsigned call,
                    const char *right, struct kills *kills)
{
    char fault[64];
    place_copy(&start->home, &desk->home);
    snprintf(fault, sizeof fault, "any:%u:kill-before", call);
    setenv("ETHOS_FAULT", fault, 1);
    int status = do_deed(desk, deed);
    unsetenv("ETHOS_FAULT");
    if (status != 128 + 9)
        return false;
    kills->points++;
    RUN(desk, hooked_program(), NULL, "notes", "reindex", "--dry-run");
    RUN(desk, hooked_program(), NULL, "remember", "Second.", "--title", "Second");
    if (!agrees(desk)) {
        kills->apart++;
        proof_note("deed %u, call %u: index and files disagree", deed, call);
    }
    kills->refused += !done_again(desk, deed, call);
    char *texts = texts_of(desk);
    if (strcmp(texts, right) != 0) {
        kills->wrong++;
        proof_note("deed %u, call %u:\n%s", deed, call, texts);
    }
    free(texts);
    return true;
}

static void prove_killed(void)
{
    struct desk start, desk;
    struct kills kills = {0};
    unsigned step = proof_number("step", 7, 1);
    desk_make(&start, PLACE_MEMORY);
    desk_make(&desk, PLACE_MEMORY);
    snprintf(desk.project, sizeof desk.project, "%s", start.project); // one folder, many homes
    RUN(&start, hooked_program(), NULL, "remember", "First.", "--title", "First");
    RUN(&start, hooked_program(), NULL, "remember", "Second.", "--title", "Second");
    for (unsigned deed = 0; deed < 4; deed++) {
        place_copy(&start.home, &desk.home);
        desk_notes(&desk);
        do_deed(&desk, deed);
        char *right = texts_of(&desk);
        for (unsigned call = 1 + proof_random(step); call < FAR; call += step)
            if (!kill_at(&start, &desk, deed, call, right, &kills))
                break;
        free(right);
    }
    proof_say(kills.points > 40 && kills.apart + kills.refused + kills.wrong == 0,
              "notes: killed before %u system calls of remember, mv and rm: %u times index and "
              "files disagreed after the next command, %u retries refused, %u ended otherwise",
              kills.points, kills.apart, kills.refused, kills.wrong);
    place_remove(&desk.home);
    place_remove(&start.home);
}

/* ---- imported --------------------------------------------------------------------------------- */

#define IMPORTED 70 /* notes: more than one update of an import takes */

/* What is imported: a folder of notes with its index, and a file whose sections become notes. */
static void make_sources(const char *project)
{
    char dir[PATH_MAX - 64], path[PATH_MAX];
    char *index = text_format("%s", "# Theirs\n\n"), *facts = text_format("%s", "");
    snprintf(dir, sizeof dir, "%s/theirs", project);
    if (mkdir(dir, 0700) != 0)
        proof_die(dir);
    for (unsigned i = 0; i < IMPORTED; i++) {
        char *line = text_format("%s- [N%u](n%02u.md) \xe2\x80\x94 hook\n", index, i, i);
        char *fact = text_format("%s# Fact %02u\n\nBody.\n\n", facts, i);
        free(index);
        free(facts);
        index = line;
        facts = fact;
        snprintf(path, sizeof path, "%s/n%02u.md", dir, i);
        path_write(path, "Body.\n", 6);
    }
    snprintf(path, sizeof path, "%s/MEMORY.md", dir);
    path_write(path, index, strlen(index));
    snprintf(path, sizeof path, "%s/CLAUDE.md", project);
    path_write(path, facts, strlen(facts));
    free(index);
    free(facts);
}

static int import(const struct desk *desk, bool facts)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", desk->project, facts ? "CLAUDE.md" : "theirs");
    return RUN(desk, hooked_program(), NULL, "import", facts ? "claude-md" : "claude-code", path,
               "--yes");
}

static char *imported_texts(struct desk *desk, bool facts)
{
    char *all = NULL, path[PATH_MAX];
    for (unsigned i = 0; i <= IMPORTED; i++) {
        snprintf(path, sizeof path, facts ? "%s/fact-%02u.md" : "%s/n%02u.md", desk_notes(desk), i);
        if (i == IMPORTED)
            snprintf(path, sizeof path, "%s/MEMORY.md", desk_notes(desk));
        char *text = path_read(path, NULL);
        char *more = text_format("%s%s", all ? all : "", text ? text : "(absent)\n");
        free(all);
        free(text);
        all = more;
    }
    return all;
}

static bool import_killed_at(const struct desk *start, struct desk *desk, bool facts, unsigned call,
                             const char *right, struct kills *kills)
{
    char fault[64], *out = NULL;
    place_copy(&start->home, &desk->home);
    snprintf(fault, sizeof fault, "any:%u:kill-before", call);
    setenv("ETHOS_FAULT", fault, 1);
    int status = import(desk, facts);
    unsetenv("ETHOS_FAULT");
    if (status != 128 + 9)
        return false;
    kills->points++;
    RUN(desk, hooked_program(), NULL, "memory", "history", "--scope",
        "workspace"); // takes the lock
    RUN(desk, hooked_program(), &out, "notes", "reindex", "--dry-run", "--json");
    if (!out || !strstr(out, "\"mended\":[]")) {
        kills->apart++;
        proof_note("import, call %u: index and files disagree", call);
    }
    free(out);
    kills->refused += import(desk, facts) != 0;
    desk->notes[0] = 0;
    char *texts = imported_texts(desk, facts);
    if (strcmp(texts, right) != 0) {
        kills->wrong++;
        proof_note("import, call %u: ended otherwise", call);
    }
    free(texts);
    return true;
}

/* Into nothing, and beside notes that are here. */
static void prove_imported(void)
{
    struct desk start, desk;
    struct kills kills = {0};
    unsigned step = proof_number("import-step", 149, 7);
    for (unsigned way = 0; way < 4; way++) {
        bool facts = way & 1;
        desk_make(&start, PLACE_MEMORY);
        desk_make(&desk, PLACE_MEMORY);
        snprintf(desk.project, sizeof desk.project, "%s", start.project);
        make_sources(start.project);
        if (way >= 2)
            RUN(&start, hooked_program(), NULL, "remember", "First.", "--title", "First");
        place_copy(&start.home, &desk.home);
        import(&desk, facts);
        char *right = imported_texts(&desk, facts);
        for (unsigned call = 1 + proof_random(step); call < FAR; call += step)
            if (!import_killed_at(&start, &desk, facts, call, right, &kills))
                break;
        free(right);
        place_remove(&desk.home);
        place_remove(&start.home);
    }
    proof_say(kills.points > 20 && kills.apart + kills.refused + kills.wrong == 0,
              "notes: killed before %u system calls of import: %u times index and files disagreed, "
              "%u retries refused, %u ended otherwise",
              kills.points, kills.apart, kills.refused, kills.wrong);
}

/* ---- by hand ---------------------------------------------------------------------------------- */

#define PROSE "# What we know\r\n\n  Read this first.\n\n<!-- keep: - [x](nothing) -->\n## Old\n"
#define PROSE_END                                                                                  \
    "\n## About\nWritten by hand,\twith a tab and two trailing blanks  \n* not [a](link)\n\n\n"

/* The lines that are no entries, as one text. */
static char *hand_written(struct desk *desk)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/MEMORY.md", desk_notes(desk));
    char *text = path_read(path, NULL), *out = text_format("%s", "");
    for (char *line = text; line && *line;) {
        size_t size = strcspn(line, "\n");
        size += line[size] == '\n';
        bool entry = size > 6 && strncmp(line, "- [", 3) == 0 && memmem(line, size, ".md)", 4);
        char *more = entry ? NULL : text_format("%s%.*s", out, (int)size, line);
        if (more) {
            free(out);
            out = more;
        }
        line += size;
    }
    free(text);
    return out;
}

static int operate(const struct desk *desk, unsigned i)
{
    char title[64], other[64];
    snprintf(title, sizeof title, "Thing %u", i % 40);
    snprintf(other, sizeof other, "Renamed %u", i);
    switch (proof_random(6)) {
    case 0:
        return RUN(desk, ethos_program(), NULL, "notes", "rm", title);
    case 1:
        return RUN(desk, ethos_program(), NULL, "notes", "mv", title, other);
    case 2:
        return RUN(desk, ethos_program(), NULL, "notes", "reindex");
    case 3:
        return RUN(desk, ethos_program(), NULL, "remember", other, "--title", title, "--hook",
                   other);
    default:
        return RUN(desk, ethos_program(), NULL, "remember", other, "--title", title);
    }
}

static void prove_by_hand(void)
{
    struct desk desk;
    unsigned operations = proof_number("operations", 100, 1000), done = 0, changed = 0;
    char path[PATH_MAX];
    desk_make(&desk, PLACE_MEMORY);
    RUN(&desk, ethos_program(), NULL, "remember", "One.", "--title", "One");
    RUN(&desk, ethos_program(), NULL, "remember", "Two.", "--title", "Two");
    snprintf(path, sizeof path, "%s/MEMORY.md", desk_notes(&desk));
    path_put(path, PROSE "- [Two, my name for it](two.md) - by hand\n\nBetween.\n"
                         "- [One](one.md): hand\n" PROSE_END);
    char *before = hand_written(&desk);
    for (unsigned i = 0; i < operations; i++) {
        done += operate(&desk, i) == 0;
        char *after = hand_written(&desk);
        changed += strcmp(before, after) != 0;
        free(after);
    }
    proof_say(done > operations / 2 && changed == 0 && agrees(&desk),
              "notes: %u of %u operations on an index with prose, headings and comments: %u times "
              "a hand-written byte changed",
              done, operations, changed);
    free(before);
    place_remove(&desk.home);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    if (proof_part("together"))
        prove_together();
    if (proof_part("killed"))
        prove_killed();
    if (proof_part("imported"))
        prove_imported();
    if (proof_part("by-hand"))
        prove_by_hand();
    return proof_end();
}
