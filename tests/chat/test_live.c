/*
 * test_live.c: ethos chat in a terminal of its own: keys, pastes, signals, and the modes that it leaves behind.
 *
 * The tests wait for what is shown, never for a time; a wait that takes WAIT_MS has failed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include "../support/temp.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "chat/terminal/keys.h"

#define WAIT_MS 20000
#define MAX_OUTPUT 67108864
#define ROWS 24
#define COLUMNS 80
#define QUESTION "\033[6n"

static char programs[PATH_MAX]; /* build/test */

/* A terminal with a program in it, and the model that it asks. */
struct place {
    struct temp home;
    int fd, slave; /* the slave stays open, so that the terminal outlives the program */
    pid_t pid;
    struct termios modes; /* before */
    struct str output;
    size_t seen, answered; /* bytes of the output */
};

static void make_home(struct place *place, const char *script)
{
    temp_make(&place->home);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.ethos", place->home.path);
    assert_int_equal(mkdir(path, 0700), 0);
    temp_write(&place->home, ".ethos/config.yaml", "provider: openai-compat\nmodel: stub\n");
    temp_write(&place->home, "script", script);
}

static void become(const struct place *place, const char *command)
{
    char path[2 * PATH_MAX], server[PATH_MAX + 64], text[PATH_MAX];
    snprintf(path, sizeof path, "%s/bin:%s", programs, getenv("PATH"));
    snprintf(server, sizeof server, "%s/tests/cli/model_server", programs);
    snprintf(text, sizeof text, "ethos config set baseUrl \"$MODEL_URL\" -q; %s", command);
    setenv("PATH", path, 1);
    setenv("HOME", place->home.path, 1);
    setenv("TERM", "xterm-256color", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("TMUX");
    unsetenv("NO_COLOR");
    unsetenv("ACCESSIBLE");
    unsetenv("SSH_CONNECTION");
    if (chdir(place->home.path) == 0)
        execl(server, server, "script", "sh", "-c", text, (char *)NULL);
    _exit(127);
}

/* A program in the terminal. */
static void start(struct place *place, const char *command)
{
    place->pid = fork();
    assert_true(place->pid >= 0);
    if (place->pid == 0) {
        close(place->fd);
        login_tty(place->slave);
        become(place, command);
    }
}

static void open_place(struct place *place, const char *script, const char *command)
{
    struct winsize size = {.ws_row = ROWS, .ws_col = COLUMNS};
    *place = (struct place){0};
    str_init(&place->output, MAX_OUTPUT);
    make_home(place, script);
    assert_int_equal(openpty(&place->fd, &place->slave, NULL, NULL, &size), 0);
    assert_int_equal(tcgetattr(place->slave, &place->modes), 0);
    start(place, command);
}

static void close_place(struct place *place)
{
    close(place->fd);
    close(place->slave);
    str_release(&place->output);
    temp_remove(&place->home);
}

static void type(const struct place *place, const char *keys)
{
    assert_int_equal(os_write_all(place->fd, keys, strlen(keys)), 0);
}

/* A terminal says where its cursor is; here every emoji takes two columns. */
static void answer_questions(struct place *place)
{
    const char *at;
    while ((at = strstr(place->output.data + place->answered, QUESTION))) {
        place->answered = (size_t)(at - place->output.data) + strlen(QUESTION);
        type(place, "\033[1;3R");
    }
}

static bool read_output(struct place *place, int timeout_ms)
{
    char bytes[65536];
    struct pollfd fd = {place->fd, POLLIN, 0};
    if (os_poll(&fd, 1, timeout_ms) <= 0)
        return false;
    ssize_t got = read(place->fd, bytes, sizeof bytes);
    if (got <= 0)
        return false;
    str_add(&place->output, view_of(bytes, (size_t)got));
    answer_questions(place);
    return true;
}

static void fail_waiting(const struct place *place, const char *text)
{
    fprintf(stderr, "waited for \"%s\"; since the last match:\n", text);
    for (const char *c = place->output.data + place->seen; *c; c++)
        fprintf(stderr, *c == '\033' ? "^[" : "%c", *c);
    fprintf(stderr, "\n");
    fail();
}

/* Reads until the text was shown, behind what the last wait found. */
static void await(struct place *place, const char *text)
{
    const char *at;
    int64_t end = os_monotonic_ms() + WAIT_MS;
    while (!(at = strstr(place->output.data + place->seen, text)))
        if (os_monotonic_ms() > end || !read_output(place, WAIT_MS))
            fail_waiting(place, text);
    place->seen = (size_t)(at - place->output.data) + strlen(text);
}

/* The end of the program; its status as waitpid gives it. */
static int await_end(struct place *place)
{
    int status;
    int64_t end = os_monotonic_ms() + WAIT_MS;
    while (waitpid(place->pid, &status, WNOHANG) == 0) {
        read_output(place, 10);
        assert_true(os_monotonic_ms() < end);
    }
    while (read_output(place, 0))
        continue;
    return status;
}

static void assert_sane(const struct place *place)
{
    struct termios now;
    assert_int_equal(tcgetattr(place->slave, &now), 0);
    assert_int_equal(now.c_lflag, place->modes.c_lflag);
    assert_int_equal(now.c_iflag, place->modes.c_iflag);
    assert_int_equal(now.c_oflag, place->modes.c_oflag);
    const char *begin = strstr(place->output.data, "\033[?2004h"), *end = NULL;
    for (const char *at = place->output.data; (at = strstr(at, "\033[?2004l")); at++)
        end = at;
    assert_non_null(begin);
    assert_non_null(end);
    assert_null(strstr(end, "\033[?2004h"));
}

/* Since the last match, before it. */
static bool has_requests(const struct place *place, const char *text)
{
    char *requests = temp_read(&place->home, "script.requests", NULL);
    bool found = requests && strstr(requests, text);
    free(requests);
    return found;
}

static pid_t chat_pid(const struct place *place)
{
    char *text = temp_read(&place->home, "pid", NULL);
    assert_non_null(text);
    pid_t pid = (pid_t)atol(text);
    free(text);
    return pid;
}

#define CHAT "echo $$ >pid; exec ethos chat"
#define PROMPT "\033[1m> \033[m"

/* ---- messages ---------------------------------------------------------------------------------- */

static void test_talk(void **state)
{
    struct place place;
    (void)state;
    open_place(&place,
               "{\"calls\":[{\"id\":\"c1\",\"name\":\"memory_write\",\"arguments\":"
               "{\"action\":\"add\",\"content\":\"We deploy on Fridays\"}}]}\n"
               "{\"text\":\"**Noted**: Fridays.\"}\n",
               CHAT);
    await(&place, "/help lists the commands");
    type(&place, "We deploy on Fridays\r");
    await(&place, "Tool: memory_write add We deploy on Fridays");
    await(&place, "\033[0;1mNoted\033[0m: Fridays.");
    await(&place, "200 tokens in, 20 out");
    await(&place, "remembered 1 line in MEMORY.md (/undo)");
    await(&place, "\033[0;32m+ We deploy on Fridays\033[m");
    type(&place, "/undo\r");
    await(&place, "undone in MEMORY.md");
    type(&place, "/quit\r");
    assert_int_equal(await_end(&place), 0);
    assert_sane(&place);
    close_place(&place);
}

static void test_pastes(void **state)
{
    struct place place;
    struct str text;
    (void)state;
    open_place(&place, "{\"text\":\"first\"}\n{\"text\":\"second\"}\n", CHAT);
    await(&place, "/help lists the commands");
    str_init(&text, MAX_OUTPUT);
    str_adds(&text, "\033[200~");
    for (int i = 1; i <= 200; i++)
        str_printf(&text, "line %d\r", i);
    str_adds(&text, "\003\032\033[201~");
    type(&place, text.data);
    await(&place, "line 200");
    assert_null(strstr(place.output.data, "waiting"));
    type(&place, "\r");
    await(&place, "first");
    await(&place, "100 tokens in");
    assert_true(has_requests(&place, "line 1\\nline 2\\n"));
    assert_true(has_requests(&place, "line 199\\nline 200\\n\\u0003\\u001a\""));
    /* Without marks: a carriage return with more behind it is a line break. */
    type(&place, "one\rtwo\rthree");
    await(&place, "three");
    type(&place, "\r");
    await(&place, "second");
    assert_true(has_requests(&place, "one\\ntwo\\nthree\""));
    type(&place, "\004");
    await(&place, "\033[?2004l");
    assert_int_equal(await_end(&place), 0);
    str_release(&text);
    close_place(&place);
}

/* ---- while an answer arrives ------------------------------------------------------------------- */

static void test_typing_while_it_streams(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"pieces\":[\"Begun \",\"and ended.\"]}\n{\"text\":\"second\"}\n", CHAT);
    await(&place, "/help lists the commands");
    type(&place, "first question\r");
    await(&place, "Begun");
    type(&place, "next");
    await(&place, "next");
    type(&place, "\r");
    await(&place, "queued: next");
    type(&place, "draft");
    await(&place, "draft");
    temp_write(&place.home, "script.go", "");
    await(&place, "and ended.");
    await(&place, "second");
    await(&place, PROMPT "draft");
    assert_true(has_requests(&place, "\"next\""));
    type(&place, "\025/quit");
    await(&place, "/quit");
    type(&place, "\r");
    assert_int_equal(await_end(&place), 0);
    close_place(&place);
}

