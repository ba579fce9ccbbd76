/*
 * secret_prose.c: values that sentences tell.
 */
#include <string.h>

#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/secret_rules.h"
#include "core/scan/value_shape.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PROSE_REACH 96 /* bytes from a word like "password" to what it is, in a sentence */

const struct foreign_name secret_foreign_names[] = {
    {"", "парол"},       {"", "Парол"},      {"", "ПАРОЛ"},    {"", "密码"},  {"", "密碼"},
    {"", "口令"},        {"", "パスワード"}, {"", "비밀번호"}, {"", "암호"},  {"", "पासवर्ड"},
    {"", "كلمة المرور"}, {"", "كلمة السر"},  {"", "ật khẩu"},  {"has", "ło"}, {"Has", "ło"},
    {"", "şifre"},       {"", "Şifre"},
};
const size_t secret_foreign_name_count = COUNT(secret_foreign_names);

static bool is_foreign_name(const struct foreign_name *name, const char *start, const char *p,
                            const char *end)
{
    size_t same = 0;

    while (name->rest[same] && p + same < end && p[same] == name->rest[same])
        same++;
    return !name->rest[same] &&
           view_ends(view_of(start, (size_t)(p - start)), view_str(name->before));
}

const char *secret_next_foreign_name(struct ethos_view text, const char *p)
{
    const char *end = text.data + text.size;

    for (; p < end; p++) {
        if (!((unsigned char)*p & 0x80))
            continue;
        for (size_t i = 0; i < COUNT(secret_foreign_names); i++) {
            if (is_foreign_name(&secret_foreign_names[i], text.data, p, end))
                return p;
        }
    }
    return NULL;
}

/* Whether what stands before a word says that the word is what was named. */
static bool is_stated(const char *from, const char *word)
{
    static const char *const told[] = {":",
                                       "=",
                                       " is",
                                       " ist",
                                       " est",
                                       "c'est",
                                       " es",
                                       " jest",
                                       " to",
                                       " \xC3\xA9",
                                       " \xC3\xA8",
                                       "\xE6\x98\xAF",
                                       "\xE6\x88\x90\xE4\xBA\x86",
                                       "\xEF\xBC\x9A"};

    while (word > from && byte_is(word[-1], BYTE_BLANK | BYTE_QUOTE))
        word--;
    for (size_t i = 0; i < COUNT(told); i++) {
        if (view_ends(view_of(from, (size_t)(word - from)), view_str(told[i])))
            return true;
    }
    return false;
}

/* Whether a word of prose, and the blanks between two, surely end at p, wherever they begin. */
static bool ends_word(char c)
{
    return (unsigned char)c & 0x80 || byte_is(c, BYTE_BLANK | BYTE_QUOTE) ||
           value_has_mark(c, VALUE_WORD_END);
}

/*
 * The first such word behind the anchor, in its sentence. Words end at blanks and at what no password ends with;
 * between characters of other scripts no blank is needed. Words that were read for an anchor before are not read
 * again.
 */
bool find_password_in_prose(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *text = search->text.data, *end = text + search->text.size;
    const char *stop = end - anchor > PROSE_REACH ? anchor + PROSE_REACH : end;
    const char *p = secret_run_end(search, 'L', anchor);

    if (p >= stop)
        return false;
    if (p + 1 < stop && *p == ':' && !byte_is(p[1], BYTE_BLANK)) // an identifier
        return false;
    struct secret_span *known = &search->prose, seen = {(size_t)(p - text), (size_t)(p - text)};
    bool sentence_ends = false;
    while (p < stop && *p != '\n' && !sentence_ends) {
        size_t at = (size_t)(p - text);

        if (ends_word(*p) && at >= known->from && at < known->to && text + known->to <= stop) {
            p = text + known->to;
            seen = (struct secret_span){known->from, known->to};
            sentence_ends = search->ends_sentence;
            continue;
        }
        if (ends_word(*p) || value_has_mark(*p, VALUE_BETWEEN)) {
            p++;
            continue;
        }
        const char *word = p;
        while (p < stop && !ends_word(*p))
            p++;
        const char *after = p;
        while (after > word && strchr(".:!?", after[-1]))
            after--;
        struct ethos_view found = view_of(word, (size_t)(after - word));
        if (value_is_unlike_words(search, found) ||
            (value_is_chosen(search, found) && is_stated(anchor, word)))
            return secret_report(search, found, out);
        sentence_ends = p < stop && after < p && *after == '.';
        if (p < stop)
            seen.to = (size_t)(p - text);
    }
    if (seen.to > seen.from) {
        *known = seen;
        search->ends_sentence = sentence_ends;
    }
    return false;
}

