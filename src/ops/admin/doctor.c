/*
 * doctor.c: the operations admin.doctor and meta.health: check a home, and report problems with their remedies.
 *
 * Each check_* function adds findings. A failing check does not stop the others.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/hidden_lines.h"
#include "core/memory/sanitize.h"
#include "core/memory/scope.h"
#include "memory/approval/rules_file.h"
#include "memory/handle.h"
#include "memory/hooks/queue.h"
#include "memory/notes/list.h"
#include "memory/offline/offline.h"
#include "memory/provider/missing_slots.h"
#include "memory/recall/recall.h"
#include "memory/shown_file.h"
#include "memory/workspace/workspace.h"
#include "ops/admin/doctor.h"
#include "ops/admin/install.h"
#include "ops/admin/personalities.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "session/session.h"

#define PROFILE "USER.md"

#define LEAST_ROOM 65536 /* free bytes; with less, writing a file and its history may fail */

struct checkup {
    struct op_call *call;
    json_t *findings;
    bool fix;
    bool ask; /* whether other programs may be run */
    int errors;
    bool absent;      /* a backend of memory cannot be opened, which was reported; */
    bool home_absent; /* that of the home */
};

static void add_finding_row(void *arg, const struct ethos_finding *finding)
{
    static const char *const names[] = {"fixed", "warning", "error"};
    struct checkup *visit = arg;
    const char *problem = finding->problem;
    size_t size = strlen(finding->subject);
    if (strncmp(problem, finding->subject, size) == 0 && strncmp(problem + size, ": ", 2) == 0)
        problem += size + 2; // the message starts with the subject
    if (finding->severity == ETHOS_FINDING_ERROR)
        visit->errors++;
    op_json_push(&visit->findings,
                 json_pack("{s:s, s:o, s:o, s:o}", "severity", names[finding->severity], "subject",
                           op_json_string(finding->subject), "problem", op_json_string(problem),
                           "remedy", op_json_string(finding->remedy)));
}

static void report_problem(struct checkup *visit, enum ethos_severity severity, const char *subject,
                           const char *problem, const char *remedy)
{
    const struct ethos_finding finding = {severity, subject, problem, remedy};
    add_finding_row(visit, &finding);
}

static void report_error(struct checkup *visit, const char *subject,
                         const struct ethos_error *error)
{
    if (error->code == ETHOS_NOMEM)
        op_json_push(&visit->findings, NULL); // not a finding: the whole checkup failed
    else
        report_problem(visit, ETHOS_FINDING_ERROR, subject, error->text,
                       *error->hint ? error->hint : NULL);
}

/* ---- the home ------------------------------------------------------------------------------ */

/* A full or read-only disk would otherwise show only at the next write. */
static void check_disk_space(struct checkup *visit, int dir, const char *path)
{
    struct statvfs disk;
    char problem[128];
    if (os_fstatvfs(dir, &disk) != 0)
        return;
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (disk.f_flag & ST_RDONLY) {
        report_problem(visit, ETHOS_FINDING_WARNING, path, "the file system is mounted read-only",
                       "memory can only be read; mount it writable or choose another --home");
    } else if (disk.f_blocks > 0 && room < LEAST_ROOM) {
        snprintf(problem, sizeof problem, "the disk is full: %llu KiB are free",
                 (unsigned long long)room / 1024);
        report_problem(visit, ETHOS_FINDING_ERROR, path, problem, "free some disk space");
    } else if (disk.f_files > 0 && disk.f_favail == 0) {
        report_problem(visit, ETHOS_FINDING_ERROR, path,
                       "the disk is full: it has no room for another file",
                       "delete files that are not needed");
    }
}

/* A home that others can write to is not read, so this check comes first. */
static bool check_home(struct checkup *visit)
{
    struct stat info;
    struct ethos_error error = {0};
    const char *path = service_home(visit->call->ethos);
    CLEANUP_FD int dir = os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return true;
    check_disk_space(visit, dir, path);
    if (os_fstat(dir, &info) != 0 || dir_private(&info, path, &error) == ETHOS_OK)
        return true;
    bool fixed = visit->fix && os_fchmod(dir, info.st_mode & 07700) == 0;
    if (fixed)
        report_problem(visit, ETHOS_FINDING_FIXED, path, error.text, error.hint);
    else
        report_error(visit, path, &error);
    return fixed;
}

