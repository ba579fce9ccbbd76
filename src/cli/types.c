/*
 * types.c: the types of the JavaScript client, made from the operation table.
 *
 * One interface for each namespace, one method for each operation that a client can call. What comes
 * back is told by hand in sdk/js/types.d.ts, and so is what a stable call takes: Args and Result look there
 * first.
 */
#include <ctype.h>
#include <string.h>

#include "base/view.h"
#include "cli/cli.h"

/* "memory" of memory.get, "memory.chunks" of memory.chunks.add. */
static struct ethos_view namespace_of(const struct op *op)
{
    return view_of(op->name, (size_t)(strrchr(op->name, '.') - op->name));
}

/* Whether a namespace is one of another: "memory.chunks" of "memory". */
static bool is_within_namespace(struct ethos_view name, struct ethos_view outer)
{
    return name.size > outer.size && view_starts(name, outer) && name.data[outer.size] == '.';
}

/* "MemoryChunksCalls" */
static void print_interface(FILE *out, struct ethos_view name)
{
    bool begins = true;
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] != '.')
            fputc(begins ? toupper((unsigned char)name.data[i]) : name.data[i], out);
        begins = name.data[i] == '.';
    }
    fputs("Calls", out);
}

static bool is_served(const struct op *op)
{
    return op->run && !(op->effect & (OP_LOCAL | OP_SHORTHAND));
}

static bool is_first_of_namespace(const struct op *op)
{
    const struct op *row = op_next(NULL);
    while (row != op && !(is_served(row) && view_eq(namespace_of(row), namespace_of(op))))
        row = op_next(row);
    return is_served(op) && row == op;
}

/* ---- one operation --------------------------------------------------------------------------- */

static void print_choices(FILE *out, const char *choices)
{
    for (size_t size; *choices; choices += size + (choices[size] == '|')) {
        size = strcspn(choices, "|");
        fprintf(out, "'%.*s'%s", (int)size, choices, choices[size] ? " | " : "");
    }
}

static void print_type(FILE *out, const struct op_arg *arg)
{
    bool many = arg->flags & OP_MANY;
    fputs(many ? "Array<" : "", out);
    if (arg->type == OP_CHOICE)
        print_choices(out, arg->choices);
    else if (arg->type == OP_INTEGER)
        fputs("number", out);
    else
        fputs(arg->type == OP_FLAG ? "boolean" : arg->type == OP_VALUE ? "unknown" : "string", out);
    fputs(many ? ">" : "", out);
    fputs(arg->flags & OP_NULL ? " | null;\n" : ";\n", out);
}

static void print_argument(FILE *out, const struct op_arg *arg)
{
    fprintf(out, "        /** %s */\n        %s%s: ", arg->help, arg->name,
            arg->flags & OP_REQUIRED ? "" : "?");
    print_type(out, arg);
}

static void print_method(FILE *out, const struct op *op)
{
    fprintf(out, "    /** %s. Needs %s. */\n    %s(...args: Args<'%s', {", op->summary,
            op->right == OP_OWNER ? "the owner" : op_right_name(op->right),
            strrchr(op->name, '.') + 1, op->name);
    const char *end = "}";
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        if (arg == op->args)
            fputc('\n', out);
        print_argument(out, arg);
        end = "    }";
    }
    fprintf(out, "%s>): Promise<Result<'%s'>>;\n", end, op->name);
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static void print_namespace(FILE *out, struct ethos_view name)
{
    fputs("export interface ", out);
    print_interface(out, name);
    fprintf(out, " extends Callable<'%.*s'> {\n", VIEW_ARG(name));
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        struct ethos_view own = namespace_of(op);
        if (is_served(op) && view_eq(own, name))
            print_method(out, op);
        if (is_first_of_namespace(op) && is_within_namespace(own, name)) {
            fprintf(out, "    readonly %.*s: ", VIEW_ARG(view_from(own, name.size + 1)));
            print_interface(out, own);
            fputs(";\n", out);
        }
    }
    fputs("}\n\n", out);
}

void help_types(FILE *out)
{
    fputs("// index.d.ts: what a client can call. Made by `ethos-serve --generate-types` from the\n"
          "// table of operations: change nothing here. types.d.ts has what is written by hand.\n\n"
          "import type { Args, Callable, Client, ClientOptions, Result } from './types.js';\n\n"
          "export * from './types.js';\n\n",
          out);
    for (const struct op *op = op_next(NULL); op; op = op_next(op))
        if (is_first_of_namespace(op))
            print_namespace(out, namespace_of(op));
    fputs("export interface Ethos extends Client {\n", out);
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        struct ethos_view name = namespace_of(op);
        if (!is_first_of_namespace(op) || memchr(name.data, '.', name.size))
            continue;
        fprintf(out, "    readonly %.*s: ", VIEW_ARG(name));
        print_interface(out, name);
        fputs(";\n", out);
    }
    fputs("}\n\nexport function createClient(options?: ClientOptions): Ethos;\n", out);
}
