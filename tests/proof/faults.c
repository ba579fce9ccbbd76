/*
 * faults.c: storage that fails at the nth call, and storage that is really full.
 *
 *     calls        every call of every operation fails once with each error: the operation says so
 *                  and names the cause, and the texts are as before; or it copes, and the texts are
 *                  right. No draft stays, the history is whole, and the same operation again succeeds
 *     transfers    every read and write is cut to one byte, and every call interrupted: no matter
 *     full         a file system with just so much space left, from none until it suffices
 *     descriptors  a process that may open just so many files, likewise
 *     read-only    a file system that was remounted read-only
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/ledger.h"
#include "support/scene.h"

#define PAGE 4096
#define DISK_PAGES 1024 /* of the file system that fills up */
#define ENOUGH 3        /* steps that must succeed in a row before more space tells nothing new */

static const int errors[] = {ENOSPC, EDQUOT, EROFS, EACCES, EIO, EMFILE};
#define ERRORS (sizeof errors / sizeof *errors)

struct tally {
    atomic_uint points, refused, coped, indeterminate;
    atomic_uint changed, unnamed, wrong, bad_history, stuck;
};

struct shared {
    struct tally tally;
    struct outcome outcome[WORKERS];
};

static struct plan plans[DEEDS * STATES];
static unsigned plan_count;
static struct shared *shared;

/* One fault: the call with this number fails, or the process may hold only so many files. */
struct fault {
    unsigned long call;
    int errnum;
    unsigned files;
    bool interrupts; /* only a call that can be interrupted */
};

/* ---- plans ---------------------------------------------------------------------------------- */

/* Edits that wait to be judged may change the text of a failing operation; kills.c has those. */
static void plan_all(void)
{
    for (enum deed deed = 0; deed < DEEDS; deed++)
        for (enum state state = 0; state < STATES; state++)
            if (scene_fits(deed, state) && state != STATE_EDITED && state != STATE_STALE &&
                (state == STATE_EXISTS || proof_long()))
                plan_make(&plans[plan_count++], deed, state);
}

/* ---- one fault ------------------------------------------------------------------------------ */

/* Calls that a signal may interrupt. */
static bool is_slow(const char *call)
{
    static const char *const slow[] = {"read",  "pread",     "write", "openat", "openat2",
                                       "fsync", "fdatasync", "flock", "random", "ftruncate"};
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (strcmp(slow[i], call) == 0)
            return true;
    return false;
}

