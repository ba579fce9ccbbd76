/*
 * email.c: mail: IMAP for what arrives, SMTP for answers.
 *
 * A thread of the adapter's own talks to both servers, since both block: what it reads is an event that the gateway's
 * thread takes in step, what is to be sent is a list that it takes. A mail that was handed over is waited for until it
 * is recorded; only then the next one is read. What is read is told apart by UID, as long as UIDVALIDITY is the same;
 * afterwards the mails of the last day are handed over again, and the gateway knows which it has.
 */
#include "gateway/adapters/email.h"

#include <ctype.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "gateway/adapters/imap_client.h"
#include "gateway/adapters/imap_response.h"
#include "gateway/adapters/mail_read.h"
#include "gateway/adapters/mail_write.h"
#include "gateway/adapters/platform_api.h"

#define PLATFORM "email"
#define CURSOR "uid"
#define POLL_MS 60000  /* between two looks where the server cannot IDLE */
#define IDLE_MS 540000 /* of one IDLE: servers end it after half an hour, routers earlier */
#define SEND_MS 60000  /* for one mail */
#define CONNECT_MS 10000
#define LATER_MS 60000 /* after a refusal that is not for good */
#define MAX_FETCH 256  /* mails that are read before the gateway's thread has its turn */
#define STACK_BYTES 1048576

/* From the adapter's thread to the gateway's. */
struct mail_event {
    struct mail_event *next;
    enum { EVENT_STATE, EVENT_MAIL, EVENT_SENT } kind;
    enum channel_state state;
    char why[256];
    struct mail mail;
    char msg[CHANNEL_MAX_ID], cursor[64];
    int64_t row;
    enum channel_result result;
    char remote[CHANNEL_MAX_ID];
};

/* A mail to send. */
struct mail_outgoing {
    struct mail_outgoing *next;
    int64_t row;
    char to[CHANNEL_MAX_ID], root[CHANNEL_MAX_ID], reply_to[CHANNEL_MAX_ID];
    char subject[CHANNEL_MAX_ID], id[CHANNEL_MAX_ID];
    struct str text;
};

struct email {
    struct channel_adapter adapter;
    const struct channel_host *host;
    char imap_url[512], smtp_url[512], user[256], from[256], authserv[256], *password;
    bool imap_loopback, smtp_loopback;
    pthread_t thread;
    bool has_thread;
    int bell; /* eventfd: the thread has something to do */

    pthread_mutex_t mutex; /* for all that follows until the next blank line */
    pthread_cond_t recorded;
    struct mail_event *first, **last;
    struct mail_outgoing *out_first, **out_last;
    bool ends, reconnects, waits, was_recorded;

    /* of the thread alone */
    struct imap_client *imap;
    bool can_idle;
    uint32_t validity, last_uid, next_uid;
    uint32_t found[MAX_FETCH];
    size_t found_count;
    uint32_t size;
    struct str raw;
    unsigned failures;
    int64_t retry_ms;
};

/* ---- events ------------------------------------------------------------------------------------ */

static void wake_thread(struct email *self)
{
    const uint64_t one = 1;
    (void)!write(self->bell, &one, sizeof one);
}

static void queue_event(struct email *self, struct mail_event *event)
{
    pthread_mutex_lock(&self->mutex);
    event->next = NULL;
    *self->last = event;
    self->last = &event->next;
    pthread_mutex_unlock(&self->mutex);
    self->host->wake(self->host->arg);
}

static void queue_state(struct email *self, enum channel_state state, const char *why)
{
    struct mail_event *event = calloc(1, sizeof *event);
    if (!event)
        return;
    event->kind = EVENT_STATE;
    event->state = state;
    snprintf(event->why, sizeof event->why, "%s", why ? why : "");
    queue_event(self, event);
}

static bool has_stopped(struct email *self)
{
    pthread_mutex_lock(&self->mutex);
    bool ends = self->ends;
    pthread_mutex_unlock(&self->mutex);
    return ends;
}