/* ---- configuration ------------------------------------------------------------------------- */

static void report_unknown_key(void *arg, const struct yaml_pair *pair)
{
    char problem[256], remedy[256] = "";
    const char *nearest = config_nearest(pair->key);
    snprintf(problem, sizeof problem, "line %u: unknown setting %s; it has no effect", pair->line,
             pair->key);
    if (nearest)
        snprintf(remedy, sizeof remedy, "did you mean %s?", nearest);
    report_problem(arg, ETHOS_FINDING_WARNING, "config.yaml", problem, nearest ? remedy : NULL);
}

/* Reports "config.yaml:3: ..." as "line 3: ...", like other findings about the file. */
static void report_config_error(struct checkup *visit, struct ethos_error *error)
{
    static const char name[] = "config.yaml", prefix[] = "config.yaml:";
    struct ethos_error shown = *error;
    const char *line = error->text + strlen(prefix);
    if (strncmp(error->text, prefix, strlen(prefix)) == 0 && *line >= '0' && *line <= '9')
        snprintf(shown.text, sizeof shown.text, "line %s", line);
    report_error(visit, name, &shown);
}

/* Approval rules that cannot be read allow nothing. */
static void check_approval_rules(struct checkup *visit)
{
    CLEANUP_FD int home = -1;
    struct policy policy;
    struct ethos_error error;
    if (service_open_home(visit->call->ethos, false, &home, NULL) != ETHOS_OK || home < 0)
        return;
    CLEANUP_ARENA struct arena arena;
    arena_init(&arena);
    if (rules_file_read(home, &arena, &policy, &error) != ETHOS_OK)
        report_error(visit, POLICY_FILE, &error);
}

/* Decisions to show a line that cannot be read show nothing. */
static void check_shown_file(struct checkup *visit)
{
    struct arena arena;
    struct shown_decisions found;
    struct ethos_error error;
    char problem[64];
    arena_init(&arena);
    if (shown_file_read(visit->call->ethos, NULL, &arena, &found, &error) != ETHOS_OK) {
        report_error(visit, SHOWN_FILE, &error);
    } else if (found.damaged > 0) {
        snprintf(problem, sizeof problem, "%zu line%s cannot be read", found.damaged,
                 found.damaged == 1 ? "" : "s");
        report_problem(visit, ETHOS_FINDING_WARNING, SHOWN_FILE, problem,
                       "remove them; the lines that they allowed are hidden: ethos memory hidden");
    }
    arena_release(&arena);
}

/* Whether the home's settings can be read. */
static bool check_config(struct checkup *visit)
{
    const struct config *home;
    struct ethos_error error;
    if (service_config(visit->call->ethos, NULL, &home, NULL, &error) != ETHOS_OK) {
        report_config_error(visit, &error);
        return false;
    }
    config_unknown(home, report_unknown_key, visit);
    for (size_t i = 0; i < home->table.count; i++) {
        const struct yaml_pair *pair = &home->table.pairs[i];
        const struct config_option *option = config_find(pair->key);
        char problem[256];
        if (!option || !(option->where & CONFIG_KEPT))
            continue;
        snprintf(problem, sizeof problem, "line %u: %s has no effect in this version", pair->line,
                 pair->key);
        report_problem(visit, ETHOS_FINDING_WARNING, "config.yaml", problem, NULL);
    }
    check_approval_rules(visit);
    check_shown_file(visit);
    return true;
}

/* ---- people -------------------------------------------------------------------------------- */

/* Whether the pair of an entry is in the set already. Adds it. */
static bool was_pair_seen(json_t *seen, const json_t *entry)
{
    struct str pair;
    str_init(&pair, ETHOS_MAX_MAP_BYTES);
    str_add(&pair, json_view(entry, "platform"));
    str_addc(&pair, '\n');
    str_add(&pair, json_view(entry, "platformUserId"));
    bool known = json_object_get(seen, pair.data) != NULL;
    json_object_set_new(seen, pair.data, json_true());
    str_release(&pair);
    return known;
}