/* What waited comes back before the draft, and nothing is sent. */
static void test_escape_aborts(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"Begun\",\"then\":\"hang\"}\n{\"text\":\"second\"}\n", CHAT);
    await(&place, "/help lists the commands");
    type(&place, "\033");
    type(&place, "first question\r");
    await(&place, "Begun");
    type(&place, "waits");
    await(&place, "waits");
    type(&place, "\r");
    await(&place, "queued: waits");
    type(&place, "\033[D\033[Cdraft"); // arrows abort nothing
    await(&place, "draft");
    type(&place, "\033");
    await(&place, "Aborted.");
    await(&place, PROMPT "waits");
    await(&place, "  draft");
    assert_false(has_requests(&place, "\"waits\""));
    type(&place, "\r");
    await(&place, "second");
    assert_true(has_requests(&place, "\"waits\\ndraft\""));
    await(&place, "100 tokens in"); // or Ctrl-C would stop the answer
    type(&place, "\003");
    await(&place, "press Ctrl-C again to leave");
    type(&place, "\003");
    assert_int_equal(await_end(&place), 0);
    assert_sane(&place);
    close_place(&place);
}

/* From now on it is that time in the program, until it is set again. */
static void set_clock(const struct place *place, int64_t ms)
{
    char text[32], from[PATH_MAX], to[PATH_MAX];
    snprintf(text, sizeof text, "%" PRId64, ms);
    snprintf(from, sizeof from, "%s/clock.new", place->home.path);
    snprintf(to, sizeof to, "%s/clock", place->home.path);
    temp_write(&place->home, "clock.new", text);
    assert_int_equal(rename(from, to), 0);
}