/* ---- sending ----------------------------------------------------------------------------------- */

struct mail_body {
    struct ethos_view rest;
    bool began, ended;
};

static size_t read_mail_body(char *out, size_t size, size_t count, void *arg)
{
    struct mail_body *body = arg;
    size_t most = size * count < body->rest.size ? size * count : body->rest.size;
    body->began = true;
    body->ended = most == 0;
    memcpy(out, body->rest.data, most);
    body->rest = view_from(body->rest, most);
    return most;
}

/* What is known after the exchange: with 250 behind the mail it is sent, with nothing behind it nobody knows. */
static enum channel_result send_result(CURLcode code, long status, const struct mail_body *body)
{
    bool refused = status >= 500 && status < 600, later = status >= 400 && status < 500;
    if (code == CURLE_OK)
        return CHANNEL_SENT;
    if (refused)
        return CHANNEL_REFUSED;
    if (later)
        return CHANNEL_LATER;
    return body->began ? CHANNEL_UNKNOWN : CHANNEL_NOT_SENT;
}

static enum channel_result send_mail(struct email *self, const struct mail_outgoing *outgoing,
                                     struct ethos_view mail, char problem[256])
{
    long status = 0;
    struct mail_body body = {.rest = mail};
    CURL *easy = curl_easy_init();
    struct curl_slist *to = curl_slist_append(NULL, outgoing->to);
    CURLcode code = easy && to ? CURLE_OK : CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK) {
        curl_easy_setopt(easy, CURLOPT_URL, self->smtp_url);
        curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
        curl_easy_setopt(easy, CURLOPT_USE_SSL,
                         (long)(self->smtp_loopback ? CURLUSESSL_TRY : CURLUSESSL_ALL));
        curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)SEND_MS);
        if (!self->smtp_loopback) { // this machine's own server knows who connects
            curl_easy_setopt(easy, CURLOPT_USERNAME, self->user);
            curl_easy_setopt(easy, CURLOPT_PASSWORD, self->password);
        }
        curl_easy_setopt(easy, CURLOPT_MAIL_FROM, self->from);
        curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, to);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_mail_body);
        curl_easy_setopt(easy, CURLOPT_READDATA, &body);
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        code = curl_easy_perform(easy);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    }
    snprintf(problem, 256, "%s", code == CURLE_OK ? "" : curl_easy_strerror(code));
    curl_slist_free_all(to);
    curl_easy_cleanup(easy);
    return send_result(code, status, &body);
}

static void send_outgoing(struct email *self, const struct mail_outgoing *outgoing)
{
    struct str mail;
    struct mail_event *event = calloc(1, sizeof *event);
    const struct mail_answer answer = {.from = self->from,
                                       .to = outgoing->to,
                                       .subject = outgoing->subject,
                                       .id = outgoing->id,
                                       .reply_to = outgoing->reply_to,
                                       .root = outgoing->root,
                                       .text = str_view(&outgoing->text),
                                       .time_ms = os_now_ms()};
    if (!event)
        return; // the row is unknown after the next start
    str_init(&mail, 4 * (size_t)CHANNEL_MAX_TEXT);
    event->kind = EVENT_SENT;
    event->row = outgoing->row;
    event->result = CHANNEL_NOT_SENT;
    snprintf(event->remote, sizeof event->remote, "%s", outgoing->id);
    if (mail_write(&answer, &mail, NULL) == ETHOS_OK)
        event->result = send_mail(self, outgoing, str_view(&mail), event->why);
    str_release(&mail);
    queue_event(self, event);
}

static void free_outgoing(struct mail_outgoing *outgoing)
{
    str_release(&outgoing->text);
    free(outgoing);
}

