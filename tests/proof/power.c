/*
 * power.c: the power fails while programs write.
 *
 * A cut is real as far as the file system goes: it lies in an image of its own, four writers (the
 * real program, one process per add) are stopped, the file system is shut down without writing its
 * log (what was not synced is gone), the writers are killed, and the image is mounted again as after
 * a boot. What was acknowledged has been noted outside. Needs root and loop devices.
 *
 *     control    an appender that syncs must lose nothing, one that does not must lose something:
 *                else the cut itself cannot be trusted
 *     cuts       every acknowledged entry stands in the file before anybody touches it, the file is
 *                never empty; updates in flight are sent again and stand there once
 *     unsynced   beside them somebody saves by rename and never syncs: the cut may empty the file,
 *                and the next access brings back every acknowledged entry
 *     weakened   the same without one of the three syncs of a write must lose something
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/ledger.h"
#include "support/proof.h"

#define WRITERS 4
#define MOST_ADDS 2000 /* of one writer in one cut */
#define IMAGE_BYTES (320LL << 20)
#define SHUTDOWN _IOR('X', 125, uint32_t) /* of ext4 and xfs alike */
#define WITHOUT_LOG 2u
#define RUN_US 60000     /* least time before a cut; as much again at random */
#define LEAST_ADDS 24    /* and on a slow machine, until so many were begun */
#define PATIENCE_MS 3000 /* or that much time has passed */

struct disk {
    char image[PATH_MAX / 4], mounted[PATH_MAX / 4];
    const char *type, *options;
};

/* What the writers did, outside of the disk that is cut. */
struct acts {
    struct home home;
    unsigned begun[WRITERS];
    bool acknowledged[WRITERS * MOST_ADDS];
};

struct writer {
    struct acts *acts;
    unsigned number;
    child_fn *run;
};

struct tally {
    unsigned cuts, acknowledged, lost, empty, torn, bad_history, doubled, refused;
};

struct kind {
    const char *name, *type, *options;
    bool small;
};

/* ---- disks ---------------------------------------------------------------------------------- */

static bool run_words(const char *const *words)
{
    char *out;
    int status = program_run(words, NULL, &out);
    if (status != 0 && getenv("PROOF_VERBOSE"))
        proof_note("%s: %s", words[0], out);
    free(out);
    return status == 0;
}

static bool disk_mount(const struct disk *disk)
{
    char options[128];
    snprintf(options, sizeof options, "loop%s%s", *disk->options ? "," : "", disk->options);
    return run_words((const char *[]){"mount", "-t", disk->type, "-o", options, disk->image,
                                      disk->mounted, NULL});
}

static void disk_unmount(const struct disk *disk)
{
    for (int i = 0; i < 500 && umount(disk->mounted) != 0; i++) {
        if (errno != EBUSY)
            proof_die("umount");
        proof_sleep_us(2000);
    }
}

/* An image with an empty file system, mounted where only this process sees it. */
static bool disk_make(struct disk *disk, const struct home *base, const char *type,
                      const char *options)
{
    char make[32];
    *disk = (struct disk){.type = type, .options = options};
    snprintf(disk->image, sizeof disk->image, "%.900s/image", base->path);
    snprintf(disk->mounted, sizeof disk->mounted, "%.900s/mounted", base->path);
    snprintf(make, sizeof make, "mkfs.%s", type);
    unlink(disk->image);
    mkdir(disk->mounted, 0700);
    path_put(disk->image, "");
    return truncate(disk->image, IMAGE_BYTES) == 0 && program_found(make) &&
           run_words((const char *[]){make, "-q", strcmp(type, "ext4") == 0 ? "-F" : "-f",
                                      disk->image, NULL}) &&
           disk_mount(disk);
}

/*
 * Where the file system cannot be shut down, the image is copied as it is: what was not handed to the
 * device is not in it. The kernel gets a moment to end the calls of the stopped writers.
 */
