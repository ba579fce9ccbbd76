/*
 * bench.c: the benchmark driver: the table of cases, and the command line.
 *
 *     bench [--rounds N] [--markdown FILE] [WORD]
 *     bench --growth
 *     bench --recall
 *
 * Runs the A/A pairs and the cases whose name contains WORD, prints a table and writes the same as a
 * section of bench/RESULTS.md to FILE. Its exit code judges nothing: figures of a busy machine rank,
 * they do not promise. With --growth it prints what a search costs at up to a million messages, with
 * --recall what a question does.
 */
#include "bench.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROUNDS 30
#define CASES (sizeof cases / sizeof *cases)

#define OP(name, run, arg) (&(const struct bench_op){name, run, arg})
#define READ(place) OP("open, fstat, read, fstat, close", read_by_hand, place)
#define LOOK(place) OP("the same and an open that fails", look_by_hand, place)
#define TAIL(place) OP("open, fstat, pread 22 KB, fstat, close", tail_by_hand, place)
#define PREFETCH(place) OP("ethos_prefetch", prefetch_plain, place)
#define DEFAULT(place) OP("ethos_prefetch", prefetch_default, place)
#define GUARDED(place) OP("ethos_prefetch", prefetch_guarded, place)
#define RECEIPT(place) OP("ethos_prefetch", prefetch_receipt, place)
#define BY_HAND OP("the same calls by hand", add_by_hand, PLACE_HAND)
#define BY_SYNC OP("ethos_sync", add_by_sync, PLACE_WRITE)
#define CREW_OF(name, which) OP(name, add_by_crew, which)
#define TWICE OP("the two writes by hand", remember_twice_by_hand, SHELF_HAND)
#define ONCE OP("both in one write by hand", remember_by_hand, SHELF_HAND)
#define REMEMBER(shelf) OP("ethos_remember", remember_fresh, shelf)
#define SHELF(shelf) OP("ethos_prefetch", prefetch_shelf, shelf)
#define INSERT(talk) OP("the same SQL by hand", append_by_hand, talk)
#define APPEND(talk) OP("append", append_stored, talk)
#define SELECT(talk) OP("the same SQL by hand", list_by_hand, talk)
#define LIST(talk) OP("list", list_stored, talk)
#define FTS5(which) OP("FTS5 by hand", search_by_hand, which)
#define SEARCH(which) OP("search", search_stored, which)
#define TRIVIAL OP("trivial C program", run_program, PROGRAM_TRIVIAL)
#define ADDER OP("C program with the calls by hand", run_program, PROGRAM_ADD_BY_HAND)
#define START(which) OP("ethos mcp", start_server, which)
#define PEER_START(which) OP("server-memory", start_server, which)
#define READ_NOTE(which) OP("ethos mcp", read_note, which)
#define PEER_READ(which) OP("server-memory", read_note, which)
#define READ_FRESH(which) OP("ethos mcp", read_fresh, which)
#define PEER_FRESH(which) OP("server-memory", read_fresh, which)
#define RECORDER OP("C program with plain SQL", record_by_hand, 0)
#define HOOK(name, which) OP(name, run_hook, which)
#define RUN(name, which) OP(name, run_program, PROGRAM_##which)