static void send_queued_mails(struct email *self)
{
    for (;;) {
        pthread_mutex_lock(&self->mutex);
        struct mail_outgoing *outgoing = self->ends ? NULL : self->out_first;
        if (outgoing && !(self->out_first = outgoing->next))
            self->out_last = &self->out_first;
        pthread_mutex_unlock(&self->mutex);
        if (!outgoing)
            return;
        send_outgoing(self, outgoing);
        free_outgoing(outgoing);
    }
}

/* ---- receiving --------------------------------------------------------------------------------- */

/* "* OK [UIDVALIDITY 5] ...", "* OK [UIDNEXT 12] ..." */
static void read_selected(void *arg, struct ethos_view response)
{
    struct email *self = arg;
    uint32_t *to = NULL;
    struct imap_token token;
    while ((token = imap_token_next(&response)).kind != IMAP_END) {
        struct ethos_view number = token.text;
        if (number.size > 0 && number.data[number.size - 1] == ']')
            number.size--;
        if (to)
            imap_number(number, to);
        to = imap_is(token, "[UIDVALIDITY") ? &self->validity
             : imap_is(token, "[UIDNEXT")   ? &self->next_uid
                                            : NULL;
    }
}

static void read_capabilities(void *arg, struct ethos_view response)
{
    struct email *self = arg;
    struct imap_token token;
    while ((token = imap_token_next(&response)).kind != IMAP_END)
        self->can_idle = self->can_idle || imap_is(token, "IDLE");
}

/* "* SEARCH 7 9"; a search for "12:*" gives the last one even when that is below 12. */
static void read_found(void *arg, struct ethos_view response)
{
    struct email *self = arg;
    struct imap_token token;
    uint32_t uid;
    imap_token_next(&response);
    if (!imap_is(imap_token_next(&response), "SEARCH"))
        return;
    while ((token = imap_token_next(&response)).kind == IMAP_ATOM)
        if (imap_number(token.text, &uid) && uid > self->last_uid && self->found_count < MAX_FETCH)
            self->found[self->found_count++] = uid;
}

/* "* 1 FETCH (UID 7 RFC822.SIZE 120)", "* 1 FETCH (UID 7 BODY[] {120} ...)" */
static void read_fetched(void *arg, struct ethos_view response)
{
    struct email *self = arg;
    struct imap_token token, before = {IMAP_END, {"", 0}};
    while ((token = imap_token_next(&response)).kind != IMAP_END) {
        if (imap_is(before, "RFC822.SIZE"))
            imap_number(token.text, &self->size);
        if (imap_is(before, "BODY[]") && token.kind == IMAP_STRING) {
            str_clear(&self->raw);
            str_add(&self->raw, token.text);
        }
        before = token;
    }
}

/* Waits until the gateway has recorded it. False: it has not, and comes again. */
static bool wait_recorded(struct email *self, struct mail_event *event)
{
    pthread_mutex_lock(&self->mutex);
    self->waits = true;
    pthread_mutex_unlock(&self->mutex);
    queue_event(self, event);
    pthread_mutex_lock(&self->mutex);
    while (self->waits && !self->ends)
        pthread_cond_wait(&self->recorded, &self->mutex);
    bool recorded = !self->waits && self->was_recorded;
    pthread_mutex_unlock(&self->mutex);
    return recorded;
}

/* A mail without an id, or one that cannot be read, is known by where it is. */
static int fetch_one(struct email *self, uint32_t uid, struct ethos_error *error)
{
    char command[64];
    struct mail_event *event = calloc(1, sizeof *event);
    if (!event)
        return err_nomem(error);
    event->kind = EVENT_MAIL;
    self->size = 0;
    str_clear(&self->raw);
    snprintf(command, sizeof command, "UID FETCH %" PRIu32 " (RFC822.SIZE)", uid);
    int code = imap_command(self->imap, command, read_fetched, self, error);
    snprintf(command, sizeof command, "UID FETCH %" PRIu32 " (BODY.PEEK[])", uid);
    if (code == ETHOS_OK && self->size <= MAIL_MAX_BYTES)
        code = imap_command(self->imap, command, read_fetched, self, error);
    if (code != ETHOS_OK) {
        free(event);
        return code;
    }
    snprintf(event->cursor, sizeof event->cursor, "%" PRIu32 " %" PRIu32, self->validity, uid);
    if (self->raw.size > 0)
        mail_read(str_view(&self->raw), self->authserv, self->from, &event->mail, NULL);
    if (*event->mail.id)
        snprintf(event->msg, sizeof event->msg, "%s", event->mail.id);
    else
        snprintf(event->msg, sizeof event->msg, "uid:%s", event->cursor);
    if (!wait_recorded(self, event))
        return err_set(error, ETHOS_BUSY, "the mail is not recorded");
    self->last_uid = uid;
    return ETHOS_OK;
}