static bool copy_image(const struct disk *disk)
{
    char copy[PATH_MAX / 2];
    snprintf(copy, sizeof copy, "%s.cut", disk->image);
    proof_sleep_us(20000);
    return run_words((const char *[]){"cp", "--sparse=always", disk->image, copy, NULL});
}

/* Takes the power away; false when there is no way. */
static bool disk_cut(const struct disk *disk)
{
    uint32_t how = WITHOUT_LOG;
    int fd = open(disk->mounted, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool cut = fd >= 0 && ioctl(fd, SHUTDOWN, &how) == 0;
    if (fd >= 0)
        close(fd);
    return cut || copy_image(disk);
}

/* Starts again with what a cut left. */
static void disk_restart(const struct disk *disk)
{
    char copy[PATH_MAX / 2];
    disk_unmount(disk);
    snprintf(copy, sizeof copy, "%s.cut", disk->image);
    if (rename(copy, disk->image) != 0 && errno != ENOENT)
        proof_die(copy);
    if (!disk_mount(disk))
        proof_die("mounting again");
}

/* ---- writers -------------------------------------------------------------------------------- */

static int run_apart(void *arg)
{
    struct writer *self = arg;
    setpgid(0, 0); // stopped and killed with the processes it starts
    return self->run(self);
}

static int add_for_ever(void *arg)
{
    struct writer *self = arg;
    struct acts *acts = self->acts;
    for (unsigned i = 0; i < MOST_ADDS; i++) {
        unsigned number = self->number * MOST_ADDS + i;
        char id[32], entry[32];
        snprintf(id, sizeof id, "op:%u", number);
        snprintf(entry, sizeof entry, "agent-%u", number);
        acts->begun[self->number] = i + 1;
        acts->acknowledged[number] = ethos_add(&acts->home, id, entry) == 0;
    }
    return 0;
}

static int append_lines(struct writer *self, bool sync)
{
    char path[PATH_MAX], line[32];
    struct acts *acts = self->acts;
    snprintf(path, sizeof path, "%.900s/log-%u", acts->home.path, self->number);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int dir = open(acts->home.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || dir < 0 || (sync && fsync(dir) != 0))
        return 1;
    for (unsigned i = 0; i < MOST_ADDS; i++) {
        unsigned number = self->number * MOST_ADDS + i;
        int size = snprintf(line, sizeof line, "agent-%u\n", number);
        if (write(fd, line, (size_t)size) != size || (sync && fdatasync(fd) != 0))
            return 1;
        acts->begun[self->number] = i + 1;
        acts->acknowledged[number] = true;
        if (!sync)
            proof_sleep_us(200);
    }
    return 0;
}

static int append_synced(void *arg)
{
    return append_lines(arg, true);
}

static int append_unsynced(void *arg)
{
    return append_lines(arg, false);
}

/* ---- one cut -------------------------------------------------------------------------------- */

static void signal_all(const pid_t pids[WRITERS], int signal)
{
    for (unsigned i = 0; i < WRITERS; i++)
        kill(-pids[i], signal);
}

static unsigned begun(const struct acts *acts)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < WRITERS; i++)
        sum += *(volatile const unsigned *)&acts->begun[i];
    return sum;
}

/* Writers run a while in a new directory of the disk; then the power goes, and comes back. */
static bool cut_while(const struct disk *disk, struct acts *acts, child_fn *run)
{
    static unsigned number;
    struct writer writers[WRITERS];
    pid_t pids[WRITERS];
    char path[PATH_MAX];
    memset(acts, 0, sizeof *acts);
    snprintf(path, sizeof path, "%s/home-%u", disk->mounted, number++);
    place_at(&acts->home, path);
    if (mkdir(path, 0700) != 0 || !run_words((const char *[]){"sync", "-f", path, NULL}))
        proof_die(path);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){acts, i, run};
        pids[i] = child_start(run_apart, &writers[i]);
        setpgid(pids[i], pids[i]); // whoever comes first
    }
    proof_sleep_us(RUN_US + proof_random(RUN_US));
    for (unsigned i = 0; i < PATIENCE_MS && begun(acts) < LEAST_ADDS; i++)
        proof_sleep_us(1000);
    signal_all(pids, SIGSTOP);
    bool cut = disk_cut(disk);
    signal_all(pids, SIGKILL);
    for (unsigned i = 0; i < WRITERS; i++)
        child_wait(pids[i]);
    disk_restart(disk);
    return cut;
}

