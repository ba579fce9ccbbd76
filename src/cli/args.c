/*
 * args.c: from argv to an operation and its arguments.
 *
 * Global options may stand anywhere; the command is the first one to three words; then its options and
 * positional arguments in any order; "--" ends options. A word is an option when a letter follows the
 * dash: "- buy milk" is a text, and the usual one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/choice.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/text/suggest.h"
#include "base/view.h"
#include "cli/cli.h"

#define SPECIAL SIZE_MAX
#define AT(member) offsetof(struct cli, member)

const struct cli_option cli_options[] = {
    {"home", 0, "DIR", NULL, "home; else $ETHOS_HOME, $ETHOS_STATE_DIR, ~/.ethos", AT(home)},
    {"personality", 'p', "ID", NULL, "personality; else $ETHOS_PERSONALITY, the active one",
     AT(personality)},
    {"user", 'u', "ID", NULL, "user; else $ETHOS_USER, you", AT(user)},
    {"workspace", 'w', "DIR", NULL, "project; else $ETHOS_WORKSPACE, the git top level",
     AT(workspace)},
    {"ephemeral-memory", 0, NULL, NULL, "throwaway memory, gone when the command ends",
     AT(ephemeral)},
    {"json", 0, NULL, NULL, "print JSON, errors too", AT(json)},
    {"quiet", 'q', NULL, NULL, "print nothing but data and errors", AT(quiet)},
    {"color", 0, "WHEN", "auto|always|never", "auto (default), always or never", SPECIAL},
    {"no-input", 0, NULL, NULL, "never ask", AT(no_input)},
    {"yes", 'y', NULL, NULL, "answer every question with yes", AT(yes)},
    {"durability", 0, "HOW", "durable|fast", "durable (default) waits for the disk, fast does not",
     SPECIAL},
    {"dry-run", 0, NULL, NULL, "show what would change as a diff, change nothing", AT(dry_run)},
    {"no-pager", 0, NULL, NULL, "never page the output", AT(no_pager)},
    {"version", 0, NULL, NULL, "print the version", AT(version)},
    {"help", 'h', NULL, NULL, "print help: -h the short one, --help all of it", SPECIAL},
    {NULL, 0, NULL, NULL, NULL, 0},
};

void cli_option_name(const char *argument, char out[64])
{
    size_t at = 0;
    for (; *argument && at < 62; argument++) {
        if (isupper((unsigned char)*argument))
            out[at++] = '-';
        out[at++] = (char)tolower((unsigned char)*argument);
    }
    out[at] = 0;
}

/* ---- the words of a command line ----------------------------------------------------------- */

struct words {
    char **items;
    int count;
    int next;
};

/* "--name=value" or "--name value"; NULL when the value is missing. */
static const char *take_value(struct words *words, const char *inline_value)
{
    if (inline_value)
        return inline_value;
    return words->next < words->count ? words->items[words->next++] : NULL;
}

/* what: the option or placeholder as it was typed. */
static int refuse_choice(const struct cli *self, const char *what, const char *value,
                         const char *choices)
{
    char hint[128];
    int size = snprintf(hint, sizeof hint, "use ");
    choice_text(choices, hint + size, sizeof hint - (size_t)size);
    return cli_usage(self, hint, "%s: unknown value '%s'", what, value);
}

static void set_special(struct cli *self, const struct cli_option *option, const char *value,
                        bool is_short)
{
    if (strcmp(option->name, "color") == 0)
        self->color = *value == 'a' ? (value[1] == 'l' ? CLI_COLOR_ALWAYS : CLI_COLOR_AUTO)
                                    : CLI_COLOR_NEVER;
    else if (strcmp(option->name, "durability") == 0)
        self->fast = strcmp(value, "fast") == 0;
    else
        self->help = is_short ? CLI_HELP_SHORT : CLI_HELP_FULL;
}

static int set_global(struct cli *self, const struct cli_option *option, struct words *words,
                      const char *inline_value, bool is_short)
{
    const char *value = NULL;
    char what[66];
    snprintf(what, sizeof what, "--%s", option->name);
    if (!option->placeholder && inline_value)
        return cli_usage(self, NULL, "%s takes no value", what);
    if (option->placeholder && !(value = take_value(words, inline_value)))
        return cli_usage(self, NULL, "%s needs a value: %s", what, option->placeholder);
    if (option->choices && !choice_has(option->choices, view_str(value)))
        return refuse_choice(self, what, value, option->choices);
    char *base = (char *)self;
    if (option->offset == SPECIAL)
        set_special(self, option, value, is_short);
    else if (option->placeholder)
        *(const char **)(void *)(base + option->offset) = value;
    else
        *(bool *)(void *)(base + option->offset) = true;
    return CLI_DONE;
}