static void check_identity_entries(struct checkup *visit, const json_t *entries)
{
    json_t *seen = json_object();
    size_t index;
    json_t *entry;
    json_array_foreach ((json_t *)entries, index, entry) {
        char subject[64];
        snprintf(subject, sizeof subject, "users/identity-map.json entry %zu", index + 1);
        if (!json_view(entry, "platform").data || !json_view(entry, "platformUserId").data)
            report_problem(visit, ETHOS_FINDING_WARNING, subject,
                           "has no platform or platformUserId", "repair or remove it by hand");
        else if (!scope_id_ok(json_view(entry, "userId")))
            report_problem(visit, ETHOS_FINDING_WARNING, subject, "its userId is not a valid id",
                           "repair or remove it by hand");
        else if (was_pair_seen(seen, entry))
            report_problem(visit, ETHOS_FINDING_WARNING, subject,
                           "repeats an earlier entry, which wins", "remove one of them by hand");
    }
    json_decref(seen);
}

static void repair_identity_map(struct checkup *visit, int dir, const struct identity_map *map)
{
    struct ethos_error error;
    bool copy = json_array_size(map->entries) > 0;
    if (identity_repair(dir, service_now_ms(visit->call->ethos), &error) == ETHOS_OK)
        report_problem(
            visit, ETHOS_FINDING_FIXED, "users/identity-map.json", map->problem,
            copy ? "saved as .damaged-... beside it; the last good copy took its place"
                 : "saved as .damaged-... beside it; there was no copy, so the map is empty");
    else
        report_error(visit, "users/identity-map.json", &error);
}

struct profile_search {
    struct checkup *visit;
    char login[ETHOS_MAX_ID + 1];
};

static void report_unreached_profile(void *arg, const char *user, const char *login)
{
    const struct profile_search *self = arg;
    char problem[512], remedy[512];
    if (login)
        snprintf(problem, sizeof problem,
                 "the profile of %s is in no prompt of %s: it belongs to the login %s", user,
                 self->login, login);
    else
        snprintf(problem, sizeof problem,
                 "the profile of %s is in no prompt: no identity leads to it", user);
    snprintf(remedy, sizeof remedy, "if that is you, run: ethos users link cli %s %s --merge",
             self->login, user);
    report_problem(self->visit, ETHOS_FINDING_WARNING, "users", problem, remedy);
}

/* In a home that was restored under another login name, prompts may lack the person's profile. */
static void check_login(struct checkup *visit)
{
    char login[ETHOS_MAX_ID + 1], user[ETHOS_MAX_ID + 1], problem[512], remedy[512];
    struct profile_search reaching = {.visit = visit};
    if (!service_unlinked(visit->call->ethos, login, user)) {
        service_unreached(visit->call->ethos, reaching.login, report_unreached_profile, &reaching);
        return;
    }
    snprintf(problem, sizeof problem, "the login %s has no profile here, but %s has", login, user);
    snprintf(remedy, sizeof remedy, "if that is you, run: ethos users link cli %s %s", login, user);
    report_problem(visit, ETHOS_FINDING_WARNING, "users", problem, remedy);
}

static void check_identities(struct checkup *visit)
{
    CLEANUP_FD int dir = -1;
    struct identity_map map;
    struct ethos_error error;
    if (service_open_root(visit->call->ethos, false, &dir, &error) != ETHOS_OK || dir < 0)
        return; // the check of the store reports a missing directory
    if (identity_load(dir, &map, &error) != ETHOS_OK) {
        report_error(visit, "users/identity-map.json", &error);
        return;
    }
    if (map.damaged && visit->fix)
        repair_identity_map(visit, dir, &map);
    else if (map.damaged)
        report_problem(visit, ETHOS_FINDING_ERROR, "users/identity-map.json", map.problem,
                       "repair it by hand, or run: ethos doctor --fix");
    else
        check_identity_entries(visit, map.entries);
    identity_release(&map);
}

/* ---- workspaces ---------------------------------------------------------------------------- */

static void check_workspaces(struct checkup *visit)
{
    CLEANUP_FD int dir = -1;
    struct ethos_error error;
    if (service_open_root(visit->call->ethos, false, &dir, &error) != ETHOS_OK || dir < 0)
        return; // the check of the store reports a missing directory
    if (workspace_check(dir, visit->fix, service_now_ms(visit->call->ethos), add_finding_row, visit,
                        &error) != ETHOS_OK)
        report_error(visit, "workspaces", &error);
}

