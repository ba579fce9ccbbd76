/*
 * script.c: what runs in the server, as one.
 *
 * A script that fails half way leaves half. So a commit looks at what can fail before it writes
 * (kinds of keys, rights), and writes first what a server without memory, or a replica, refuses.
 * It answers "done" or "moved".
 *
 * Words of a commit, each list led by how many there are:
 *
 *   scope version next token time forget keep first     first is version + 1
 *   replaced rows   number  key  fields, then name and value of each
 *   new rows        the same
 *   edits           key "put" revision text  |  key "drop"
 *   operations      id record
 *   copies          id "put" time key text  |  id "drop"
 */
#include "redis.h"

/* In the order of the names on the script's first line. */
const char *const script_tables[SCRIPT_TABLES] = {"meta",  "stamps", "rows",  "index",  "ops",
                                                  "times", "copies", "draft", "scopes", "changes"};

#define TEXT_(number) #number
#define TEXT(number) TEXT_(number)

// clang-format off
static const char read_text[] =
    "local out, at = {}, 1\n"
    "while at <= #ARGV do\n"
    "  local last = at + tonumber(ARGV[at])\n"
    "  out[#out + 1] = redis.call(unpack(ARGV, at + 1, last))\n"
    "  at = last + 1\n"
    "end\n"
    "return out\n";

