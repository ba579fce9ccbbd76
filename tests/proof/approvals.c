/*
 * approvals.c: what waits for a person, while everybody dies.
 *
 *     killed   agents propose, and people approve, edit and reject what waits, each by a process of the real program
 *              that is killed at a random moment. In the end every proposal that was acknowledged waits or was
 *              decided; none was written twice, none that nobody was shown as it was written, and what was decided is
 *              what happened
 *     control  the same, judged without what was shown and without what was closed: all of it must be missed
 *
 * Whoever shows a change writes id and text into a log before the decision, so that the log is complete whatever is
 * killed.
 */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/ledger.h"
#include "support/proof.h"

#define PROPOSERS 3
#define DECIDERS 5
#define MOST_PROPOSALS 20000
#define KILL_WITHIN_US 12000
#define ID_SIZE 40
#define TEXT_SIZE 64

/* What happened to one proposal, as far as somebody was told. */
struct proposal {
    char id[ID_SIZE];
};

struct scene {
    struct home home;
    unsigned proposals, rounds; /* of each process */
    unsigned killed, decided, edited, conflicts;
    unsigned acked;
    struct proposal acknowledged[MOST_PROPOSALS];
    char log[PATH_MAX]; /* of what was shown: "ID TEXT" */
};

struct actor {
    struct scene *scene;
    unsigned number;
};

/* ---- the program -------------------------------------------------------------------------------- */

static unsigned kill_time(void)
{
    return proof_random(3) > 0 ? 1 + proof_random(KILL_WITHIN_US) : 0;
}

static int run(struct scene *scene, const char *const *words, const char *input, bool may_die,
               char **out)
{
    int status = program_run_killed(words, input, may_die ? kill_time() : 0, out);
    if (status == 128 + SIGKILL)
        __atomic_add_fetch(&scene->killed, 1, __ATOMIC_SEQ_CST);
    return status;
}

