/*
 * complete.c: completion scripts, made from the operation table.
 *
 * Every shell gets the same two lists: which words may follow the words of a command so far, and
 * which values an option takes. The scripts hold them as plain case statements, so that completing
 * starts no program; but for the names of notes, personalities, settings and sessions, which
 * `ethos completion --of` lists.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "cli/cli.h"

#define LIST_LIMIT 4096 /* bytes of one list of words */

/* How one shell writes the two kinds of case. */
struct dialect {
    void (*follow)(FILE *out, struct ethos_view words, const char *list, const char *names);
    void (*choices)(FILE *out, const char *option, const char *list);
};

/* ---- the two lists ------------------------------------------------------------------------- */

static void append_candidate(struct str *list, struct ethos_view word)
{
    if (list->size > 0)
        str_addc(list, ' ');
    str_add(list, word);
}

static void add_choices(struct str *list, const char *choices)
{
    while (*choices) {
        size_t size = strcspn(choices, "|");
        append_candidate(list, view_of(choices, size));
        choices += size + (choices[size] == '|');
    }
}

static bool is_option(const struct op_arg *arg)
{
    return !(arg->flags & (OP_POSITIONAL | OP_STDIN));
}

static void add_arguments(struct str *list, const struct op *op)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        char option[66] = "--";
        cli_option_name(arg->name, option + 2);
        if ((arg->flags & OP_POSITIONAL) && arg->type == OP_CHOICE)
            add_choices(list, arg->choices);
        else if (is_option(arg))
            append_candidate(list, view_str(option));
    }
}

static bool is_below(const struct op *op, struct ethos_view group)
{
    return op->command && view_starts(view_str(op->command), group) &&
           op->command[group.size] == ' ';
}

/* The words behind those of the group that op is the first row of, each once. */
static void follow_group(FILE *out, const struct dialect *dialect, const struct op *op,
                         struct ethos_view group)
{
    struct str list;
    struct ethos_view last = {0};
    str_init(&list, LIST_LIMIT);
    for (const struct op *row = op; row; row = op_next(row)) {
        if (!is_below(row, group))
            continue;
        const char *rest = row->command + group.size + 1;
        struct ethos_view word = view_of(rest, strcspn(rest, " "));
        if (!last.data || !view_eq(word, last))
            append_candidate(&list, word);
        last = word;
    }
    dialect->follow(out, group, list.data, "");
    str_release(&list);
}

/* The first two words of a command of three, where op is the first row that has them. */
static struct ethos_view inner_group(const struct op *op)
{
    const char *last = strrchr(op->command, ' ');
    struct ethos_view group = view_of(op->command, last ? (size_t)(last - op->command) : 0);
    bool repeat = !memchr(group.data, ' ', group.size);
    for (const struct op *row = op_next(NULL); !repeat && row != op; row = op_next(row))
        repeat = is_below(row, group);
    return repeat ? (struct ethos_view){0} : group;
}

/* What a command wants the name of: the operation that lists them, and the member that has it. */
static const struct names {
    const char *of, *group, *arg, *op, *rows, *member;
} names[] = {{"notes", "notes.", "name", "notes.list", "notes", "key"},
             {"personalities", "personalities.", "id", "personalities.list", "items", "id"},
             {"settings", "config.", "key", "config.list", NULL, "key"},
             {"sessions", "sessions.", "id", "sessions.list", "items", "id"},
             {0}};

static const char *wantedof(const struct op *op)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        for (const struct names *row = names; (arg->flags & OP_POSITIONAL) && row->of; row++)
            if (strncmp(op->name, row->group, strlen(row->group)) == 0 &&
                strcmp(arg->name, row->arg) == 0 && strcmp(op->name, "personalities.create") != 0)
                return row->of;
    return "";
}

static void follow_command(FILE *out, const struct dialect *dialect, const struct op *op)
{
    struct str list;
    str_init(&list, LIST_LIMIT);
    add_arguments(&list, op);
    dialect->follow(out, view_str(op->command), list.data, wantedof(op));
    str_release(&list);
}

static void print_follows(FILE *out, const struct dialect *dialect)
{
    struct str list;
    str_init(&list, LIST_LIMIT);
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (!op->command)
            continue;
        bool repeat = cli_is_repeat(op);
        if (!repeat)
            append_candidate(&list, cli_first_word(op));
        if (!repeat && strchr(op->command, ' '))
            follow_group(out, dialect, op, cli_first_word(op));
        if (inner_group(op).data)
            follow_group(out, dialect, op, inner_group(op));
        follow_command(out, dialect, op);
    }
    dialect->follow(out, VIEW(""), list.data, "");
    str_release(&list);
}

static void print_choice(FILE *out, const struct dialect *dialect, const char *option,
                         const char *choices)
{
    struct str list;
    str_init(&list, LIST_LIMIT);
    add_choices(&list, choices);
    dialect->choices(out, option, list.data);
    str_release(&list);
}

