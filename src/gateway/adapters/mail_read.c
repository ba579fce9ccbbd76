/*
 * mail_read.c: a mail as a message of a channel, by way of gmime.
 */
#include "gateway/adapters/mail_read.h"

#include <ctype.h>
#include <gmime/gmime.h>
#include <iconv.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"

#define FALLBACK_CHARSET "windows-1252" /* of text in a charset that nobody knows */
#define MAX_SUBJECT 1024                /* bytes */
#define MAX_PARTS 1000                  /* of a mail that are looked at */

/* ---- who vouches ------------------------------------------------------------------------------- */

/* Comments and quoted texts go; they may hold whatever the sender wrote. */
static void strip_comments(struct ethos_view value, struct str *out)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < value.size; i++) {
        char c = value.data[i];
        if (c == '\\' && (quoted || depth > 0)) {
            i++;
            continue;
        }
        if (c == '"' && depth == 0)
            quoted = !quoted;
        else if (!quoted && c == '(')
            depth++;
        else if (!quoted && c == ')' && depth > 0)
            depth--;
        else if (!quoted && depth == 0)
            str_addc(out, (char)tolower((unsigned char)c));
    }
}

static struct ethos_view read_until(struct ethos_view *rest, char end)
{
    const char *found = rest->size > 0 ? memchr(rest->data, end, rest->size) : NULL;
    size_t size = found ? (size_t)(found - rest->data) : rest->size;
    struct ethos_view piece = view_of(rest->data, size);
    *rest = view_from(*rest, found ? size + 1 : size);
    return view_trim(piece);
}

/* The value of "name=value" among words; absent: it is not there. */
static struct ethos_view find_property(struct ethos_view words, const char *name)
{
    size_t size = strlen(name);
    while (words.size > 0) {
        struct ethos_view word = read_until(&words, ' ');
        if (word.size > size && memcmp(word.data, name, size) == 0 && word.data[size] == '=')
            return view_from(word, size + 1);
    }
    return (struct ethos_view){0};
}

/* The domain, or one that it is below and that is no top-level one. */
static bool is_aligned(struct ethos_view signer, const char *domain)
{
    struct ethos_view view = view_str(domain);
    if (signer.size == 0 || !memchr(signer.data, '.', signer.size))
        return false;
    return view_eq(view, signer) || (view.size > signer.size && view_ends(view, signer) &&
                                     view.data[view.size - signer.size - 1] == '.');
}

static bool method_vouches(struct ethos_view method, const char *domain)
{
    struct ethos_view from = find_property(method, "header.from");
    struct ethos_view signer = find_property(method, "header.d");
    struct ethos_view identity = find_property(method, "header.i");
    if (view_eq_str(find_property(method, "dmarc"), "pass"))
        return from.size == 0 || view_eq_str(from, domain);
    if (!view_eq_str(find_property(method, "dkim"), "pass"))
        return false;
    if (signer.size == 0 && identity.size > 0 && memchr(identity.data, '@', identity.size)) {
        const char *at = memrchr(identity.data, '@', identity.size);
        signer = view_from(identity, (size_t)(at - identity.data) + 1);
    }
    return is_aligned(signer, domain);
}

bool mail_is_vouched(struct ethos_view value, const char *authserv, const char *domain,
                     bool *out_its)
{
    struct str text;
    bool vouched = false;
    str_init(&text, 65536);
    strip_comments(value, &text);
    for (size_t i = 0; i < text.size; i++)
        if (memchr("\t\r\n", text.data[i], 3))
            text.data[i] = ' ';
    struct ethos_view rest = str_view(&text), server = read_until(&rest, ';');
    server = read_until(&server, ' '); // a version may follow
    *out_its = authserv && *authserv && view_eq_nocase(server, view_str(authserv));
    while (*out_its && !vouched && rest.size > 0)
        vouched = method_vouches(read_until(&rest, ';'), domain);
    str_release(&text);
    return vouched && *domain;
}

/* ---- text -------------------------------------------------------------------------------------- */

static bool is_quote(struct ethos_view line)
{
    return line.size > 0 && *line.data == '>';
}