static const struct bench_case cases[] = {
    /* The A/A pairs: a difference smaller than their spread is none. */
    {"A/A: read 2 x 20 KB", READ(PLACE_20K), READ(PLACE_20K), .count = 200},
    {"A/A: durable add", BY_HAND, BY_HAND, .count = 10, .prepare = bench_restore},
    {"A/A: process", TRIVIAL, TRIVIAL, .count = 20},

    /* In process, on a resolved turn. */
    {"prefetch 2 x 2 KB", READ(PLACE_2K), PREFETCH(PLACE_2K), .count = 200, .target = 1.5},
    {"prefetch 2 x 20 KB", READ(PLACE_20K), PREFETCH(PLACE_20K), .count = 200, .target = 1.5},
    {"prefetch 2 x 1 MB, to 2 x 20 KB", PREFETCH(PLACE_20K), PREFETCH(PLACE_1M), .count = 200,
     .target = 1.5},
    {"prefetch 2 x 1 MB, to its tails", TAIL(PLACE_1M), PREFETCH(PLACE_1M), .count = 200},
    {"prefetch 2 x 20 KB, new workspace", LOOK(PLACE_20K), DEFAULT(PLACE_20K), .count = 200},
    {"prefetch 2 x 2 KB, guard on", READ(PLACE_2K), GUARDED(PLACE_2K), .count = 100},
    {"prefetch 2 x 20 KB, guard on", READ(PLACE_20K), GUARDED(PLACE_20K), .count = 100},
    {"prefetch 2 x 20 KB, with receipt", READ(PLACE_20K), RECEIPT(PLACE_20K), .count = 50},
    {"durable add to 20 KB", BY_HAND, BY_SYNC, .count = 10, .target = 1.3,
     .prepare = bench_restore},
    {"add from 64 threads, alone to group", CREW_OF("group commit", CREW_GROUP),
     CREW_OF("each by itself", CREW_ALONE), .count = 256, .least = 10, .prepare = bench_restore},

    /* Notes. */
    {"remember, index of 20 KB", TWICE, REMEMBER(SHELF_20K), .count = 5, .target = 1.3,
     .prepare = notes_restore},
    {"remember, to the fewest syncs", ONCE, REMEMBER(SHELF_20K), .count = 5,
     .prepare = notes_restore},
    {"remember at 10,000 notes, to 10", REMEMBER(SHELF_10), REMEMBER(SHELF_10000), .count = 2,
     .prepare = notes_restore},
    {"prefetch at 10,000 notes, to none", SHELF(SHELF_BARE), SHELF(SHELF_QUIET), .count = 50,
     .target = 1.1},

    /* Sessions. */
    {"append a message", INSERT(TALK_HAND), APPEND(TALK_1000), .count = 20, .target = 1.1},
    {"append at 100,000 messages, to 1,000", APPEND(TALK_1000), APPEND(TALK_100000), .count = 20},
    {"append at a million messages, to 1,000", APPEND(TALK_1000), APPEND(TALK_MILLION), .count = 20,
     .large = true},
    {"list 50 of 10,000 sessions", SELECT(TALK_MANY), LIST(TALK_MANY), .count = 5, .target = 1.2},
    {"search 100,000 messages, rare word", FTS5(SEARCH_RARE), SEARCH(SEARCH_RARE), .count = 20,
     .target = 1.2},
    {"search 100,000 messages, common word", FTS5(SEARCH_COMMON), SEARCH(SEARCH_COMMON), .count = 2,
     .target = 1.2},

    /* Whole processes, with the default configuration: the guard is on. */
    {"ethos --version", TRIVIAL, RUN("ethos", VERSION), .count = 20, .target = 1.4},
    {"ethos prefetch, 2 x 2 KB", TRIVIAL, RUN("ethos", PREFETCH_2K), .count = 20, .target = 1.4},
    {"ethos prefetch, 2 x 20 KB", TRIVIAL, RUN("ethos", PREFETCH_20K), .count = 20, .target = 1.4},
    {"cat of 2 x 20 KB", TRIVIAL, RUN("cat", CAT), .count = 20, .program = "cat"},
    {"node -e 0, to ethos prefetch", RUN("ethos", PREFETCH_20K), RUN("node", NODE), .count = 1,
     .program = "node"},
    {"ethos memory add to 20 KB", ADDER, RUN("ethos", ADD), .count = 5, .prepare = bench_restore},

    /* Hooks, as an agent runs them; a conversation with a transcript of 5 MB. */
    {"hook: session start", TRIVIAL, HOOK("ethos hook", HOOK_START), .count = 10, .target = 2,
     .prepare = hook_prepare},
    {"hook: prompt", TRIVIAL, HOOK("ethos hook", HOOK_PROMPT), .count = 10, .target = 2,
     .prepare = hook_prepare},
    {"hook: prompt, 10,000 passages", TRIVIAL, OP("ethos hook", run_hook_at, 10000), .count = 10,
     .target = 3, .prepare = hook_prepare},
    {"hook: end of turn", RECORDER, HOOK("ethos hook", HOOK_TURN), .count = 1, .target = 2,
     .prepare = hook_prepare},

    /* Under an agent, beside what people use now. */
    {"MCP: start to tools/list", START(SERVER_10), PEER_START(PEER_10), .count = 1, .least = 100,
     .program = "mcp-server-memory", .prepare = servers_reap},
    {"MCP: first 50 reads, 10 notes", READ_FRESH(SERVER_10), PEER_FRESH(PEER_10), .count = 50,
     .program = "mcp-server-memory", .open = start_server},
    {"MCP: first 50 reads, 10,000 notes", READ_FRESH(SERVER_10000), PEER_FRESH(PEER_10000),
     .count = 50, .program = "mcp-server-memory", .open = start_server},
    {"MCP: read one of 10 notes", READ_NOTE(SERVER_10), PEER_READ(PEER_10), .count = 50,
     .least = 20, .program = "mcp-server-memory"},
    {"MCP: read one of 10,000 notes", READ_NOTE(SERVER_10000), PEER_READ(PEER_10000), .count = 50,
     .least = 500, .program = "mcp-server-memory"},
    {"MCP: one of 10,000 notes, to 10", READ_NOTE(SERVER_10), READ_NOTE(SERVER_10000), .count = 50},
};

