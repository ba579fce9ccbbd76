/*
 * kills.c: a writer dies before and after every system call it makes, and its client asks again.
 *
 *     points   every operation in every state, killed at every boundary between two calls; then
 *              the same operation again (in the long form killed a second time on the way). In the
 *              end the texts are those of an undisturbed run, the history is whole, nothing is left
 *     saves    somebody saves the file before a call, and the writer goes on, or dies later
 *
 * A boundary lies before every call and after the last: all the world can see of a writer is its
 * calls, so killing before a call is the same as killing after the one before it.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/ledger.h"
#include "support/scene.h"

#define SAVED "human-1"
#define SETTLE "settle-0"
#define SAVE_PATIENCE_MS 3000

/* Counted by all workers. */
struct tally {
    atomic_uint points, unreached, killed, second, torn, wrong, refused, bad_history, litter;
    atomic_uint saves, lost_saves, lost_entries, doubled, listed;
};

struct shared {
    struct tally tally;
    struct outcome outcome[WORKERS];
    atomic_bool saved[WORKERS];
};

static struct plan plans[DEEDS * STATES];
static unsigned plan_count;
static struct shared *shared;

/* ---- plans ---------------------------------------------------------------------------------- */

/* The small form has every deed in one state, and the commonest deed in every state... */
static bool planned(enum deed deed, enum state state)
{
    bool small = state == STATE_EXISTS || deed == DEED_ADD;
    return scene_fits(deed, state) && (small || proof_long());
}

static void plan_all(void)
{
    for (enum deed deed = 0; deed < DEEDS; deed++)
        for (enum state state = 0; state < STATES; state++)
            if (planned(deed, state))
                plan_make(&plans[plan_count++], deed, state);
}

static void complain(const struct plan *plan, const char *when, unsigned long call,
                     const char *what)
{
    proof_note("%s, %s, %s call %lu of %lu: %s", deed_names[plan->scene.deed],
               state_names[plan->scene.state], when, call, plan->calls, what);
}

/* ---- kill points ---------------------------------------------------------------------------- */

/* Runs the deed until the fault; true when it died of it. */
static bool run_killed(struct worker *self, const struct plan *plan, unsigned long call)
{
    char fault[64];
    bool last = call > plan->calls;
    snprintf(fault, sizeof fault, "any:%lu:kill-%s", last ? plan->calls : call,
             last ? "after" : "before");
    struct how how = {.fault = fault, .op_id = OP_ID};
    return scene_do(&plan->scene, &self->home, &how, &shared->outcome[self->number]) ==
           128 + SIGKILL;
}

static bool retry(struct worker *self, const struct plan *plan)
{
    struct how how = {.op_id = OP_ID};
    struct outcome *out = &shared->outcome[self->number];
    return scene_do(&plan->scene, &self->home, &how, out) == 0 && out->code == ETHOS_OK;
}

/* Whether a text found between kill and retry was whole: the one before, or one of history. */
static bool was_whole(const struct plan *plan, const struct ledger *ledger, const char *text)
{
    char hash[HASH_SIZE];
    if (!text)
        return !plan->scene.before || plan->scene.deed == DEED_DELETE ||
               plan->scene.deed == DEED_RENAME || plan->scene.deed == DEED_ERASE;
    if (plan->scene.before && strcmp(text, plan->scene.before) == 0)
        return true;
    text_hash(text, strlen(text), hash);
    return ledger_knows(ledger, hash);
}

static void count_draft(void *arg, const char *dir, const char *name)
{
    (void)dir;
    *(unsigned *)arg += strstr(name, "ethos") != NULL;
}

/* What lies beside a file that is reached through a link; directories that nobody needs. */
static bool is_clean(const struct worker *self)
{
    char path[PATH_MAX];
    unsigned count = 0;
    snprintf(path, sizeof path, "%s/kept", self->home.path);
    dir_each(path, count_draft, &count);
    return count + scene_hollow(&self->home) == 0;
}

static void judge(struct worker *self, const struct plan *plan, unsigned long call,
                  const char *between)
{
    struct tally *tally = &shared->tally;
    struct ledger ledger;
    if (!ledger_check(&ledger, self->home.scope, 0, NULL, NULL)) {
        tally->bad_history++;
        complain(plan, "killed before", call, "the history is not whole");
    }
    if (!was_whole(plan, &ledger, between)) {
        tally->torn++;
        complain(plan, "killed before", call, "the file was not a whole version");
    }
    char *texts = scene_texts(&self->home);
    if (strcmp(texts, plan->right) != 0) {
        tally->wrong++;
        complain(plan, "killed before", call, "other texts than without the kill");
    }
    if (!is_clean(self)) {
        tally->litter++;
        complain(plan, "killed before", call,
                 "something was left: beside the link's file, or an empty directory");
    }
    free(texts);
    ledger_free(&ledger);
}

