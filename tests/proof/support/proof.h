/*
 * proof.h: what the programs of tests/proof share: figures, homes, processes, files.
 *
 * A proof drives the real thing from outside and counts. Each statement it makes is one TAP line
 * whose text is the figures ("storm: 8 writers x 50 adds, 400 of 400 present, 0 doubled"). Without
 * arguments a program runs its small form, with --long the figures of docs/promises.md; --NAME N
 * sets one number. Nothing here uses the code under test except deed.c.
 */
#ifndef TESTS_PROOF_H
#define TESTS_PROOF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- figures -------------------------------------------------------------------------------- */

/* Keeps the arguments for proof_number; call first. */
void proof_begin(int argc, char **argv);

bool proof_long(void);

/* The number after --name on the command line, else the small or the long figure. */
unsigned proof_number(const char *name, unsigned small, unsigned large);

/* Whether to run the part of a program with this name: all, or those named by --only PART. */
bool proof_part(const char *name);

/* One statement, true or not. Returns ok. */
bool proof_say(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One that cannot be tried here; in the long form that is a failure unless ALLOW_SKIP names it. */
void proof_skip(const char *name, const char *why);

/* A remark for whoever reads a failure; only the first of many are shown. */
void proof_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the plan; the exit status of main. */
int proof_end(void);

/* The test cannot go on. */
_Noreturn void proof_die(const char *what);

/* Numbers from a fixed seed (--seed N), the same in every run of the same process. */
uint32_t proof_random(uint32_t below);
void proof_reseed(uint32_t salt);

int64_t proof_us(void); /* monotonic */
void proof_sleep_us(unsigned us);

/* ---- homes ---------------------------------------------------------------------------------- */

/* One home directory of the program and the places in it that proofs look at. */
struct home {
    char path[PATH_MAX / 4];
    char scope[PATH_MAX / 2];  /* personalities/default, or memories in it */
    char memory[PATH_MAX - 1]; /* MEMORY.md in it, or PLACE_TREE_KEY */
    bool tree;
};

#define PLACE_TREE_KEY "d/MEMORY.md"

/* On disk below $TMPDIR or /tmp; in memory, where there is /dev/shm, for proofs of single calls. */
enum place { PLACE_DISK, PLACE_MEMORY };

/* An empty private directory; place_remove takes it away. */
void place_make(struct home *home, enum place place);
void place_at(struct home *home, const char *path);
void place_look(struct home *home,
                bool tree); /* where proofs look: at the tree of the memory tool */
void place_remove(const struct home *home);

/* Makes `to` an identical copy: links as links, times as they are. */
void place_copy(const struct home *from, struct home *to);

void tree_remove(const char *path);
void tree_copy(const char *from, const char *to);

/* Calls each with every name in a directory but "." and ".."; none when there is no directory. */
typedef void name_fn(void *arg, const char *dir, const char *name);
void dir_each(const char *dir, name_fn *each, void *arg);

/* ---- files and texts ------------------------------------------------------------------------ */

/* The whole file, terminated; NULL when there is none. free() it. */
char *path_read(const char *path, size_t *out_size);
void path_write(const char *path, const void *data, size_t size); /* in place, as cat > does */
void path_put(const char *path, const char *text);
void path_replace(const char *path, const char *text); /* through a temporary and rename */

/* Lines of a text that are exactly this. */
unsigned text_lines(const char *text, const char *line);

/* "sha256:<64 hex digits>" of the bytes. */
#define HASH_SIZE 72
void text_hash(const void *data, size_t size, char out[HASH_SIZE]);

/* printf into new memory. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- tokens --------------------------------------------------------------------------------- */

/*
 * Lines of the form "<word>-<number>": every agent entry and every human save carries one, so that
 * a text can be read back as a set of numbers.
 */
struct tokens {
    const char *word;
    unsigned count;
    unsigned *seen; /* how often each number stands in the texts given so far */
};
void tokens_make(struct tokens *tokens, const char *word, unsigned count);
void tokens_free(struct tokens *tokens);
void tokens_clear(struct tokens *tokens);
void tokens_count(struct tokens *tokens, const char *text, size_t size);
unsigned tokens_present(const struct tokens *tokens);
unsigned tokens_doubled(const struct tokens *tokens);

/* ---- processes ------------------------------------------------------------------------------ */

/* Runs a function in a child that ends with its result. */
typedef int child_fn(void *arg);
pid_t child_start(child_fn *run, void *arg);

/* Exit status, or 128 + signal. */
int child_wait(pid_t pid);
int child_run(child_fn *run, void *arg);

/* Two children that share some work, each with a home of its own in memory, removed at the end. */
#define WORKERS 2
struct worker {
    unsigned number; /* from 0 */
    struct home home;
    void *arg;
};
void workers_run(child_fn *work, void *arg); /* work is given a struct worker */

/* Memory that children share with their parent; zero. */
void *shared_make(size_t size);

/* Whether a program is installed. */
bool program_found(const char *name);

/*
 * Runs words (NULL ends them) with input on standard input, or nothing; its output is thrown away
 * or, with `out` given, kept in it (free() it). Returns the exit status, or 128 + signal.
 */
int program_run(const char *const *words, const char *input, char **out);

/* The same, killed after so many microseconds if it still runs; 0: never. */
int program_run_killed(const char *const *words, const char *input, unsigned kill_us, char **out);

/* The program under test: $ETHOS_BIN, or the one built beside this program. */
const char *ethos_program(void);

/* The absolute path of what was built beside this program. free() it. */
char *program_beside(const char *name);

/* Starts `ethos --home HOME sync --op-id ID` (or without one) with a JSON update on its input. */
pid_t ethos_start(const struct home *home, const char *op_id, const char *json);

/* An add of one entry through the program; 0 is its acknowledgement. op_id may be NULL. */
int ethos_add(const struct home *home, const char *op_id, const char *entry);

#endif
