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
#include "core/scan/visible.h"

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
    assert_redacted("\"auth\": \"dXNlcjpzZWNyZXQx\"", "\"auth\": \"[REDACTED:docker-auth]\"");
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

#define LINE "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n"
#define FOOTER "-----END PRIVATE KEY-----\n"
#define A36 "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8"

/* Of a key without a header no line stays, whatever else is found in one of them. */
static void test_a_secret_in_a_line_of_a_key_leaves_no_key(void **state)
{
    static const char *const others[] = {
        "ghp_" A36,
        "AKIA0123456789ABCDEF",
        "token=" A36,
        "sk-" A36 "abcdefgh",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLXNiQmIWU5dfm2R",
    };

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[1024];

        snprintf(text, sizeof text,
                 "a:\n" LINE "MIIEvQ%sBgkqh\n" LINE LINE "kqhkiG==\n" FOOTER "b\n", others[i]);
        assert_redacted(text, "a:\n[REDACTED:private-key]\n\n\n\n\n" FOOTER "b\n");
        snprintf(text, sizeof text, "%s\n" LINE FOOTER, others[i]);
        assert_redacted(text, "[REDACTED:private-key]\n\n" FOOTER);
        snprintf(text, sizeof text, LINE "%s\n\r\n" FOOTER, others[i]);
        assert_redacted(text, "[REDACTED:private-key]\n\n\r\n" FOOTER);
    }
    assert_redacted("a " LINE "b ghp_" A36 " " LINE LINE FOOTER,
                    "a " LINE "b [REDACTED:github-pat] [REDACTED:private-key]\n\n" FOOTER);
    assert_redacted("password: Xy&z3efgh\n" LINE FOOTER,
                    "password: [REDACTED:password]\n[REDACTED:private-key]\n" FOOTER);
    assert_redacted("a ghp_" A36 "MIIEvQ\n" LINE LINE FOOTER,
                    "a [REDACTED:github-pat][REDACTED:private-key]\n\n\n" FOOTER);
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

/* Each name of the table finds a value that is not found without it. */
static void test_every_foreign_name_is_met(void **state)
{
    (void)state;
    assert_redacted("x: Tr0ub4dor&3x", "x: Tr0ub4dor&3x");
    for (size_t i = 0; i < secret_foreign_name_count; i++) {
        const struct foreign_name *name = &secret_foreign_names[i];
        char text[128], expected[128];

        snprintf(text, sizeof text, "%s%s: Tr0ub4dor&3x", name->before, name->rest);
        snprintf(expected, sizeof expected, "%s%s: [REDACTED:password]", name->before, name->rest);
        assert_redacted(text, expected);
        if (*name->before) // the rest alone is no name
            assert_redacted(text + 1, text + 1);
    }
    assert_redacted("Mật khẩu: Tr0ub4dor&3x", "Mật khẩu: [REDACTED:password]");
}

/* Each round of redacting takes one word away, and makes the next one visible. */
static void test_a_line_with_ever_more_secrets_is_not_lost(void **state)
{
    struct str text, out, again;

    (void)state;
    str_init(&text, 1 << 16);
    str_init(&out, 1 << 16);
    str_init(&again, 1 << 16);
    str_adds(&text, "schl\xC3\xBCsselyquired to7z E0AjIXD7RXpYAiNatXqeMoJVFT7jFQ8"
                    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
                    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLXNiQmIWU5dfm2RtZj"
                    "b8cAcrEhgz8HaGhqcyJHMi6hzQC5GEfoqrHXjVEjBX-lin_api_rxpx6KTg="
                    "zRacq+B72wNt+ekw2M+9d8D.e8S");
    assert_true(scan_text(str_view(&text), SCAN_REDACT, &out, NULL));
    assert_string_equal(out.data, "[REDACTED:secret]");
    assert_false(scan_text(str_view(&out), SCAN_REDACT, &again, NULL));
    str_release(&text);
    str_release(&out);
    str_release(&again);
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
        "token: 3d1c9a7e5b22f80f6254d7ba", // a short hash
        "We hash passwords with Argon2id (m=64 MiB, t=3, p=1).",
        "-----BEGIN PRIVATE KEY-----",
        "https://host.test/a/b?c=d",
        "postgres://user:password@localhost/db",
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_redacted(rows[i], rows[i]);
}

