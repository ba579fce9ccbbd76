/*
 * storm.c: many processes, one file. Every process of the storm is the real program, one per update.
 *
 *     adds     every add stands in the file, once
 *     killed   the same over several files with operation ids; processes are killed at random
 *              moments and their updates sent again: nothing acknowledged is lost or doubled
 *     reads    a reader beside the storm finds only whole versions, and never waits
 *     cas      a counter raised by compare-and-swap ends at the number of acknowledgements
 *     control  the same storm done by read, change, write: it must lose, or the storm is no storm
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/ledger.h"
#include "support/proof.h"

#define MOST_WRITERS 64
#define KILL_WITHIN_US 6000
#define MOST_READS 100000 /* different texts a reader tells apart */

struct storm {
    struct home home;
    unsigned writers, adds, keys;
    unsigned acknowledged[MOST_WRITERS];
    unsigned repeated[MOST_WRITERS]; /* sent again, or refused */
    unsigned killed[MOST_WRITERS];
    bool over;
    /* what the reader met */
    unsigned long reads;
    unsigned different, absent;
    int64_t longest_us;
    char hashes[MOST_READS][HASH_SIZE];
};

struct writer {
    struct storm *storm;
    unsigned number;
};

static struct storm *storm_make(unsigned writers, unsigned adds)
{
    struct storm *storm = shared_make(sizeof *storm);
    place_make(&storm->home, PLACE_DISK);
    storm->writers = writers;
    storm->adds = adds;
    storm->keys = 1;
    return storm;
}

/* The file that an entry goes to. */
static void key_of(const struct storm *storm, unsigned number, char out[32])
{
    if (number % storm->keys == 0)
        snprintf(out, 32, "MEMORY.md");
    else
        snprintf(out, 32, "note-%u.md", number % storm->keys);
}

static unsigned total(const unsigned counts[MOST_WRITERS])
{
    unsigned sum = 0;
    for (unsigned i = 0; i < MOST_WRITERS; i++)
        sum += counts[i];
    return sum;
}

/* Runs all writers to their end, and beside them, if there is one, a reader. */
static void storm_run(struct storm *storm, child_fn *write, child_fn *beside)
{
    struct writer writers[MOST_WRITERS];
    pid_t pids[MOST_WRITERS], reader = beside ? child_start(beside, storm) : 0;
    for (unsigned i = 0; i < storm->writers; i++) {
        writers[i] = (struct writer){storm, i};
        pids[i] = child_start(write, &writers[i]);
    }
    for (unsigned i = 0; i < storm->writers; i++)
        if (child_wait(pids[i]) != 0)
            proof_note("writer %u failed", i);
    storm->over = true;
    if (beside)
        child_wait(reader);
}

static void storm_free(struct storm *storm)
{
    place_remove(&storm->home);
}

static void count_file(const struct storm *storm, unsigned number, struct tokens *tokens)
{
    char key[32], path[PATH_MAX];
    size_t size;
    key_of(storm, number, key);
    snprintf(path, sizeof path, "%s/%s", storm->home.scope, key);
    char *text = path_read(path, &size);
    if (text)
        tokens_count(tokens, text, size);
    free(text);
}

/* One statement about the files and their history. */
static void judge(const char *name, struct storm *storm, const char *detail)
{
    struct tokens tokens;
    struct ledger ledger;
    unsigned all = storm->writers * storm->adds, acknowledged = total(storm->acknowledged);
    tokens_make(&tokens, "agent", all);
    for (unsigned i = 0; i < storm->keys; i++)
        count_file(storm, i, &tokens);
    ledger_check(&ledger, storm->home.scope, 0, NULL, NULL);
    unsigned present = tokens_present(&tokens), doubled = tokens_doubled(&tokens);
    proof_say(acknowledged == all && present == all && doubled == 0 && ledger.errors == 0 &&
                  ledger.count >= all,
              "%s: %u writers x %u adds%s, %u acknowledged, %u of %u present, %u doubled, "
              "%zu history lines, %u errors in it",
              name, storm->writers, storm->adds, detail, acknowledged, present, all, doubled,
              ledger.count, ledger.errors);
    ledger_free(&ledger);
    tokens_free(&tokens);
}

/* ---- adds ----------------------------------------------------------------------------------- */

static int add_all(void *arg)
{
    struct writer *self = arg;
    struct storm *storm = self->storm;
    char entry[64];
    for (unsigned i = 0; i < storm->adds; i++) {
        snprintf(entry, sizeof entry, "agent-%u", self->number * storm->adds + i);
        storm->acknowledged[self->number] += ethos_add(&storm->home, NULL, entry) == 0;
    }
    return 0;
}