static const char commit_text[] =
    "local meta, stamps, rows, index, ops, times, copies, draft, scopes, changes = unpack(KEYS, 1, 10)\n"
    "local call, at = redis.call, 0\n"
    "local function take()\n"
    "  at = at + 1\n"
    "  return ARGV[at]\n"
    "end\n"
    "local function times_of(count, act)\n"
    "  for i = 1, tonumber(count) do act(i) end\n"
    "end\n"
    "local scope, version, after, token = take(), take(), take(), take()\n"
    "local time, forget, keep, first = take(), take(), take(), take()\n"

    /* Whoever asks again after a lost answer finds its own token; anybody else is too late. */
    "local now = call('HGET', meta, 'version') or '0'\n"
    "if now ~= version then\n"
    "  if now == after and call('HGET', meta, 'token') == token then return 'done' end\n"
    "  local row = call('XRANGE', rows, first, '+', 'COUNT', 1)[1]\n"
    "  for i = 1, row and #row[2] or 0, 2 do\n"
    "    if row[2][i] == 'token' and row[2][i + 1] == token then return 'done' end\n"
    "  end\n"
    "  return 'moved'\n"
    "end\n"

    /*
     * Nothing else may be called what we are going to write, and all of it must be allowed (known
     * since Redis 7).
     */
    "local kinds = {'hash', 'hash', 'stream', 'zset', 'hash', 'zset', 'hash', 'stream', 'set', 'stream'}\n"
    "for i, key in ipairs(KEYS) do\n"
    "  local kind = call('TYPE', key).ok\n"
    "  if kind ~= 'none' and kind ~= (kinds[i] or 'string') then\n"
    "    return redis.error_reply('WRONGTYPE ' .. key)\n"
    "  end\n"
    "end\n"
    "local denied\n"
    "local function must(...)\n"
    "  if redis.acl_check_cmd and not redis.acl_check_cmd(...) then denied = (...) end\n"
    "end\n"
    "must('HSET', meta, '', '')\n"
    "must('HSET', stamps, '', '') must('HDEL', stamps, '')\n"
    "must('XADD', rows, '*', '', '') must('XRANGE', rows, '-', '+') must('RENAME', draft, rows)\n"
    "must('XADD', draft, '*', '', '') must('DEL', draft)\n"
    "must('ZADD', index, '0', '') must('ZREM', index, '')\n"
    "must('HSET', ops, '', '') must('HDEL', ops, '')\n"
    "must('ZADD', times, '0', '') must('ZREM', times, '') must('ZRANGEBYSCORE', times, '0', '0') must('ZCARD', times)\n"
    "must('HSET', copies, '', '') must('HDEL', copies, '')\n"
    "must('SADD', scopes, '') must('XADD', changes, '*', '', '')\n"
    "for i = 11, #KEYS do must('SET', KEYS[i], '') must('DEL', KEYS[i]) end\n"
    "if denied then return redis.error_reply('NOPERM ' .. denied) end\n"
    "local last = call('XREVRANGE', changes, '+', '-', 'COUNT', 1)[1]\n"

    /* Rows are read off the words before anything is written, so that those replaced are known. */
    "local function take_rows(each)\n"
    "  times_of(take(), function()\n"
    "    local number, entry, fields = take(), take(), {}\n"
    "    times_of(take(), function()\n"
    "      fields[#fields + 1] = take()\n"
    "      fields[#fields + 1] = take()\n"
    "    end)\n"
    "    each(number, entry, fields)\n"
    "  end)\n"
    "end\n"
    "local replaced, missing, target = {}, 0, rows\n"
    "take_rows(function(number, entry, fields)\n"
    "  replaced[number] = {entry, fields}\n"
    "  missing = missing + 1\n"
    "end)\n"

    /*
     * An entry of a stream cannot be changed: the stream is written again. A row keeps the token
     * it was made with.
     */
    "local function field(fields, name)\n"
    "  for i = 1, #fields, 2 do\n"
    "    if fields[i] == name then return fields[i + 1], i + 1 end\n"
    "  end\n"
    "end\n"
    "local moved = {}\n"
    "local function exchange(number, old)\n"
    "  local entry, fields = unpack(replaced[number])\n"
    "  local was = field(old, 'key') .. entry:sub(-21)\n" /* a NUL and 20 digits */
    "  if was ~= entry then moved[was] = entry end\n"
    "  local kept, place = field(old, 'token'), select(2, field(fields, 'token'))\n"
    "  if kept then fields[place] = kept end\n"
    "  missing = missing - 1\n"
    "  return fields\n"
    "end\n"
    "if missing > 0 then\n"
    "  target = draft\n"
    "  call('DEL', draft)\n"
    "  local from, page = '-', nil\n"
    "  repeat\n"
    "    page = call('XRANGE', rows, from, '+', 'COUNT', 8)\n"
    "    for _, row in ipairs(page) do\n"
    "      local number, fields = row[1]:match('^%d+'), row[2]\n"
    "      if replaced[number] then fields = exchange(number, fields) end\n"
    "      call('XADD', draft, row[1], unpack(fields))\n"
    "      from = number .. '-1'\n"
    "    end\n"
    "  until #page == 0\n"
    "  if missing > 0 then\n"
    "    call('DEL', draft)\n"
    "    return redis.error_reply('ROWMISSING')\n"
    "  end\n"
    "end\n"

    /*
     * The first write where no row is replaced; a number that is taken fails here and nowhere
     * else.
     */
    "take_rows(function(number, entry, fields)\n"
    "  call('XADD', target, number .. '-0', unpack(fields))\n"
    "  call('ZADD', index, 0, entry)\n"
    "end)\n"
    "if target == draft then call('RENAME', draft, rows) end\n"
    "for was, entry in pairs(moved) do\n"
    "  call('ZREM', index, was)\n"
    "  call('ZADD', index, 0, entry)\n"
    "end\n"
    "call('HSET', meta, 'version', after, 'token', token)\n"

    "times_of(take(), function(i)\n"
    "  local key, act, text = take(), take(), KEYS[10 + i]\n"
    "  if act == 'put' then\n"
    "    local revision, bytes = take(), take()\n"
    "    call('SET', text, bytes)\n"
    "    call('HSET', stamps, key, time .. ' ' .. #bytes .. ' ' .. revision)\n"
    "  else\n"
    "    call('DEL', text)\n"
    "    call('HDEL', stamps, key)\n"
    "  end\n"
    "end)\n"

    "times_of(take(), function()\n"
    "  local id, record = take(), take()\n"
    "  call('HSET', ops, id, record)\n"
    "  call('ZADD', times, time, id)\n"
    "end)\n"

    "times_of(take(), function()\n"
    "  local id, act = take(), take()\n"
    "  if act == 'put' then\n"
    "    local kept, key, bytes = take(), take(), take()\n"
    "    call('HSET', copies, id, kept .. ' ' .. #key .. '\\n' .. key .. bytes)\n"
    "  else\n"
    "    call('HDEL', copies, id)\n"
    "  end\n"
    "end)\n"

    "if forget ~= '0' then\n"
    "  local most = math.min(call('ZCARD', times) - keep, " TEXT(ETHOS_OPID_AT_ONCE) ")\n"
    "  local old = call('ZRANGEBYSCORE', times, '-inf', '(' .. forget, 'LIMIT', 0, math.max(most, 0))\n"
    "  if #old > 0 then\n"
    "    call('HDEL', ops, unpack(old))\n"
    "    call('ZREM', times, unpack(old))\n"
    "  end\n"
    "end\n"

    /* Numbered without a gap: who finds one has missed something. */
    "call('SADD', scopes, scope)\n"
    "local number = last and tonumber((field(last[2], 'number'))) or 0\n"
    "call('XADD', changes, 'MAXLEN', '~', " TEXT(REDIS_MAX_CHANGES) ", '*', 'number', string.format('%.0f', number + 1), 'scope', scope)\n"
    "return 'done'\n";
// clang-format on

const char *const script_texts[SCRIPTS] = {read_text, commit_text};