/* Whether a command before op has an option of this name. */
static bool is_seen(const struct op *op, const char *name)
{
    for (const struct op *other = op_next(NULL); other != op; other = op_next(other))
        for (const struct op_arg *arg = other->args; arg && arg->name; arg++)
            if (is_option(arg) && strcmp(arg->name, name) == 0)
                return true;
    return false;
}

/* Walks the options of all commands, each name once; *op starts as NULL. */
static const struct op_arg *next_option(const struct op **op, const struct op_arg *arg)
{
    for (;;) {
        arg = arg && arg->name ? arg + 1 : NULL;
        while (!arg || !arg->name) {
            *op = op_next(*op);
            if (!*op)
                return NULL;
            arg = (*op)->args;
        }
        if (is_option(arg) && !is_seen(*op, arg->name))
            return arg;
    }
}

static void print_choices(FILE *out, const struct dialect *dialect)
{
    char name[64];
    const struct op *op = NULL;
    for (const struct cli_option *option = cli_options; option->name; option++)
        if (option->choices)
            print_choice(out, dialect, option->name, option->choices);
    for (const struct op_arg *arg = NULL; (arg = next_option(&op, arg));) {
        cli_option_name(arg->name, name);
        if (arg->type == OP_CHOICE)
            print_choice(out, dialect, name, arg->choices);
    }
}

static void print_globals(FILE *out)
{
    for (const struct cli_option *option = cli_options; option->name; option++)
        fprintf(out, " --%s", option->name);
}

/* The options that take a value, so that the value is not mistaken for a word of the command. */
static void print_takers(FILE *out, const char *between)
{
    const char *gap = "";
    for (const struct cli_option *option = cli_options; option->name; option++) {
        if (!option->placeholder)
            continue;
        fprintf(out, "%s--%s", gap, option->name);
        if (option->letter)
            fprintf(out, "%s-%c", between, option->letter);
        gap = between;
    }
    const struct op *op = NULL;
    for (const struct op_arg *arg = NULL; (arg = next_option(&op, arg));) {
        char name[64];
        cli_option_name(arg->name, name);
        if (arg->type != OP_FLAG)
            fprintf(out, "%s--%s", gap, name);
    }
}

/* ---- the shells ---------------------------------------------------------------------------- */

static void bash_follow(FILE *out, struct ethos_view words, const char *list, const char *wanted)
{
    fprintf(out, "    '%.*s') list='%s'%s%s ;;\n", VIEW_ARG(words), list, *wanted ? " of=" : "",
            wanted);
}

static void bash_choices(FILE *out, const char *option, const char *list)
{
    fprintf(out, "    --%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", option,
            list);
}

static void complete_bash(FILE *out)
{
    static const struct dialect bash = {bash_follow, bash_choices};
    fputs("# bash completion of ethos; made by: ethos completion bash\n"
          "_ethos()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} words=() list='' of='' i\n"
          "    local before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    [[ $word == = ]] && before=${COMP_WORDS[COMP_CWORD-1]} word=\n"
          "    case $before in\n"
          "    --home|--workspace|-w) COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n",
          out);
    print_choices(out, &bash);
    fputs("    esac\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n        ",
          out);
    print_takers(out, "|");
    fputs(") [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;\n"
          "        -*) ;;\n"
          "        *) words+=(\"${COMP_WORDS[i]}\") ;;\n"
          "        esac\n"
          "    done\n"
          "    case \"${words[*]:0:2}\" in\n",
          out);
    print_follows(out, &bash);
    fputs(
        "    esac\n"
        "    [[ $of && $word != -* ]] && list=\"$list $(ethos completion --of $of 2>/dev/null)\"\n"
        "    [[ $word == -* ]] && list=\"$list",
        out);
    print_globals(out);
    fputs("\"\n    COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n}\n"
          "complete -o default -F _ethos ethos\n",
          out);
}

static void zsh_follow(FILE *out, struct ethos_view words, const char *list, const char *wanted)
{
    fprintf(out, "    '%.*s') list=(%s)%s%s ;;\n", VIEW_ARG(words), list, *wanted ? " of=" : "",
            wanted);
}

static void zsh_choices(FILE *out, const char *option, const char *list)
{
    fprintf(out, "    --%s) compadd -- %s; return ;;\n", option, list);
}

