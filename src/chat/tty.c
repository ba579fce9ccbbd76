/*
 * tty.c: the modes of the terminal.
 */
#include "chat/tty.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/system/os.h"
#include "base/view.h"

#define BEGIN_PASTES "\033[?2004h"
#define RESTORE "\033[?2004l\033[?25h\033[?2026l\033[0m"

static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT};
#define FATAL_COUNT (sizeof fatal / sizeof *fatal)

/* A process has one terminal, and a signal handler no argument. */
static struct {
    volatile sig_atomic_t raw;
    struct termios before;
    struct sigaction actions[FATAL_COUNT];
} state;

/* The terminal first, then what the signal did before. */
static void handle_fatal(int number)
{
    tty_leave();
    raise(number);
}

static void handle_fatal_signals(bool heed)
{
    struct sigaction action = {.sa_handler = handle_fatal};
    for (size_t i = 0; i < FATAL_COUNT; i++)
        sigaction(fatal[i], heed ? &action : &state.actions[i], heed ? &state.actions[i] : NULL);
}

static int set_modes(const struct termios *modes)
{
    int code = tcsetattr(STDIN_FILENO, TCSADRAIN, modes);
    while (code != 0 && errno == EINTR)
        code = tcsetattr(STDIN_FILENO, TCSADRAIN, modes);
    return code;
}

int tty_enter(void)
{
    struct termios raw;
    if (state.raw)
        return 0;
    if (tcgetattr(STDIN_FILENO, &state.before) != 0)
        return -1;
    raw = state.before;
    raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
    raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_oflag |= OPOST | ONLCR;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    handle_fatal_signals(true);
    state.raw = 1;
    if (set_modes(&raw) == 0 && tty_write(VIEW(BEGIN_PASTES)))
        return 0;
    int why = errno;
    tty_leave();
    errno = why;
    return -1;
}

void tty_leave(void)
{
    if (!state.raw)
        return;
    state.raw = 0;
    ssize_t written = write(STDOUT_FILENO, RESTORE, strlen(RESTORE));
    (void)written; // nobody can be told
    set_modes(&state.before);
    handle_fatal_signals(false);
}

struct tty_size tty_size(void)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return (struct tty_size){known && size.ws_row > 0 ? size.ws_row : 24,
                             known && size.ws_col > 0 ? size.ws_col : 80};
}

bool tty_write(struct ethos_view bytes)
{
    return os_write_all(STDOUT_FILENO, bytes.data, bytes.size) == 0;
}

static bool is_variable_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

bool tty_rewraps(void)
{
    static const char *const variables[] = {"TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION",
                                            "KONSOLE_VERSION"};
    static const char *const terminals[] = {"alacritty", "foot", "xterm-kitty", "xterm-ghostty"};
    const char *term = getenv("TERM");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (is_variable_set(variables[i]))
            return true;
    for (size_t i = 0; term && i < sizeof terminals / sizeof *terminals; i++)
        if (strcmp(term, terminals[i]) == 0)
            return true;
    return false;
}

bool tty_moves_cursor(void)
{
    const char *term = getenv("TERM");
    return term && *term && strcmp(term, "dumb") != 0;
}