static int on_call(void *arg, const struct home *home, const char *call, unsigned long number)
{
    const struct fault *fault = arg;
    (void)home;
    // A close that fails has closed all the same; one that is made to fail here has not.
    if ((fault->interrupts && !is_slow(call)) || strcmp(call, "close") == 0)
        return 0;
    if (number == 1 && fault->files) {
        struct rlimit limit = {fault->files, fault->files};
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    return number == fault->call ? fault->errnum : 0;
}

static void complain(const struct plan *plan, const struct outcome *out, const char *where,
                     const char *what)
{
    proof_note("%s, %s, %s: %s: code %d %s; %s", deed_names[plan->scene.deed],
               state_names[plan->scene.state], where, what, out->code, out->error.text,
               out->error.hint);
}

static bool says(const struct outcome *out, const char *word)
{
    return strstr(out->error.text, word) || strstr(out->error.hint, word);
}

/* The operation failed: everything as it was, and the cause named. True when nothing is wrong. */
static void judge_refusal(struct worker *self, const struct plan *plan, int errnum,
                          const char *where)
{
    struct tally *tally = &shared->tally;
    const struct outcome *out = &shared->outcome[self->number];
    char *texts = scene_texts(&self->home);
    bool same = plan->scene.deed == DEED_GROUP ? scene_as_told(&plan->scene, &self->home, out)
                                               : strcmp(texts, plan->before) == 0;
    if (!same && out->code == ETHOS_IO && says(out, "may or may not")) {
        tally->indeterminate++;
    } else if (!same) {
        tally->changed++;
        complain(plan, out, where, "it failed and changed something");
    }
    tally->refused++;
    if (!says(out, strerror(errnum))) {
        tally->unnamed++;
        complain(plan, out, where, "the cause is not named");
    }
    free(texts);
}

/* Of several clients some may have come through at first, the others later: in another order. */
static bool is_right(struct worker *self, const struct plan *plan, unsigned flags)
{
    struct ledger ledger;
    char *texts = scene_texts(&self->home);
    bool same = strcmp(texts, plan->right) == 0 ||
                (plan->scene.deed == DEED_GROUP &&
                 scene_as_told(&plan->scene, &self->home, &shared->outcome[self->number]));
    bool whole = ledger_check(&ledger, self->home.scope, flags, NULL, NULL);
    shared->tally.wrong += !same;
    shared->tally.bad_history += !whole;
    ledger_free(&ledger);
    free(texts);
    return same && whole;
}

/*
 * A fault in the very call that cleans up may leave something for the next writer; and where it cannot
 * be known whether somebody still writes to what was displaced, it is kept for a second look.
 */
static bool may_leave(const struct outcome *out)
{
    return strcmp(out->failed, "unlinkat") == 0 || strcmp(out->failed, "lease") == 0;
}

static void judge(struct worker *self, const struct plan *plan, int errnum, const char *where)
{
    struct outcome *out = &shared->outcome[self->number];
    struct ledger ledger;
    struct how again = {.op_id = OP_ID};
    if (out->code == ETHOS_OK) {
        shared->tally.coped++;
        if (!is_right(self, plan, may_leave(out) ? LEDGER_PENDING : 0))
            complain(plan, out, where, "it succeeded with a wrong result");
    } else {
        judge_refusal(self, plan, errnum, where);
        if (!ledger_check(&ledger, self->home.scope, may_leave(out) ? LEDGER_PENDING : 0, NULL,
                          NULL)) {
            shared->tally.bad_history++;
            complain(plan, out, where, "the history is not whole, or something was left");
        }
        ledger_free(&ledger);
    }
    scene_do(&plan->scene, &self->home, &again, out);
    if (out->code != ETHOS_OK || !is_right(self, plan, 0)) {
        shared->tally.stuck++;
        complain(plan, out, where, "the same operation again is not right");
    }
}

static void fail_at(struct worker *self, const struct plan *plan, struct fault fault)
{
    char where[64];
    struct how how = {.op_id = OP_ID, .call = on_call, .arg = &fault};
    struct outcome *out = &shared->outcome[self->number];
    place_copy(&plan->scene.start, &self->home);
    shared->tally.points++;
    if (scene_do(&plan->scene, &self->home, &how, out) != 0) {
        shared->tally.wrong++;
        proof_note("%s: died at call %lu (%s)", deed_names[plan->scene.deed], fault.call,
                   out->failed);
        return;
    }
    if (fault.files)
        snprintf(where, sizeof where, "%u files", fault.files);
    else
        snprintf(where, sizeof where, "%s at call %lu (%s)", strerrorname_np(fault.errnum),
                 fault.call, out->failed);
    judge(self, plan, fault.errnum, where);
}

/* ---- every call ----------------------------------------------------------------------------- */

/* The small form tries fewer calls of an overflow: its texts are large. */
static unsigned long step_of(const struct plan *plan, unsigned small)
{
    return proof_long() ? 1 : plan->scene.deed == DEED_OVERFLOW ? 7 * small : small;
}

static int work_calls(void *arg)
{
    struct worker *self = arg;
    unsigned index = 0;
    for (unsigned i = 0; i < plan_count; i++)
        for (unsigned long call = 1; call <= plans[i].calls; call += step_of(&plans[i], 1))
            for (size_t k = 0; k < ERRORS; k++)
                // The small form meets every call, with one error after the other.
                if ((proof_long() || (call + i) % ERRORS == k) && index++ % WORKERS == self->number)
                    fail_at(self, &plans[i], (struct fault){.call = call, .errnum = errors[k]});
    return 0;
}

static void disturb(struct worker *self, const struct plan *plan, unsigned long call, bool cut)
{
    struct outcome *out = &shared->outcome[self->number];
    struct fault fault = {.call = call, .errnum = EINTR, .interrupts = true};
    char text[48];
    struct how how = {.op_id = OP_ID};
    snprintf(text, sizeof text, "any:%lu:short=1", call);
    if (cut) {
        how.fault = text;
    } else {
        how.call = on_call;
        how.arg = &fault;
    }
    place_copy(&plan->scene.start, &self->home);
    shared->tally.points++;
    scene_do(&plan->scene, &self->home, &how, out);
    if (out->code != ETHOS_OK) {
        shared->tally.refused++;
        complain(plan, out, cut ? text : out->failed, "it gave up");
    } else if (!is_right(self, plan, 0)) {
        complain(plan, out, cut ? text : out->failed, "it succeeded with a wrong result");
    }
}

static int work_transfers(void *arg)
{
    struct worker *self = arg;
    for (unsigned i = self->number; i < plan_count; i += WORKERS)
        for (unsigned long call = 1; call <= plans[i].calls; call += step_of(&plans[i], 3))
            for (int cut = 0; cut < 2; cut++)
                disturb(self, &plans[i], call, cut);
    return 0;
}

static void share(child_fn *work)
{
    memset(&shared->tally, 0, sizeof shared->tally);
    workers_run(work, NULL);
}

static void report(const char *name)
{
    const struct tally *tally = &shared->tally;
    proof_say(tally->points > 0 && tally->changed + tally->unnamed + tally->wrong +
                                           tally->bad_history + tally->stuck ==
                                       0,
              "%s: %u faults in %u operations, %u refused, %u coped with, %u indeterminate and "
              "said so, %u changed the file, %u without the cause, %u wrong, %u bad histories or "
              "left something, %u not right when repeated",
              name, tally->points, plan_count, tally->refused, tally->coped, tally->indeterminate,
              tally->changed, tally->unnamed, tally->wrong, tally->bad_history, tally->stuck);
}

static void prove_transfers(void)
{
    const struct tally *tally = &shared->tally;
    share(work_transfers);
    proof_say(tally->points > 0 && tally->refused + tally->wrong + tally->bad_history == 0,
              "transfers: %u calls interrupted or cut to one byte, %u gave up, %u wrong, "
              "%u bad histories",
              tally->points, tally->refused, tally->wrong, tally->bad_history);
}

static int work_descriptors(void *arg)
{
    struct worker *self = arg;
    for (unsigned i = 0; i < plan_count; i++)
        for (unsigned files = 4 + self->number; files < 24; files += WORKERS)
            fail_at(self, &plans[i], (struct fault){.errnum = EMFILE, .files = files});
    return 0;
}

/* ---- a full file system --------------------------------------------------------------------- */

/* A small file system of our own, seen by this process only. */
static bool mount_small(const char *path)
{
    char options[48];
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    snprintf(options, sizeof options, "size=%u", DISK_PAGES * PAGE);
    return mount("proof", path, "tmpfs", 0, options) == 0;
}

/* Fills all but so many pages. */
static void fill(const char *path, unsigned leave)
{
    static const char page[PAGE] = {1};
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        proof_die(path);
    while (write(fd, page, sizeof page) == (ssize_t)sizeof page)
        continue;
    if (fstat(fd, &st) != 0 ||
        ftruncate(fd, st.st_size > (off_t)leave * PAGE ? st.st_size - (off_t)leave * PAGE : 0) != 0)
        proof_die(path);
    close(fd);
}

/* True when the operation succeeded with so much space. */
static bool try_with_space(struct worker *self, const struct plan *plan, const char *ballast,
                           unsigned pages)
{
    char where[48];
    struct how how = {.op_id = OP_ID};
    struct outcome *out = &shared->outcome[0];
    unlink(ballast);
    place_copy(&plan->scene.start, &self->home);
    fill(ballast, pages);
    scene_do(&plan->scene, &self->home, &how, out);
    unlink(ballast);
    bool done = out->code == ETHOS_OK;
    shared->tally.points++;
    snprintf(where, sizeof where, "%u KiB left", pages * PAGE / 1024);
    judge(self, plan, ENOSPC, where);
    return done;
}

static int fill_up(void *arg)
{
    struct worker self = {0};
    char path[PATH_MAX], ballast[PATH_MAX];
    const struct home *base = arg;
    if (!mount_small(base->path))
        return 2;
    snprintf(path, sizeof path, "%s/home", base->path);
    snprintf(ballast, sizeof ballast, "%s/ballast", base->path);
    place_at(&self.home, path);
    for (unsigned i = 0; i < plan_count; i++) {
        unsigned step = !proof_long() && plans[i].scene.deed == DEED_OVERFLOW ? 16 : 1;
        for (unsigned pages = 0, enough = 0; enough < ENOUGH && pages < DISK_PAGES / 2;
             pages += step)
            enough = try_with_space(&self, &plans[i], ballast, pages) ? enough + 1 : 0;
    }
    return 0;
}

static int make_read_only(void *arg)
{
    struct worker self = {0};
    char path[PATH_MAX];
    const struct home *base = arg;
    if (!mount_small(base->path))
        return 2;
    snprintf(path, sizeof path, "%s/home", base->path);
    place_at(&self.home, path);
    for (unsigned i = 0; i < plan_count; i++) {
        struct how how = {.op_id = OP_ID};
        if (mount(NULL, base->path, NULL, MS_REMOUNT, NULL) != 0)
            proof_die("remount");
        place_copy(&plans[i].scene.start, &self.home);
        if (mount(NULL, base->path, NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0)
            proof_die("remount");
        scene_do(&plans[i].scene, &self.home, &how, &shared->outcome[0]);
        mount(NULL, base->path, NULL, MS_REMOUNT, NULL);
        shared->tally.points++;
        judge(&self, &plans[i], EROFS, "read-only");
    }
    return 0;
}

static void prove_mounted(const char *name, child_fn *run)
{
    struct home base;
    memset(&shared->tally, 0, sizeof shared->tally);
    place_make(&base, PLACE_DISK);
    int status = child_run(run, &base);
    if (status == 2)
        proof_skip(name, "mounting a file system needs root");
    else if (status != 0)
        proof_say(false, "%s: did not come to its end", name);
    else
        report(name);
    place_remove(&base);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    shared = shared_make(sizeof *shared);
    plan_all();
    if (proof_part("calls")) {
        share(work_calls);
        report("calls");
    }
    if (proof_part("transfers"))
        prove_transfers();
    if (proof_part("full"))
        prove_mounted("full", fill_up);
    if (proof_part("read-only"))
        prove_mounted("read-only", make_read_only);
    if (proof_part("descriptors")) {
        share(work_descriptors);
        report("descriptors");
    }
    for (unsigned i = 0; i < plan_count; i++)
        plan_free(&plans[i]);
    return proof_end();
}