/* ---- memory -------------------------------------------------------------------------------- */

#define MOST_LINES 5 /* listed in one finding */

/* Appends " line 3 (aws-key), line 7 (aws-key)", the lines hidden for a reason. Returns the first one that can be shown, or 0. */
static size_t print_hidden_lines(const struct hidden_lines *lines, unsigned what, struct str *out)
{
    size_t named = 0, first = 0;
    for (size_t i = 0; i < lines->count; i++) {
        const struct hidden_line *line = &lines->rows[i];
        if (!(line->found & ~line->shown & what))
            continue;
        first = first || line->block ? first : line->number;
        if (named++ < MOST_LINES)
            str_printf(out, "%s line %zu (%s)", named > 1 ? "," : "", line->number,
                       what == SCAN_REDACT ? line->tag : "reads like an instruction");
    }
    if (named > MOST_LINES)
        str_printf(out, " and %zu more", named - MOST_LINES);
    return first;
}

/* Appends the command that shows a line, with its scope if the name alone means another file. */
static void print_show_command(const struct ethos_turn *turn, const struct ethos_omission *row,
                               size_t line, struct str *out)
{
    const struct ethos_context *context = ethos_turn_context(turn);
    bool user = strcmp(row->key, PROFILE) == 0;
    bool plain = strcmp(row->scope, user ? context->user_scope : context->memory_scope) == 0;
    str_printf(out, "ethos memory show-anyway %s:%zu", row->key, line);
    if (!plain)
        str_printf(out, " --scope %s", row->scope);
}

static int describe_hidden(struct checkup *visit, struct ethos_turn *turn,
                           const struct ethos_omission *row, struct ethos_view text,
                           struct str *problem, struct str *remedy)
{
    struct shown_lines shown;
    struct hidden_lines lines;
    bool secret = strcmp(row->reason, "secret") == 0;
    CLEANUP_ARENA struct arena arena;
    arena_init(&arena);
    int code = shown_file_lines(visit->call->ethos, row->scope, &arena, &shown);
    if (code == ETHOS_OK)
        code = hidden_lines_find(text, &shown, &arena, &lines);
    size_t first = code == ETHOS_OK
                       ? print_hidden_lines(&lines, secret ? SCAN_REDACT : SCAN_GUARD, problem)
                       : 0;
    str_adds(remedy, secret ? "if it is a secret, ethos memory forget TEXT removes it everywhere; "
                              "else reword it"
                            : "reword it, so that it does not address the model");
    if (first > 0) {
        str_adds(remedy, "; to show it as it is, run: ");
        print_show_command(turn, row, first, remedy);
    }
    return code;
}

/* Reports lines that the guard hides: which, why, and what to do. */
static void report_hidden(struct checkup *visit, struct ethos_turn *turn,
                          const struct ethos_omission *row, const char *subject)
{
    CLEANUP_FILE struct ethos_file *file = NULL;
    CLEANUP_STR struct str problem;
    CLEANUP_STR struct str remedy;
    const struct ethos_target target = {NULL, row->scope, row->key};
    str_init(&problem, 1024);
    str_init(&remedy, 1024);
    str_adds(&problem, "prompts do not get");
    int code = ethos_read(turn, &target, &file, NULL);
    struct ethos_view text = code == ETHOS_OK && file->text ? view_of(file->text, file->size)
                                                            : VIEW("");
    if (code != ETHOS_NOMEM)
        code = describe_hidden(visit, turn, row, text, &problem, &remedy);
    if (code != ETHOS_NOMEM && str_code(&problem) == ETHOS_OK && str_code(&remedy) == ETHOS_OK)
        report_problem(visit, ETHOS_FINDING_WARNING, subject, problem.data, remedy.data);
    else
        op_json_push(&visit->findings, NULL);
}