/* Characters that show nothing, of each kind. */
static const char *const invisible[] = {
    "\xC2\xAD",     /* soft hyphen */
    "\xCD\x8F",     /* joiner of graphemes */
    "\xD8\x9C",     /* Arabic letter mark */
    "\xE1\x85\x9F", /* Hangul fillers */
    "\xE1\x85\xA0",     "\xE3\x85\xA4",     "\xEF\xBE\xA0",
    "\xE1\x9E\xB4", /* Khmer vowels that are none */
    "\xE1\xA0\x8B", /* Mongolian selector */
    "\xE1\xA0\x8E", /* Mongolian separator */
    "\xE2\x80\x8B", /* zero-width space, non-joiner, joiner */
    "\xE2\x80\x8C",     "\xE2\x80\x8D",     "\xE2\x80\x8E",
    "\xE2\x80\x8F",                                         /* directions */
    "\xE2\x80\xAA",     "\xE2\x80\xAE",     "\xE2\x81\xA0", /* word joiner, invisible times */
    "\xE2\x81\xA2",     "\xE2\x81\xA6",     "\xE2\x81\xAF",
    "\xEF\xB8\x80",                                         /* variation selectors */
    "\xEF\xB8\x8F",     "\xF3\xA0\x84\x80", "\xEF\xBB\xBF", /* byte order mark */
    "\xEF\xBF\xB9",                                         /* annotation */
    "\xF0\x9B\xB2\xA0",                                     /* shorthand */
    "\xF0\x9D\x85\xB3",                                     /* music */
    "\xF3\xA0\x80\x81",                                     /* tags */
    "\xF3\xA0\x81\x81", "\xF3\xA0\x81\xBF",
};

#define INVISIBLE (sizeof invisible / sizeof invisible[0])

/* Puts one between all bytes of a secret, or behind one byte only. */
static void add_disguised(struct str *out, const char *secret, const char *between, size_t only)
{
    for (size_t i = 0; secret[i]; i++) {
        str_addc(out, secret[i]);
        if (secret[i + 1] && (only == SIZE_MAX || only == i))
            str_adds(out, between);
    }
}

static void assert_disguised_is_redacted(const char *secret, const char *tag, const char *between,
                                         size_t only)
{
    struct str text, out, again, expected;
    struct scan_tally tally = {0};

    str_init(&text, 1 << 16);
    str_init(&out, 1 << 16);
    str_init(&again, 1 << 16);
    str_init(&expected, 1 << 16);
    str_printf(&text, "%sa \xE2\x80\x99 %s", between, between);
    size_t before = text.size;
    add_disguised(&text, secret, between, only);
    size_t size = text.size - before;
    str_printf(&text, "%s b%s\nc", between, between);
    str_printf(&expected, "%sa \xE2\x80\x99 %s[REDACTED:%s]%s b%s\nc", between, between, tag,
               between, between);
    assert_true(scan_text(str_view(&text), SCAN_REDACT, &out, &tally));
    assert_string_equal(out.data, expected.data);
    assert_int_equal(tally.secret_bytes, size);
    assert_false(scan_text(str_view(&out), SCAN_REDACT, &again, NULL));
    str_release(&text);
    str_release(&out);
    str_release(&again);
    str_release(&expected);
}