static const struct cli_option *find_global(struct ethos_view name, char letter)
{
    for (const struct cli_option *option = cli_options; option->name; option++)
        if (letter ? option->letter == letter : view_eq_str(name, option->name))
            return option;
    return NULL;
}

/* ---- options of the operation -------------------------------------------------------------- */

static const struct op_arg *find_arg(const struct op *op, struct ethos_view name)
{
    for (const struct op_arg *arg = op ? op->args : NULL; arg && arg->name; arg++) {
        char option[64];
        cli_option_name(arg->name, option);
        if (!(arg->flags & OP_POSITIONAL) && view_eq_str(name, option))
            return arg;
    }
    return NULL;
}

/* An option that may be repeated collects. */
static void store_argument(struct cli *self, const struct op_arg *arg, json_t *value)
{
    json_t *many = json_object_get(self->args, arg->name);
    if (!(arg->flags & OP_MANY))
        op_json_put(&self->args, arg->name, value);
    else if (!many)
        op_json_put(&self->args, arg->name, json_pack("[o]", value));
    else if (json_array_append_new(many, value) != 0)
        op_json_put(&self->args, arg->name, NULL); // out of memory, told at the end
}

static int store_text_argument(struct cli *self, const struct op_arg *arg, const char *value)
{
    json_t *text = json_string(value);
    if (!text) {
        struct ethos_error error;
        err_set(&error, ETHOS_INVALID, "%s: not valid UTF-8", arg->placeholder);
        return cli_fail(self, &error);
    }
    store_argument(self, arg, text);
    return CLI_DONE;
}

static int put_integer(struct cli *self, const struct op_arg *arg, const char *what,
                       const char *value)
{
    char *end;
    int64_t min, max;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (errno || end == value || *end)
        return cli_usage(self, NULL, "%s: '%s' is not a number", what, value);
    op_range(arg, &min, &max);
    if (number < min || number > max)
        return cli_usage(self, NULL, "%s: must be from %lld to %lld", what, (long long)min,
                         (long long)max);
    store_argument(self, arg, json_integer(number));
    return CLI_DONE;
}

/* A person means the time of the place; operations are told in UTC. */
static int put_time(struct cli *self, const struct op_arg *arg, const char *what, const char *value)
{
    int64_t ms;
    bool zoned;
    char iso[CLOCK_ISO_SIZE];
    if (!clock_parse(view_str(value), os_now_ms(), op_is_end_of_day(arg->name), &ms, &zoned))
        return cli_usage(self, "use 30m, 12h, 7d, 2w, 2026-11-15 or 2026-11-15T08:30",
                         "%s: '%s' is not a valid time", what, value);
    clock_iso(zoned ? ms : term_local_ms(ms), iso);
    return store_text_argument(self, arg, iso);
}

static int set_arg(struct cli *self, const struct op_arg *arg, const char *value)
{
    char what[66] = "--";
    if (arg->flags & OP_POSITIONAL)
        snprintf(what, sizeof what, "%s", arg->placeholder);
    else
        cli_option_name(arg->name, what + 2);
    if (arg->type == OP_INTEGER)
        return put_integer(self, arg, what, value);
    if (arg->type == OP_TIME)
        return put_time(self, arg, what, value);
    if (arg->type == OP_CHOICE && !choice_has(arg->choices, view_str(value)))
        return refuse_choice(self, what, value, arg->choices);
    return store_text_argument(self, arg, value);
}

static int unknown_option(const struct cli *self, struct ethos_view name)
{
    const char *names[64];
    char own[32][64], wanted[64], hint[96];
    size_t count = 0, owned = 0;
    for (const struct cli_option *option = cli_options; option->name; option++)
        names[count++] = option->name;
    for (const struct op_arg *arg = self->op ? self->op->args : NULL; arg && arg->name; arg++) {
        if ((arg->flags & OP_POSITIONAL) || owned == 32)
            continue;
        cli_option_name(arg->name, own[owned]);
        names[count++] = own[owned++];
    }
    names[count] = NULL;
    snprintf(wanted, sizeof wanted, "%.*s", VIEW_ARG(name));
    const char *nearest = nearest_name(wanted, names);
    snprintf(hint, sizeof hint, "did you mean --%s?", nearest ? nearest : "");
    return cli_usage(self, nearest ? hint : NULL, "unknown option --%s", wanted);
}