/* "On Monday ... wrote:", in the languages of the usual programs, or a line that begins the mail answered. */
static bool begins_quote(struct ethos_view line)
{
    static const char *const heads[] = {"On ", "Am ", "Le ", "El ", "Il ", "Op ", "Em "};
    line = view_trim(line);
    if (view_starts(line, VIEW("-----Original Message")) ||
        view_starts(line, VIEW("________________________________")))
        return true;
    if (line.size == 0 || line.data[line.size - 1] != ':')
        return false;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (view_starts(line, view_str(heads[i])))
            return true;
    return false;
}

/* Where a line of attribution is followed by quotes and blank lines alone: it begins what is quoted. */
static bool is_rest_quoted(struct ethos_view rest)
{
    struct ethos_view line;
    bool quotes = false;
    while (view_line(&rest, &line)) {
        line = view_trim(line);
        quotes = quotes || is_quote(line);
        if (line.size > 0 && !is_quote(line) && !view_eq_str(line, "--"))
            return false;
    }
    return quotes;
}

static void append_text_line(struct ethos_view line, struct str *out)
{
    str_add(out, view_trim_end(line));
    str_addc(out, '\n');
}

int mail_cut_quotes(struct ethos_view text, struct str *out)
{
    struct ethos_view rest = text, line;
    struct str kept;
    str_init(&kept, 2 * MAIL_MAX_TEXT);
    while (view_line(&rest, &line)) {
        struct ethos_view bare = view_trim_end(line);
        bool original = begins_quote(line) && !view_ends(bare, VIEW(":"));
        if (view_eq_str(bare, "--") || original || (begins_quote(line) && is_rest_quoted(rest)))
            break;
        if (!is_quote(line))
            append_text_line(line, &kept);
    }
    struct ethos_view said = view_trim(str_view(&kept));
    str_add(out, said.size > 0 ? said : view_trim(text));
    str_fail(out, str_code(&kept));
    str_release(&kept);
    return str_code(out);
}

/* "Fwd: ...", as the usual programs and languages have it. */
static bool is_forward(struct ethos_view subject)
{
    static const char *const marks[] = {
        "fwd:", "fw:", "wg:", "tr:", "rv:", "enc:", "doorst:", "i:"};
    subject = view_trim(subject);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t size = strlen(marks[i]);
        if (subject.size >= size && view_eq_nocase(view_of(subject.data, size), view_str(marks[i])))
            return true;
    }
    return false;
}

/* "From: Bob <bob@example.org>", in any language. */
static bool is_header(struct ethos_view line, bool *out_address)
{
    const char *colon = line.size > 0 ? memchr(line.data, ':', line.size) : NULL;
    size_t name = colon ? (size_t)(colon - line.data) : 0;
    *out_address = line.size > 0 && memchr(line.data, '@', line.size);
    return colon && name > 0 && name < 20 && name + 1 < line.size && colon[1] == ' ' &&
           !memchr(line.data, ' ', name);
}

bool mail_quotes_others(struct ethos_view subject, struct ethos_view text)
{
    struct ethos_view line;
    unsigned headers = 0;
    bool address = false, has;
    if (is_forward(subject))
        return true;
    while (view_line(&text, &line)) {
        line = view_trim(line);
        if (is_quote(line) || view_starts(line, VIEW("-----")) ||
            view_starts(line, VIEW("________________________________")))
            return true;
        bool header = is_header(line, &has);
        headers = header ? headers + 1 : 0;
        address = header && (has || (headers > 1 && address));
        if (headers >= 3 && address)
            return true;
    }
    return false;
}

static bool skip_element(struct ethos_view *rest, const char *name)
{
    char end[16];
    size_t size = strlen(name);
    if (rest->size < size + 1 || strncasecmp(rest->data + 1, name, size) != 0)
        return false;
    snprintf(end, sizeof end, "</%s", name);
    const char *found = strcasestr(rest->data, end); // the text is terminated
    *rest = found ? view_from(*rest, (size_t)(found - rest->data)) : view_from(*rest, rest->size);
    return true;
}

