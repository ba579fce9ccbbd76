/*
 * recall.c: what questions cost, by how much there is: notes, and what was said.
 *
 * The words of a text follow Zipf's law. A question has five words, from frequent to rare; shown is the median over
 * questions of one handle. "Add and ask" is one more paragraph or message, and the question that finds it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/view.h"
#include "bench.h"
#include "memory/recall/recall.h"
#include "session/session.h"

#define WORDS 30 /* of a unit */
#define VOCABULARY 30000
#define PER_FILE 50
#define PER_SESSION 100
#define QUESTIONS 101
#define ASKED_WORDS 5

struct recalled {
    struct bench *bench;
    const char *home, *folder;
    struct ethos *ethos;
    struct ethos_sessions *sessions; /* NULL: notes */
    struct ethos_error error;
    double text_bytes;
    uint64_t seed;
    char session[ETHOS_UUID_SIZE];
};

/* Of the processor: the machine has other things to do. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check(struct recalled *self, int code)
{
    if (code != ETHOS_OK)
        bench_die_of(self->bench, &self->error);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static unsigned dice(uint64_t *seed, unsigned sides)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((*seed >> 33) % sides);
}

/* The first words of the vocabulary are the most frequent by far. */
static unsigned any_word(uint64_t *seed)
{
    unsigned span = 1u << (1 + dice(seed, 15));
    return dice(seed, span < VOCABULARY ? span : VOCABULARY);
}

static void put_word(struct str *text, unsigned number)
{
    uint64_t seed = number * UINT64_C(2654435761) + 7;
    for (unsigned left = 3 + dice(&seed, 6); left > 0; left--)
        str_addc(text, (char)('a' + dice(&seed, 26)));
    str_addc(text, ' ');
}

static void make_text(struct recalled *self, struct str *text, unsigned words)
{
    for (unsigned i = 0; i < words; i++)
        put_word(text, any_word(&self->seed));
}

/* ---- making ---------------------------------------------------------------------------------- */

static void put_note(struct recalled *self, const char *name, unsigned number,
                     struct ethos_view text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/personalities/default/%s-%u.md", self->home, name, number);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text.data, text.size) != (ssize_t)text.size)
        bench_die(self->bench, path);
    close(fd);
}

static void make_folder(struct recalled *self, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", self->home, name);
    if (mkdir(path, 0700) != 0)
        bench_die(self->bench, path);
}

static void make_notes(struct recalled *self, unsigned count)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    make_folder(self, "");
    make_folder(self, "/personalities");
    make_folder(self, "/personalities/default");
    for (unsigned i = 0; i < count; i += PER_FILE) {
        str_clear(&text);
        for (unsigned n = 0; n < PER_FILE; n++) {
            make_text(self, &text, WORDS);
            str_adds(&text, "\n\n");
        }
        put_note(self, "note", i, str_view(&text));
        self->text_bytes += (double)text.size;
    }
    str_release(&text);
}

static void begin_session(struct recalled *self, unsigned number)
{
    char key[32];
    snprintf(key, sizeof key, "cli:%u", number);
    const struct ethos_session session = {
        .key = key, .platform = "cli", .model = "", .provider = "", .working_dir = self->folder};
    check(self, self->sessions->ops->create(self->sessions, &session, self->session, &self->error));
}

static void make_messages(struct recalled *self, unsigned count)
{
    struct ethos_message messages[PER_SESSION];
    struct str texts[PER_SESSION];
    for (unsigned i = 0; i < PER_SESSION; i++)
        str_init(&texts[i], SIZE_MAX);
    check(self, ethos_sessions(self->ethos, &self->sessions, &self->error));
    for (unsigned i = 0; i < count; i += PER_SESSION) {
        begin_session(self, i);
        for (unsigned n = 0; n < PER_SESSION; n++) {
            str_clear(&texts[n]);
            make_text(self, &texts[n], WORDS);
            self->text_bytes += (double)texts[n].size;
            messages[n] = (struct ethos_message){.role = n % 2 ? "assistant" : "user",
                                                 .content = str_view(&texts[n])};
        }
        check(self, self->sessions->ops->append(self->sessions, self->session, messages,
                                                PER_SESSION, 0, &self->error));
    }
    for (unsigned i = 0; i < PER_SESSION; i++)
        str_release(&texts[i]);
}

static int add_bytes(void *arg, const struct recall_scope_report *report)
{
    *(double *)arg += (double)report->bytes;
    return ETHOS_OK;
}