/* How far was read, without a mail. */
static int record_position(struct email *self, struct ethos_error *error)
{
    struct mail_event *event = calloc(1, sizeof *event);
    if (!event)
        return err_nomem(error);
    event->kind = EVENT_MAIL;
    snprintf(event->cursor, sizeof event->cursor, "%" PRIu32 " %" PRIu32, self->validity,
             self->last_uid);
    return wait_recorded(self, event) ? ETHOS_OK
                                      : err_set(error, ETHOS_BUSY, "the place is not recorded");
}

static int fetch_found(struct email *self, const char *search, struct ethos_error *error)
{
    self->found_count = 0;
    int code = imap_command(self->imap, search, read_found, self, error);
    for (size_t i = 0; code == ETHOS_OK && i < self->found_count; i++)
        code = fetch_one(self, self->found[i], error);
    return code;
}

static int fetch_new(struct email *self, struct ethos_error *error)
{
    char search[64];
    int code = ETHOS_OK;
    do {
        snprintf(search, sizeof search, "UID SEARCH UID %" PRIu32 ":*", self->last_uid + 1);
        code = fetch_found(self, search, error);
    } while (code == ETHOS_OK && self->found_count == MAX_FETCH);
    return code;
}

/* After UIDVALIDITY changed: what came since yesterday is looked at again, older mails are not. */
static int fetch_last_day(struct email *self, struct ethos_error *error)
{
    char search[64], day[16];
    struct tm tm;
    time_t yesterday = (time_t)(os_now_ms() / 1000) - 86400;
    gmtime_r(&yesterday, &tm);
    strftime(day, sizeof day, "%d-%b-%Y", &tm);
    snprintf(search, sizeof search, "UID SEARCH SINCE %s", day);
    self->last_uid = 0;
    int code = fetch_found(self, search, error);
    if (self->last_uid + 1 < self->next_uid)
        self->last_uid = self->next_uid - 1;
    return code == ETHOS_OK ? record_position(self, error) : code;
}

/* The cursor is "VALIDITY UID"; the gateway's thread has read it when the adapter was opened. */
static int select_inbox(struct email *self, bool *out_again, struct ethos_error *error)
{
    uint32_t before = self->validity;
    self->can_idle = false;
    self->next_uid = 0;
    int code = imap_command(self->imap, "CAPABILITY", read_capabilities, self, error);
    if (code == ETHOS_OK)
        code = imap_command(self->imap, "SELECT INBOX", read_selected, self, error);
    *out_again = before != 0 && before != self->validity;
    if (code == ETHOS_OK && before == 0) { // what was there before is not for us
        self->last_uid = self->next_uid > 0 ? self->next_uid - 1 : 0;
        code = record_position(self, error);
    }
    return code;
}

static void disconnect(struct email *self)
{
    imap_close(self->imap);
    self->imap = NULL;
}

static void schedule_reconnect(struct email *self, const struct ethos_error *error)
{
    disconnect(self);
    self->retry_ms = os_monotonic_ms() + API_BACKOFF_MIN_MS + api_backoff_ms(self->failures++);
    queue_state(self, error->code == ETHOS_DENIED ? CHANNEL_FATAL : CHANNEL_DOWN, error->text);
    if (error->code == ETHOS_DENIED)
        self->retry_ms = INT64_MAX; // until there is another password
}