static int parse_long(struct cli *self, struct words *words, const char *word)
{
    const char *equals = strchr(word, '=');
    struct ethos_view name = view_of(word, equals ? (size_t)(equals - word) : strlen(word));
    const char *inline_value = equals ? equals + 1 : NULL;
    const struct op_arg *arg = find_arg(self->op, name);
    if (arg && arg->type == OP_FLAG) {
        op_json_put(&self->args, arg->name, json_true());
        return inline_value ? cli_usage(self, NULL, "--%.*s takes no value", VIEW_ARG(name))
                            : CLI_DONE;
    }
    if (arg) {
        const char *value = take_value(words, inline_value);
        if (!value)
            return cli_usage(self, NULL, "--%.*s needs a value: %s", VIEW_ARG(name),
                             arg->placeholder);
        return set_arg(self, arg, value);
    }
    const struct cli_option *option = find_global(name, 0);
    if (option)
        return set_global(self, option, words, inline_value, false);
    if (view_eq_str(name, "generate-man")) {
        self->man = true;
        return CLI_DONE;
    }
    if (view_eq_str(name, "generate-types")) {
        self->types = true;
        return CLI_DONE;
    }
    return unknown_option(self, name);
}

/* The flag of an operation that has this letter, or NULL. */
static const struct op_arg *find_letter(const struct op *op, char letter)
{
    for (const struct op_arg *arg = op ? op->args : NULL; arg && arg->name; arg++)
        if (arg->type == OP_FLAG && arg->choices && *arg->choices == letter)
            return arg;
    return NULL;
}

/* -pID, -p ID, -qy */
static int parse_short(struct cli *self, struct words *words, const char *word)
{
    for (; *word; word++) {
        const struct op_arg *flag = find_letter(self->op, *word);
        const struct cli_option *option = find_global((struct ethos_view){0}, *word);
        if (flag) {
            op_json_put(&self->args, flag->name, json_true());
            continue;
        }
        if (!option)
            return cli_usage(self, NULL, "unknown option -%c", *word);
        bool takes = option->placeholder != NULL;
        int code = set_global(self, option, words, takes && word[1] ? word + 1 : NULL, true);
        if (code != CLI_DONE || takes)
            return code;
    }
    return CLI_DONE;
}

/* ---- the command --------------------------------------------------------------------------- */

/* first: the words so far; second: one more, or NULL. */
static bool is_command(const struct op *op, const char *first, const char *second)
{
    size_t size = strlen(first);
    if (!op->command || strncmp(op->command, first, size) != 0)
        return false;
    const char *rest = op->command + size;
    return !*rest || (*rest == ' ' && second && strcmp(rest + 1, second) == 0);
}

static const struct op *find_command(const char *first, const char *second)
{
    for (const struct op *op = op_next(NULL); op; op = op_next(op))
        if (is_command(op, first, second))
            return op;
    return NULL;
}

/* Whether commands begin with these words and go on. */
static bool is_group(const char *word)
{
    size_t size = strlen(word);
    for (const struct op *op = op_next(NULL); op; op = op_next(op))
        if (op->command && strncmp(op->command, word, size) == 0 && op->command[size] == ' ')
            return true;
    return false;
}

struct ethos_view cli_first_word(const struct op *op)
{
    return view_of(op->command, strcspn(op->command, " "));
}

bool cli_is_repeat(const struct op *op)
{
    for (const struct op *other = op_next(NULL); other != op; other = op_next(other))
        if (other->command && view_eq(cli_first_word(other), cli_first_word(op)))
            return true;
    return false;
}

/* The words that may stand here: the second ones of a group, else the first ones. */
static void collect_words(const char *group, char words[][32], const char **names, size_t room)
{
    size_t count = 0;
    for (const struct op *op = op_next(NULL); op && count + 1 < room; op = op_next(op)) {
        size_t size = group ? strlen(group) : 0;
        if (!op->command ||
            (group ? strncmp(op->command, group, size) != 0 || op->command[size] != ' '
                   : cli_is_repeat(op)))
            continue;
        const char *word = group ? op->command + size + 1 : op->command;
        snprintf(words[count], 32, "%.*s", (int)strcspn(word, " "), word);
        names[count] = words[count];
        count++;
    }
    names[count] = NULL;
}

/* "add" without its group is "memory add"; a word of two groups may be either, one of many says nothing. */
static bool find_second_word(const char *word, char *hint, size_t room)
{
    size_t used = 0;
    for (const struct op *op = op_next(NULL); op && used < room; op = op_next(op)) {
        const char *space = op->command ? strchr(op->command, ' ') : NULL;
        if (!space || strcmp(space + 1, word) != 0)
            continue;
        used += (size_t)snprintf(hint + used, room - used, "%s ethos %s",
                                 used ? " or" : "did you mean", op->command);
    }
    if (used == 0 || used + 1 >= room)
        return false;
    snprintf(hint + used, room - used, "?");
    return true;
}