/* A long run that looks like a key, in a line that says so before it and does not say that it is something else. */
bool find_key_in_prose(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const char *const keys[] = {
        "key",     "token", "secret",  "credential", "clave", "chave",         "chiave", "schl",
        "sleutel", "klucz", "anahtar", "jeton",      "ключ",  "токен",         "секрет", "密钥",
        "密鑰",    "令牌",  "キー",    "トークン",   "키",    "토큰",          "مفتاح",  "رمز",
        "कुंजी",     "टोकन",  "khóa",    "cl\xc3\xa9", "-h \"", "authorization",
    };
    static const char *const others[] = {
        "[redacted", "sha",      "commit", "hash",        "digest",  "checksum",
        "integrity", "revision", "public", "fingerprint", "etag",    "keyboard",
        "http",      "id ",      "id:",    "id=",         "uuid",    "tokeniz",
        "tokens",    "nonce",    "href",   "src",         "path",    "version",
        "monkey",    "keyword",  "turkey", "key:",        "cache",   "gpg",
        "using ",    "class",    "test",   "fixture",     "example", "data:",
    };
    const char *start = search->text.data, *end = start + search->text.size;
    const char *after = byte_run(anchor, end - anchor > MAX_VALUE ? anchor + MAX_VALUE : end,
                                 BYTE_TOKEN | BYTE_BASE64);
    const char *from = anchor - start > PROSE_REACH ? anchor - PROSE_REACH : start;

    after = byte_run(after, end - after > 2 ? after + 2 : end, BYTE_EQUALS);
    struct ethos_view value = view_of(anchor, (size_t)(after - anchor));
    if (value.size < 20 || value.size > 300 ||
        (after < end && strchr("./:", *after) && after + 1 < end && byte_is(after[1], BYTE_ALNUM)))
        return false;
    const char *line = memrchr(from, '\n', (size_t)(anchor - from));
    struct ethos_view before = view_of(line ? line + 1 : from,
                                       (size_t)(anchor - (line ? line + 1 : from)));
    return value_is_random_key(search, value) && value_has_word(before, keys, COUNT(keys)) &&
           !value_has_word(before, others, COUNT(others)) && secret_report(search, value, out);
}

#define PHRASE_WORDS 12 /* of a wallet, at least */

/* The words from which a wallet is made again: in lower case, of three to eight letters, none as sentences need them. */
bool find_word_phrase(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const char *const usual[] = {"the",  "and", "for", "with", "are",  "was",
                                        "from", "has", "not", "that", "this", "your"};
    const char *end = search->text.data + search->text.size;
    const char *stop = end - anchor > MAX_VALUE ? anchor + MAX_VALUE : end;
    const char *p = memchr(anchor, ':', (size_t)(stop - anchor > 60 ? 60 : stop - anchor));
    unsigned words = 0;

    if (!p)
        return false;
    const char *first = p = byte_run(p + 1, stop, BYTE_BLANK), *after = p;
    while (p < stop && byte_is(*p, BYTE_LOWER)) {
        const char *word = p;

        p = byte_run(p, stop, BYTE_LOWER);
        if (p - word < 3 || p - word > 8 ||
            value_is_one_of(view_of(word, (size_t)(p - word)), usual, COUNT(usual)))
            return false;
        words++;
        after = p;
        p = byte_run(p, stop, BYTE_BLANK);
    }
    return words >= PHRASE_WORDS && (after == end || !byte_is(*after, BYTE_ALNUM)) &&
           secret_report(search, view_of(first, (size_t)(after - first)), out);
}
