/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a JSON text (RFC 8259) that may be anything, into a tree. Numbers are integers of 64 bits;
 * others are known to be numbers, no more.
 */
#ifndef MEMSCOPE_BASE_JSON_TREE_H
#define MEMSCOPE_BASE_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH 32 /* arrays and objects in each other, at most */
#define JSON_VALUES_MOST (4u << 20)

enum json_type {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_value {
	enum json_type type;
	bool is_true;     /* of JSON_BOOL */
	bool is_unsigned; /* of JSON_NUMBER: it is `number` */
	uint64_t number;
	const char *key;  /* in an object; else NULL */
	const char *text; /* of JSON_STRING: terminated, and without a zero byte */
	size_t next;      /* in the same array or object: position; 0: it is the last one */
	size_t first;     /* of JSON_ARRAY and JSON_OBJECT: position; 0: it is empty */
};

struct json_tree {
	struct json_value *values; /* the first is the whole text's */
	size_t count, capacity;
};

/*
 * Reads `length` bytes, which are changed and must live as long as the tree. A zeroed tree is
 * ready. Returns 0, -EINVAL (it is no JSON, too deep or too much), or -ENOMEM.
 */
int json_tree_read(struct json_tree *tree, char *bytes, size_t length);
void json_tree_fini(struct json_tree *tree);

/* A member of an object; NULL: there is none, or `object` is NULL or no object. */
const struct json_value *json_tree_member(const struct json_tree *tree,
					  const struct json_value *object, const char *key);

/* To walk an array or object: `value` NULL: its first; NULL: there are no more. */
const struct json_value *json_tree_next(const struct json_tree *tree, const struct json_value *of,
					const struct json_value *value);

/* A member that is a number of 64 bits, a text, true; or 0, NULL, false. */
bool json_tree_u64(const struct json_tree *tree, const struct json_value *object, const char *key,
		   uint64_t *number);
const char *json_tree_text(const struct json_tree *tree, const struct json_value *object,
			   const char *key);
bool json_tree_true(const struct json_tree *tree, const struct json_value *object, const char *key);

#endif /* MEMSCOPE_BASE_JSON_TREE_H */