/* One write(2), so that lines of many processes do not mix. */
static void log_line(const struct scene *scene, const char *id, const char *text)
{
    char *line = text_format("%s %s\n", id, text);
    int fd = open(scene->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
        proof_die(scene->log);
    close(fd);
    free(line);
}

/* ---- proposing ---------------------------------------------------------------------------------- */

static const char greeting[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"codex\",\"version\":\"1\"}}}\n";

/* The id that an agent was told, if it was. */
static bool find_id(const char *out, char id[ID_SIZE])
{
    static const char mark[] = "\"status\":\"pending\",\"id\":\"";
    const char *found = strstr(out, mark);
    if (!found || strlen(found) < sizeof mark + 36)
        return false;
    snprintf(id, ID_SIZE, "%.36s", found + sizeof mark - 1);
    return true;
}

static int propose_all(void *arg)
{
    struct actor *self = arg;
    struct scene *scene = self->scene;
    const char *words[] = {ethos_program(), "--home", scene->home.path, "mcp", NULL};
    proof_reseed(self->number + 1);
    for (unsigned i = 0; i < scene->proposals; i++) {
        char id[ID_SIZE], *out;
        char *input = text_format(
            "%s{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"memory_write\",\"arguments\":{\"action\":\"add\",\"content\":\"agent-%u\"}}}\n",
            greeting, self->number * scene->proposals + i);
        run(scene, words, input, true, &out);
        if (find_id(out, id)) {
            unsigned at = __atomic_fetch_add(&scene->acked, 1, __ATOMIC_SEQ_CST);
            snprintf(scene->acknowledged[at].id, ID_SIZE, "%s", id);
        }
        free(out);
        free(input);
    }
    return 0;
}

/* ---- deciding ----------------------------------------------------------------------------------- */

static json_t *ask(struct scene *scene, const char *what, const char *id)
{
    const char *words[] = {
        ethos_program(), "--home", scene->home.path, "--json", "pending", what, id, NULL};
    char *out;
    int status = program_run(words, NULL, &out);
    json_t *json = status == 0 ? json_loads(out, 0, NULL) : NULL;
    free(out);
    return json;
}

static const char *text_of(const json_t *row)
{
    const char *text = json_string_value(
        json_object_get(json_object_get(row, "update"), "content"));
    return text ? text : "";
}

static void count_answer(struct scene *scene, int status, unsigned *count)
{
    if (status == 0)
        __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    else if (status == 3 || status == 4)
        __atomic_add_fetch(&scene->conflicts, 1, __ATOMIC_SEQ_CST);
    else if (status != 128 + SIGKILL)
        proof_note("a decision ended with %d", status);
}

static void decide(struct scene *scene, const json_t *shown, unsigned edits)
{
    const char *id = json_string_value(json_object_get(shown, "id")),
               *hash = json_string_value(json_object_get(shown, "hash"));
    const char *words[] = {ethos_program(),
                           "--home",
                           scene->home.path,
                           "-q",
                           "pending",
                           NULL,
                           id,
                           "--hash",
                           hash,
                           NULL,
                           NULL};
    char text[TEXT_SIZE];
    uint32_t dice = proof_random(100);
    log_line(scene, id, text_of(shown));
    if (dice < 25) {
        snprintf(text, sizeof text, "%.40s edited-%u", text_of(shown), edits);
        words[5] = "edit";
        words[9] = text;
        count_answer(scene, run(scene, words, NULL, true, NULL), &scene->edited);
        return;
    }
    words[5] = dice < 75 ? "approve" : dice < 90 ? "reject" : "never";
    count_answer(scene, run(scene, words, NULL, true, NULL), &scene->decided);
}

static int decide_all(void *arg)
{
    struct actor *self = arg;
    struct scene *scene = self->scene;
    proof_reseed(self->number + 1);
    for (unsigned i = 0; i < scene->rounds; i++) {
        json_t *list = ask(scene, "list", NULL), *shown = NULL;
        size_t count = json_array_size(list);
        if (count > 0) {
            const json_t *row = json_array_get(list, proof_random((uint32_t)count));
            shown = ask(scene, "show", json_string_value(json_object_get(row, "id")));
        } else {
            proof_sleep_us(2000);
        }
        if (shown)
            decide(scene, shown, self->number * scene->rounds + i);
        json_decref(shown);
        json_decref(list);
    }
    return 0;
}

/* ---- judging ------------------------------------------------------------------------------------ */

/* What is known of an id. */
struct fate {
    json_t *waiting, *closed, *written, *shown; /* id: true, reason, text, [texts] */
    unsigned doubled, unseen, seen_lines;
};

static void note_written(void *arg, const struct version *version, const struct text *before,
                         const struct text *after, const struct text *kept)
{
    static const char mark[] = "pending:";
    struct fate *fate = arg;
    (void)before, (void)after, (void)kept;
    if (version->voided || !version->op_id || strncmp(version->op_id, mark, sizeof mark - 1) != 0)
        return;
    const char *id = version->op_id + sizeof mark - 1;
    const char *added = version->diff ? strstr(version->diff, "\n+agent-") : NULL;
    char text[TEXT_SIZE] = "";
    if (added)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(added + 2, "\n"), added + 2);
    fate->doubled += json_object_get(fate->written, id) != NULL;
    json_object_set_new(fate->written, id, json_string(text));
}

static json_t *read_lines(const char *dir, const char *name)
{
    char *path = text_format("%s/%s", dir, name), *text = path_read(path, NULL);
    json_t *rows = json_array();
    char *place = NULL;
    for (char *line = text ? strtok_r(text, "\n", &place) : NULL; line;
         line = strtok_r(NULL, "\n", &place)) {
        json_t *row = json_loads(line, 0, NULL);
        if (row)
            json_array_append_new(rows, row);
    }
    free(text);
    free(path);
    return rows;
}

static const char *id_of(const json_t *row)
{
    return json_string_value(json_object_get(row, "id"));
}

static void read_shown(const struct scene *scene, struct fate *fate)
{
    char *text = path_read(scene->log, NULL), *place = NULL;
    for (char *line = text ? strtok_r(text, "\n", &place) : NULL; line;
         line = strtok_r(NULL, "\n", &place)) {
        char *space = strchr(line, ' ');
        if (!space)
            continue;
        *space = 0;
        json_t *texts = json_object_get(fate->shown, line);
        if (!texts) {
            texts = json_array();
            json_object_set_new(fate->shown, line, texts);
        }
        json_array_append_new(texts, json_string(space + 1));
        fate->seen_lines++;
    }
    free(text);
}

static bool was_shown(const struct fate *fate, const char *id, const char *text)
{
    size_t index;
    json_t *shown;
    json_array_foreach (json_object_get(fate->shown, id), index, shown)
        if (strcmp(json_string_value(shown), text) == 0)
            return true;
    return false;
}

static void read_fate(struct scene *scene, struct fate *out, struct ledger *ledger)
{
    size_t index;
    json_t *row;
    const char *id;
    *out = (struct fate){.waiting = json_object(),
                         .closed = json_object(),
                         .written = json_object(),
                         .shown = json_object()};
    ledger_check(ledger, scene->home.scope, 0, note_written, out);
    json_t *rows = read_lines(scene->home.scope, "memory-pending.jsonl");
    json_array_foreach (rows, index, row)
        json_object_set_new(out->waiting, id_of(row), json_true());
    json_decref(rows);
    rows = read_lines(scene->home.scope, "memory-pending-closed.jsonl");
    json_array_foreach (rows, index, row)
        json_object_set(out->closed, id_of(row), json_object_get(row, "reason"));
    json_decref(rows);
    read_shown(scene, out);
    json_object_foreach (out->written, id, row)
        if (!was_shown(out, id, json_string_value(row))) {
            proof_note("%s was written and not shown as it is: %s", id, json_string_value(row));
            out->unseen++;
        }
}

static void free_fate(struct fate *fate)
{
    json_decref(fate->waiting);
    json_decref(fate->closed);
    json_decref(fate->written);
    json_decref(fate->shown);
}

/* Whoever is left is turned down; what was written already is found out by that. */
static void drain(struct scene *scene)
{
    json_t *list = ask(scene, "list", NULL), *row;
    size_t index;
    json_array_foreach (list, index, row) {
        const char *words[] = {ethos_program(), "--home", scene->home.path, "-q",
                               "pending",       "reject", id_of(row),       NULL};
        int status = program_run(words, NULL, NULL);
        if (status != 0 && status != 4)
            proof_note("%s cannot be rejected: %d", id_of(row), status);
    }
    json_decref(list);
}

/* Texts of the file that stand there more than once. */
static unsigned count_doubled_texts(const struct scene *scene, const struct fate *fate)
{
    char *text = path_read(scene->home.memory, NULL);
    const char *id;
    json_t *written;
    unsigned doubled = 0;
    json_object_foreach (fate->written, id, written)
        doubled += text && text_lines(text, json_string_value(written)) != 1;
    free(text);
    return doubled;
}

static unsigned count_lost(const struct scene *scene, const struct fate *fate)
{
    unsigned lost = 0;
    for (unsigned i = 0; i < scene->acked; i++) {
        const char *id = scene->acknowledged[i].id;
        lost += !json_object_get(fate->waiting, id) && !json_object_get(fate->closed, id);
    }
    return lost;
}

/* What the judge says when the evidence is taken away. */
static void judge_without(struct scene *scene)
{
    struct fate fate;
    struct ledger ledger;
    char *closed = text_format("%s/memory-pending-closed.jsonl", scene->home.scope);
    unlink(closed);
    unlink(scene->log);
    read_fate(scene, &fate, &ledger);
    size_t written = json_object_size(fate.written);
    proof_say(fate.unseen == written && count_lost(scene, &fate) == scene->acked,
              "control: without the log %u of %zu were not shown, without the closed file %u of %u "
              "are lost",
              fate.unseen, written, count_lost(scene, &fate), scene->acked);
    ledger_free(&ledger);
    free_fate(&fate);
    free(closed);
}

static void judge(struct scene *scene)
{
    struct fate fate;
    struct ledger ledger;
    unsigned contrary = 0;
    const char *id;
    json_t *reason;
    read_fate(scene, &fate, &ledger);
    unsigned lost = count_lost(scene, &fate);
    json_object_foreach (fate.closed, id, reason) {
        bool approved = strcmp(json_string_value(reason), "approved") == 0;
        bool wrong = approved != (json_object_get(fate.written, id) != NULL);
        if (wrong)
            proof_note("%s was %s and is %swritten", id, json_string_value(reason),
                       approved ? "not " : "");
        contrary += wrong;
    }
    unsigned doubled = fate.doubled + count_doubled_texts(scene, &fate);
    size_t written = json_object_size(fate.written), waiting = json_object_size(fate.waiting);
    proof_say(
        lost == 0 && doubled == 0 && fate.unseen == 0 && contrary == 0 && waiting == 0 &&
            ledger.errors == 0 && scene->killed > 0 && written > 0 && scene->edited > 0,
        "killed: %d processes propose and %d decide, %u killed: %u proposals acknowledged, %u "
        "lost; %zu written, %u twice, %u not as shown; %u edits, %u decisions, %u were late, "
        "%u are contrary to what happened; %zu history lines, %u errors in it",
        PROPOSERS, DECIDERS, scene->killed, scene->acked, lost, written, doubled, fate.unseen,
        scene->edited, scene->decided, scene->conflicts, contrary, ledger.count, ledger.errors);
    ledger_free(&ledger);
    free_fate(&fate);
}

/* ---- the parts ---------------------------------------------------------------------------------- */

static void prove_killed(unsigned proposals, unsigned rounds)
{
    struct scene *scene = shared_make(sizeof *scene);
    struct actor actors[PROPOSERS + DECIDERS];
    pid_t pids[PROPOSERS + DECIDERS];
    char config[PATH_MAX];
    place_make(&scene->home, PLACE_DISK);
    scene->proposals = proposals;
    scene->rounds = rounds;
    snprintf(config, sizeof config, "%.2000s/config.yaml", scene->home.path);
    snprintf(scene->log, sizeof scene->log, "%.2000s/shown.log", scene->home.path);
    path_put(config, "memoryApproval.mode: all\n");
    for (unsigned i = 0; i < PROPOSERS + DECIDERS; i++) {
        actors[i] = (struct actor){scene, i};
        pids[i] = child_start(i < PROPOSERS ? propose_all : decide_all, &actors[i]);
    }
    for (unsigned i = 0; i < PROPOSERS + DECIDERS; i++)
        if (child_wait(pids[i]) != 0)
            proof_note("process %u failed", i);
    drain(scene);
    judge(scene);
    if (proof_part("control"))
        judge_without(scene);
    place_remove(&scene->home);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    unsigned proposals = proof_number("proposals", 60, 1000);
    unsigned rounds = proof_number("rounds", 90, 1500);
    if (proof_part("killed"))
        prove_killed(proposals, rounds);
    return proof_end();
}
