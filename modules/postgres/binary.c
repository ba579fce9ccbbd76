/*
 * binary.c: parameters, arrays and rows in the binary format of the protocol, and values out of answers.
 *
 * Binary, so that a text passes as the bytes it is. A row as a value is the number of its fields, then of
 * each its type and, as everywhere, its length (-1 for null) and bytes; all numbers begin with the
 * highest byte.
 */
#include <endian.h>
#include <limits.h>

#include "base/view.h"
#include "postgres.h"

/* ---- parameters ------------------------------------------------------------------------------ */

void pg_add_bytes(struct pg_params *self, Oid type, struct ethos_view bytes)
{
    int at = self->count++;
    self->types[at] = type;
    self->values[at] = bytes.data;
    self->lengths[at] = (int)bytes.size;
    self->formats[at] = 1;
}

void pg_add_text(struct pg_params *self, const char *text)
{
    pg_add_bytes(self, PG_TEXT, view_str(text));
}

void pg_add_number(struct pg_params *self, int64_t number)
{
    char *bytes = self->numbers[self->count];
    uint64_t value = htobe64((uint64_t)number);
    memcpy(bytes, &value, sizeof value);
    pg_add_bytes(self, PG_INT8, view_of(bytes, sizeof value));
}

/* Its bits in the order of the net. */
static uint64_t net_double(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return htobe64(bits);
}

void pg_add_double(struct pg_params *self, double number)
{
    char *bytes = self->numbers[self->count];
    uint64_t value = net_double(number);
    memcpy(bytes, &value, sizeof value);
    pg_add_bytes(self, PG_FLOAT8, view_of(bytes, sizeof value));
}

void pg_add_written(struct pg_params *self, Oid type, const char *text)
{
    self->formats[self->count] = 0;
    self->types[self->count] = type;
    self->lengths[self->count] = 0;
    self->values[self->count++] = text;
}

void pg_add_bool(struct pg_params *self, bool value)
{
    char *byte = self->numbers[self->count];
    *byte = value;
    pg_add_bytes(self, PG_BOOL, view_of(byte, 1));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

enum { COUNT_AT = 12 }; /* where an array says how long it is */

static void add_int(struct str *out, uint32_t number)
{
    uint32_t value = htobe32(number);
    str_add(out, view_of((const char *)&value, sizeof value));
}

static void put_int(struct str *out, size_t at, uint32_t number)
{
    uint32_t value = htobe32(number);
    memcpy(out->data + at, &value, sizeof value);
}

static void add_array_value(struct str *out, struct ethos_view value)
{
    add_int(out, value.data ? (uint32_t)value.size : UINT32_MAX);
    if (value.data)
        str_add(out, value);
}

/* Dimensions, whether there are nulls, type; of the one dimension its length and first index. */
void pg_array_init(struct pg_array *self, Oid element)
{
    *self = (struct pg_array){0};
    str_init(&self->bytes, PG_MAX_MESSAGE);
    add_int(&self->bytes, 1);
    add_int(&self->bytes, 0);
    add_int(&self->bytes, element);
    add_int(&self->bytes, 0);
    add_int(&self->bytes, 1);
}

void pg_array_release(struct pg_array *self)
{
    str_release(&self->bytes);
}

void pg_array_text(struct pg_array *self, const char *text)
{
    add_array_value(&self->bytes, view_str(text));
    self->count++;
}

void pg_array_bytes(struct pg_array *self, struct ethos_view bytes)
{
    add_array_value(&self->bytes, bytes);
    self->count++;
}

void pg_array_number(struct pg_array *self, int64_t number)
{
    uint64_t value = htobe64((uint64_t)number);
    pg_array_bytes(self, view_of((const char *)&value, sizeof value));
}

void pg_array_double(struct pg_array *self, double number)
{
    uint64_t value = net_double(number);
    pg_array_bytes(self, view_of((const char *)&value, sizeof value));
}

static void end_row(struct pg_array *self)
{
    if (self->row && str_code(&self->bytes) == ETHOS_OK)
        put_int(&self->bytes, self->row, (uint32_t)(self->bytes.size - self->row - 4));
    self->row = 0;
}

void pg_array_row(struct pg_array *self, uint32_t fields)
{
    end_row(self);
    self->row = self->bytes.size;
    self->count++;
    add_int(&self->bytes, 0);
    add_int(&self->bytes, fields);
}

void pg_field(struct pg_array *self, Oid type, struct ethos_view value)
{
    add_int(&self->bytes, type);
    add_array_value(&self->bytes, value);
}

void pg_field_text(struct pg_array *self, const char *text)
{
    pg_field(self, PG_TEXT, view_str(text));
}

void pg_field_number(struct pg_array *self, int64_t number)
{
    uint64_t value = htobe64((uint64_t)number);
    pg_field(self, PG_INT8, view_of((const char *)&value, sizeof value));
}

void pg_field_bool(struct pg_array *self, bool value)
{
    char byte = value;
    pg_field(self, PG_BOOL, view_of(&byte, 1));
}

int pg_array_end(struct pg_array *self)
{
    end_row(self);
    if (str_code(&self->bytes) == ETHOS_OK)
        put_int(&self->bytes, COUNT_AT, self->count);
    return str_code(&self->bytes);
}

/* ---- values ---------------------------------------------------------------------------------- */

int64_t pg_number(const PGresult *result, int row, int column)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    const char *value = PQgetvalue(result, row, column);
    if (PQgetlength(result, row, column) == sizeof narrow) {
        memcpy(&narrow, value, sizeof narrow);
        return (int32_t)be32toh(narrow);
    }
    if (PQgetlength(result, row, column) == sizeof wide)
        memcpy(&wide, value, sizeof wide);
    return (int64_t)be64toh(wide);
}

double pg_double(const PGresult *result, int row, int column)
{
    int64_t bits = pg_number(result, row, column);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

bool pg_bool(const PGresult *result, int row, int column)
{
    return PQgetlength(result, row, column) == 1 && *PQgetvalue(result, row, column);
}

const char *pg_text(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column);
}

struct ethos_view pg_bytes(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return (struct ethos_view){0};
    return view_of(PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column));
}