static int connect_and_fetch(struct email *self, struct ethos_error *error)
{
    const struct imap_settings settings = {self->imap_url, self->user, self->password,
                                           self->imap_loopback};
    bool again;
    int code = imap_open(&settings, &self->imap, error);
    if (code == ETHOS_OK)
        code = select_inbox(self, &again, error);
    if (code != ETHOS_OK)
        return code;
    self->failures = 0;
    queue_state(self, CHANNEL_UP, NULL);
    return again ? fetch_last_day(self, error) : fetch_new(self, error);
}

/* Until something is to be done: by IDLE, or by looking again later. */
static int wait_for_more(struct email *self, struct ethos_error *error)
{
    uint64_t rings;
    struct pollfd fd = {self->bell, POLLIN, 0};
    int code = ETHOS_OK;
    if (self->imap && self->can_idle) {
        code = imap_idle(self->imap, self->bell, IDLE_MS, error);
    } else {
        int64_t wait = self->imap ? POLL_MS : self->retry_ms - os_monotonic_ms();
        os_poll(&fd, 1, (int)(wait < 0 ? 0 : wait < POLL_MS ? wait : POLL_MS));
    }
    (void)!read(self->bell, &rings, sizeof rings);
    return code;
}

static void *run_mail_thread(void *arg)
{
    struct email *self = arg;
    while (!has_stopped(self)) {
        struct ethos_error error = {0};
        int code = ETHOS_OK;
        send_queued_mails(self);
        pthread_mutex_lock(&self->mutex);
        bool reconnects = self->reconnects;
        self->reconnects = false;
        pthread_mutex_unlock(&self->mutex);
        if (reconnects)
            disconnect(self);
        if (self->imap)
            code = fetch_new(self, &error);
        else if (os_monotonic_ms() >= self->retry_ms)
            code = connect_and_fetch(self, &error);
        if (code == ETHOS_OK && !has_stopped(self))
            code = wait_for_more(self, &error);
        if (code != ETHOS_OK && !has_stopped(self))
            schedule_reconnect(self, &error);
    }
    disconnect(self);
    return NULL;
}

/* ---- the gateway's thread ---------------------------------------------------------------------- */

static int receive_mail(struct email *self, const struct mail_event *event)
{
    const struct mail *mail = &event->mail;
    const struct channel_message message = {.chat = mail->address,
                                            .thread = mail->root,
                                            .msg = event->msg,
                                            .sender = mail->address,
                                            .name = mail->name,
                                            .text = mail->text.size > 0 ? mail->text.data : "",
                                            .subject = mail->subject.data,
                                            .time_ms = mail->time_ms,
                                            .direct = 1,
                                            .addressed = 1,
                                            .bot = mail->is_automatic,
                                            .verified = mail->is_verified,
                                            .has_files = mail->has_files,
                                            .begins = strcmp(mail->root, mail->id) == 0};
    const struct channel_batch batch = {&message, *mail->address ? 1 : 0, CURSOR, event->cursor};
    return self->host->received(self->host->arg, &batch);
}

static void handle_mail_event(struct email *self, struct mail_event *event)
{
    if (event->kind == EVENT_STATE) {
        self->host->state(self->host->arg, event->state, event->why);
    } else if (event->kind == EVENT_SENT) {
        self->host->sent(
            self->host->arg, event->row,
            &(struct channel_sent){.result = event->result,
                                   .remote = event->remote,
                                   .wait_ms = event->result == CHANNEL_LATER ? LATER_MS : 0,
                                   .problem = event->why});
    } else {
        bool recorded = receive_mail(self, event) == ETHOS_OK;
        pthread_mutex_lock(&self->mutex);
        self->was_recorded = recorded;
        self->waits = false;
        pthread_cond_signal(&self->recorded);
        pthread_mutex_unlock(&self->mutex);
    }
}