/* ---- control -------------------------------------------------------------------------------- */

static unsigned lost_lines(const struct acts *acts, unsigned *acknowledged)
{
    struct tokens tokens;
    char path[PATH_MAX];
    unsigned lost = 0;
    tokens_make(&tokens, "agent", WRITERS * MOST_ADDS);
    for (unsigned i = 0; i < WRITERS; i++) {
        size_t size;
        snprintf(path, sizeof path, "%.900s/log-%u", acts->home.path, i);
        char *text = path_read(path, &size);
        if (text)
            tokens_count(&tokens, text, size);
        free(text);
    }
    for (unsigned i = 0; i < tokens.count; i++) {
        *acknowledged += acts->acknowledged[i];
        lost += acts->acknowledged[i] && !tokens.seen[i];
    }
    tokens_free(&tokens);
    return lost;
}

static void prove_control(const char *name, const struct disk *disk, struct acts *acts,
                          unsigned cuts)
{
    unsigned lost[2] = {0}, acknowledged[2] = {0};
    for (unsigned i = 0; i < cuts; i++) {
        if (!cut_while(disk, acts, append_synced))
            proof_die("cut");
        lost[0] += lost_lines(acts, &acknowledged[0]);
        cut_while(disk, acts, append_unsynced);
        lost[1] += lost_lines(acts, &acknowledged[1]);
    }
    proof_say(lost[0] == 0 && acknowledged[0] > 0 && lost[1] > 0,
              "control on %s: %u cuts, a plain appender with fdatasync lost %u of %u, without it "
              "%u of %u",
              name, cuts, lost[0], acknowledged[0], lost[1], acknowledged[1]);
}

/* ---- cuts of the program -------------------------------------------------------------------- */

static unsigned missing_of(const struct acts *acts, const struct tokens *tokens, bool begun)
{
    unsigned missing = 0;
    for (unsigned i = 0; i < tokens->count; i++) {
        bool wanted = begun ? i % MOST_ADDS < acts->begun[i / MOST_ADDS] : acts->acknowledged[i];
        missing += wanted && !tokens->seen[i];
    }
    return missing;
}

static void read_memory(const struct acts *acts, struct tokens *tokens, size_t *size)
{
    *size = 0;
    tokens_clear(tokens);
    char *text = path_read(acts->home.memory, size);
    if (text)
        tokens_count(tokens, text, *size);
    free(text);
}

/* Every client asks once more for what it was not answered. */
static unsigned send_again(const struct acts *acts)
{
    unsigned refused = 0;
    for (unsigned i = 0; i < WRITERS; i++) {
        unsigned number = i * MOST_ADDS + acts->begun[i] - 1;
        char id[32], entry[32];
        if (acts->begun[i] == 0 || acts->acknowledged[number])
            continue;
        snprintf(id, sizeof id, "op:%u", number);
        snprintf(entry, sizeof entry, "agent-%u", number);
        refused += ethos_add(&acts->home, id, entry) != 0;
    }
    return refused;
}