static void kill_at(struct worker *self, const struct plan *plan, unsigned long call)
{
    struct tally *tally = &shared->tally;
    place_copy(&plan->scene.start, &self->home);
    if (!run_killed(self, plan, call)) {
        tally->unreached++; // a file that is not that young any more is read with fewer calls
        return;
    }
    tally->points++;
    char *between = path_read(self->home.memory, NULL);
    if (proof_long())
        tally->second += run_killed(self, plan, 1 + proof_random((uint32_t)plan->calls));
    if (!retry(self, plan)) {
        tally->refused++;
        complain(plan, "killed before", call, shared->outcome[self->number].error.text);
    }
    judge(self, plan, call, between);
    free(between);
}

/* ...of which it takes every boundary; of the others every second, of the slow one every eighth. */
static unsigned long step_of(const struct plan *plan)
{
    if (proof_long() || plan->scene.deed == DEED_ADD)
        return 1;
    return plan->scene.deed == DEED_OVERFLOW ? 8 : 2;
}

static int work_points(void *arg)
{
    struct worker *self = arg;
    unsigned index = 0;
    proof_reseed(self->number + 1);
    for (unsigned i = 0; i < plan_count; i++)
        for (unsigned long call = 1; call <= plans[i].calls + 1; call += step_of(&plans[i]))
            if (index++ % WORKERS == self->number)
                kill_at(self, &plans[i], call);
    return 0;
}

static void prove_points(void)
{
    const struct tally *tally = &shared->tally;
    workers_run(work_points, NULL);
    proof_say(tally->points > 10 * tally->unreached && tally->torn + tally->wrong + tally->refused +
                                                               tally->bad_history + tally->litter ==
                                                           0,
              "kills: killed at %u boundaries of %u operations in their states (%u not reached), "
              "%u killed again, %u torn, %u wrong after the retry, %u retries refused, %u bad "
              "histories, %u left something",
              tally->points, plan_count, tally->unreached, tally->second, tally->torn, tally->wrong,
              tally->refused, tally->bad_history, tally->litter);
}

/* ---- saves ---------------------------------------------------------------------------------- */

/* What somebody adds a line to: the file as it is, as it was before the deed, or long before... */
enum save { SAVE_APPEND, SAVE_LATE, SAVE_STALE, SAVE_REVERT, SAVE_OTHER, SAVES };
static const char *const save_names[SAVES] = {"appending", "late", "stale", "reverting", "other"};

/* Somebody at work: before call `at` a save, before call `end` (0: never) the kill. */
struct somebody {
    struct worker *worker;
    const struct plan *plan;
    enum save save;
    bool rename;
    unsigned long at, end;
};

static int save_now(void *arg)
{
    const struct somebody *self = arg;
    const struct scene *scene = &self->plan->scene;
    const char *path = self->worker->home.memory;
    scene_parents(&self->worker->home); // whoever saves the first file makes its directory
    const char *from = self->save == SAVE_APPEND  ? path_read(path, NULL)
                       : self->save == SAVE_LATE  ? scene->before
                       : self->save == SAVE_OTHER ? "other"
                                                  : scene->stale;
    const char *line = self->save == SAVE_REVERT ? "" : "\n" SAVED "\n"; // ...or nothing at all
    char *text = text_format("%s%s", from ? from : "", line);
    if (self->rename)
        path_replace(path, text);
    else
        path_put(path, text);
    shared->saved[self->worker->number] = true;
    return 0;
}

static int on_call(void *arg, const struct home *home, const char *call, unsigned long number)
{
    const struct somebody *self = arg;
    (void)home;
    (void)call;
    if (number == self->at) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(save_now(arg));
        // A save may have to wait until a lease is given up, which is after this call.
        for (int i = 0; i < 20 && waitpid(pid, NULL, WNOHANG) == 0; i++)
            proof_sleep_us(1000);
    }
    if (number == self->end)
        kill(getpid(), SIGKILL);
    return 0;
}

/* Where the lines of a run ended up. */
struct search {
    bool found; /* SAVED in some version */
    bool entry_listed;
};

static void look_at(void *arg, const struct version *version, const struct text *before,
                    const struct text *after, const struct text *kept)
{
    struct search *search = arg;
    search->found = search->found || text_lines(before->data, SAVED) ||
                    text_lines(after->data, SAVED) || text_lines(kept->data, SAVED);
    bool dropped = version->event && (strcmp(version->event, "dropped") == 0 ||
                                      strcmp(version->event, "partial") == 0);
    if (dropped && text_lines(before->data, SCENE_ENTRY) && !text_lines(after->data, SCENE_ENTRY))
        search->entry_listed = true;
}

static void look_at_copy(void *arg, const char *dir, const char *name)
{
    struct search *search = arg;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    char *text = path_read(path, NULL);
    search->found = search->found || text_lines(text, SAVED);
    free(text);
}

