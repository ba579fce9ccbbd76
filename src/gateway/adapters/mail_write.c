/*
 * mail_write.c: an answer as a mail, by way of gmime.
 */
#include "gateway/adapters/mail_write.h"

#include <gmime/gmime.h>
#include <stdio.h>
#include <strings.h>

#include "base/err.h"
#include "base/view.h"

static void set_header(GMimeMessage *message, const char *name, const char *value)
{
    g_mime_object_set_header(GMIME_OBJECT(message), name, value, "utf-8");
}

static void set_subject(GMimeMessage *message, const char *subject)
{
    char text[1100];
    bool again = strncasecmp(subject, "re:", 3) == 0;
    snprintf(text, sizeof text, "%s%.1000s", again ? "" : "Re: ", subject);
    g_mime_message_set_subject(message, text, "utf-8");
}

static void set_thread(GMimeMessage *message, const struct mail_answer *answer)
{
    char text[1024];
    if (!*answer->reply_to)
        return;
    snprintf(text, sizeof text, "<%s>", answer->reply_to);
    set_header(message, "In-Reply-To", text);
    if (*answer->root && strcmp(answer->root, answer->reply_to) != 0)
        snprintf(text, sizeof text, "<%s> <%s>", answer->root, answer->reply_to);
    set_header(message, "References", text);
}

static void set_body_text(GMimeMessage *message, struct ethos_view text)
{
    GMimeTextPart *part = g_mime_text_part_new();
    GMimeStream *stream = g_mime_stream_mem_new_with_buffer(text.data, text.size);
    GMimeDataWrapper *content = g_mime_data_wrapper_new_with_stream(stream,
                                                                    GMIME_CONTENT_ENCODING_DEFAULT);
    g_mime_text_part_set_charset(part, "utf-8");
    g_mime_part_set_content(GMIME_PART(part), content);
    g_mime_part_set_content_encoding(GMIME_PART(part), GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE);
    g_mime_message_set_mime_part(message, GMIME_OBJECT(part));
    g_object_unref(content);
    g_object_unref(stream);
    g_object_unref(part);
}

/* A bare line feed would pass some servers and break at others. */
static void append_crlf(const char *text, struct str *out)
{
    for (char last = 0; *text; last = *text++) {
        if (*text == '\n' && last != '\r')
            str_addc(out, '\r');
        str_addc(out, *text);
    }
}

int mail_write(const struct mail_answer *answer, struct str *out, struct ethos_error *error)
{
    g_mime_init();
    GMimeMessage *message = g_mime_message_new(TRUE);
    GDateTime *date = g_date_time_new_from_unix_utc(answer->time_ms / 1000);
    g_mime_message_add_mailbox(message, GMIME_ADDRESS_TYPE_FROM, NULL, answer->from);
    g_mime_message_add_mailbox(message, GMIME_ADDRESS_TYPE_TO, NULL, answer->to);
    g_mime_message_set_date(message, date);
    g_mime_message_set_message_id(message, answer->id);
    set_subject(message, answer->subject);
    set_thread(message, answer);
    set_header(message, "Auto-Submitted", "auto-replied");
    set_body_text(message, answer->text);
    char *text = g_mime_object_to_string(GMIME_OBJECT(message), NULL);
    append_crlf(text ? text : "", out);
    g_free(text);
    g_date_time_unref(date);
    g_object_unref(message);
    return str_code(out) == ETHOS_OK && out->size > 0 ? ETHOS_OK : err_nomem(error);
}