/*
 * The program's clock stands still, however slow the machine is. An ESC comes in one write with the letter before it:
 * when that is shown, the ESC was read, and what is typed next is a read of its own.
 */
static void test_escape_in_pieces(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"Begun\",\"then\":\"hang\"}\n",
               "ETHOS_MONOTONIC_MS=clock; export ETHOS_MONOTONIC_MS; " CHAT);
    await(&place, "/help lists the commands");
    type(&place, "first question\r");
    await(&place, "Begun");
    type(&place, "ab");
    await(&place, PROMPT "ab");
    int64_t now = os_monotonic_ms();
    set_clock(&place, now);
    type(&place, "\033[Dc"); // whole
    await(&place, PROMPT "acb");
    type(&place, "d\033");
    await(&place, PROMPT "acdb");
    type(&place, "[De"); // split
    await(&place, PROMPT "acedb");
    type(&place, "f\033[");
    await(&place, PROMPT "acefdb");
    type(&place, "Cg");
    await(&place, PROMPT "acefdgb");
    type(&place, "h\033");
    await(&place, PROMPT "acefdghb");
    assert_null(strstr(place.output.data, "stopping"));
    set_clock(&place, now + KEYS_ESCAPE_MS); // silence: a key
    await(&place, "stopping");
    await(&place, "Aborted.");
    set_clock(&place, now + KEYS_SEQUENCE_MS - 1);
    type(&place, "[Di"); // what is left of an arrow
    await(&place, PROMPT "acefdghib");
    type(&place, "j\033");
    await(&place, PROMPT "acefdghijb");
    set_clock(&place, now + 2 * KEYS_SEQUENCE_MS);
    type(&place, "[D"); // keys of their own
    await(&place, PROMPT "acefdghij[Db");
    type(&place, "\025\013\004");
    assert_int_equal(await_end(&place), 0);
    assert_sane(&place);
    close_place(&place);
}