struct arguments {
    unsigned rounds;
    const char *markdown;
    const char *word;
    bool growth, recall;
};

static void usage(void)
{
    fputs("usage: bench [--rounds N] [--markdown FILE] [--growth] [--recall] [WORD]\n", stderr);
    exit(2);
}

static struct arguments parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'},
        {"markdown", required_argument, NULL, 'm'},
        {"growth", no_argument, NULL, 'g'},
        {"recall", no_argument, NULL, 'q'},
        {NULL, 0, NULL, 0},
    };
    struct arguments arguments = {LEAST_ROUNDS, NULL, "", false, false};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'r')
            arguments.rounds = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'm')
            arguments.markdown = optarg;
        else if (option == 'g')
            arguments.growth = true;
        else if (option == 'q')
            arguments.recall = true;
        else
            usage();
    }
    if (arguments.rounds < LEAST_ROUNDS) {
        fprintf(stderr, "bench: fewer than %d rounds say nothing\n", LEAST_ROUNDS);
        exit(2);
    }
    if (optind < argc)
        arguments.word = argv[optind++];
    if (optind < argc)
        usage();
    return arguments;
}

static void choose_cases(const char *word, struct bench_run *run)
{
    for (size_t i = 0; i < CASES; i++) {
        if (strncmp(cases[i].name, "A/A", 3) == 0 ||
            (strstr(cases[i].name, word) && (*word || !cases[i].large)))
            run->results[run->count++].of = &cases[i];
    }
}

/* The directory above that of this program: where the Makefile puts everything. */
static void find_build(char *argv0)
{
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(argv0, '/');
        if (slash)
            *slash = 0;
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments = parse(argc, argv);
    struct bench_result results[CASES] = {0};
    struct bench_run run = {.results = results, .rounds = arguments.rounds};
    struct bench bench = {0};
    FILE *markdown = arguments.markdown ? fopen(arguments.markdown, "w") : NULL;
    if (arguments.markdown && !markdown) {
        perror(arguments.markdown);
        return 1;
    }
    choose_cases(arguments.word, &run);
    find_build(argv[0]);
    bench_open(&bench, argv[0]);
    if (arguments.growth)
        search_growth(&bench);
    else if (arguments.recall)
        recall_growth(&bench);
    else
        bench_measure(&bench, &run);
    bench_close(&bench);
    if (arguments.growth || arguments.recall)
        return 0;
    bench_table(&run, stdout);
    if (markdown) {
        bench_markdown(&run, markdown);
        return fclose(markdown) == 0 ? 0 : 1;
    }
    return 0;
}
