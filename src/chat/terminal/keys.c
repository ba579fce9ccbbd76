/*
 * keys.c: bytes from a terminal as keys.
 */
#include "chat/terminal/keys.h"

#include "base/utf8.h"
#include "base/view.h"

#define ESC 0x1B
#define DEL 0x7F
#define PASTE_END "\033[201~"

static void handle_byte(struct keys *self, unsigned char byte);

void keys_init(struct keys *self, bool over_ssh, key_fn *each, void *arg)
{
    *self = (struct keys){
        .each = each, .arg = arg, .escape_ms = over_ssh ? KEYS_ESCAPE_SSH_MS : KEYS_ESCAPE_MS};
    str_init(&self->paste, KEYS_MAX_PASTE);
}

void keys_release(struct keys *self)
{
    str_release(&self->paste);
}

static void emit_key(struct keys *self, struct key key)
{
    self->each(self->arg, &key);
}

static void emit_kind(struct keys *self, enum key_kind kind)
{
    emit_key(self, (struct key){.kind = kind});
}

static void begin_state(struct keys *self, enum keys_state state, int wait_ms)
{
    self->state = state;
    self->deadline = self->now + wait_ms;
    self->size = 0;
}

/* ---- characters -------------------------------------------------------------------------------- */

static size_t character_size(unsigned char first)
{
    return first >= 0xF0 && first < 0xF8   ? 4
           : first >= 0xE0 && first < 0xF0 ? 3
           : first >= 0xC0 && first < 0xE0 ? 2
                                           : 1;
}

static void emit_character(struct keys *self)
{
    char text[4];
    uint32_t cp;
    size_t size = utf8_decode(self->held, self->size, &cp, NULL);
    if (size != self->size)
        cp = UTF8_REPLACEMENT;
    self->state = KEYS_GROUND;
    if (cp >= 0x80 && cp < 0xA0)
        return;
    emit_key(self, (struct key){.kind = self->alt ? KEY_ALT : KEY_CHARACTER,
                                .text = view_of(text, utf8_put(cp, text))});
}

static void begin_character(struct keys *self, unsigned char byte, bool alt)
{
    self->alt = alt;
    self->need = character_size(byte);
    self->held[0] = (char)byte;
    self->size = 1;
    self->state = KEYS_CHARACTER;
    if (self->need == 1)
        emit_character(self);
}

static void continue_character(struct keys *self, unsigned char byte)
{
    if ((byte & 0xC0) != 0x80) {
        emit_character(self);
        handle_byte(self, byte);
        return;
    }
    self->held[self->size++] = (char)byte;
    if (self->size == self->need)
        emit_character(self);
}

/* ---- single bytes ------------------------------------------------------------------------------ */

static void begin_key(struct keys *self, unsigned char byte)
{
    self->state = KEYS_GROUND;
    if (byte == ESC)
        begin_state(self, KEYS_ESCAPE, self->escape_ms);
    else if (byte == '\r')
        begin_state(self, KEYS_RETURN, KEYS_RETURN_MS);
    else if (byte == '\n')
        emit_kind(self, KEY_LINE_BREAK);
    else if (byte == '\t')
        emit_kind(self, KEY_TAB);
    else if (byte == DEL || byte == '\b')
        emit_kind(self, KEY_BACKSPACE);
    else if (byte > 0 && byte < 0x20)
        emit_key(self, (struct key){.kind = KEY_CTRL, .letter = (char)(byte | 0x40)});
    else if (byte >= 0x20)
        begin_character(self, byte, false);
}

static void follow_return(struct keys *self, unsigned char byte)
{
    emit_kind(self, KEY_LINE_BREAK);
    self->state = KEYS_GROUND;
    if (byte != '\n')
        handle_byte(self, byte);
}

/* ---- sequences --------------------------------------------------------------------------------- */

static void begin_sequence(struct keys *self, enum keys_state state, bool silent)
{
    begin_state(self, state, KEYS_SEQUENCE_MS);
    self->silent = silent;
}

static void follow_escape(struct keys *self, unsigned char byte)
{
    switch (byte) {
    case '[':
        begin_sequence(self, KEYS_CSI, false);
        return;
    case 'O':
        begin_sequence(self, KEYS_SS3, false);
        return;
    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_':
        begin_sequence(self, KEYS_STRING, false);
        return;
    case '\r':
    case '\n':
        emit_kind(self, KEY_LINE_BREAK);
        self->state = KEYS_GROUND;
        return;
    case DEL:
    case '\b':
        emit_key(self, (struct key){.kind = KEY_ALT, .text = VIEW("\177")});
        self->state = KEYS_GROUND;
        return;
    default:
        break;
    }
    if (byte >= 0x20) {
        begin_character(self, byte, true);
    } else {
        if (byte != ESC)
            emit_kind(self, KEY_ESCAPE);
        begin_key(self, byte);
    }
}