static void test_question(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"unused\"}\n", CHAT);
    temp_write(&place.home, "fact", "");
    await(&place, "/help lists the commands");
    type(&place, "/quit\r");
    assert_int_equal(await_end(&place), 0);
    start(&place, "ethos memory add 'The code word is tulip-7'; " CHAT);
    await(&place, "/help lists the commands");
    type(&place, "/forget tulip-7\r");
    await(&place, "Purge this for good?");
    await(&place, "y yes, n no");
    type(&place, " 1\r\033[200~y\033[201~"); // none of these is an answer
    await(&place, "y yes, n no");
    type(&place, "y");
    await(&place, "Purged.");
    type(&place, "/quit\r");
    assert_int_equal(await_end(&place), 0);
    close_place(&place);
}

/* ---- the input ---------------------------------------------------------------------------------- */

static void test_history(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"Hello.\"}\n", CHAT);
    await(&place, "/help lists the commands");
    type(&place, "two\012lines \\n");
    await(&place, "lines");
    type(&place, "\r");
    await(&place, "100 tokens in");
    type(&place, "a draft");
    await(&place, "a draft");
    type(&place, "\003"); // stays in the history
    type(&place, "\004");
    assert_int_equal(await_end(&place), 0);
    place.seen = place.output.size;
    start(&place, CHAT);
    await(&place, "/help lists the commands");
    type(&place, "\033[A");
    await(&place, PROMPT "a draft");
    type(&place, "\033[A");
    await(&place, PROMPT "two");
    await(&place, "  lines \\n");
    type(&place, "\033[B\033[B\033[B");
    type(&place, "\022lin");
    await(&place, "search: lin");
    await(&place, PROMPT "two");
    type(&place, "\003\004");
    assert_int_equal(await_end(&place), 0);
    close_place(&place);
}

#define HISTORY ".mem/input-*.txt"
#define INDEX "recall/sessions-*.idx"

static bool has_files(const struct place *place, const char *names)
{
    glob_t found;
    char pattern[PATH_MAX];
    snprintf(pattern, sizeof pattern, "%s/.ethos/%s", place->home.path, names);
    bool has = glob(pattern, 0, NULL, &found) == 0;
    if (has)
        globfree(&found);
    return has;
}

static void test_a_dry_run_stores_nothing_that_was_typed(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"Hello.\"}\n", "exec ethos chat --dry-run");
    await(&place, "/help lists the commands");
    type(&place, "/usage\r");
    await(&place, "This conversation");
    type(&place, "\004");
    assert_int_equal(await_end(&place), 0);
    assert_false(has_files(&place, HISTORY));
    start(&place, CHAT);
    place.seen = place.output.size;
    await(&place, "/help lists the commands");
    type(&place, "/usage\r");
    await(&place, "This conversation");
    type(&place, "\004");
    assert_int_equal(await_end(&place), 0);
    assert_true(has_files(&place, HISTORY));
    close_place(&place);
}

/* The next question does not wait for it. */
static void test_what_was_said_is_indexed_after_the_answer(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"Hello.\"}\n", CHAT);
    await(&place, "/help lists the commands");
    assert_false(has_files(&place, INDEX));
    type(&place, "question\r");
    await(&place, "100 tokens in");
    type(&place, "\004");
    assert_int_equal(await_end(&place), 0);
    assert_true(has_files(&place, INDEX));
    close_place(&place);
}