static void judge_save(const struct somebody *somebody)
{
    struct worker *self = somebody->worker;
    struct tally *tally = &shared->tally;
    struct search search = {0};
    struct ledger ledger;
    char path[PATH_MAX], what[128];
    enum deed deed = somebody->plan->scene.deed;
    bool adds = deed == DEED_ADD || deed == DEED_BATCH || deed == DEED_GROUP;
    tally->bad_history += !ledger_check(&ledger, self->home.scope, 0, look_at, &search);
    snprintf(path, sizeof path, "%s/.mem/conflicts", self->home.scope);
    dir_each(path, look_at_copy, &search);
    char *text = path_read(self->home.memory, NULL);
    unsigned entry = text_lines(text, SCENE_ENTRY);
    bool lost_save = somebody->save != SAVE_REVERT && !search.found && !text_lines(text, SAVED);
    bool lost_entry = adds && entry == 0 && !search.entry_listed;
    tally->lost_saves += lost_save;
    tally->lost_entries += lost_entry;
    tally->listed += adds && entry == 0 && search.entry_listed;
    tally->doubled += entry > 1 || text_lines(text, SETTLE) != 1;
    if (ledger.errors || lost_save || lost_entry || entry > 1 || text_lines(text, SETTLE) != 1) {
        snprintf(what, sizeof what, "%s save %s, killed before %lu:%s%s%s%s",
                 save_names[somebody->save], somebody->rename ? "by rename" : "in place",
                 somebody->end, ledger.errors ? " bad history" : "", lost_save ? " save lost" : "",
                 lost_entry ? " entry lost" : "", entry > 1 ? " entry doubled" : "");
        complain(somebody->plan, "saved before", somebody->at, what);
    }
    free(text);
    ledger_free(&ledger);
}

static void save_at(struct somebody *somebody)
{
    struct worker *self = somebody->worker;
    struct outcome *out = &shared->outcome[self->number];
    struct how how = {.op_id = OP_ID, .call = on_call, .arg = somebody};
    shared->saved[self->number] = false;
    place_copy(&somebody->plan->scene.start, &self->home);
    shared->tally.points++;
    shared->tally.killed += scene_do(&somebody->plan->scene, &self->home, &how, out) ==
                            128 + SIGKILL;
    for (int i = 0; i < SAVE_PATIENCE_MS && !shared->saved[self->number]; i++)
        proof_sleep_us(1000);
    if (!shared->saved[self->number])
        return; // this time the writer made fewer calls: a file grew old enough to be read once
    shared->tally.saves++;
    if (proof_long())
        shared->tally.second += run_killed(self, somebody->plan,
                                           1 + proof_random((uint32_t)somebody->plan->calls));
    if (!retry(self, somebody->plan)) {
        shared->tally.refused++;
        complain(somebody->plan, "saved before", somebody->at, out->error.text);
    }
    scene_add(&self->home, NULL, SETTLE, out);
    judge_save(somebody);
}

static void save_everywhere(struct worker *self, const struct plan *plan, unsigned step)
{
    for (unsigned long call = 1 + self->number; call <= plan->calls; call += WORKERS * step)
        for (enum save save = 0; save < SAVES; save++)
            for (int style = 0; style < 2; style++) {
                struct somebody somebody = {self, plan, save, style, call, 0};
                if (proof_random(2))
                    somebody.end = call + proof_random((uint32_t)(plan->calls - call) + 1);
                save_at(&somebody);
            }
}

static int work_saves(void *arg)
{
    struct worker *self = arg;
    proof_reseed(self->number + 11);
    unsigned step = proof_number("step", 3, 1);
    for (unsigned i = 0; i < plan_count; i++) {
        enum state state = plans[i].scene.state;
        enum deed deed = plans[i].scene.deed;
        bool small = (deed == DEED_ADD || deed == DEED_GROUP) && state == STATE_EXISTS;
        if (deed != DEED_OVERFLOW && state != STATE_LINK && (small || proof_long()))
            save_everywhere(self, &plans[i], step);
    }
    return 0;
}

static void prove_saves(void)
{
    const struct tally *tally = &shared->tally;
    memset(&shared->tally, 0, sizeof shared->tally);
    workers_run(work_saves, NULL);
    proof_say(tally->saves * 20 >= tally->points * 19 && tally->lost_saves + tally->lost_entries +
                                                                 tally->doubled + tally->refused +
                                                                 tally->bad_history ==
                                                             0,
              "saves: %u saves before calls of a writer, %u writers killed, %u again in the retry, "
              "%u saves lost, "
              "%u entries lost, %u doubled, %u taken out and listed, %u retries refused, "
              "%u bad histories",
              tally->saves, tally->killed, tally->second, tally->lost_saves, tally->lost_entries,
              tally->doubled, tally->listed, tally->refused, tally->bad_history);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    shared = shared_make(sizeof *shared);
    plan_all();
    if (proof_part("points"))
        prove_points();
    if (proof_part("saves"))
        prove_saves();
    for (unsigned i = 0; i < plan_count; i++)
        plan_free(&plans[i]);
    return proof_end();
}