static void judge(const struct acts *acts, struct tally *tally)
{
    struct tokens tokens;
    struct ledger ledger;
    size_t size;
    unsigned acknowledged = 0;
    tokens_make(&tokens, "agent", WRITERS * MOST_ADDS);
    for (unsigned i = 0; i < tokens.count; i++)
        acknowledged += acts->acknowledged[i];
    read_memory(acts, &tokens, &size);
    unsigned lost = missing_of(acts, &tokens, false);
    bool empty = acknowledged > 0 && size == 0;
    unsigned refused = send_again(acts);
    ethos_add(&acts->home, NULL, "the next entry");
    read_memory(acts, &tokens, &size);
    bool later = missing_of(acts, &tokens, true) > 0;
    bool bad = !ledger_check(&ledger, acts->home.scope, lost ? LEDGER_QUIET : 0, NULL, NULL) ||
               ledger.count == 0;
    tally->cuts++;
    tally->acknowledged += acknowledged;
    tally->lost += lost;
    tally->empty += empty;
    tally->torn += later;
    tally->doubled += tokens_doubled(&tokens);
    tally->refused += refused;
    tally->bad_history += bad;
    if (getenv("PROOF_VERBOSE") && (lost || empty || later || bad || refused))
        proof_note("cut %u: %u of %u lost%s%s%s, %u refused", tally->cuts, lost, acknowledged,
                   empty ? ", file empty" : "", later ? ", missing after the retry" : "",
                   bad ? ", bad history" : "", refused);
    ledger_free(&ledger);
    tokens_free(&tokens);
}

static bool is_clean(const struct tally *tally)
{
    return tally->lost + tally->empty + tally->torn + tally->doubled + tally->refused +
               tally->bad_history ==
           0;
}

static struct tally cut_often(const struct disk *disk, struct acts *acts, unsigned cuts)
{
    struct tally tally = {0};
    for (unsigned i = 0; i < cuts; i++)
        if (cut_while(disk, acts, add_for_ever))
            judge(acts, &tally);
    return tally;
}

static void prove_cuts(const char *name, const struct disk *disk, struct acts *acts, unsigned cuts)
{
    struct tally tally = cut_often(disk, acts, cuts);
    proof_say(tally.cuts == cuts && tally.acknowledged > 0 && is_clean(&tally),
              "cuts on %s: %u cuts, %u acknowledged, %u lost, %u files empty, %u cuts with entries "
              "missing after the retry, %u doubled, %u retries refused, %u bad histories",
              name, tally.cuts, tally.acknowledged, tally.lost, tally.empty, tally.torn,
              tally.doubled, tally.refused, tally.bad_history);
}

/* ---- beside an editor that never syncs ------------------------------------------------------- */

/* The last writer is a person: reads, adds a line, writes a new file, renames it. */
static int add_or_edit(void *arg)
{
    struct writer *self = arg;
    if (self->number + 1 < WRITERS)
        return add_for_ever(arg);
    for (unsigned i = 0;; i++) {
        char *text = path_read(self->acts->home.memory, NULL);
        char *more = text_format("%s\nhuman-%u\n", text ? text : "", i);
        proof_sleep_us(15000 + proof_random(15000));
        if (text)
            path_replace(self->acts->home.memory, more);
        free(text);
        free(more);
    }
}

/* The verdict about crash damage asks when the machine was started. */
static void start_machine(void)
{
    struct timespec now;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof text, "%lld", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    setenv("ETHOS_BOOT_MS", text, 1);
}

/* Entries that a line of history lists as taken out. */
static void note_listed(void *arg, const struct version *version, const struct text *before,
                        const struct text *after, const struct text *kept)
{
    struct tokens *listed = arg, now;
    (void)kept;
    if (!version->event)
        return;
    tokens_make(&now, "agent", listed->count);
    tokens_count(&now, after->data, after->size);
    tokens_count(listed, before->data, before->size);
    for (unsigned i = 0; i < now.count; i++)
        if (now.seen[i])
            listed->seen[i] = 0;
    tokens_free(&now);
}