static void test_completion(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"Hello.\"}\n", CHAT);
    temp_write(&place.home, "apple.txt", "An apple.\n");
    temp_write(&place.home, "apricot.txt", "An apricot.\n");
    await(&place, "/help lists the commands");
    type(&place, "/mem\t");
    await(&place, "/memory ");
    type(&place, "\025/re\t");
    await(&place, "/recall");
    await(&place, "continue another conversation");
    await(&place, PROMPT "/re");
    type(&place, "\025/personality \t");
    await(&place, "/personality default ");
    type(&place, "\025read @a\t\t");
    await(&place, "@apple.txt  @apricot.txt");
    await(&place, PROMPT "read @ap");
    type(&place, "r\t");
    await(&place, "@apricot.txt ");
    type(&place, "\r");
    await(&place, "Hello.");
    assert_true(has_requests(
        &place, "<attachment name=\\\"apricot.txt\\\">\\n> An apricot.\\n> </attachment>"));
    type(&place, "/memory nosuch\t");
    await(&place, "no completions");
    type(&place, "\025\004");
    assert_int_equal(await_end(&place), 0);
    close_place(&place);
}

static void test_editors(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"Hello.\"}\n",
               "export EDITOR='sh ./editor'; unset VISUAL; " CHAT);
    temp_write(&place.home, "editor",
               "test -t 0 && echo in the editor && echo of the editor >>\"$1\"\n");
    await(&place, "/help lists the commands");
    type(&place, "a draft \030\005");
    await(&place, "in the editor");
    await(&place, PROMPT "a draft of the editor");
    type(&place, "\r");
    await(&place, "Hello.");
    assert_true(has_requests(&place, "a draft of the editor\""));
    type(&place, "/memory edit");
    await(&place, "/memory edit");
    type(&place, "\r");
    await(&place, "in the editor");
    await(&place, "The model sees this from the next message on.");
    type(&place, "/memory\r");
    await(&place, "of the editor");
    temp_write(&place.home, "editor", "exit 3\n");
    type(&place, "kept\030\005");
    await(&place, "the editor failed; the message is unchanged");
    await(&place, PROMPT "kept");
    type(&place, "\025\004");
    assert_int_equal(await_end(&place), 0);
    assert_sane(&place);
    close_place(&place);
}

/* ---- signals ----------------------------------------------------------------------------------- */

/* The shell has the terminal as it was; then it goes on where it was. */
static void assert_stopped(struct place *place)
{
    struct termios now;
    await(place, "it stopped");
    assert_int_equal(tcgetattr(place->slave, &now), 0);
    assert_int_equal(now.c_lflag, place->modes.c_lflag);
    type(place, "\r");
    await(place, PROMPT "draft");
}

static void test_suspended(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"Hello.\"}\n",
               "set -m; sh -c 'echo $$ >pid; exec ethos chat'; echo it stopped; read line; fg; "
               "echo it stopped; read line; fg; echo it ended");
    await(&place, "/help lists the commands");
    type(&place, "draft");
    await(&place, "draft");
    type(&place, "\032");
    assert_stopped(&place);
    assert_int_equal(kill(chat_pid(&place), SIGTSTP), 0);
    assert_stopped(&place);
    type(&place, "\r");
    await(&place, "Hello.");
    await(&place, "100 tokens in");
    type(&place, "\004");
    await(&place, "it ended");
    await_end(&place);
    assert_sane(&place);
    close_place(&place);
}

/* The terminal is sane and the message recorded, whatever ends the program while an answer arrives. */
static void end_by(int number, bool restores)
{
    struct place place;
    open_place(&place, "{\"text\":\"Begun\",\"then\":\"hang\"}\n", CHAT);
    await(&place, "/help lists the commands");
    type(&place, "first question\r");
    await(&place, "Begun");
    assert_int_equal(kill(chat_pid(&place), number), 0);
    int status = await_end(&place);
    assert_int_equal(WEXITSTATUS(status), 128 + number);
    if (restores)
        assert_sane(&place);
    else
        assert_int_equal(tcsetattr(place.slave, TCSANOW, &place.modes), 0);
    place.seen = place.output.size;
    temp_write(&place.home, "script", "{\"text\":\"again\"}\n");
    start(&place, CHAT);
    await(&place, "/help lists the commands");
    type(&place, "second question\r");
    await(&place, "again");
    assert_true(has_requests(&place, "\"first question\""));
    type(&place, "/quit\r");
    await_end(&place);
    assert_sane(&place);
    close_place(&place);
}

static void test_terminated(void **state)
{
    (void)state;
    end_by(SIGTERM, true);
    end_by(SIGHUP, true);
}

static void test_crashed(void **state)
{
    (void)state;
    setenv("ASAN_OPTIONS", "handle_abort=0", 1);
    end_by(SIGABRT, true);
    unsetenv("ASAN_OPTIONS");
    end_by(SIGKILL, false);
}