static struct mail_event *take_mail_event(struct email *self)
{
    pthread_mutex_lock(&self->mutex);
    struct mail_event *event = self->first;
    if (event && !(self->first = event->next))
        self->last = &self->first;
    pthread_mutex_unlock(&self->mutex);
    return event;
}

static void free_event(struct mail_event *event)
{
    if (event->kind == EVENT_MAIL)
        mail_release(&event->mail);
    free(event);
}

static int64_t step_email(struct channel_adapter *adapter, int64_t now_ms)
{
    struct email *self = (struct email *)adapter;
    struct mail_event *event;
    (void)now_ms;
    while ((event = take_mail_event(self))) {
        handle_mail_event(self, event);
        free_event(event);
    }
    return INT64_MAX;
}

/* The turn's id and the part are the mail's id: whoever sends it again sends the same mail. */
static void make_message_id(const struct email *self, const struct channel_outgoing *outgoing,
                            char out[CHANNEL_MAX_ID])
{
    const char *at = strrchr(self->from, '@');
    snprintf(out, CHANNEL_MAX_ID, "%.80s.%" PRId64 "%.100s", outgoing->turn, outgoing->part, at);
    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("@.-_", *c))
            *c = '.';
}

static void queue_email(struct channel_adapter *adapter, const struct channel_outgoing *given)
{
    struct email *self = (struct email *)adapter;
    struct mail_outgoing *outgoing = calloc(1, sizeof *outgoing);
    if (!outgoing) {
        self->host->sent(self->host->arg, given->row,
                         &(struct channel_sent){.result = CHANNEL_NOT_SENT});
        return;
    }
    outgoing->row = given->row;
    snprintf(outgoing->to, sizeof outgoing->to, "%s", given->chat);
    snprintf(outgoing->root, sizeof outgoing->root, "%s", given->thread ? given->thread : "");
    snprintf(outgoing->reply_to, sizeof outgoing->reply_to, "%s",
             given->reply_to ? given->reply_to : "");
    snprintf(outgoing->subject, sizeof outgoing->subject, "%s",
             given->subject && *given->subject ? given->subject : "your message");
    make_message_id(self, given, outgoing->id);
    str_init(&outgoing->text, 2 * (size_t)CHANNEL_MAX_TEXT);
    str_add(&outgoing->text, given->text);
    pthread_mutex_lock(&self->mutex);
    *self->out_last = outgoing;
    self->out_last = &outgoing->next;
    pthread_mutex_unlock(&self->mutex);
    wake_thread(self);
}

static void ignore_edit(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    (void)adapter, (void)outgoing; // mails cannot be edited: limits say so
}

static void wake_email(struct channel_adapter *adapter)
{
    struct email *self = (struct email *)adapter;
    pthread_mutex_lock(&self->mutex);
    self->reconnects = true;
    pthread_mutex_unlock(&self->mutex);
    wake_thread(self);
}

/* ---- opening ----------------------------------------------------------------------------------- */

static void close_email(struct channel_adapter *adapter)
{
    struct email *self = (struct email *)adapter;
    struct mail_event *event;
    pthread_mutex_lock(&self->mutex);
    self->ends = true;
    pthread_cond_signal(&self->recorded);
    pthread_mutex_unlock(&self->mutex);
    if (self->has_thread) {
        wake_thread(self);
        pthread_join(self->thread, NULL);
    }
    while ((event = take_mail_event(self)))
        free_event(event);
    while (self->out_first) {
        struct mail_outgoing *outgoing = self->out_first;
        self->out_first = outgoing->next;
        free_outgoing(outgoing);
    }
    if (self->bell >= 0)
        close(self->bell);
    if (self->password)
        explicit_bzero(self->password, strlen(self->password));
    free(self->password);
    str_release(&self->raw);
    free(self);
}