/* Sends one update, and kills the process now and then. True when it was acknowledged. */
static bool send_once(struct storm *storm, unsigned writer, unsigned number, bool may_kill)
{
    char id[32], key[32], json[128];
    key_of(storm, number, key);
    snprintf(id, sizeof id, "op:%u", number);
    snprintf(json, sizeof json, "{\"action\":\"add\",\"key\":\"%s\",\"content\":\"agent-%u\"}", key,
             number);
    pid_t pid = ethos_start(&storm->home, id, json);
    if (may_kill) {
        proof_sleep_us(proof_random(KILL_WITHIN_US));
        kill(pid, SIGKILL);
    }
    int status = child_wait(pid);
    storm->killed[writer] += status == 128 + SIGKILL;
    return status == 0;
}

/* A client that loses patience, or the answer, and asks again. */
static int add_again(void *arg)
{
    struct writer *self = arg;
    struct storm *storm = self->storm;
    proof_reseed(self->number + 1);
    for (unsigned i = 0; i < storm->adds; i++) {
        unsigned number = self->number * storm->adds + i;
        for (uint32_t more = proof_random(3); more > 0; more--) {
            send_once(storm, self->number, number, proof_random(2) == 0);
            storm->repeated[self->number]++;
        }
        storm->acknowledged[self->number] += send_once(storm, self->number, number, false);
    }
    return 0;
}

static void prove_adds(unsigned writers, unsigned adds)
{
    struct storm *storm = storm_make(writers, adds);
    storm_run(storm, add_all, NULL);
    judge("storm", storm, "");
    storm_free(storm);
}

static void prove_killed(unsigned adds, unsigned kills, unsigned keys)
{
    struct storm *storm = storm_make(4, adds);
    char detail[96];
    storm->keys = keys;
    storm_run(storm, add_again, NULL);
    unsigned killed = total(storm->killed);
    snprintf(detail, sizeof detail, " to %u files with ids, %u sent again, %u killed", keys,
             total(storm->repeated), killed);
    judge("killed", storm, detail);
    if (killed < kills)
        proof_say(false, "killed: only %u of at least %u processes died", killed, kills);
    storm_free(storm);
}

/* ---- reads ---------------------------------------------------------------------------------- */

static void note_text(struct storm *storm, const char *text, size_t size)
{
    char hash[HASH_SIZE];
    text_hash(text, size, hash);
    if (storm->different > 0 && strcmp(storm->hashes[storm->different - 1], hash) == 0)
        return;
    if (storm->different < MOST_READS)
        snprintf(storm->hashes[storm->different++], HASH_SIZE, "%s", hash);
}

/* A tight loop over the file, as any program would read it. */
static int read_all(void *arg)
{
    struct storm *storm = arg;
    bool met = false;
    while (!*(volatile bool *)&storm->over) {
        size_t size;
        int64_t start = proof_us();
        char *text = path_read(storm->home.memory, &size);
        int64_t took = proof_us() - start;
        if (took > storm->longest_us)
            storm->longest_us = took;
        storm->reads++;
        storm->absent += met && !text; // once there, it is never gone
        if (text) {
            met = true;
            note_text(storm, text, size);
        }
        free(text);
    }
    return 0;
}

static void prove_reads(unsigned writers, unsigned adds)
{
    struct storm *storm = storm_make(writers, adds);
    struct ledger ledger;
    unsigned unknown = 0;
    storm_run(storm, add_all, read_all);
    ledger_check(&ledger, storm->home.scope, 0, NULL, NULL);
    for (unsigned i = 0; i < storm->different; i++)
        unknown += !ledger_knows(&ledger, storm->hashes[i]);
    proof_say(unknown == 0 && storm->absent == 0 && storm->different > 1,
              "reads: %lu reads beside %u writers x %u adds, %u versions seen, %u not whole, "
              "%u times absent, slowest %lld us",
              storm->reads, writers, adds, storm->different, unknown, storm->absent,
              (long long)storm->longest_us);
    ledger_free(&ledger);
    storm_free(storm);
}

/* Readers go on and writers give up in time while somebody sits on the lock. */
static void prove_stuck(void)
{
    struct storm *storm = storm_make(1, 1);
    char path[PATH_MAX], *out;
    ethos_add(&storm->home, NULL, "agent-0");
    snprintf(path, sizeof path, "%.2000s/.mem/lock", storm->home.scope);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        proof_die(path);
    const char *get[] = {ethos_program(), "--home", storm->home.path, "memory", "get", NULL};
    const char *add[] = {ethos_program(), "--home", storm->home.path, "memory", "add", "x", NULL};
    int64_t start = proof_us();
    int got = program_run(get, NULL, NULL);
    int64_t read_us = proof_us() - start;
    int busy = program_run(add, NULL, &out);
    int64_t add_us = proof_us() - start - read_us;
    proof_say(got == 0 && busy == 6 && read_us < 1000000 && add_us < 20000000,
              "stuck: with the lock held by another, a read took %lld us, an add gave up after "
              "%lld ms with exit %d",
              (long long)read_us, (long long)add_us / 1000, busy);
    if (busy != 6)
        proof_note("%s", out);
    free(out);
    close(fd);
    storm_free(storm);
}

