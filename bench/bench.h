/*
 * bench.h: what the benchmark driver and its cases share.
 *
 * A case compares two operations: the floor, what the kernel and a careful hand take, and the
 * subject, what we take. Every round runs all cases in random order, the two sides of a case one
 * right after the other, again in random order; the ratio is taken inside the round.
 */
#ifndef ETHOS_BENCH_H
#define ETHOS_BENCH_H

#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <ethos/ethos.h>

#define BENCH_NOTE "The queue moved; its new address is in the deployment notes."
#define BENCH_BUFFER 2097152 /* bytes */

enum bench_place { PLACE_2K, PLACE_20K, PLACE_1M, PLACE_WRITE, PLACE_HAND, PLACES };

/*
 * A home with two files of one size, USER.md and MEMORY.md, and two turns on it: one that shows just
 * these, and one by the default configuration, which also looks for the memory of the workspace.
 */
struct bench_home {
    char *path;
    char *files[2];         /* absolute paths of both */
    char *absent;           /* where the memory of a workspace would be */
    char *dir;              /* that holds MEMORY.md */
    struct ethos_view text; /* what both hold */
    struct ethos *ethos;
    struct ethos_turn *turn, *turn_default;
};

enum bench_shelf_name {
    SHELF_20K,
    SHELF_HAND,
    SHELF_10,
    SHELF_10000,
    SHELF_QUIET, /* as many, and nobody adds to them */
    SHELF_BARE,  /* the same index alone */
    SHELVES
};

/* A home whose workspace holds notes, with a turn by the default configuration; see notes.c. */
struct bench_shelf {
    char *path;
    char *file, *dir; /* the index, and where it lies with its notes */
    char scope[ETHOS_MAX_SCOPE];
    struct ethos_view index; /* its first text */
    struct ethos *ethos;
    struct ethos_turn *turn; /* NULL: nobody has asked for it */
    unsigned kept;           /* notes added since */
};

enum bench_talk_name { TALK_HAND, TALK_1000, TALK_100000, TALK_MILLION, TALK_MANY, TALKS };

#define HAND_STATEMENTS 6

/* A database of sessions, through our store and by an own connection; see sessions.c. */
struct bench_talk {
    struct ethos_sessions *sessions; /* NULL: nobody has asked for it */
    struct sqlite3 *hand;
    struct sqlite3_stmt *statements[HAND_STATEMENTS];
    unsigned appended;
};

enum bench_crew_name { CREW_GROUP, CREW_ALONE, CREWS };
#define CREW 64 /* threads */

enum bench_server_name { SERVER_10, SERVER_10000, PEER_10, PEER_10000, SERVERS };

/* A server that speaks MCP on its standard input and output; see mcp.c. */
struct bench_server {
    pid_t pid; /* 0: not running */
    int in, out;
    unsigned reads;
};

struct bench {
    char *build; /* the directory with the programs, absolute */
    char *root;  /* of everything temporary; its folder "project" is the current directory */
    struct bench_home homes[PLACES];
    struct bench_shelf shelves[SHELVES];
    char *buffer; /* BENCH_BUFFER, for those who work by hand */
    struct bench_talk talks[TALKS];
    struct ethos_sessions *searched; /* NULL: nobody has asked for it */
    struct bench_crew *crews[CREWS]; /* NULL: nobody has asked for it */
    struct bench_server servers[SERVERS], started;
    unsigned turns; /* added to the conversations of hook.c */
};

/* Does the operation `count` times, or ends the program: a wrong result has no speed. */
typedef void bench_fn(struct bench *bench, int arg, unsigned count);

struct bench_op {
    const char *name;
    bench_fn *run;
    int arg;
};

struct bench_case {
    const char *name;
    const struct bench_op *floor, *subject;
    unsigned count;                       /* operations in one sample */
    double target;                        /* the ratio not to exceed; 0: reported only */
    double least;                         /* the ratio to reach; 0: none */
    bool large;                           /* only when WORD names it: making it takes long */
    const char *program;                  /* that must be on PATH or among the peers, or NULL */
    void (*prepare)(struct bench *bench); /* before each sample, not timed; or NULL */
    bench_fn *open;                       /* likewise, with the argument of the operation */
};

/* Medians over the rounds; times are seconds of one operation. */
struct bench_result {
    const struct bench_case *of;
    bool skipped;
    double floor_wall, floor_cpu, subject_wall, subject_cpu;
    double ratio, low, high; /* median and quartiles of the rounds' ratios */
};

