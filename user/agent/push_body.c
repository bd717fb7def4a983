// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_body.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/writer.h"
#include "export/remote_write.h"
#include "export/snappy.h"

#define ENDED_BYTES (1u << 20)

static int read_all(struct string *text, int fd, uint64_t bytes)
{
	char *to = string_extend(text, bytes);
	uint64_t done = 0;

	if (!to && bytes)
		return -ENOMEM;
	while (done < bytes) {
		const ssize_t length = pread(fd, to + done, bytes - done, (off_t)done);

		if (length <= 0)
			return length ? -errno : -EIO;
		done += (uint64_t)length;
	}
	return 0;
}

/* Returns a descriptor or -errno. */
static int write_compressed(const struct string *text, uint64_t *bytes)
{
	struct writer writer = { .fd = memfd_create("batch", MFD_CLOEXEC), .name = "a batch" };
	int err = writer.fd < 0 ? -errno : 0;

	if (err)
		return err;
	snappy_compress(&writer.text, text->bytes, text->length);
	*bytes = writer.text.length;
	err = writer.text.failed ? -ENOMEM : writer_flush(&writer);
	string_fini(&writer.text);
	if (err)
		close(writer.fd);
	return err ? err : writer.fd;
}

/* Adds these marks to those that may have to be repeated: if they are too many, the older go. */
static void keep_marks(struct push_body *body, const char *marks, size_t length, uint64_t ts_ns)
{
	struct string ended = { 0 };

	if (!length)
		return;
	string_append(&ended, marks, length);
	remote_write_end_series(&ended, body->ended.bytes, body->ended.length, ts_ns);
	if (ended.failed || ended.length > ENDED_BYTES) {
		string_fini(&ended);
		if (length <= ENDED_BYTES)
			string_append(&ended, marks, length);
	}
	string_fini(&body->ended);
	body->ended = ended;
	if (ended.failed)
		string_fini(&body->ended);
}

void push_body_all_sent(struct push_body *body)
{
	if (!body->lost)
		string_fini(&body->ended);
}

void push_body_lost(struct push_body *body)
{
	body->lost = true;
}

int push_body_make(struct push_body *body, int fd, uint64_t *bytes, uint64_t ts_ns, bool repeat)
{
	struct string text = { 0 };
	size_t length;
	int made = read_all(&text, fd, *bytes);

	close(fd);
	if (made) {
		string_fini(&text);
		return made;
	}
	length = text.length;
	remote_write_end_series(&text, body->last.bytes, body->last.length, ts_ns);
	if (body->lost && repeat)
		remote_write_end_series(&text, body->ended.bytes, body->ended.length, ts_ns);
	made = text.failed ? -ENOMEM : write_compressed(&text, bytes);
	if (made < 0) {
		string_fini(&text);
		return made;
	}
	keep_marks(body, text.bytes + length, text.length - length, ts_ns);
	body->lost = body->lost && !repeat;
	text.length = length;
	string_fini(&body->last);
	body->last = text;
	return made;
}

void push_body_fini(struct push_body *body)
{
	string_fini(&body->last);
	string_fini(&body->ended);
}
