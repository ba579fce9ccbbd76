/*
 * test_secrets.c: every rule finds what it says, in every setting, and nothing else.
 *
 * Secrets are made from the shapes of the rules with a seed, so that none is in the tree.
 */
#include "core/scan/secrets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/str.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/scan/secret_rules.h"

static uint64_t seed = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % n;
}

static const char *alphabet(char class)
{
#define DIGITS "0123456789"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
    switch (class) {
    case 'A':
        return DIGITS UPPER LOWER;
    case 'W':
        return DIGITS UPPER LOWER "_";
    case 'L':
        return DIGITS UPPER LOWER "_-";
    case 'B':
        return DIGITS UPPER LOWER "+/";
    case 'U':
        return DIGITS UPPER;
    case 'c':
        return DIGITS LOWER;
    case 'h':
        return DIGITS "abcdef";
    case 'H':
        return DIGITS "abcdefABCDEF";
    case 'D':
        return DIGITS;
    case 'N':
        return DIGITS UPPER LOWER "_-.=";
    default:
        return DIGITS UPPER LOWER;
    }
}

/* A token of a shape, ending in a letter or digit; at its least length. */
static void make_body(const char *shape, struct str *out)
{
    while (*shape) {
        if (*shape == '\'') {
            str_addc(out, shape[1]);
            shape += 2;
            continue;
        }
        const char *letters = alphabet(*shape++);
        char *end;
        unsigned long count = strtoul(shape, &end, 10);

        shape = end;
        if (*shape == '-' && shape[1] >= '0' && shape[1] <= '9') {
            strtoul(shape + 1, &end, 10);
            shape = end;
        } else if (*shape == '+') {
            shape++;
        }
        for (unsigned long i = 0; i < count; i++) {
            char c = letters[random_below((unsigned)strlen(letters))];

            while ((i == 0 || i + 1 == count) && strchr("_-.=+/", c))
                c = letters[random_below((unsigned)strlen(letters))];
            str_addc(out, c);
        }
    }
}

static const char *const settings[] = {
    "%s",
    "value: %s\n",
    "{\"text\": \"a\\n%s\\nb\"}",
    "SOMETHING=%s\n",
    "| a | %s | b |",
    "https://host.test/?x=%s",
    "2026-11-19T10:00:00Z info sent %s to the queue",
    "We used %s there, for now.",
};

static bool is_found(const char *text, const char *secret)
{
    struct str out;
    bool gone;

    str_init(&out, 1 << 20);
    gone = scan_text(view_str(text), SCAN_REDACT, &out, NULL) && !strstr(out.data, secret);
    str_release(&out);
    return gone;
}

static void test_every_shape_is_found_in_every_setting(void **state)
{
    unsigned made = 0, found = 0;

    (void)state;
    for (size_t i = 0; i < secret_rule_count; i++) {
        const struct secret_rule *rule = &secret_rules[i];

        if (rule->find)
            continue;
        for (size_t j = 0; j < sizeof settings / sizeof settings[0]; j++) {
            char text[4096];
            struct str token, secret;

            str_init(&token, 4096);
            str_init(&secret, 4096);
            make_body(rule->shape, &secret);
            str_printf(&token, "%s%s", rule->anchor ? rule->anchor : "", secret.data);
            int prefix = rule->near ? snprintf(text, sizeof text, "%s ", rule->near) : 0;
            // The format is one of the settings above.
            char *place = text + prefix;
            const char *format = settings[j], *mark = strstr(format, "%s");
            snprintf(place, sizeof text - (size_t)prefix, "%.*s%s%s", (int)(mark - format), format,
                     token.data, mark + 2);
            made++;
            if (is_found(text, secret.data))
                found++;
            else
                print_message("%s is not found in '%s'\n", rule->tag, text);
            str_release(&token);
            str_release(&secret);
        }
    }
    print_message("%u of %u found\n", found, made);
    assert_true(made > 1000);
    assert_true(found * 100 >= made * 99);
}

static void assert_redacted(const char *text, const char *expected)
{
    struct str out;

    str_init(&out, 1 << 20);
    bool hit = scan_text(view_str(text), SCAN_REDACT, &out, NULL);
    assert_string_equal(hit ? out.data : text, expected);
    str_release(&out);
}

#define BODY                                                                                       \
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"                           \
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n"

static void test_values_that_stand_somewhere(void **state)
{
    (void)state;
    assert_redacted("password: Tr0ub4dor&3", "password: [REDACTED:password]");
    assert_redacted("db_password = 's3cr3t-Passw0rd'", "db_password = '[REDACTED:password]'");
    assert_redacted("postgres://app:k3Jq9zX2@db.test/app",
                    "postgres://app:[REDACTED:url-password]@db.test/app");
    assert_redacted("Authorization: Basic dXNlcjpzZWNyZXQx",
                    "Authorization: Basic [REDACTED:basic-auth]");
    assert_redacted("curl -u admin:Xk29dPq1 https://host.test",
                    "curl -u admin:[REDACTED:password] https://host.test");
    assert_redacted("The password of the router is Sommer-Mistral39, for now",
                    "The password of the router is [REDACTED:password], for now");
    assert_redacted("密码：H8SCKCumYX2H", "密码：[REDACTED:password]");
    assert_redacted(
        "-----BEGIN PRIVATE KEY-----\n" BODY "-----END PRIVATE KEY-----\nb\n",
        "-----BEGIN PRIVATE KEY-----\n[REDACTED:private-key]\n\n-----END PRIVATE KEY-----\nb\n");
    assert_redacted(BODY "-----END PRIVATE KEY-----\nb\n",
                    "[REDACTED:private-key]\n\n-----END PRIVATE KEY-----\nb\n");
}