/* ---- terminals of other kinds ------------------------------------------------------------------ */

static void test_without_color(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"**Hello**\"}\n", "NO_COLOR=1 exec ethos chat");
    await(&place, "/help lists the commands");
    type(&place, "question\r");
    await(&place, "Hello");
    await(&place, "100 tokens in");
    type(&place, "\004");
    assert_int_equal(await_end(&place), 0);
    const char *last = strstr(place.output.data, "\033[0m");
    assert_non_null(last); // the one that restores
    assert_null(strstr(last + 1, "\033[0"));
    assert_null(strstr(place.output.data, "\033[0;"));
    assert_null(strstr(place.output.data, "\033[1m"));
    close_place(&place);
}

static void assert_line_by_line(const char *command)
{
    struct place place;
    open_place(&place, "{\"text\":\"**Hello**\"}\n", command);
    await(&place, "> ");
    type(&place, "question\r");
    await(&place, "Hello");
    await(&place, "Done: 100 tokens in, 10 out");
    type(&place, "/quit\r");
    assert_int_equal(await_end(&place), 0);
    assert_null(strchr(place.output.data, '\033'));
    close_place(&place);
}

static void test_line_by_line(void **state)
{
    (void)state;
    assert_line_by_line("TERM=dumb exec ethos chat");
    assert_line_by_line("unset TERM; exec ethos chat");
    assert_line_by_line("ACCESSIBLE=1 exec ethos chat");
    assert_line_by_line("exec ethos chat --plain");
    assert_line_by_line("ethos config set chat.plain on -q; exec ethos chat");
}

#define WORDS                                                                                      \
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "    \
    "sixteen"

static void assert_wrapped(const char *command, bool wraps)
{
    struct place place;
    open_place(&place, "{\"text\":\"" WORDS "\"}\n", command);
    await(&place, "/help lists the commands");
    type(&place, "question\r");
    await(&place, "100 tokens in");
    assert_true(!strstr(place.output.data, WORDS) == wraps);
    type(&place, "\004");
    assert_int_equal(await_end(&place), 0);
    close_place(&place);
}

static void test_wrapping(void **state)
{
    (void)state;
    assert_wrapped(CHAT, true);
    assert_wrapped("ethos config set chat.wrap off -q; " CHAT, false);
}

static void test_title(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"Hello.\"}\n",
               "ethos config set chat.title on -q; d=$(printf 'the\\033[5m shop'); mkdir \"$d\"; "
               "cd \"$d\"; exec ethos chat");
    await(&place, "\033]2;ethos the [5m shop\a");
    await(&place, "/help lists the commands");
    type(&place, "/help\r");
    await(&place, "Esc stops an answer");
    type(&place, "\004");
    assert_int_equal(await_end(&place), 0);
    assert_sane(&place);
    close_place(&place);
}

static void test_into_a_pipe(void **state)
{
    struct place place;
    (void)state;
    open_place(&place, "{\"text\":\"**Hello**\"}\n", "ethos chat 2>&1 | cat -v");
    await(&place, "> ");
    type(&place, "question\r");
    await(&place, "**Hello**");
    type(&place, "/quit\r");
    assert_int_equal(await_end(&place), 0);
    assert_null(strstr(place.output.data, "^["));
    close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_talk),
        cmocka_unit_test(test_pastes),
        cmocka_unit_test(test_typing_while_it_streams),
        cmocka_unit_test(test_escape_aborts),
        cmocka_unit_test(test_escape_in_pieces),
        cmocka_unit_test(test_question),
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_a_dry_run_stores_nothing_that_was_typed),
        cmocka_unit_test(test_what_was_said_is_indexed_after_the_answer),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_editors),
        cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_terminated),
        cmocka_unit_test(test_crashed),
        cmocka_unit_test(test_without_color),
        cmocka_unit_test(test_line_by_line),
        cmocka_unit_test(test_into_a_pipe),
        cmocka_unit_test(test_title),
        cmocka_unit_test(test_wrapping),
    };
    assert_non_null(realpath("build/test", programs)); // bin/ethos, libexec
    return cmocka_run_group_tests(tests, NULL, NULL);
}
