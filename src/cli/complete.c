/*
 * complete.c: completion scripts, made from the operation table.
 *
 * Every shell gets the same two lists: which words may follow the words of a command so far, and
 * which values an option takes. The scripts hold them as plain case statements, so that completing
 * starts no program.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "cli/cli.h"

#define LIST_LIMIT 4096 /* bytes of one list of words */

/* How one shell writes the two kinds of case. */
struct dialect {
    void (*follow)(FILE *out, struct ethos_view words, const char *list);
    void (*choices)(FILE *out, const char *option, const char *list);
};

/* ---- the two lists ------------------------------------------------------------------------- */

static void add_word(struct str *list, struct ethos_view word)
{
    if (list->size > 0)
        str_addc(list, ' ');
    str_add(list, word);
}

static void add_choices(struct str *list, const char *choices)
{
    while (*choices) {
        size_t size = strcspn(choices, "|");
        add_word(list, view_of(choices, size));
        choices += size + (choices[size] == '|');
    }
}

static void add_arguments(struct str *list, const struct op *op)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        char option[66] = "--";
        cli_option_name(arg->name, option + 2);
        if ((arg->flags & OP_POSITIONAL) && arg->choices)
            add_choices(list, arg->choices);
        else if (!(arg->flags & (OP_POSITIONAL | OP_STDIN)))
            add_word(list, view_str(option));
    }
}

static struct ethos_view first_word(const struct op *op)
{
    return view_of(op->command, strcspn(op->command, " "));
}

/* Whether an earlier row has the same first word. */
static bool is_repeat(const struct op *op)
{
    for (const struct op *other = op_next(NULL); other != op; other = op_next(other))
        if (other->command && view_eq(first_word(other), first_word(op)))
            return true;
    return false;
}

/* The second words of the group that op is the first row of. */
static void follow_group(FILE *out, const struct dialect *dialect, const struct op *op)
{
    struct str list;
    struct ethos_view group = first_word(op);
    str_init(&list, LIST_LIMIT);
    for (const struct op *row = op; row; row = op_next(row))
        if (row->command && view_eq(first_word(row), group))
            add_word(&list, view_str(row->command + group.size + 1));
    dialect->follow(out, group, list.data);
    str_release(&list);
}

static void follow_command(FILE *out, const struct dialect *dialect, const struct op *op)
{
    struct str list;
    str_init(&list, LIST_LIMIT);
    add_arguments(&list, op);
    dialect->follow(out, view_str(op->command), list.data);
    str_release(&list);
}

static void print_follows(FILE *out, const struct dialect *dialect)
{
    struct str list;
    str_init(&list, LIST_LIMIT);
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (!op->command)
            continue;
        bool repeat = is_repeat(op);
        if (!repeat)
            add_word(&list, first_word(op));
        if (!repeat && strchr(op->command, ' '))
            follow_group(out, dialect, op);
        follow_command(out, dialect, op);
    }
    dialect->follow(out, VIEW(""), list.data);
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

static void print_choices(FILE *out, const struct dialect *dialect)
{
    for (const struct cli_option *option = cli_options; option->name; option++)
        if (option->choices)
            print_choice(out, dialect, option->name, option->choices);
    for (const struct op *op = op_next(NULL); op; op = op_next(op))
        for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
            char name[64];
            cli_option_name(arg->name, name);
            if (arg->choices && !(arg->flags & OP_POSITIONAL))
                print_choice(out, dialect, name, arg->choices);
        }
}

static void print_globals(FILE *out)
{
    for (const struct cli_option *option = cli_options; option->name; option++)
        fprintf(out, " --%s", option->name);
}

/* ---- the shells ---------------------------------------------------------------------------- */

static void bash_follow(FILE *out, struct ethos_view words, const char *list)
{
    fprintf(out, "    '%.*s') list='%s' ;;\n", VIEW_ARG(words), list);
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
          "    local word=${COMP_WORDS[COMP_CWORD]} words=() list='' i\n"
          "    case ${COMP_WORDS[COMP_CWORD-1]} in\n"
          "    --home|--workspace|-w) COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n",
          out);
    print_choices(out, &bash);
    fputs("    esac\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        [[ ${COMP_WORDS[i]} == -* ]] || words+=(\"${COMP_WORDS[i]}\")\n"
          "    done\n"
          "    case \"${words[*]:0:2}\" in\n",
          out);
    print_follows(out, &bash);
    fputs("    esac\n    [[ $word == -* ]] && list=\"$list", out);
    print_globals(out);
    fputs("\"\n    COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n}\n"
          "complete -o default -F _ethos ethos\n",
          out);
}

static void zsh_follow(FILE *out, struct ethos_view words, const char *list)
{
    fprintf(out, "    '%.*s') list=(%s) ;;\n", VIEW_ARG(words), list);
}

static void zsh_choices(FILE *out, const char *option, const char *list)
{
    fprintf(out, "    --%s) compadd -- %s; return ;;\n", option, list);
}

static void complete_zsh(FILE *out)
{
    static const struct dialect zsh = {zsh_follow, zsh_choices};
    fputs("#compdef ethos\n# zsh completion of ethos; made by: ethos completion zsh\n"
          "local -a given list\nlocal item\n"
          "case ${words[CURRENT-1]} in\n"
          "    --home|--workspace|-w) _files -/; return ;;\n",
          out);
    print_choices(out, &zsh);
    fputs("esac\n"
          "for item in ${words[2,CURRENT-1]}; do\n    [[ $item == -* ]] || given+=$item\ndone\n"
          "case \"${given[1,2]}\" in\n",
          out);
    print_follows(out, &zsh);
    fputs("esac\n[[ ${words[CURRENT]} == -* ]] && list+=(", out);
    print_globals(out);
    fputs(")\nif (( $#list )); then compadd -- $list; else _files; fi\n", out);
}

static void fish_follow(FILE *out, struct ethos_view words, const char *list)
{
    fprintf(out, "        case '%.*s'\n            set list %s\n", VIEW_ARG(words), list);
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
          "    switch \"$given[-1]\"\n",
          out);
    print_choices(out, &fish);
    fputs("    end\n"
          "    set -l words (string match -v -- '-*' $given[2..-1])\n"
          "    switch \"$words[1..2]\"\n",
          out);
    print_follows(out, &fish);
    fputs("    end\n    printf '%s\\n' $list", out);
    print_globals(out);
    fputs("\nend\ncomplete -c ethos -a '(__ethos_words)'\n", out);
}

int complete_run(struct cli *self)
{
    const char *shell = json_string_value(json_object_get(self->args, "shell"));
    if (!shell)
        return cli_usage(self, "missing SHELL; use bash, zsh or fish");
    if (strcmp(shell, "bash") == 0)
        complete_bash(self->term.out);
    else if (strcmp(shell, "zsh") == 0)
        complete_zsh(self->term.out);
    else
        complete_fish(self->term.out);
    return CLI_DONE;
}
