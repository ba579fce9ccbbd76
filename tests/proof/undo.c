/*
 * undo.c: random edits, each undone: the bytes are those before. Then random old versions restored.
 *
 * Edits are made by the program (add, replace, remove, write, delete) and by others (any bytes,
 * with and without line ends, not even text).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/ledger.h"
#include "support/proof.h"

#define MOST_VERSIONS 4096

struct copy {
    char *data; /* NULL: no file */
    size_t size;
};

static struct copy versions[MOST_VERSIONS];
static unsigned version_count;

static struct copy take(const struct home *home)
{
    struct copy copy = {0};
    copy.data = path_read(home->memory, &copy.size);
    return copy;
}

static bool same(const struct copy *a, const struct copy *b)
{
    if (!a->data || !b->data)
        return a->data == b->data;
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static int run(const struct home *home, const char *input, const char *verb, const char *argument)
{
    const char *words[] = {ethos_program(), "--home", home->path, "-q", "-y",
                           "memory",        verb,     argument,   NULL};
    char *out;
    int status = program_run(words, input, &out);
    if (status != 0 && getenv("PROOF_VERBOSE"))
        proof_note("%s: exit %d: %s", verb, status, out);
    free(out);
    return status;
}

/* ---- edits ---------------------------------------------------------------------------------- */

static const char *const words[] = {"deploys", "Friday", "caf\xc3\xa9", "tea",   "list",
                                    "never",   "\t",     "- item",      "## A ", "\xe2\x82\xac"};
#define WORDS (sizeof words / sizeof *words)

static char *some_text(unsigned lines, bool odd)
{
    static const char *const ends[] = {"\n", "\n", "\n", "\n\n", "\r\n"};
    char *text = text_format("%s", "");
    for (unsigned i = 0; i < lines; i++) {
        const char *end = odd ? ends[proof_random(5)] : "\n";
        if (odd && i + 1 == lines && proof_random(2))
            end = "";
        char *more = text_format("%s%s %s %u%s", text, words[proof_random(WORDS)],
                                 words[proof_random(WORDS)], proof_random(50), end);
        free(text);
        text = more;
    }
    return text;
}

/* Changes lines of what stands there, as a person does, or replaces it by anything at all. */
static void edit_outside(const struct home *home)
{
    struct copy now = take(home);
    char *text = some_text(1 + proof_random(6), true);
    if (proof_random(4) == 0) {
        char bytes[64];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)(1 + proof_random(255));
        path_write(home->memory, bytes, proof_random(sizeof bytes));
    } else if (now.data && proof_random(3)) {
        size_t cut = proof_random((uint32_t)now.size + 1);
        char *more = text_format("%.*s%s%s", (int)cut, now.data, text, now.data + cut);
        path_put(home->memory, more);
        free(more);
    } else {
        path_put(home->memory, text);
    }
    free(text);
    free(now.data);
}

static int edit_once(const struct home *home)
{
    uint32_t kind = proof_random(12);
    char *text = some_text(kind == 0 ? 200 : 1 + proof_random(4), false);
    int status = 0;
    if (kind < 4)
        status = run(home, NULL, "add", text);
    else if (kind < 5)
        status = run(home, NULL, "replace", text);
    else if (kind < 7)
        status = run(home, NULL, "remove", words[proof_random(WORDS)]);
    else if (kind < 8)
        status = run(home, text, "write", NULL);
    else if (kind < 9)
        status = child_wait(ethos_start(home, NULL, "{\"action\":\"delete\"}"));
    else
        edit_outside(home);
    free(text);
    return status;
}

/* ---- proofs --------------------------------------------------------------------------------- */

static void prove_undo(const struct home *home, unsigned edits)
{
    unsigned changed = 0, wrong = 0, refused = 0, reapplied = 0;
    run(home, NULL, "add", "the first entry");
    for (unsigned i = 0; i < 4 * edits && changed < edits; i++) { // not all change something
        struct copy before = take(home);
        int status = edit_once(home);
        struct copy after = take(home);
        run(home, NULL, "history", NULL);
        struct copy judged = take(home);
        bool kept = same(&after, &judged);
        free(judged.data);
        if (same(&before, &after) || !kept) {
            refused += status != 0;
            reapplied += !kept; // taken for a stale buffer: what was newest is another change now
            free(before.data);
            free(after.data);
            continue;
        }
        changed++;
        refused += run(home, NULL, "undo", NULL) != 0;
        struct copy undone = take(home);
        if (!same(&before, &undone)) {
            wrong++;
            proof_note("edit %u: %zu bytes before, %zu after, %zu when undone", i, before.size,
                       after.size, undone.size);
        }
        // Every other edit is made again by writing it, so that the text moves on. Looking at the
        // history records it: a state that was replaced before anybody saw it cannot come back.
        if (proof_random(2) && after.data) {
            path_write(home->memory, after.data, after.size);
            refused += run(home, NULL, "history", NULL) != 0;
        }
        if (version_count < MOST_VERSIONS)
            versions[version_count++] = after;
        else
            free(after.data);
        free(before.data);
        free(undone.data);
    }
    proof_say(changed == edits && wrong + refused == 0,
              "undo: %u random edits, %u undone byte for byte, %u not, %u refused; %u edits "
              "outside were taken for stale buffers",
              changed, changed - wrong, wrong, refused, reapplied);
}

static void prove_restore(const struct home *home, unsigned count)
{
    unsigned tried = 0, wrong = 0;
    for (unsigned i = 0; i < count && version_count > 0; i++) {
        const struct copy *version = &versions[proof_random(version_count)];
        char hash[HASH_SIZE];
        if (!version->data)
            continue;
        tried++;
        text_hash(version->data, version->size, hash);
        int status = run(home, NULL, "restore", hash);
        struct copy now = take(home);
        wrong += status != 0 || !same(&now, version);
        free(now.data);
    }
    struct ledger ledger;
    ledger_check(&ledger, home->scope, 0, NULL, NULL);
    proof_say(tried > 0 && wrong == 0 && ledger.errors == 0,
              "restore: %u versions brought back, %u not byte for byte, %zu history lines, "
              "%u errors in it",
              tried, wrong, ledger.count, ledger.errors);
    ledger_free(&ledger);
}

int main(int argc, char **argv)
{
    struct home home;
    proof_begin(argc, argv);
    place_make(&home, PLACE_DISK);
    prove_undo(&home, proof_number("edits", 100, 1000));
    prove_restore(&home, proof_number("restores", 30, 300));
    for (unsigned i = 0; i < version_count; i++)
        free(versions[i].data);
    place_remove(&home);
    return proof_end();
}