struct bench_run {
    struct bench_result *results;
    size_t count;
    unsigned rounds;
    const char *filesystem; /* under the homes */
    double load[2];         /* average of the last minute, before and after */
};

/* ---- home.c ---------------------------------------------------------------------------------- */

void bench_open(struct bench *bench, const char *build);
void bench_close(struct bench *bench); /* removes everything temporary */

/* Says what failed and why (errno), removes everything temporary and ends the program. */
_Noreturn void bench_die(const struct bench *bench, const char *what);
_Noreturn void bench_die_of(const struct bench *bench, const struct ethos_error *error);

/* A file as an editor saved it some time ago: no limit of ours applies. */
void bench_fill(const struct bench *bench, const char *path, struct ethos_view text);

/* Gives MEMORY.md of PLACE_WRITE and PLACE_HAND its first text back. */
void bench_restore(struct bench *bench);

/* ---- notes.c --------------------------------------------------------------------------------- */

const char *shelf_home(struct bench *bench, int which);
void notes_restore(struct bench *bench); /* the indexes of all shelves but the largest */
void notes_close(struct bench *bench);

/* ---- group.c --------------------------------------------------------------------------------- */

void crews_close(struct bench *bench);

/* ---- sessions.c ------------------------------------------------------------------------------ */

void talks_close(struct bench *bench);

/* ---- search.c -------------------------------------------------------------------------------- */

void searched_close(struct bench *bench);

/* Prints a table: what a search costs at 10,000, 100,000 and 1,000,000 messages. Takes minutes. */
void search_growth(struct bench *bench);

/* ---- recall.c -------------------------------------------------------------------------------- */

/* A home with so many paragraphs of notes, indexed; a question of their words, frequent
 * and rare, that none of them answers. Made when it is first asked for. */
const char *recall_home(struct bench *bench, unsigned count, char question[], size_t size);

/* Prints what questions cost, by how much there is. */
void recall_growth(struct bench *bench);

/* ---- measure.c ------------------------------------------------------------------------------- */

void bench_measure(struct bench *bench, struct bench_run *run);

/* ---- report.c -------------------------------------------------------------------------------- */

void bench_table(const struct bench_run *run, FILE *out);
void bench_markdown(const struct bench_run *run, FILE *out);

/* ---- operations ------------------------------------------------------------------------------ */

/* prefetch.c, sync.c; arg is an enum bench_place */
bench_fn read_by_hand, look_by_hand, tail_by_hand;
bench_fn prefetch_plain, prefetch_default, prefetch_guarded, prefetch_receipt;
bench_fn add_by_hand, add_by_sync;

/* group.c; arg is an enum bench_crew_name */
bench_fn add_by_crew;

/* notes.c; arg is an enum bench_shelf_name */
bench_fn remember_fresh, remember_by_hand, remember_twice_by_hand;
bench_fn prefetch_shelf;

/* sessions.c; arg is an enum bench_talk_name */
bench_fn append_by_hand, append_stored, list_by_hand, list_stored;

/* search.c; arg is an enum bench_search */
enum bench_search { SEARCH_RARE, SEARCH_COMMON, SEARCHES };
bench_fn search_by_hand, search_stored;

/* mcp.c; arg is an enum bench_server_name */
bench_fn start_server, read_note, read_fresh; /* read_fresh: from what start_server left */
void servers_reap(struct bench *bench);       /* what start_server left */
void servers_close(struct bench *bench);

/* hook.c; arg is an enum bench_hook */
enum bench_hook { HOOK_START, HOOK_PROMPT, HOOK_TURN };
bench_fn run_hook, run_hook_at, record_by_hand;
void hook_prepare(struct bench *bench); /* one more turn */

/* process.c; arg is an enum bench_program */
enum bench_program {
    PROGRAM_TRIVIAL,
    PROGRAM_VERSION,
    PROGRAM_PREFETCH_2K,
    PROGRAM_PREFETCH_20K,
    PROGRAM_CAT,
    PROGRAM_NODE,
    PROGRAM_ADD_BY_HAND,
    PROGRAM_ADD,
};
bench_fn run_program;
void program_spawn(const struct bench *bench, char *const argv[],
                   const posix_spawn_file_actions_t *actions);

/* Where PATH leads for a name, or where it is among the peers; false when it leads nowhere. */
bool program_find(const char *name, char out[PATH_MAX]);

#endif