static bool is_loopback_url(const char *url)
{
    bool loopback = false;
    char *host = NULL;
    CURLU *parsed = curl_url();
    if (parsed && curl_url_set(parsed, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
        curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK)
        loopback = endpoint_is_loopback_host(host);
    curl_free(host);
    curl_url_cleanup(parsed);
    return loopback;
}

static int check_settings(const struct channel_settings *settings, struct ethos_error *error)
{
    const char *from = *settings->from ? settings->from : settings->user;
    const char *missing = !*settings->imap   ? "imap"
                          : !*settings->smtp ? "smtp"
                          : !*settings->user ? "user"
                                             : NULL;
    if (missing) {
        int code = err_set(error, ETHOS_INVALID, "channels.email.%s is not set", missing);
        return err_hint(error, code, "docs/channels.md has the settings of mail");
    }
    if (strncmp(settings->imap, "imap", 4) != 0 || strncmp(settings->smtp, "smtp", 4) != 0)
        return err_set(error, ETHOS_INVALID,
                       "channels.email.imap and .smtp are addresses such as imaps://HOST");
    if (!strchr(from, '@'))
        return err_set(error, ETHOS_INVALID, "channels.email.from is no address");
    return ETHOS_OK;
}

static bool start_mail_thread(struct email *self)
{
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    self->has_thread = pthread_create(&self->thread, &attr, run_mail_thread, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return self->has_thread;
}

static int open_email(const struct channel_setup *setup, struct channel_adapter **out,
                      struct ethos_error *error)
{
    char cursor[CHANNEL_MAX_CURSOR] = "", *rest;
    const struct channel_settings *settings = setup->settings;
    int code = check_settings(settings, error);
    struct email *self = code == ETHOS_OK ? calloc(1, sizeof *self) : NULL;
    if (!self)
        return code == ETHOS_OK ? err_nomem(error) : code;
    self->adapter.ops = &email_ops;
    self->host = setup->host;
    self->last = &self->first;
    self->out_last = &self->out_first;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->recorded, NULL);
    str_init(&self->raw, MAIL_MAX_BYTES);
    snprintf(self->imap_url, sizeof self->imap_url, "%s", settings->imap);
    snprintf(self->smtp_url, sizeof self->smtp_url, "%s", settings->smtp);
    snprintf(self->user, sizeof self->user, "%s", settings->user);
    snprintf(self->from, sizeof self->from, "%s",
             *settings->from ? settings->from : settings->user);
    snprintf(self->authserv, sizeof self->authserv, "%s", settings->authserv);
    snprintf(self->adapter.bot, sizeof self->adapter.bot, "%s", self->from);
    self->imap_loopback = is_loopback_url(settings->imap);
    self->smtp_loopback = is_loopback_url(settings->smtp);
    self->password = strdup(setup->secrets[0]);
    self->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    code = setup->host->cursor(setup->host->arg, CURSOR, cursor);
    self->validity = (uint32_t)strtoul(cursor, &rest, 10);
    self->last_uid = (uint32_t)strtoul(rest, NULL, 10);
    if (code == ETHOS_OK && (!self->password || self->bell < 0 || !start_mail_thread(self)))
        code = err_nomem(error);
    if (code == ETHOS_OK)
        *out = &self->adapter;
    else
        close_email(&self->adapter);
    return code;
}

static const struct channel_limits limits = {.text = 262144,
                                             .chat_ms = 1000,
                                             .group_ms = 1000,
                                             .all_ms = 100,
                                             .replies = true,
                                             .no_pairing = true,
                                             .person_hour = 30,
                                             .thread_10min = 4};

const struct channel_adapter_ops email_ops = {.platform = PLATFORM,
                                              .limits = &limits,
                                              .open = open_email,
                                              .close = close_email,
                                              .step = step_email,
                                              .send = queue_email,
                                              .edit = ignore_edit,
                                              .quotes = mail_quotes_others,
                                              .woken = wake_email};