static size_t add_entity(struct ethos_view rest, struct str *out)
{
    static const struct {
        const char *name, *text;
    } entities[] = {{"&amp;", "&"},   {"&lt;", "<"},   {"&gt;", ">"},
                    {"&quot;", "\""}, {"&nbsp;", " "}, {"&#39;", "'"}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (view_starts(rest, view_str(entities[i].name))) {
            str_adds(out, entities[i].text);
            return strlen(entities[i].name);
        }
    str_addc(out, '&');
    return 1;
}

static bool breaks_line(struct ethos_view tag)
{
    static const char *const names[] = {"<br", "<p", "</p", "<div", "<li", "<tr", "<h"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tag.size >= strlen(names[i]) && strncasecmp(tag.data, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The text of HTML: tags go, some of them end a line. */
static void add_html(struct ethos_view html, struct str *out)
{
    struct ethos_view rest = html;
    while (rest.size > 0) {
        if (*rest.data == '<') {
            if (skip_element(&rest, "script") || skip_element(&rest, "style"))
                continue;
            const char *end = memchr(rest.data, '>', rest.size);
            if (breaks_line(rest))
                str_addc(out, '\n');
            rest = end ? view_from(rest, (size_t)(end - rest.data) + 1)
                       : view_from(rest, rest.size);
        } else if (*rest.data == '&') {
            rest = view_from(rest, add_entity(rest, out));
        } else {
            str_addc(out, *rest.data == '\n' || *rest.data == '\r' ? ' ' : *rest.data);
            rest = view_from(rest, 1);
        }
    }
}

/* ---- charsets ---------------------------------------------------------------------------------- */

/* Bytes that have no meaning in their charset become U+FFFD. */
static void convert_charset(const char *charset, struct ethos_view bytes, struct str *out)
{
    char piece[4096], *in = (char *)bytes.data;
    size_t left = bytes.size;
    iconv_t converter = iconv_open("UTF-8", charset);
    if (converter == (iconv_t)-1)
        converter = iconv_open("UTF-8", FALLBACK_CHARSET);
    if (converter == (iconv_t)-1) {
        utf8_sanitize(bytes, out);
        return;
    }
    while (left > 0 && str_code(out) == ETHOS_OK) {
        char *to = piece;
        size_t room = sizeof piece, before = left;
        iconv(converter, &in, &left, &to, &room);
        str_add(out, view_of(piece, sizeof piece - room));
        if (left == before && left > 0) {
            str_adds(out, "\xEF\xBF\xBD");
            in++;
            left--;
        }
    }
    iconv_close(converter);
}

static void append_part_text(GMimePart *part, bool is_html, struct str *out)
{
    const char *charset = g_mime_object_get_content_type_parameter(GMIME_OBJECT(part), "charset");
    GMimeDataWrapper *content = g_mime_part_get_content(part);
    GMimeStream *stream = content ? g_mime_stream_mem_new() : NULL;
    struct str text, whole;
    if (!stream)
        return;
    g_mime_data_wrapper_write_to_stream(content, stream);
    GByteArray *bytes = g_mime_stream_mem_get_byte_array(GMIME_STREAM_MEM(stream));
    size_t size = bytes->len < MAIL_MAX_TEXT ? bytes->len : MAIL_MAX_TEXT;
    str_init(&text, 4 * (size_t)MAIL_MAX_TEXT);
    str_init(&whole, 4 * (size_t)MAIL_MAX_TEXT);
    convert_charset(charset ? charset : "UTF-8", view_of((const char *)bytes->data, size), &text);
    utf8_sanitize(str_view(&text), &whole); // iconv lets more pass than there are characters
    if (is_html)
        add_html(str_view(&whole), out);
    else
        str_add(out, str_view(&whole));
    str_release(&text);
    str_release(&whole);
    g_object_unref(stream);
}

/* ---- parts ------------------------------------------------------------------------------------- */

struct finding {
    GMimePart *plain, *html;
    unsigned seen;
    bool has_files, is_report;
};

static void find_part(GMimeObject *parent, GMimeObject *object, gpointer arg)
{
    struct finding *finding = arg;
    GMimeContentType *type = g_mime_object_get_content_type(object);
    (void)parent;
    if (++finding->seen > MAX_PARTS)
        return;
    if (g_mime_content_type_is_type(type, "multipart", "report"))
        finding->is_report = true;
    if (!GMIME_IS_PART(object))
        return;
    const char *disposition = g_mime_object_get_disposition(object);
    bool attached = disposition && strcasecmp(disposition, "attachment") == 0;
    if (!attached && g_mime_content_type_is_type(type, "text", "plain") && !finding->plain)
        finding->plain = GMIME_PART(object);
    else if (!attached && g_mime_content_type_is_type(type, "text", "html") && !finding->html)
        finding->html = GMIME_PART(object);
    else if (attached || !g_mime_content_type_is_type(type, "text", "*"))
        finding->has_files = true;
}

static void find_parts(GMimeMessage *message, struct finding *out)
{
    GMimeObject *root = g_mime_message_get_mime_part(message);
    if (!root)
        return;
    find_part(NULL, root, out);
    if (GMIME_IS_MULTIPART(root))
        g_mime_multipart_foreach(GMIME_MULTIPART(root), find_part, out);
}

/* ---- headers ----------------------------------------------------------------------------------- */

static const char *get_header(GMimeMessage *message, const char *name)
{
    const char *value = g_mime_object_get_header(GMIME_OBJECT(message), name);
    return value ? value : "";
}

static int count_headers(GMimeMessage *message, const char *name)
{
    GMimeHeaderList *list = g_mime_object_get_header_list(GMIME_OBJECT(message));
    int count = 0;
    for (int i = 0; i < g_mime_header_list_get_count(list); i++)
        count += strcasecmp(g_mime_header_get_name(g_mime_header_list_get_header_at(list, i)),
                            name) == 0;
    return count;
}

static bool has_list_header(GMimeMessage *message)
{
    GMimeHeaderList *list = g_mime_object_get_header_list(GMIME_OBJECT(message));
    for (int i = 0; i < g_mime_header_list_get_count(list); i++)
        if (strncasecmp(g_mime_header_get_name(g_mime_header_list_get_header_at(list, i)), "List-",
                        5) == 0)
            return true;
    return false;
}

static bool is_robot(const char *address, const char *own)
{
    static const char *const names[] = {"mailer-daemon@", "postmaster@", "no-reply@", "noreply@",
                                        "do-not-reply@",  "donotreply@", "bounce@",   "bounces@"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(address, names[i], strlen(names[i])) == 0)
            return true;
    return own && strcasecmp(address, own) == 0;
}

static bool is_automatic(GMimeMessage *message, const struct mail *mail, const char *own)
{
    const char *submitted = get_header(message, "Auto-Submitted");
    const char *precedence = get_header(message, "Precedence"),
               *path = get_header(message, "Return-Path");
    return (*submitted && strncasecmp(submitted, "no", 2) != 0) ||
           strcasecmp(precedence, "bulk") == 0 || strcasecmp(precedence, "list") == 0 ||
           strcasecmp(precedence, "junk") == 0 || strcasecmp(precedence, "auto_reply") == 0 ||
           has_list_header(message) || *get_header(message, "X-Auto-Response-Suppress") ||
           *get_header(message, "X-Autoreply") || *get_header(message, "X-Autorespond") ||
           strcmp(path, "<>") == 0 || !*mail->address || is_robot(mail->address, own);
}

/* Lower case, without a tag; what is not ASCII has no A-label here and is nobody. */
static void fold_address(const char *given, char out[MAIL_MAX_ADDRESS])
{
    const char *at = given ? strrchr(given, '@') : NULL;
    size_t local = at ? strcspn(given, "+") : 0;
    *out = '\0';
    if (!at || at == given || !at[1] || strlen(given) >= MAIL_MAX_ADDRESS)
        return;
    local = local < (size_t)(at - given) ? local : (size_t)(at - given);
    snprintf(out, MAIL_MAX_ADDRESS, "%.*s%s", (int)local, given, at);
    for (char *c = out; *c; c++) {
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7F || strchr("<>,;:\"()\\", *c)) {
            *out = '\0';
            return;
        }
        *c = (char)tolower((unsigned char)*c);
    }
}

/* Two From lines, or one with several people, are nobody. */
static void read_sender(GMimeMessage *message, struct mail *out)
{
    InternetAddressList *list = g_mime_message_get_from(message);
    if (count_headers(message, "From") != 1 || !list || internet_address_list_length(list) != 1)
        return;
    InternetAddress *address = internet_address_list_get_address(list, 0);
    if (!INTERNET_ADDRESS_IS_MAILBOX(address))
        return;
    fold_address(internet_address_mailbox_get_addr(INTERNET_ADDRESS_MAILBOX(address)),
                 out->address);
    const char *name = internet_address_get_name(address);
    struct ethos_view view = view_str(name ? name : "");
    struct str whole;
    str_init(&whole, MAX_SUBJECT);
    utf8_sanitize(view_of(view.data, utf8_head(view, sizeof out->name / 4)), &whole);
    snprintf(out->name, sizeof out->name, "%.*s",
             (int)utf8_head(str_view(&whole), sizeof out->name / 4), whole.data);
    str_release(&whole);
}

/* What stands between the first brackets; "" when it is too long to be told from another. */
static void read_id(const char *value, char out[MAIL_MAX_ID])
{
    const char *begin = strchr(value, '<'), *end = begin ? strchr(begin, '>') : NULL;
    *out = '\0';
    if (end && end - begin - 1 < MAIL_MAX_ID)
        snprintf(out, MAIL_MAX_ID, "%.*s", (int)(end - begin - 1), begin + 1);
    for (char *c = out; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7F)
            *c = '_';
}

static void read_thread(GMimeMessage *message, struct mail *out)
{
    read_id(get_header(message, "Message-ID"), out->id);
    read_id(get_header(message, "References"), out->root);
    if (!*out->root)
        read_id(get_header(message, "In-Reply-To"), out->root);
    if (!*out->root)
        snprintf(out->root, sizeof out->root, "%s", out->id);
}

/* Only the topmost line of that server counts: a sender can write further ones below it. */
static bool is_verified(GMimeMessage *message, const char *authserv, const char *address)
{
    GMimeHeaderList *list = g_mime_object_get_header_list(GMIME_OBJECT(message));
    const char *at = strrchr(address, '@');
    for (int i = 0; at && i < g_mime_header_list_get_count(list); i++) {
        GMimeHeader *row = g_mime_header_list_get_header_at(list, i);
        bool its = false;
        if (strcasecmp(g_mime_header_get_name(row), "Authentication-Results") != 0)
            continue;
        const char *value = g_mime_header_get_raw_value(row);
        bool vouched = mail_is_vouched(view_trim(view_str(value)), authserv, at + 1, &its);
        if (its)
            return vouched;
    }
    return false;
}

/* ---- the mail ---------------------------------------------------------------------------------- */

static void read_mail_text(GMimeMessage *message, struct mail *out)
{
    struct finding finding = {0};
    struct str text;
    str_init(&text, 4 * (size_t)MAIL_MAX_TEXT);
    find_parts(message, &finding);
    if (finding.plain)
        append_part_text(finding.plain, false, &text);
    else if (finding.html)
        append_part_text(finding.html, true, &text);
    mail_cut_quotes(view_of(text.data, text.size < MAIL_MAX_TEXT ? text.size : MAIL_MAX_TEXT),
                    &out->text);
    out->has_files = finding.has_files;
    out->is_automatic = out->is_automatic || finding.is_report;
    str_release(&text);
}

static GMimeMessage *parse_mail(struct ethos_view raw)
{
    GMimeStream *stream = g_mime_stream_mem_new_with_buffer(raw.data, raw.size);
    GMimeParser *parser = g_mime_parser_new_with_stream(stream);
    GMimeMessage *message = g_mime_parser_construct_message(parser, NULL);
    g_object_unref(parser);
    g_object_unref(stream);
    return message;
}

int mail_read(struct ethos_view raw, const char *authserv, const char *own, struct mail *out,
              struct ethos_error *error)
{
    *out = (struct mail){0};
    str_init(&out->subject, MAX_SUBJECT);
    str_init(&out->text, 4 * (size_t)MAIL_MAX_TEXT);
    if (raw.size > MAIL_MAX_BYTES)
        return err_set(error, ETHOS_LIMIT, "a mail has %zu bytes; %d are read", raw.size,
                       MAIL_MAX_BYTES);
    g_mime_init();
    GMimeMessage *message = parse_mail(raw);
    if (!message)
        return err_set(error, ETHOS_INVALID, "not a mail");
    read_sender(message, out);
    read_thread(message, out);
    out->is_automatic = is_automatic(message, out, own);
    out->is_verified = is_verified(message, authserv, out->address);
    read_mail_text(message, out);
    const char *subject = g_mime_message_get_subject(message);
    struct ethos_view view = view_str(subject ? subject : "");
    utf8_sanitize(view_of(view.data, utf8_head(view, MAX_SUBJECT / 8)), &out->subject);
    GDateTime *date = g_mime_message_get_date(message);
    out->time_ms = date ? 1000 * g_date_time_to_unix(date) : 0;
    g_object_unref(message);
    return str_code(&out->text) == ETHOS_OK && str_code(&out->subject) == ETHOS_OK
               ? ETHOS_OK
               : err_nomem(error);
}

void mail_release(struct mail *self)
{
    str_release(&self->subject);
    str_release(&self->text);
}