const char *recall_home(struct bench *bench, unsigned count, char question[], size_t size)
{
    static const unsigned asked[ASKED_WORDS] = {3, 40, 500, 3000, 9000};
    static char home[PATH_MAX / 2];
    struct recalled self = {.bench = bench, .home = home, .folder = bench->root, .seed = 2};
    struct str text;
    double bytes = 0;
    str_init(&text, SIZE_MAX);
    for (size_t i = 0; i < ASKED_WORDS; i++)
        put_word(&text, asked[i]);
    snprintf(question, size, "%s", text.data);
    str_release(&text);
    if (*home)
        return home;
    snprintf(home, sizeof home, "%s/asked-%u", bench->root, count);
    const struct ethos_options options = {.home = home};
    self.seed = 1;
    make_notes(&self, count);
    check(&self, ethos_open(&options, &self.ethos, &self.error));
    check(&self, recall_index_all(self.ethos, add_bytes, &bytes, &self.error));
    ethos_close(self.ethos);
    return home;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int count_hit(void *arg, const struct recall_hit *hit)
{
    *(unsigned *)arg += hit->text.size > 0;
    return ETHOS_OK;
}

static unsigned ask(struct recalled *self, const char *question)
{
    unsigned hits = 0;
    struct ethos_turn *turn;
    struct recall_report report;
    const struct ethos_request request = {.workspace = self->folder};
    const struct recall_ask asked = {
        .question = view_str(question),
        .limit = 10,
        .quick = !self->sessions, // as hooks ask; what was said is caught up
        .said = self->sessions ? RECALL_SAID_PROJECT : RECALL_SAID_NONE};
    check(self, ethos_turn_new(self->ethos, &request, &turn, &self->error));
    check(self, recall_search(turn, &asked, count_hit, &hits, &report, &self->error));
    ethos_turn_free(turn);
    return hits;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double ask_many(struct recalled *self)
{
    double times[QUESTIONS];
    struct str question;
    str_init(&question, SIZE_MAX);
    for (int i = 0; i < QUESTIONS; i++) {
        str_clear(&question);
        make_text(self, &question, ASKED_WORDS);
        double start = now();
        if (ask(self, question.data) == 0)
            bench_die(self->bench, "recall");
        times[i] = now() - start;
    }
    str_release(&question);
    qsort(times, QUESTIONS, sizeof *times, compare);
    return times[QUESTIONS / 2];
}

static void add_one(struct recalled *self, const char *text, unsigned number)
{
    const struct ethos_message message = {.role = number % 2 ? "assistant" : "user",
                                          .content = view_str(text)};
    if (!self->sessions)
        put_note(self, "added", number, view_str(text));
    else
        check(self, self->sessions->ops->append(self->sessions, self->session, &message, 1, 0,
                                                &self->error));
}

/* Only the question is timed: adding has rows of its own. */
static double add_and_ask(struct recalled *self)
{
    double times[QUESTIONS];
    for (unsigned i = 0; i < QUESTIONS; i++) {
        char text[64];
        snprintf(text, sizeof text, "The word zq%ux is found.", i);
        add_one(self, text, i);
        snprintf(text, sizeof text, "zq%ux", i);
        double start = now();
        if (ask(self, text) == 0)
            bench_die(self->bench, text);
        times[i] = now() - start;
    }
    qsort(times, QUESTIONS, sizeof *times, compare);
    return times[QUESTIONS / 2];
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_row(struct bench *bench, unsigned count, bool said)
{
    char home[PATH_MAX / 2], folder[PATH_MAX / 2];
    double bytes = 0;
    struct recalled self = {.bench = bench, .home = home, .folder = folder, .seed = 1};
    snprintf(home, sizeof home, "%s/recall-%u-%d", bench->root, count, said);
    snprintf(folder, sizeof folder, "%s/project", bench->root);
    const struct ethos_options options = {.home = home};
    if (!said)
        make_notes(&self, count);
    check(&self, ethos_open(&options, &self.ethos, &self.error));
    if (said)
        make_messages(&self, count);
    double start = now();
    check(&self, recall_index_all(self.ethos, add_bytes, &bytes, &self.error));
    double took = now() - start;
    printf("| %s | %u | %.1f | %.1f | %.0f | %.2f |", said ? "messages" : "paragraphs of notes",
           count, self.text_bytes / 1e6, bytes / 1e6, self.text_bytes / 1e6 / took,
           ask_many(&self) * 1e3);
    printf(" %.2f |\n", add_and_ask(&self) * 1e3);
    fflush(stdout);
    ethos_close(self.ethos);
}

void recall_growth(struct bench *bench)
{
    static const unsigned sizes[] = {1000, 10000, 100000};
    printf("| what | units | text MB | index MB | indexed, MB/s | question, ms | and something "
           "new, ms |\n|---|---|---|---|---|---|---|\n");
    for (int said = 0; said < 2; said++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            print_row(bench, sizes[i], said != 0);
}