/* Reports a file that exceeds the budget, except in vector mode, where the question chooses what is shown. */
static void report_over_budget(struct checkup *visit, struct ethos_turn *turn,
                               const struct ethos_omission *row, const char *subject,
                               const char *problem)
{
    bool memory = strcmp(row->scope, ethos_turn_context(turn)->memory_scope) == 0;
    if (!memory)
        report_problem(visit, ETHOS_FINDING_WARNING, subject, problem,
                       "shorten it, or raise prefetch.maxChars");
    else if (!service_settings(turn)->vector)
        report_problem(
            visit, ETHOS_FINDING_WARNING, subject, problem,
            "shorten it, raise prefetch.maxChars, or show what fits the question: ethos config set "
            "memory vector");
}

/* Reports what prompts leave out. */
static void check_budget(struct checkup *visit, struct ethos_turn *turn)
{
    const struct ethos_prefetch_options options = {.receipt = 1};
    CLEANUP_BLOCK struct ethos_block *block = NULL;
    struct ethos_error error;
    if (ethos_prefetch(turn, &options, &block, &error) != ETHOS_OK) {
        report_error(visit, "prefetch", &error);
        return;
    }
    for (size_t i = 0; block && i < block->omitted_count; i++) {
        const struct ethos_omission *row = &block->omitted[i];
        char problem[256], subject[ETHOS_MAX_SCOPE + ETHOS_MAX_KEY + 2];
        snprintf(problem, sizeof problem, "prefetch leaves out %llu characters (%s)",
                 (unsigned long long)row->chars, row->reason);
        snprintf(subject, sizeof subject, "%s %s", row->scope, row->key);
        if (strcmp(row->reason, "budget") == 0)
            report_over_budget(visit, turn, row, subject, problem);
        else if (strcmp(row->reason, "unreadable") != 0)
            report_hidden(visit, turn, row, subject);
    }
}

/* The backend of a finding; findings about files name the file instead. */
struct backend_source {
    struct checkup *visit;
    const char *name;
};

static void add_backend_finding(void *arg, const struct ethos_finding *finding)
{
    const struct backend_source *source = arg;
    struct ethos_finding named = *finding;
    char subject[512];
    snprintf(subject, sizeof subject, "%s: %s", source->name, finding->subject);
    if (strcmp(source->name, config_find("memory.provider")->fallback) != 0)
        named.subject = subject;
    add_finding_row(source->visit, &named);
}

/* Checks the backend of a personality (NULL: of the home); false if it cannot be opened. */
static bool check_backend(struct checkup *visit, const char *personality)
{
    struct ethos_provider *provider = NULL;
    struct backend_source source = {visit, "memory"};
    struct ethos_error error = {0};
    char name[256];
    int code = service_provider_for(visit->call->ethos, personality, &source.name, &provider,
                                    &error);
    snprintf(name, sizeof name, "%s", source.name);
    source.name = name;
    if (code == ETHOS_OK && provider->ops->check)
        code = provider->ops->check(provider, visit->fix, add_backend_finding, &source, &error);
    if (code != ETHOS_OK)
        report_error(visit, name, &error);
    return code == ETHOS_OK;
}

/* ---- profiles that are not shown ------------------------------------------------------------- */

/* Finds a profile in the backend of a personality, where earlier versions stored it. */
static void check_own_profile(struct checkup *visit, const char *personality)
{
    static const struct ethos_read_how glance = {1, 0};
    const struct ethos_request request = {.personality = personality, .workspace = ""};
    struct ethos *ethos = visit->call->ethos;
    struct ethos_provider *own;
    struct ethos_turn *turn;
    struct ethos_text text = {0};
    const char *name;
    char remedy[ETHOS_MAX_ID + 96];
    if (service_provider_for(ethos, personality, &name, &own, NULL) != ETHOS_OK ||
        ethos_turn_new(ethos, &request, &turn, NULL) != ETHOS_OK)
        return;
    const char *scope = ethos_turn_context(turn)->user_scope;
    bool hidden = service_provider(turn, scope, PROFILE) != own &&
                  own->ops->read(own, scope, PROFILE, &glance, &text, NULL) == ETHOS_OK;
    service_free_text(ethos, &text);
    ethos_turn_free(turn);
    snprintf(remedy, sizeof remedy,
             "to show it again: ethos -p %s config set memory.options.user true", personality);
    if (hidden)
        report_problem(visit, ETHOS_FINDING_WARNING, personality,
                       "the USER.md in its backend is ignored: profiles are read from the home",
                       remedy);
}