/* ---- compare and swap ----------------------------------------------------------------------- */

/* Reads the counter and its revision; false when the answer is not understood. */
static bool counter_read(const struct home *home, unsigned *value, char revision[HASH_SIZE])
{
    const char *words[] = {ethos_program(), "--home", home->path,   "--json", "memory",
                           "get",           "--key",  "counter.md", NULL};
    char *out;
    bool ok = program_run(words, NULL, &out) == 0;
    json_t *json = json_loads(out, 0, NULL);
    const char *content = json_string_value(json_object_get(json, "content"));
    const char *found = json_string_value(json_object_get(json, "revision"));
    *value = content ? (unsigned)strtoul(content, NULL, 10) : 0;
    snprintf(revision, HASH_SIZE, "%s", found ? found : "absent");
    ok = ok && content;
    json_decref(json);
    free(out);
    return ok;
}

static int raise_counter(void *arg)
{
    struct writer *self = arg;
    struct storm *storm = self->storm;
    while (storm->acknowledged[self->number] < storm->adds) {
        unsigned value;
        char revision[HASH_SIZE], next[16];
        if (!counter_read(&storm->home, &value, revision))
            return 1;
        snprintf(next, sizeof next, "%u", value + 1);
        const char *words[] = {
            ethos_program(), "--home",     storm->home.path, "-q",     "memory", "replace", next,
            "--key",         "counter.md", "--if-match",     revision, NULL};
        int status = program_run(words, NULL, NULL);
        if (status != 0 && status != 4)
            return 1;
        storm->acknowledged[self->number] += status == 0;
        storm->repeated[self->number] += status == 4;
    }
    return 0;
}

static void prove_cas(unsigned writers, unsigned raises)
{
    struct storm *storm = storm_make(writers, raises);
    char revision[HASH_SIZE];
    unsigned value;
    storm_run(storm, raise_counter, NULL);
    bool ok = counter_read(&storm->home, &value, revision);
    proof_say(ok && value == writers * raises && total(storm->acknowledged) == value,
              "cas: %u writers x %u raises of one counter: it stands at %u, %u stale attempts "
              "refused",
              writers, raises, value, total(storm->repeated));
    storm_free(storm);
}

/* ---- control -------------------------------------------------------------------------------- */

static int add_carelessly(void *arg)
{
    struct writer *self = arg;
    struct storm *storm = self->storm;
    for (unsigned i = 0; i < storm->adds; i++) {
        char *text = path_read(storm->home.memory, NULL);
        char *more = text_format("%s\nagent-%u\n", text ? text : "",
                                 self->number * storm->adds + i);
        path_put(storm->home.memory, more);
        free(text);
        free(more);
    }
    return 0;
}

static void prove_control(unsigned writers, unsigned adds)
{
    struct storm *storm = storm_make(writers, adds);
    struct tokens tokens;
    size_t size;
    snprintf(storm->home.memory, sizeof storm->home.memory, "%s/MEMORY.md", storm->home.path);
    storm_run(storm, add_carelessly, NULL);
    char *text = path_read(storm->home.memory, &size);
    tokens_make(&tokens, "agent", writers * adds);
    tokens_count(&tokens, text, size);
    unsigned lost = writers * adds - tokens_present(&tokens);
    proof_say(lost > 0, "control: the same by read, change, write loses %u of %u", lost,
              writers * adds);
    free(text);
    tokens_free(&tokens);
    storm_free(storm);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    unsigned writers = proof_number("writers", 8, 16), adds = proof_number("adds", 50, 1000);
    if (writers > MOST_WRITERS)
        writers = MOST_WRITERS;
    if (proof_part("control"))
        prove_control(writers, 50);
    if (proof_part("adds"))
        prove_adds(writers, adds);
    if (proof_part("killed"))
        prove_killed(proof_number("killed", 60, 25000), proof_number("kills", 60, 10000),
                     proof_number("keys", 4, 16));
    if (proof_part("reads"))
        prove_reads(4, proof_number("reads", 50, 1000));
    if (proof_part("cas"))
        prove_cas(4, proof_number("raises", 25, 1000));
    if (proof_long() && proof_part("stuck"))
        prove_stuck();
    return proof_end();
}
