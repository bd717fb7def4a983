/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a record can be decoded.
 */
#ifndef MEMSCOPE_TESTS_DECODED_H
#define MEMSCOPE_TESTS_DECODED_H

#include <errno.h>
#include <stdlib.h>

#include "event/event.h"
#include "records.h"

/* Decodes a copy that ends exactly where the record does: reading further is an error. */
static inline int decode_copy(const void *record, size_t length)
{
	void *copy = malloc(length ? length : 1);
	struct event event;
	int err;

	memcpy(copy, record, length);
	err = event_decode(copy, length, &event);
	free(copy);
	return err;
}

static inline void assert_refused(const union record *record)
{
	assert_int_equal(decode_copy(record, record->event.size), -EINVAL);
}

static inline void assert_accepted(const union record *record)
{
	assert_int_equal(decode_copy(record, record->event.size), 0);
}

#endif /* MEMSCOPE_TESTS_DECODED_H */