/* Finds a profile in the global scope, where earlier versions stored it with memoryScope: global. */
static void check_home_profile(struct checkup *visit, struct ethos_turn *turn)
{
    const struct ethos_context *context = ethos_turn_context(turn);
    const struct ethos_target targets[] = {{NULL, "global", PROFILE},
                                           {NULL, context->user_scope, PROFILE}};
    struct ethos_file *files[2] = {NULL, NULL};
    if (strcmp(context->memory_scope, "global") != 0 || strcmp(context->user_scope, "global") == 0)
        return;
    for (size_t i = 0; i < 2; i++)
        if (ethos_read(turn, &targets[i], &files[i], NULL) != ETHOS_OK)
            files[i] = NULL;
    bool both = files[0] && files[1] && files[0]->text && files[1]->text;
    struct ethos_view old = both ? view_trim(view_of(files[0]->text, files[0]->size)) : VIEW("");
    if (both && strcmp(files[1]->scope, "global") != 0 && old.size > 0 &&
        !memmem(files[1]->text, files[1]->size, old.data, old.size))
        report_problem(
            visit, ETHOS_FINDING_WARNING, PROFILE,
            "the home's USER.md is not shown, and not all of it is in your profile",
            "ethos memory get --scope global --key USER.md shows it; add what is missing with "
            "ethos memory add --store user, or set userScope to global");
    for (size_t i = 0; i < 2; i++)
        ethos_file_free(files[i]);
}

/* ---- backends -------------------------------------------------------------------------------- */

/* Whether a personality has its own backend, or other options of the home's. */
static bool has_own_backend(struct checkup *visit, const char *personality)
{
    const struct config *home, *own;
    struct ethos_error error;
    if (service_config(visit->call->ethos, personality, &home, &own, &error) != ETHOS_OK) {
        report_error(visit, personality, &error);
        return false;
    }
    bool found = config_own(own, "memory.provider") != NULL;
    for (size_t i = 0; i < own->table.count; i++)
        found = found || strncmp(own->table.pairs[i].key, "memory.options.", 15) == 0;
    return found;
}

static bool check_backends(struct checkup *visit)
{
    json_t *ids = NULL;
    struct ethos_error error;
    bool ok = check_backend(visit, NULL);
    visit->home_absent = !ok;
    if (personalities_ids(visit->call, &ids, &error) != ETHOS_OK) {
        report_error(visit, "personalities", &error);
        return false;
    }
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *id = json_string_value(json_array_get(ids, i));
        if (!has_own_backend(visit, id))
            continue;
        ok = check_backend(visit, id) && ok;
        check_own_profile(visit, id);
    }
    json_decref(ids);
    return ok;
}

/* ---- notes and their index ----------------------------------------------------------------- */

/* The scopes of a backend that may have notes. */
struct note_scopes {
    json_t *names;
};

static int add_note_scope(void *arg, const char *scope)
{
    struct note_scopes *scopes = arg;
    bool has = strcmp(scope, "global") == 0 || strncmp(scope, "workspace:", 10) == 0 ||
               strncmp(scope, "personality:", 12) == 0;
    if (!has || scope_is_tree(scope))
        return ETHOS_OK;
    return json_array_append_new(scopes->names, json_string(scope)) == 0 ? ETHOS_OK : ETHOS_NOMEM;
}

static void append_count(char *out, size_t size, size_t count, const char *one, const char *many)
{
    size_t used = strlen(out);
    if (count > 0)
        snprintf(out + used, size - used, "%s%zu %s", used ? ", " : "", count,
                 count == 1 ? one : many);
}