static void follow_tail(struct keys *self, unsigned char byte)
{
    if (byte == '[' || byte == 'O')
        begin_sequence(self, byte == '[' ? KEYS_CSI : KEYS_SS3, true);
    else
        begin_key(self, byte);
}

static void collect_sequence_byte(struct keys *self, unsigned char byte)
{
    if (self->size < KEYS_MAX_SEQUENCE)
        self->held[self->size] = (char)byte;
    self->size += self->size <= KEYS_MAX_SEQUENCE;
}

/* Numbers separated by semicolons. Returns how many there are; -1: something else is there, too. */
static int read_numbers(const struct keys *self, int numbers[3])
{
    int count = 1;
    numbers[0] = numbers[1] = numbers[2] = 0;
    if (self->size > KEYS_MAX_SEQUENCE)
        return -1;
    for (size_t i = 0; i < self->size; i++) {
        int digit = self->held[i] - '0';
        if (self->held[i] == ';' && count < 3)
            count++;
        else if (digit < 0 || digit > 9 || numbers[count - 1] > KEYS_MAX_POSITION)
            return -1;
        else
            numbers[count - 1] = 10 * numbers[count - 1] + digit;
    }
    return count;
}

static void emit_arrow(struct keys *self, unsigned char byte, bool by_word)
{
    static const struct {
        char letter;
        enum key_kind kind;
    } arrows[] = {{'A', KEY_UP},   {'B', KEY_DOWN}, {'C', KEY_RIGHT},
                  {'D', KEY_LEFT}, {'H', KEY_HOME}, {'F', KEY_END}};
    if (by_word && (byte == 'C' || byte == 'D')) {
        emit_key(self, (struct key){.kind = KEY_ALT, .text = byte == 'C' ? VIEW("f") : VIEW("b")});
        return;
    }
    for (size_t i = 0; i < sizeof arrows / sizeof *arrows; i++)
        if (arrows[i].letter == (char)byte)
            emit_kind(self, arrows[i].kind);
}

static void begin_paste(struct keys *self)
{
    str_clear(&self->paste);
    self->matched = 0;
    self->after_return = false;
    self->state = KEYS_PASTE;
}

/* CSI NUMBER ~ */
static void emit_numbered(struct keys *self, int number)
{
    if (number == 1 || number == 7)
        emit_kind(self, KEY_HOME);
    else if (number == 4 || number == 8)
        emit_kind(self, KEY_END);
    else if (number == 3)
        emit_kind(self, KEY_DELETE);
}

static void end_csi(struct keys *self, unsigned char byte)
{
    int numbers[3], count = read_numbers(self, numbers);
    self->state = KEYS_GROUND;
    if (byte == '~' && count == 1 && numbers[0] == 200)
        begin_paste(self);
    else if (count < 0 || self->silent)
        return;
    else if (byte == '~')
        emit_numbered(self, numbers[0]);
    else if (byte == 'R' && count == 2 && numbers[0] > 0 && numbers[1] > 0)
        emit_key(self, (struct key){.kind = KEY_POSITION, .row = numbers[0], .column = numbers[1]});
    else /* the second number less one is a set: Shift, Alt, Ctrl */
        emit_arrow(self, byte, count == 2 && numbers[1] > 0 && (numbers[1] - 1) & 6);
}

static void follow_csi(struct keys *self, unsigned char byte)
{
    bool is_linux_function_key = self->size == 1 && self->held[0] == '[';
    if (byte < 0x20 || byte >= DEL)
        begin_key(self, byte);
    else if (byte < 0x40 || (byte == '[' && self->size == 0))
        collect_sequence_byte(self, byte);
    else if (is_linux_function_key)
        self->state = KEYS_GROUND;
    else
        end_csi(self, byte);
}

static void follow_ss3(struct keys *self, unsigned char byte)
{
    if (byte < 0x20 || byte >= DEL) {
        begin_key(self, byte);
    } else if (byte < '0' || byte > ';') {
        self->state = KEYS_GROUND;
        if (!self->silent)
            emit_arrow(self, byte, false);
    }
}

static void follow_string(struct keys *self, unsigned char byte)
{
    bool after_escape = self->size > 0;
    self->size = byte == ESC;
    if (byte == '\a' || (after_escape && byte == '\\'))
        self->state = KEYS_GROUND;
    else if (after_escape)
        follow_escape(self, byte);
    else if (byte < 0x20 && byte != ESC)
        begin_key(self, byte);
}

