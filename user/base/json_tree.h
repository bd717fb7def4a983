/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads an untrusted JSON text (RFC 8259) into a tree. It has the values of unsigned integers of 64
 * bits; of other numbers it only says that they are numbers.
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
 * Reads `length` bytes. It changes them, and they must live as long as the tree. A zeroed tree is
 * empty. Returns 0, -EINVAL (not JSON, nested too deeply, or too many values), or -ENOMEM.
 */
int json_tree_read(struct json_tree *tree, char *bytes, size_t length);
void json_tree_fini(struct json_tree *tree);

/* A member of an object; NULL if there is none, or if `object` is NULL or not an object. */
const struct json_value *json_tree_member(const struct json_tree *tree,
					  const struct json_value *object, const char *key);

/*
 * Walks an array or object: the first value if `value` is NULL, otherwise the next; NULL: the end.
 */
const struct json_value *json_tree_next(const struct json_tree *tree, const struct json_value *of,
					const struct json_value *value);

/* A member's value; 0, NULL or false if it is absent or of another type. */
bool json_tree_u64(const struct json_tree *tree, const struct json_value *object, const char *key,
		   uint64_t *number);
const char *json_tree_text(const struct json_tree *tree, const struct json_value *object,
			   const char *key);
bool json_tree_true(const struct json_tree *tree, const struct json_value *object, const char *key);

#endif /* MEMSCOPE_BASE_JSON_TREE_H */