static void check_index(struct checkup *visit, struct ethos_turn *turn, const char *scope)
{
    struct notes_disagreement found;
    struct ethos_error error = {0};
    char subject[ETHOS_MAX_SCOPE + 16], problem[192] = "", remedy[ETHOS_MAX_SCOPE + 32];
    snprintf(subject, sizeof subject, "%s MEMORY.md", scope);
    int code = notes_disagree(turn, scope, &found, &error);
    if (code == ETHOS_NOMEM)
        report_error(visit, subject, &error);
    if (code != ETHOS_OK)
        return; // the check of the store reports files that cannot be read
    append_count(problem, sizeof problem, found.unlisted, "note without a line in the index",
                 "notes without a line in the index");
    append_count(problem, sizeof problem, found.missing, "line without its note",
                 "lines without their notes");
    append_count(problem, sizeof problem, found.twice, "line for a note that has one",
                 "lines for notes that have one");
    if (!*problem)
        return;
    const struct ethos_origin origin = {.actor = "owner", .via = visit->call->via};
    const struct ethos_sync_how how = {.origin = &origin};
    snprintf(remedy, sizeof remedy, "ethos notes reindex --scope %s", scope);
    if (visit->fix && ethos_notes_reindex(turn, scope, &how, NULL, NULL, &error) == ETHOS_OK)
        report_problem(visit, ETHOS_FINDING_FIXED, subject, problem,
                       "the index was brought into agreement");
    else
        report_problem(visit, ETHOS_FINDING_WARNING, subject, problem, remedy);
}

/* Checks the index of every scope of the home's backend. */
static void check_indexes(struct checkup *visit, struct ethos_turn *turn)
{
    const struct ethos_context *context = ethos_turn_context(turn);
    const char *here = context->workspace_scope ? context->workspace_scope : "global";
    struct ethos_provider *provider = service_provider(turn, here, NULL);
    struct note_scopes scopes = {json_array()};
    struct ethos_error error = {0};
    int code = scopes.names ? ETHOS_OK : ETHOS_NOMEM;
    if (code == ETHOS_OK && SLOT_PROVIDER(provider, scopes))
        code = provider->ops->scopes(provider, add_note_scope, &scopes, &error);
    else if (code == ETHOS_OK)
        code = add_note_scope(&scopes, here);
    if (code == ETHOS_NOMEM)
        err_nomem(&error);
    if (code != ETHOS_OK)
        report_error(visit, "memory", &error);
    for (size_t i = 0; code == ETHOS_OK && i < json_array_size(scopes.names); i++)
        check_index(visit, turn, json_string_value(json_array_get(scopes.names, i)));
    json_decref(scopes.names);
}

static void check_memory(struct checkup *visit)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    struct ethos_error error;
    visit->absent = !check_backends(visit);
    if (visit->absent)
        return; // opening a turn would report the same again
    if (ethos_turn_new(visit->call->ethos, visit->call->request, &turn, &error) != ETHOS_OK) {
        report_error(visit, "memory", &error);
        return;
    }
    check_budget(visit, turn);
    check_home_profile(visit, turn);
    check_indexes(visit, turn);
}

/* ---- sessions ------------------------------------------------------------------------------ */

static void check_sessions(struct checkup *visit)
{
    struct ethos_sessions *store = NULL;
    struct ethos_error error = {0};
    if (visit->home_absent && service_sessions_there(visit->call->ethos))
        return; // the same backend, which cannot be opened
    int code = ethos_sessions(visit->call->ethos, &store, &error);
    if (code == ETHOS_OK && store->ops->check)
        code = store->ops->check(store, visit->fix, add_finding_row, visit, &error);
    if (code != ETHOS_OK && (store || !visit->absent))
        report_error(visit,
                     store && store->ops != sessions_builtin ? store->ops->name : "sessions.db",
                     &error);
}

/* Checks the recall indexes. */
static void check_recall(struct checkup *visit)
{
    struct ethos_error error;
    if (recall_check(visit->call->ethos, visit->fix, add_finding_row, visit, &error) != ETHOS_OK)
        report_error(visit, "recall", &error);
}

/* Reports hook events that are still queued or were refused. */
static void check_hook_queue(struct checkup *visit)
{
    char problem[128];
    size_t waiting, refused;
    spool_count(visit->call->ethos, &waiting, &refused);
    snprintf(problem, sizeof problem, "%zu event%s of agents not recorded yet", waiting,
             waiting == 1 ? "" : "s");
    if (waiting > 0)
        report_problem(visit, ETHOS_FINDING_WARNING, "spool", problem,
                       "run ethos sessions drain to see why");
    snprintf(problem, sizeof problem, "%zu event%s of agents could not be recorded", refused,
             refused == 1 ? "" : "s");
    if (refused > 0)
        report_problem(visit, ETHOS_FINDING_WARNING, "hooks/refused", problem,
                       "they contain what the agent said; review them, then delete them");
}