static void test_invisible_characters_hide_no_secret(void **state)
{
    static const struct {
        const char *tag, *prefix, *shape;
    } families[] = {
        {"github-pat", "ghp_", "A36"},         {"aws-key", "AKIA", "U16"},
        {"openai-key", "sk-", "L48"},          {"gitlab-token", "glpat-", "L20"},
        {"slack-token", "xoxs-", "L30"},       {"npm-token", "npm_", "A36"},
        {"stripe-key", "rk_live_", "A24"},     {"digitalocean-token", "dop_v1_", "h64"},
        {"grafana-token", "glsa_", "A32'_H8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        struct str secret;

        str_init(&secret, 4096);
        str_adds(&secret, families[i].prefix);
        make_body(families[i].shape, &secret);
        for (size_t j = 0; j < INVISIBLE; j++) {
            assert_disguised_is_redacted(secret.data, families[i].tag, invisible[j], SIZE_MAX);
            for (size_t at = 0; at + 1 < secret.size; at += 1 + at / 4)
                assert_disguised_is_redacted(secret.data, families[i].tag, invisible[j], at);
        }
        str_release(&secret);
    }
    assert_redacted("pass\xE2\x80\x8Bword: Tr0ub4\xC2\xAD"
                    "dor&3",
                    "pass\xE2\x80\x8Bword: [REDACTED:password]");
    assert_redacted("postgres://app:k3Jq\xE2\x81\xA0"
                    "9zX2@db.test/app",
                    "postgres://app:[REDACTED:url-password]@db.test/app");
    assert_redacted("a\xE2\x80\x8B npm is fine, na\xC3\xAFve\xE2\x80\x8B",
                    "a\xE2\x80\x8B npm is fine, na\xC3\xAFve\xE2\x80\x8B");
}

static void test_a_token_of_tags_is_a_token(void **state)
{
    struct str secret, text, expected;

    (void)state;
    str_init(&secret, 4096);
    str_init(&text, 4096);
    str_init(&expected, 4096);
    str_adds(&secret, "npm_");
    make_body("A36", &secret);
    str_adds(&text, "see ");
    for (size_t i = 0; i < secret.size; i++) {
        unsigned c = 0x80000u + (unsigned char)secret.data[i];
        str_printf(&text, "\xF3\xA0%c%c", (int)(0x80 | (c >> 6 & 0x3F)), (int)(0x80 | (c & 0x3F)));
    }
    str_adds(&text, " there");
    assert_redacted(text.data, "see [REDACTED:npm-token] there");
    str_release(&secret);
    str_release(&text);
    str_release(&expected);
}

static void test_invisible_characters_hide_no_private_key(void **state)
{
    (void)state;
    assert_redacted("-----BEGIN PRIV\xE2\x80\x8B"
                    "ATE KEY-----\n" BODY "-----END PRIVATE KEY-----\nb\n",
                    "-----BEGIN PRIV\xE2\x80\x8B"
                    "ATE KEY-----\n[REDACTED:private-key]\n\n"
                    "-----END PRIVATE KEY-----\nb\n");
    assert_redacted("a\n-----BEGIN PRIVATE KEY-----\nMI\xC2\xADIE\xE2\x80\x8B" BODY
                    "-----END PRIVATE KEY-----\nb\n",
                    "a\n-----BEGIN PRIVATE KEY-----\n[REDACTED:private-key]\n\n"
                    "-----END PRIVATE KEY-----\nb\n");
    assert_redacted("-----BEGIN PRIVATE KEY-----\n" LINE "MIIEvQ\xE2\x80\x8BIBADAN\n" LINE "b: c\n",
                    "-----BEGIN PRIVATE KEY-----\n[REDACTED:private-key]\n\n\nb: c\n");
    assert_redacted("a:\nMIIEvQ\xE2\x80\x8BIBADAN\n" LINE FOOTER,
                    "a:\n[REDACTED:private-key]\n\n" FOOTER);
    assert_redacted(BODY "-----END PRI\xEF\xBB\xBFVATE KEY-----\nb\n",
                    "[REDACTED:private-key]\n\n-----END PRI\xEF\xBB\xBFVATE KEY-----\nb\n");
}

/* Each byte of the copy is where the map says, and the map rises. */
static void test_the_map_is_exact(void **state)
{
    (void)state;
    for (size_t round = 0; round < 2000; round++) {
        struct visible_text copy;
        struct str text;

        str_init(&text, 4096);
        for (unsigned parts = random_below(40); parts > 0; parts--)
            str_adds(&text, random_below(2)   ? invisible[random_below(INVISIBLE)]
                            : random_below(2) ? "a"
                                              : "\xE2\x80\x99z");
        visible_init(&copy);
        enum visible_tags tags = random_below(2) ? VISIBLE_READ_TAGS : VISIBLE_DROP_TAGS;
        if (visible_read(&copy, str_view(&text), tags)) {
            size_t last = 0;

            for (size_t at = 0; at < copy.text.size; at++) {
                size_t start = visible_start(&copy, at), end = visible_end(&copy, at + 1);

                assert_true(start >= last && end > start && end <= text.size);
                assert_true(end == start + 4 ||
                            (end == start + 1 && text.data[start] == copy.text.data[at]));
                assert_int_equal(visible_find(&copy, start), at);
                assert_int_equal(visible_find(&copy, last), at);
                last = end;
            }
            assert_int_equal(visible_start(&copy, copy.text.size), text.size);
            assert_int_equal(visible_find(&copy, text.size), copy.text.size);
        }
        visible_release(&copy);
        str_release(&text);
    }
}

static void assert_redacted_once(struct ethos_view text)
{
    struct str once, twice;
    struct scan_tally tally = {0};

    str_init(&once, 1 << 20);
    str_init(&twice, 1 << 20);
    if (scan_text(text, SCAN_REDACT, &once, &tally) &&
        scan_text(str_view(&once), SCAN_REDACT, &twice, NULL))
        fail_msg("'%s' and then '%s'", once.data, twice.data);
    assert_true(tally.secret_bytes <= text.size && tally.secret_chars <= tally.secret_bytes);
    str_release(&once);
    str_release(&twice);
}

static void test_redacting_twice_is_redacting_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < secret_rule_count; i++) {
        struct str text;

        if (secret_rules[i].find)
            continue;
        str_init(&text, 1 << 16);
        str_printf(&text, "key: %s", secret_rules[i].anchor ? secret_rules[i].anchor : "");
        make_body(secret_rules[i].shape, &text);
        str_adds(&text, " password=Ab3-xyZ9!\n");
        assert_redacted_once(str_view(&text));
        str_release(&text);
    }
}