static void test_options_of_programs(void **state)
{
    (void)state;
    assert_redacted("mysql -u root -pTundra-ferry22 shop",
                    "mysql -u root -p[REDACTED:password] shop");
    assert_redacted("redis-cli -h cache -a uP4fYaGoZfF INFO",
                    "redis-cli -h cache -a [REDACTED:password] INFO");
    assert_redacted("ldapsearch -x -D 'cn=a,dc=b' -w 'Thistle!basil57' -b dc=b",
                    "ldapsearch -x -D 'cn=a,dc=b' -w '[REDACTED:password]' -b dc=b");
    assert_redacted("jdbc:oracle:thin:app_rw/VTcuETZteu6@//db:1521/X",
                    "jdbc:oracle:thin:app_rw/[REDACTED:password]@//db:1521/X");
    assert_redacted("db-1:5432:shop:rw:w9QxPMdT4KJjWL", "db-1:5432:shop:rw:[REDACTED:password]");
    assert_redacted("net use Z: \\\\nas\\s /user:scanner Sc4nn3r2019",
                    "net use Z: \\\\nas\\s /user:scanner [REDACTED:password]");
    assert_redacted("htpasswd -b .htpasswd ann Sommerfest26",
                    "htpasswd -b .htpasswd ann [REDACTED:password]");
    assert_redacted("mysql -u root -p shop", "mysql -u root -p shop");
    assert_redacted("redis-cli -a $REDIS_PASSWORD ping", "redis-cli -a $REDIS_PASSWORD ping");
    assert_redacted("zip -r notes.zip notes", "zip -r notes.zip notes");
    assert_redacted("the mysql server and\nthe -pTundra-ferry22",
                    "the mysql server and\nthe -pTundra-ferry22");
}

static void test_passwords_that_are_told(void **state)
{
    (void)state;
    assert_redacted("Le mot de passe du compte c'est Chaudron36 (majuscule)",
                    "Le mot de passe du compte c'est [REDACTED:password] (majuscule)");
    assert_redacted("The password of the safe is perroGris2020 now",
                    "The password of the safe is [REDACTED:password] now");
    assert_redacted("The password hash is sha256sum of it", "The password hash is sha256sum of it");
    assert_redacted("The password is optional since 2024", "The password is optional since 2024");
    assert_redacted("recovery: velvet harbor tunnel olive cricket margin solar jungle borrow "
                    "pistol antenna winter",
                    "recovery: [REDACTED:recovery-phrase]");
    assert_redacted("recovery: stop the database, copy the files from the backup, start again with "
                    "care and wait",
                    "recovery: stop the database, copy the files from the backup, start again with "
                    "care and wait");
}

static void test_what_is_no_secret_stays(void **state)
{
    static const char *const rows[] = {
        "password: see vault",
        "password: <your password>",
        "password = os.environ[\"DB_PASSWORD\"]",
        "token: process.env.TOKEN",
        "const password: string;",
        "the key is in the vault under apps/ledger",
        "commit 3d1c997d5222fb1f1254276a36830628d8c3becc",
        "id 5f0c3b5e-9a1d-4c53-b1a4-1f7d2f8f0a11",
        "sha512-SN/Ar/UzotWhkJiSQ+WUN/"
        "L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA==",
        "We hash passwords with Argon2id (m=64 MiB, t=3, p=1).",
        "-----BEGIN PRIVATE KEY-----",
        "https://host.test/a/b?c=d",
        "postgres://user:password@localhost/db",
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_redacted(rows[i], rows[i]);
}

static void test_redacting_twice_is_redacting_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < secret_rule_count; i++) {
        struct str text, once, twice;

        if (secret_rules[i].find)
            continue;
        str_init(&text, 1 << 16);
        str_init(&once, 1 << 16);
        str_init(&twice, 1 << 16);
        str_printf(&text, "key: %s", secret_rules[i].anchor ? secret_rules[i].anchor : "");
        make_body(secret_rules[i].shape, &text);
        str_adds(&text, " password=Ab3-xyZ9!\n");
        if (scan_text(str_view(&text), SCAN_REDACT, &once, NULL) &&
            scan_text(str_view(&once), SCAN_REDACT, &twice, NULL))
            fail_msg("'%s' and then '%s'", once.data, twice.data);
        str_release(&text);
        str_release(&once);
        str_release(&twice);
    }
}

/* Values that look a bit like secrets. Three rows are those of older rules, which are exact. */
static void test_benign_values(void **state)
{
    FILE *file = fopen("tests/core/scan/benign_values.jsonl", "r");
    char *line = NULL;
    size_t room = 0;
    unsigned rows = 0, hits = 0;

    (void)state;
    assert_non_null(file);
    while (getline(&line, &room, file) > 0) {
        json_t *row = json_loads(line, 0, NULL);
        struct str out;

        str_init(&out, 1 << 20);
        rows++;
        if (scan_text(view_str(json_string_value(json_object_get(row, "text"))), SCAN_REDACT, &out,
                      NULL)) {
            hits++;
            print_message("%s\n", out.data);
        }
        str_release(&out);
        json_decref(row);
    }
    free(line);
    fclose(file);
    print_message("%u of %u benign values are taken for secrets\n", hits, rows);
    assert_int_equal(rows, 250);
    assert_in_range(hits, 0, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shape_is_found_in_every_setting),
        cmocka_unit_test(test_values_that_stand_somewhere),
        cmocka_unit_test(test_options_of_programs),
        cmocka_unit_test(test_passwords_that_are_told),
        cmocka_unit_test(test_what_is_no_secret_stays),
        cmocka_unit_test(test_redacting_twice_is_redacting_once),
        cmocka_unit_test(test_benign_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