static void prove_unsynced(const char *name, const struct disk *disk, struct acts *acts,
                           unsigned cuts)
{
    unsigned acknowledged = 0, empty = 0, missing = 0, lost = 0, taken = 0, bad = 0;
    struct tokens tokens, listed;
    tokens_make(&tokens, "agent", WRITERS * MOST_ADDS);
    tokens_make(&listed, "agent", WRITERS * MOST_ADDS);
    for (unsigned i = 0; i < cuts; i++) {
        struct ledger ledger;
        size_t size;
        if (!cut_while(disk, acts, add_or_edit))
            proof_die("cut");
        start_machine();
        read_memory(acts, &tokens, &size);
        empty += size == 0;
        missing += missing_of(acts, &tokens, false);
        ethos_add(&acts->home, NULL, "the next entry");
        read_memory(acts, &tokens, &size);
        tokens_clear(&listed);
        bad += !ledger_check(&ledger, acts->home.scope, 0, note_listed, &listed);
        for (unsigned k = 0; k < tokens.count; k++) {
            bool gone = acts->acknowledged[k] && !tokens.seen[k];
            acknowledged += acts->acknowledged[k];
            taken += gone && listed.seen[k];
            lost += gone && !listed.seen[k];
        }
        ledger_free(&ledger);
        unsetenv("ETHOS_BOOT_MS");
    }
    proof_say(
        lost + bad == 0 && acknowledged > 0,
        "unsynced on %s: %u cuts beside an editor that never syncs, %u acknowledged, %u files "
        "empty and %u entries missing at first, after the next access %u lost, %u taken out "
        "and listed, %u bad histories",
        name, cuts, acknowledged, empty, missing, lost, taken, bad);
    tokens_free(&tokens);
    tokens_free(&listed);
}

/* ---- weakened ------------------------------------------------------------------------------- */

static void prove_weakened(const struct disk *disk, struct acts *acts, unsigned cuts)
{
    static const char *const syncs[][2] = {{"fdatasync:1:skip", "draft"},
                                           {"fdatasync:2:skip", "history"},
                                           {"fsync:1:skip", "directory"}};
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++) {
        setenv("ETHOS_FAULT", syncs[i][0], 1);
        struct tally tally = cut_often(disk, acts, cuts);
        proof_say(tally.acknowledged > 0 && !is_clean(&tally),
                  "weakened: without the sync of the %s, %u cuts, %u acknowledged, %u lost, "
                  "%u files empty, %u doubled, %u bad histories: it is needed",
                  syncs[i][1], tally.cuts, tally.acknowledged, tally.lost, tally.empty,
                  tally.doubled, tally.bad_history);
    }
    unsetenv("ETHOS_FAULT");
}

/* What needs the hooks of a test build. */
static void prove_hooked(const struct kind *kind, const struct disk *disk, struct acts *acts)
{
    const char *program = getenv("ETHOS_TEST_BIN");
    if (!program) {
        proof_skip("weakened", "ETHOS_TEST_BIN names no test build of the program");
        return;
    }
    setenv("ETHOS_BIN", program, 1);
    if (proof_part("unsynced"))
        prove_unsynced(kind->name, disk, acts, proof_number("unsynced", 2, 20));
    if (kind->small && proof_part("weakened"))
        prove_weakened(disk, acts, proof_number("weak", 8, 20));
    unsetenv("ETHOS_BIN");
}

/* ---- file systems --------------------------------------------------------------------------- */

static const struct kind kinds[] = {
    {"ext4", "ext4", "", true},
    {"ext4-writeback", "ext4", "data=writeback,noauto_da_alloc", false},
    {"xfs", "xfs", "", false},
    {"btrfs", "btrfs", "", false},
};

static void prove_kind(const struct kind *kind, const struct home *base)
{
    struct acts *acts = shared_make(sizeof *acts);
    struct disk disk;
    if (!disk_make(&disk, base, kind->type, kind->options)) {
        proof_skip(kind->name, "no loop devices, no mkfs or no such file system");
        return;
    }
    prove_control(kind->name, &disk, acts, proof_number("controls", 1, 20));
    if (proof_part("cuts"))
        prove_cuts(kind->name, &disk, acts, proof_number("cuts", 20, 1000));
    if (proof_long())
        prove_hooked(kind, &disk, acts);
    disk_unmount(&disk);
}

int main(int argc, char **argv)
{
    struct home base;
    proof_begin(argc, argv);
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        proof_skip("power", "mounting a file system needs root");
        return proof_end();
    }
    place_make(&base, PLACE_DISK);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].small || proof_long())
            prove_kind(&kinds[i], &base);
    place_remove(&base);
    return proof_end();
}