/* ---- pastes ------------------------------------------------------------------------------------ */

static void add_pasted(struct keys *self, unsigned char byte)
{
    bool is_second = byte == '\n' && self->after_return;
    self->after_return = byte == '\r';
    if (!is_second)
        str_addc(&self->paste, (char)(byte == '\r' ? '\n' : byte));
}

/* Size without a character that was cut at the end. */
static size_t size_of_whole_characters(struct ethos_view text)
{
    size_t at = text.size, back = 0;
    while (at > 0 && back < 3 && ((unsigned char)text.data[at - 1] & 0xC0) == 0x80)
        at--, back++;
    if (at == 0 || (unsigned char)text.data[at - 1] < 0xC0)
        return text.size;
    return character_size((unsigned char)text.data[at - 1]) > back + 1 ? at - 1 : text.size;
}

static void end_paste(struct keys *self)
{
    struct key key = {.kind = KEY_PASTE, .cut = str_code(&self->paste) != ETHOS_OK};
    struct ethos_view text = str_view(&self->paste);
    struct str valid;
    str_init(&valid, (size_t)3 * KEYS_MAX_PASTE);
    text.size = key.cut ? size_of_whole_characters(text) : text.size;
    if (!utf8_valid(text)) {
        key.cut = utf8_sanitize(text, &valid) != ETHOS_OK || key.cut;
        text = str_view(&valid);
    }
    key.text = text;
    self->state = KEYS_GROUND;
    emit_key(self, key);
    str_release(&valid);
    str_release(&self->paste);
    str_init(&self->paste, KEYS_MAX_PASTE);
}

static void follow_paste(struct keys *self, unsigned char byte)
{
    const char *end = PASTE_END;
    if (byte != (unsigned char)end[self->matched]) {
        for (size_t i = 0; i < self->matched; i++)
            add_pasted(self, (unsigned char)end[i]);
        self->matched = 0;
    }
    if (byte != (unsigned char)end[self->matched])
        add_pasted(self, byte);
    else if (++self->matched == strlen(end))
        end_paste(self);
}

/* ---- what arrives, and silence ----------------------------------------------------------------- */

static void handle_byte(struct keys *self, unsigned char byte)
{
    static void (*const follow[])(struct keys *, unsigned char) = {
        [KEYS_GROUND] = begin_key,     [KEYS_CHARACTER] = continue_character,
        [KEYS_RETURN] = follow_return, [KEYS_ESCAPE] = follow_escape,
        [KEYS_TAIL] = follow_tail,     [KEYS_CSI] = follow_csi,
        [KEYS_SS3] = follow_ss3,       [KEYS_STRING] = follow_string,
        [KEYS_PASTE] = follow_paste};
    follow[self->state](self, byte);
}

static bool has_deadline(const struct keys *self)
{
    return self->state != KEYS_GROUND && self->state != KEYS_CHARACTER && self->state != KEYS_PASTE;
}

void keys_expire(struct keys *self, int64_t now_ms)
{
    enum keys_state state = self->state;
    self->now = now_ms;
    if (!has_deadline(self) || now_ms < self->deadline)
        return;
    self->state = KEYS_GROUND;
    if (state == KEYS_RETURN) {
        emit_kind(self, KEY_ENTER);
    } else if (state == KEYS_ESCAPE) {
        /* The tail counts from the ESC on. */
        self->state = KEYS_TAIL;
        self->deadline += KEYS_SEQUENCE_MS - self->escape_ms;
        emit_kind(self, KEY_ESCAPE);
        keys_expire(self, now_ms);
    }
}

/* Within a paste, bytes come before it and soon; somebody who types is slower. */
static bool is_typed_return(const struct keys *self, struct ethos_view bytes)
{
    return bytes.size == 1 && *bytes.data == '\r' && self->state == KEYS_GROUND &&
           self->now - self->fed >= KEYS_TYPED_MS;
}

void keys_feed(struct keys *self, struct ethos_view bytes, int64_t now_ms)
{
    keys_expire(self, now_ms);
    bool is_return = is_typed_return(self, bytes);
    self->fed = now_ms;
    if (is_return) {
        emit_kind(self, KEY_ENTER);
        return;
    }
    for (size_t i = 0; i < bytes.size; i++)
        handle_byte(self, (unsigned char)bytes.data[i]);
}

int keys_wait(const struct keys *self, int64_t now_ms)
{
    int64_t wait = self->deadline - now_ms;
    return !has_deadline(self) ? -1 : wait > 0 ? (int)wait : 0;
}
