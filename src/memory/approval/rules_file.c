/*
 * rules_file.c: reads <home>/approval.yaml and adds rules to it.
 */
#include "memory/approval/rules_file.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/home/directory.h"

int rules_file_read(int home, struct arena *arena, struct policy *out, struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    out->rules = NULL;
    out->count = 0;
    str_init(&text, ETHOS_MAX_YAML_BYTES + 1);
    int code = home_read(home, POLICY_FILE, ETHOS_MAX_YAML_BYTES, &text, NULL, error);
    const char *copy = code == ETHOS_OK ? arena_copy(arena, str_view(&text)) : NULL;
    if (code == ETHOS_OK)
        code = copy ? policy_parse(view_of(copy, text.size), arena, out, error) : err_nomem(error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static bool has_line(struct ethos_view text, const char *line)
{
    struct ethos_view row;
    while (view_line(&text, &row)) {
        row = view_trim(row);
        if (view_starts(row, VIEW("-")) && view_eq_str(view_trim(view_from(row, 1)), line))
            return true;
    }
    return false;
}

/* Appends a rule. The list is the last and only thing in the file. */
static int append_rule(struct ethos_view before, bool has_rules, const char *line, struct str *out)
{
    str_add(out, view_trim_end(before));
    if (out->size > 0)
        str_addc(out, '\n');
    if (!has_rules && !view_contains(before, VIEW("rules:")))
        str_adds(out, "rules:\n");
    return str_printf(out, "  - %s\n", line);
}

static int append_locked(int home, const char *line, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct policy policy;
    CLEANUP_STR struct str text, after;
    arena_init(&arena);
    str_init(&text, ETHOS_MAX_YAML_BYTES + 1);
    str_init(&after, ETHOS_MAX_YAML_BYTES);
    int code = rules_file_read(home, &arena, &policy, error);
    if (code == ETHOS_OK)
        code = home_read(home, POLICY_FILE, ETHOS_MAX_YAML_BYTES, &text, NULL, error);
    if (code == ETHOS_NOTFOUND)
        code = ETHOS_OK;
    bool there = code == ETHOS_OK && has_line(str_view(&text), line);
    if (code == ETHOS_OK && !there) {
        append_rule(str_view(&text), policy.count > 0, line, &after);
        code = str_code(&after) == ETHOS_OK
                   ? policy_parse(str_view(&after), &arena, &policy, error)
                   : err_set(error, ETHOS_LIMIT, POLICY_FILE ": too large");
        if (code == ETHOS_OK)
            code = home_replace(home, "", POLICY_FILE, str_view(&after), error);
    }
    return code;
}

int rules_file_append(int home, const char *line, struct ethos_error *error)
{
    int lock;
    TRY(home_lock(home, POLICY_FILE, &lock, error));
    int code = append_locked(home, line, error);
    os_close(lock);
    return code;
}