static int unknown_command(const struct cli *self, const char *word)
{
    char words[64][32], hint[96];
    const char *names[64];
    const char *group = self->group ? self->group : "";
    const char *gap = self->group ? " " : "";
    collect_words(self->group, words, names, 64);
    const char *nearest = nearest_name(word, names);
    bool found = !self->group && find_second_word(word, hint, sizeof hint);
    if (!found && nearest)
        snprintf(hint, sizeof hint, "did you mean ethos %s%s%s?", group, gap, nearest);
    return cli_usage(self, found || nearest ? hint : NULL, "unknown command '%s%s%s'", group, gap,
                     word);
}

/* Takes one more word of the command. "help memory add" is what "memory add --help" is. */
static int take_command(struct cli *self, const char *word)
{
    if (strcmp(word, "help") == 0) {
        self->help = CLI_HELP_FULL;
        return CLI_DONE;
    }
    self->op = self->group ? find_command(self->group, word) : find_command(word, NULL);
    if (self->op)
        return CLI_DONE;
    char words[sizeof self->group_words];
    bool fits = snprintf(words, sizeof words, "%s%s%s", self->group ? self->group : "",
                         self->group ? " " : "", word) < (int)sizeof words;
    if (!fits || !is_group(words))
        return unknown_command(self, word);
    memcpy(self->group_words, words, sizeof words);
    self->group = self->group_words;
    return CLI_DONE;
}

/* "recall index" and "recall --batch" are commands beside "recall": whether the word makes such a one. */
static bool extend_command(struct cli *self, const char *word)
{
    const char *first = self->op ? self->op->command : self->group;
    if (!first || strchr(first, ' ') || json_object_size(self->args) > 0)
        return false;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (op != self->op && is_command(op, first, word)) {
            self->op = op;
            return true;
        }
    }
    return false;
}

/* One more word of a text: people do not quote what they search for. */
static int join_arg(struct cli *self, const struct op_arg *arg, const char *word)
{
    struct str text;
    str_init(&text, ETHOS_MAX_INPUT_BYTES);
    str_printf(&text, "%s %s", json_string_value(json_object_get(self->args, arg->name)), word);
    struct ethos_error error = {0};
    int code = str_code(&text) == ETHOS_OK ? set_arg(self, arg, text.data)
                                           : (err_nomem(&error), cli_fail(self, &error));
    str_release(&text);
    return code;
}

static int take_positional(struct cli *self, const char *word)
{
    bool text = false;
    for (const struct op_arg *arg = self->op->args; arg && arg->name; arg++) {
        if ((arg->flags & OP_POSITIONAL) && !json_object_get(self->args, arg->name))
            return set_arg(self, arg, word);
        if (arg->flags & OP_REST)
            return join_arg(self, arg, word);
        text = text || ((arg->flags & OP_POSITIONAL) && (arg->flags & OP_STDIN));
    }
    return cli_usage(self, text ? "put a text with spaces in quotes" : NULL,
                     "unexpected argument '%s'", word);
}

/* Whether a word is a global option whose value is the next word. */
static bool wants_value(const char *word)
{
    for (const struct cli_option *option = cli_options; option->name; option++) {
        bool is = word[1] == '-' ? strcmp(word + 2, option->name) == 0
                                 : option->letter && word[1] == option->letter && !word[2];
        if (is)
            return option->placeholder != NULL;
    }
    return false;
}

const char *cli_command_word(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            return argv[i];
        i += wants_value(argv[i]);
    }
    return NULL;
}

int cli_parse(struct cli *self, int argc, char **argv)
{
    struct words words = {argv, argc, 1};
    bool only_words = false;
    self->args = json_object();
    while (words.next < words.count && !(self->op && self->help != CLI_HELP_NONE)) {
        const char *word = words.items[words.next++];
        int code;
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
            continue;
        }
        if (!only_words && extend_command(self, word))
            continue;
        bool dashed = !only_words && word[0] == '-';
        if (dashed && word[1] == '-' && isalpha((unsigned char)word[2]))
            code = parse_long(self, &words, word + 2);
        else if (dashed && isalpha((unsigned char)word[1]))
            code = parse_short(self, &words, word + 1);
        else
            code = self->op ? take_positional(self, word) : take_command(self, word);
        if (code != CLI_DONE)
            return code;
    }
    if (self->args)
        return CLI_DONE;
    struct ethos_error error;
    err_nomem(&error);
    return cli_fail(self, &error);
}
