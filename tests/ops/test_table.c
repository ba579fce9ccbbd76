/*
 * test_table.c: what every row of the operation table keeps to.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "ops/op.h"

/* Runs through every row, naming the one that fails. */
#define EACH_OP(row) for (const struct op *row = op_next(NULL); row; row = op_next(row))
#define EACH_ARG(op, arg) for (const struct op_arg *arg = (op)->args; arg && arg->name; arg++)

#define REQUIRE(op, holds)                                                                         \
    do {                                                                                           \
        if (!(holds))                                                                              \
            fail_msg("%s: not so: %s", (op)->name, #holds);                                        \
    } while (0)

static bool is_camel(const char *word)
{
    if (!islower((unsigned char)*word))
        return false;
    for (; *word; word++) {
        if (!isalnum((unsigned char)*word))
            return false;
    }
    return true;
}

/* "space.verb" or "space.room.verb", all camelCase. */
static bool is_name(const char *name)
{
    char part[64];
    size_t dots = 0;
    for (const char *dot; (dot = strchr(name, '.')); name = dot + 1, dots++) {
        if ((size_t)(dot - name) >= sizeof part)
            return false;
        memcpy(part, name, (size_t)(dot - name));
        part[dot - name] = 0;
        if (!is_camel(part))
            return false;
    }
    return dots >= 1 && dots <= 2 && is_camel(name);
}

/* Lower-case words with one space between them; one behind the first may be an option. */
static bool is_command(const char *command)
{
    for (const char *c = command; *c; c++) {
        if (!islower((unsigned char)*c) && *c != '-' &&
            (*c != ' ' || c == command ||
             (!islower((unsigned char)c[1]) && strncmp(c + 1, "--", 2) != 0)))
            return false;
    }
    return *command != 0;
}

static void test_the_walk_meets_every_row_once(void **state)
{
    size_t walked = 0, rows = 0;

    (void)state;
    EACH_OP(op)
    {
        walked++;
        assert_ptr_equal(op_find(op->name), op); // so names are unique, too
    }
    for (size_t i = 0; op_tables[i]; i++) {
        for (const struct op *op = op_tables[i]; op->name; op++)
            rows++;
    }
    assert_int_equal(walked, rows);
    assert_true(rows > 15);
    assert_null(op_find("memory.nothing"));
    assert_null(op_find(""));
}

static void test_names_are_camel_case_and_short(void **state)
{
    (void)state;
    EACH_OP(op)
    {
        REQUIRE(op, is_name(op->name));
        REQUIRE(op, strlen(op->name) <= 40);
        EACH_ARG(op, arg)
        {
            REQUIRE(op, is_camel(arg->name));
            REQUIRE(op, strlen(arg->name) <= 40);
        }
    }
}

static void test_commands_are_unique_words(void **state)
{
    (void)state;
    EACH_OP(op)
    {
        if (!op->command) {
            REQUIRE(op, op->example == NULL);
            continue;
        }
        REQUIRE(op, is_command(op->command));
        EACH_OP(other)
        {
            if (other != op && other->command)
                REQUIRE(op, strcmp(op->command, other->command) != 0);
        }
    }
}

static void test_summaries_are_one_line_without_a_full_stop(void **state)
{
    (void)state;
    EACH_OP(op)
    {
        size_t size = strlen(op->summary);
        REQUIRE(op, size > 0 && size <= 80);
        REQUIRE(op, isupper((unsigned char)op->summary[0]));
        REQUIRE(op, op->summary[size - 1] != '.');
        REQUIRE(op, !strchr(op->summary, '\n'));
    }
}

static void test_arguments_are_complete(void **state)
{
    (void)state;
    EACH_OP(op)
    {
        EACH_ARG(op, arg)
        {
            REQUIRE(op, arg->help && arg->help[0] && !strchr(arg->help, '\n'));
            REQUIRE(op, (arg->placeholder != NULL) == (arg->type != OP_FLAG));
            REQUIRE(op, arg->type != OP_FLAG || arg->flags == 0);
            REQUIRE(op, !(arg->flags & OP_FILE) || (arg->flags & OP_STDIN));
            for (const struct op_arg *other = op->args; other != arg; other++)
                REQUIRE(op, strcmp(other->name, arg->name) != 0);
        }
    }
}

static void test_choices_are_words_and_ranges_are_ordered(void **state)
{
    (void)state;
    EACH_OP(op)
    {
        EACH_ARG(op, arg)
        {
            int64_t min, max;
            if (arg->type == OP_CHOICE) {
                REQUIRE(op, arg->choices && arg->choices[0]);
                REQUIRE(op, !strstr(arg->choices, "||") && arg->choices[0] != '|');
                REQUIRE(op, arg->choices[strlen(arg->choices) - 1] != '|');
            } else if (arg->type == OP_INTEGER) {
                op_range(arg, &min, &max);
                REQUIRE(op, min < max);
            } else if (arg->type == OP_FLAG) { // its letter on the command line
                REQUIRE(op, !arg->choices || strlen(arg->choices) == 1);
            } else {
                REQUIRE(op, arg->choices == NULL);
            }
        }
    }
}

/* On the command line, what is required by place comes before what may be left out. */
static void test_places_are_filled_from_the_left(void **state)
{
    (void)state;
    EACH_OP(op)
    {
        bool optional = false;
        EACH_ARG(op, arg)
        {
            if (!(arg->flags & OP_POSITIONAL))
                continue;
            REQUIRE(op, !optional || !(arg->flags & OP_REQUIRED));
            optional = !(arg->flags & OP_REQUIRED);
        }
    }
}

static void test_writing_needs_more_than_the_right_to_read(void **state)
{
    (void)state;
    EACH_OP(op)
    {
        bool reads = op->right == OP_MEMORY_READ || op->right == OP_SESSIONS_READ ||
                     op->right == OP_PERSONALITIES_READ;
        REQUIRE(op, !(op->effect & OP_WRITES) || !reads);
        REQUIRE(op, !(op->effect & OP_DESTRUCTIVE) || (op->effect & OP_WRITES));
        REQUIRE(op, (op->effect & OP_WRITES) || (op->effect & OP_IDEMPOTENT));
        REQUIRE(op, op_right_name(op->right)[0] != 0);
        REQUIRE(op, op->run || (op->effect & OP_LOCAL)); // the surface itself does it
        REQUIRE(op, !(op->effect & OP_NO_HOME) || (op->effect & OP_LOCAL));
        bool sessions = op->right == OP_SESSIONS_READ || op->right == OP_SESSIONS_WRITE;
        REQUIRE(op, !sessions || (op->effect & OP_DATABASE));
    }
}

/* What follows "ethos " in an example that may be a pipeline. */
static const char *example_command(const char *example)
{
    const char *at = strstr(example, "ethos ");
    bool first = at == example, piped = at && at > example + 2 && strncmp(at - 2, "| ", 2) == 0;
    return first || piped ? at + 6 : NULL;
}

static void test_examples_run_their_own_command(void **state)
{
    (void)state;
    EACH_OP(op)
    {
        if (!op->example)
            continue;
        const char *command = example_command(op->example);
        REQUIRE(op, command != NULL);
        size_t size = strlen(op->command);
        REQUIRE(op, strncmp(command, op->command, size) == 0);
        REQUIRE(op, command[size] == 0 || command[size] == ' ');
    }
}

/* Every --option in an example is one of the row's, in kebab-case, or a global one. */
static bool has_option(const struct op *op, const char *name, size_t size)
{
    char camel[64];
    size_t used = 0;
    for (size_t i = 0; i < size && used + 1 < sizeof camel; i++) {
        bool hump = name[i] == '-' && i + 1 < size;
        i += hump;
        camel[used++] = hump ? (char)toupper((unsigned char)name[i]) : name[i];
    }
    camel[used] = 0;
    EACH_ARG(op, arg)
    {
        if (strcmp(arg->name, camel) == 0)
            return true;
    }
    return false;
}

static void test_examples_use_options_that_exist(void **state)
{
    (void)state;
    EACH_OP(op)
    {
        const char *command = op->example ? example_command(op->example) : NULL;
        command = command ? command + strlen(op->command) : NULL; // which may end in an option
        for (const char *at = command; at && (at = strstr(at, " --"));) {
            at += 3;
            size_t size = strcspn(at, " =");
            if (!has_option(op, at, size))
                fail_msg("%s: its example uses --%.*s", op->name, (int)size, at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_walk_meets_every_row_once),
        cmocka_unit_test(test_names_are_camel_case_and_short),
        cmocka_unit_test(test_commands_are_unique_words),
        cmocka_unit_test(test_summaries_are_one_line_without_a_full_stop),
        cmocka_unit_test(test_arguments_are_complete),
        cmocka_unit_test(test_choices_are_words_and_ranges_are_ordered),
        cmocka_unit_test(test_places_are_filled_from_the_left),
        cmocka_unit_test(test_writing_needs_more_than_the_right_to_read),
        cmocka_unit_test(test_examples_run_their_own_command),
        cmocka_unit_test(test_examples_use_options_that_exist),
    };

    return cmocka_run_group_tests_name("ops/table", tests, NULL, NULL);
}