static void complete_zsh(FILE *out)
{
    static const struct dialect zsh = {zsh_follow, zsh_choices};
    fputs("#compdef ethos\n# zsh completion of ethos; made by: ethos completion zsh\n"
          "local -a given list\nlocal of=\nlocal -i at\n"
          "case ${words[CURRENT-1]} in\n"
          "    --home|--workspace|-w) _files -/; return ;;\n",
          out);
    print_choices(out, &zsh);
    fputs("esac\n"
          "for ((at = 2; at < CURRENT; at++)); do\n    case ${words[at]} in\n    ",
          out);
    print_takers(out, "|");
    fputs(") ((at++)) ;;\n"
          "    -*) ;;\n"
          "    *) given+=${words[at]} ;;\n"
          "    esac\ndone\n"
          "case \"${given[1,2]}\" in\n",
          out);
    print_follows(out, &zsh);
    fputs("esac\n"
          "[[ -n $of && ${words[CURRENT]} != -* ]] && "
          "list+=(${(f)\"$(ethos completion --of $of 2>/dev/null)\"})\n"
          "[[ ${words[CURRENT]} == -* ]] && list+=(",
          out);
    print_globals(out);
    fputs(")\nif (( $#list )); then compadd -- $list; else _files; fi\n", out);
}

static void fish_follow(FILE *out, struct ethos_view words, const char *list, const char *wanted)
{
    fprintf(out, "        case '%.*s'\n            set list %s\n", VIEW_ARG(words), list);
    if (*wanted)
        fprintf(out, "            set of %s\n", wanted);
}

static void fish_choices(FILE *out, const char *option, const char *list)
{
    fprintf(out, "        case '--%s'\n            printf '%%s\\n' %s\n            return\n",
            option, list);
}

static void complete_fish(FILE *out)
{
    static const struct dialect fish = {fish_follow, fish_choices};
    fputs("# fish completion of ethos; made by: ethos completion fish\n"
          "function __ethos_words\n"
          "    set -l given (commandline -opc)\n"
          "    set -l list\n"
          "    set -l of\n"
          "    set -l words\n"
          "    set -l skip 0\n"
          "    switch \"$given[-1]\"\n",
          out);
    print_choices(out, &fish);
    fputs("    end\n"
          "    for item in $given[2..-1]\n"
          "        if test $skip = 1\n"
          "            set skip 0\n"
          "        else if contains -- $item ",
          out);
    print_takers(out, " ");
    fputs("\n            set skip 1\n"
          "        else if not string match -q -- '-*' $item\n"
          "            set -a words $item\n"
          "        end\n"
          "    end\n"
          "    switch \"$words[1..2]\"\n",
          out);
    print_follows(out, &fish);
    fputs("    end\n"
          "    test -n \"$of\"; and set -a list (ethos completion --of $of 2>/dev/null)\n"
          "    printf '%s\\n' $list",
          out);
    print_globals(out);
    fputs("\nend\ncomplete -c ethos -a '(__ethos_words)'\n", out);
}

static void print_script(const char *shell, FILE *out)
{
    if (strcmp(shell, "bash") == 0)
        complete_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        complete_zsh(out);
    else
        complete_fish(out);
}

/* A line for each. */
static void print_names(const struct names *row, const json_t *json, FILE *out)
{
    size_t index;
    json_t *item;
    json_array_foreach (row->rows ? json_object_get(json, row->rows) : (json_t *)json, index, item)
        fprintf(out, "%s\n", json_string_value(json_object_get(item, row->member)));
}

static int list_candidates(struct cli *self, const char *of)
{
    struct op_result result;
    struct ethos_error error;
    const struct names *row = names;
    while (strcmp(row->of, of) != 0)
        row++;
    const struct op *op = op_find(row->op);
    if (!op_is_in_program(op))
        return program_exec(self, "ethos-db");
    self->json = true;
    op_result_init(&result);
    json_t *args = json_object();
    int code = args ? cli_call(self, op, args, &result, &error) : ETHOS_NOMEM;
    self->json = false;
    if (code == ETHOS_OK)
        print_names(row, result.json, self->term.out);
    op_result_release(&result);
    json_decref(args);
    return code == ETHOS_OK ? CLI_DONE : cli_fail(self, &error);
}

int complete_run(struct cli *self)
{
    const char *of = json_string_value(json_object_get(self->args, "of"));
    if (of)
        return list_candidates(self, of);
    const char *shell = json_string_value(json_object_get(self->args, "shell"));
    struct op_result result;
    char *script = NULL;
    size_t size = 0;
    if (!shell)
        return cli_usage(self, "use bash, zsh or fish", "missing SHELL");
    if (!self->json) {
        print_script(shell, self->term.out);
        return CLI_DONE;
    }
    FILE *out = open_memstream(&script, &size);
    if (out) {
        print_script(shell, out);
        fclose(out);
    }
    op_result_init(&result);
    struct ethos_error error;
    json_t *json = script ? json_pack("{s:s, s:s%}", "shell", shell, "script", script, size) : NULL;
    int status = op_return(&result, json, &error) == ETHOS_OK ? cli_show(self, self->op, &result)
                                                              : cli_fail(self, &error);
    op_result_release(&result);
    free(script);
    return status;
}
