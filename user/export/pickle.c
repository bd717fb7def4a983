// SPDX-License-Identifier: BSD-2-Clause
#include "export/pickle.h"

enum {
	OP_MARK = '(',
	OP_STOP = '.',
	OP_BININT = 'J',
	OP_BININT1 = 'K',
	OP_BININT2 = 'M',
	OP_BINUNICODE = 'X',
	OP_EMPTY_LIST = ']',
	OP_APPENDS = 'e',
	OP_BINGET = 'h',
	OP_LONG_BINGET = 'j',
	OP_BINPUT = 'q',
	OP_LONG_BINPUT = 'r',
	OP_SETITEM = 's',
	OP_SETITEMS = 'u',
	OP_EMPTY_DICT = '}',
	OP_PROTO = 0x80,
	OP_NEWTRUE = 0x88,
	OP_NEWFALSE = 0x89,
	OP_LONG1 = 0x8a,
	OP_SHORT_BINUNICODE = 0x8c, /* of protocol 4 */
};

static void put_op(struct string *out, int op)
{
	string_append_char(out, (char)op);
}

/* An opcode and a number, little end first. */
static void put_number(struct string *out, int op, uint64_t value, size_t length)
{
	char bytes[1 + sizeof(value)];
	size_t i;

	bytes[0] = (char)op;
	for (i = 0; i < length; i++)
		bytes[1 + i] = (char)(value >> 8 * i);
	string_append(out, bytes, 1 + length);
}

void pickle_begin(struct string *out)
{
	put_number(out, OP_PROTO, 4, 1);
}

void pickle_end(struct string *out)
{
	put_op(out, OP_STOP);
}

void pickle_dict(struct string *out)
{
	put_op(out, OP_EMPTY_DICT);
}

void pickle_list(struct string *out)
{
	put_op(out, OP_EMPTY_LIST);
}

void pickle_mark(struct string *out)
{
	put_op(out, OP_MARK);
}

void pickle_append_all(struct string *out)
{
	put_op(out, OP_APPENDS);
}

void pickle_set_all(struct string *out)
{
	put_op(out, OP_SETITEMS);
}

void pickle_set(struct string *out)
{
	put_op(out, OP_SETITEM);
}

/* The first bit of the last byte is the sign. */
static void put_long(struct string *out, uint64_t value)
{
	size_t length = 8 - __builtin_clzll(value | 1) / 8;
	char bytes[2 + sizeof(value)];
	size_t i;

	length += length < 8 && value >> (8 * length - 1);
	bytes[0] = (char)OP_LONG1;
	bytes[1] = (char)length;
	for (i = 0; i < length; i++)
		bytes[2 + i] = (char)(value >> 8 * i);
	string_append(out, bytes, 2 + length);
}

void pickle_u64(struct string *out, uint64_t value)
{
	if (value <= UINT8_MAX)
		put_number(out, OP_BININT1, value, 1);
	else if (value <= UINT16_MAX)
		put_number(out, OP_BININT2, value, 2);
	else if (value <= INT32_MAX)
		put_number(out, OP_BININT, value, 4);
	else
		put_long(out, value > INT64_MAX ? INT64_MAX : value);
}

void pickle_bool(struct string *out, bool value)
{
	put_op(out, value ? OP_NEWTRUE : OP_NEWFALSE);
}

void pickle_text(struct string *out, const char *text, size_t length)
{
	if (length <= UINT8_MAX)
		put_number(out, OP_SHORT_BINUNICODE, length, 1);
	else
		put_number(out, OP_BINUNICODE, length, 4);
	string_append(out, text, length);
}

void pickle_remember(struct string *out, uint32_t number)
{
	if (number <= UINT8_MAX)
		put_number(out, OP_BINPUT, number, 1);
	else
		put_number(out, OP_LONG_BINPUT, number, 4);
}

void pickle_recall(struct string *out, uint32_t number)
{
	if (number <= UINT8_MAX)
		put_number(out, OP_BINGET, number, 1);
	else
		put_number(out, OP_LONG_BINGET, number, 4);
}