/* Reports changes that are queued for a backend, or were refused by it. */
static void check_offline(struct checkup *visit)
{
    struct ethos_error error;
    if (offline_check(service_root(visit->call->ethos), add_finding_row, visit, &error) != ETHOS_OK)
        report_error(visit, "offline", &error);
}

/* ---- the operations ------------------------------------------------------------------------ */

static bool is_home_made(struct op_call *call)
{
    CLEANUP_FD int dir = -1;
    struct ethos_error error;
    return service_open_home(call->ethos, false, &dir, &error) != ETHOS_OK || dir >= 0;
}

static void run_checks(struct checkup *visit)
{
    if (!check_home(visit))
        return;
    bool readable = check_config(visit);
    check_identities(visit);
    check_login(visit);
    check_workspaces(visit);
    if (readable)
        check_memory(visit);
    else
        visit->absent = visit->home_absent = true; // the reason was reported
    if (readable && !visit->absent)
        check_recall(visit);
    check_sessions(visit);
    check_hook_queue(visit);
    check_offline(visit);
    if (!service_ephemeral(visit->call->ethos))
        doctor_git(service_home(visit->call->ethos), visit->fix, add_finding_row, visit);
    if (!service_ephemeral(visit->call->ethos) &&
        !install_check(service_home(visit->call->ethos), visit->ask, add_finding_row, visit))
        op_json_push(&visit->findings, NULL);
}

/* The name of the home's backend; the default if the settings cannot be read, which is reported elsewhere. */
static const char *configured_backend_name(struct checkup *visit)
{
    const struct config *home;
    struct ethos_error error;
    return service_config(visit->call->ethos, NULL, &home, NULL, &error) == ETHOS_OK
               ? config_backend(home, NULL)
               : config_find("memory.provider")->fallback;
}

/* Takes the findings. */
static json_t *checkup_json(struct checkup *visit)
{
    return json_pack("{s:b, s:o, s:b, s:s, s:s, s:o}", "ok", visit->errors == 0, "home",
                     op_json_string(service_home(visit->call->ethos)), "exists",
                     is_home_made(visit->call), "version", ethos_version(), "backend",
                     configured_backend_name(visit), "findings", visit->findings);
}

/* For web pages: problems are not an error of the operation, and no other program is run. */
static int run_health(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct checkup visit = {.call = call, .findings = json_array()};
    if (!visit.findings)
        return err_nomem(error);
    run_checks(&visit);
    json_auto_t *json = checkup_json(&visit);
    TRY(pages_cut(call, &json, "findings", "subject problem", PAGES_ROWS, error));
    return op_return(result, json_incref(json), error);
}

static int run_doctor(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct checkup visit = {.call = call,
                            .findings = json_array(),
                            .fix = op_flag(call, "fix") && !call->dry_run,
                            .ask = true};
    if (!visit.findings)
        return err_nomem(error);
    if (visit.fix && !service_ephemeral(call->ethos) && !is_home_made(call)) {
        int dir;
        int code = service_open_home(call->ethos, true, &dir, error);
        if (code != ETHOS_OK) {
            json_decref(visit.findings);
            return code;
        }
        os_close(dir);
    }
    run_checks(&visit);
    if (visit.errors > 0)
        result->code = err_set(&result->error, ETHOS_INVALID, "%d problem%s found", visit.errors,
                               visit.errors == 1 ? "" : "s");
    return op_return(result, checkup_json(&visit), error);
}

static const struct op_arg doctor_args[] = {
    {"fix", OP_FLAG, 0, NULL, NULL, "fix what is safe to fix"},
    {NULL, OP_TEXT, 0, NULL, NULL, NULL}};
static const struct op_arg health_args[] = {ARG_PAGE, {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_doctor[] = {
    {"admin.doctor", "doctor", "Check the home, its files and settings", "ethos doctor --fix",
     doctor_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL | OP_DATABASE, run_doctor},
    {"meta.health", NULL, "Check the home, its files and settings", NULL, health_args, OP_OWNER,
     OP_IDEMPOTENT | OP_DATABASE, run_health},
    {0}};