/* Whatever stands around the header, the lines and the footer of a key. */
static void test_redacting_parts_of_keys_twice_is_redacting_once(void **state)
{
    static const char *const parts[] = {
        LINE,
        LINE,
        LINE,
        LINE,
        "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDu",
        "\n",
        "\n",
        "\r\n",
        " ",
        "MIIEvQIBADAN",
        "kqhkiG==",
        FOOTER,
        "-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----",
        "Private-Lines: 3\n",
        "ghp_" A36,
        "AKIA0123456789ABCDEF",
        "token=" A36,
        "key=",
        "password: ",
        "Tr0ub4dor&3x",
        "sk-" A36 "abcdefgh",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLXNiQmIWU5dfm2R",
        "\xE2\x80\x8B",
        "\\n",
        "\"",
        "the",
        "[REDACTED:x]",
        "]",
        "> ",
        "--------",
        ".",
        "recovery: velvet harbor tunnel olive cricket margin solar jungle borrow pistol antenna "
        "winter",
    };

    (void)state;
    // The end of a key's last line, behind the marker; a line whose later rounds take out what earlier ones put in.
    assert_redacted_once(
        VIEW("-----BEGIN PRIVATE KEY-----\n" BODY
             "password: MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu"));
    assert_redacted_once(
        VIEW("ghp_" A36 "-----BEGIN PRIVATE KEY-----password: -----END PRIVATE "
             "KEY-----MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvusk-" A36
             "abcdefgh\\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaathe"));
    for (unsigned round = 0; round < 5000; round++) {
        struct str text;

        str_init(&text, 1 << 16);
        for (unsigned count = 2 + random_below(14); count > 0; count--)
            str_adds(&text, parts[random_below(sizeof parts / sizeof parts[0])]);
        str_adds(&text, random_below(2) ? "\n" FOOTER : "");
        assert_redacted_once(str_view(&text));
        str_release(&text);
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
        cmocka_unit_test(test_a_secret_in_a_line_of_a_key_leaves_no_key),
        cmocka_unit_test(test_options_of_programs),
        cmocka_unit_test(test_passwords_that_are_told),
        cmocka_unit_test(test_every_foreign_name_is_met),
        cmocka_unit_test(test_a_line_with_ever_more_secrets_is_not_lost),
        cmocka_unit_test(test_what_is_no_secret_stays),
        cmocka_unit_test(test_invisible_characters_hide_no_secret),
        cmocka_unit_test(test_a_token_of_tags_is_a_token),
        cmocka_unit_test(test_invisible_characters_hide_no_private_key),
        cmocka_unit_test(test_the_map_is_exact),
        cmocka_unit_test(test_redacting_twice_is_redacting_once),
        cmocka_unit_test(test_redacting_parts_of_keys_twice_is_redacting_once),
        cmocka_unit_test(test_benign_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
