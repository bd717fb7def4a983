// SPDX-License-Identifier: BSD-2-Clause
#include "store/block.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "dumps are little-endian, and so are the structures that are written as they are"
#endif

#define MAGIC "MSCP"
#define LEVEL 1 /* what packing has left has little to give: level 3 takes twice as long for 3 % */

#define SKIPPABLE_FRAME 0x184D2A50u /* RFC 8878, 3.1.2 */

struct block_coder {
	ZSTD_CCtx *compressor;
	ZSTD_DCtx *expander;
	uint8_t buffer[BLOCK_MAX_PARTS * ZSTD_COMPRESSBOUND(BLOCK_MAX_BYTES / BLOCK_MAX_PARTS)];
};

struct block_coder *block_coder_new(void)
{
	struct block_coder *coder = malloc(sizeof(*coder));

	if (!coder)
		return NULL;
	coder->compressor = ZSTD_createCCtx();
	coder->expander = ZSTD_createDCtx();
	if (coder->compressor && coder->expander)
		return coder;
	block_coder_free(coder);
	return NULL;
}

void block_coder_free(struct block_coder *coder)
{
	if (!coder)
		return;
	ZSTD_freeCCtx(coder->compressor);
	ZSTD_freeDCtx(coder->expander);
	free(coder);
}

static uint64_t checksum_of(const struct block_header *header, const void *stored)
{
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, header, offsetof(struct block_header, checksum));
	XXH3_64bits_update(&state, stored, header->stored_bytes);
	return XXH3_64bits_digest(&state);
}

/* Appends a frame of nothing if there is less than the payload must take. */
static size_t pad(uint8_t *bytes, size_t length, size_t raw_bytes)
{
	const size_t least = (raw_bytes + BLOCK_MAX_EXPANSION - 1) / BLOCK_MAX_EXPANSION;
	uint32_t frame[2] = { SKIPPABLE_FRAME, 0 };

	if (length >= least)
		return length;
	if (length + sizeof(frame) < least)
		frame[1] = least - length - sizeof(frame);
	memcpy(bytes + length, frame, sizeof(frame));
	memset(bytes + length + sizeof(frame), 0, frame[1]);
	return length + sizeof(frame) + frame[1];
}

/* Returns how many bytes that made, 0: it cannot be done, or is no use. */
static size_t compress_parts(struct block_coder *coder, const uint8_t *raw, const size_t *parts,
			     size_t parts_count)
{
	size_t done = 0, i;

	for (i = 0; i < parts_count; i++) {
		size_t bytes =
			ZSTD_compressCCtx(coder->compressor, coder->buffer + done,
					  sizeof(coder->buffer) - done, raw, parts[i], LEVEL);

		if (ZSTD_isError(bytes)) /* without memory, for one */
			return 0;
		done += bytes;
		if (parts[i]) /* an empty one may be nowhere, where not even 0 can be added */
			raw += parts[i];
	}
	return done;
}

const void *block_encode(struct block_coder *coder, struct block_header *header, const void *raw,
			 const size_t *parts, size_t parts_count)
{
	size_t raw_bytes = 0, i, stored_bytes = compress_parts(coder, raw, parts, parts_count);
	bool plain;

	for (i = 0; i < parts_count; i++)
		raw_bytes += parts[i];
	if (stored_bytes)
		stored_bytes = pad(coder->buffer, stored_bytes, raw_bytes);
	plain = !stored_bytes || stored_bytes >= raw_bytes;
	memcpy(header->magic, MAGIC, sizeof(header->magic));
	header->major = BLOCK_MAJOR;
	header->minor = BLOCK_MINOR;
	header->codec = plain ? BLOCK_PLAIN : BLOCK_ZSTD;
	header->raw_bytes = raw_bytes;
	header->stored_bytes = plain ? raw_bytes : stored_bytes;
	header->checksum = checksum_of(header, plain ? raw : coder->buffer);
	return plain ? raw : coder->buffer;
}

enum block_check block_peek(const void *data, size_t length, struct block_header *header)
{
	const size_t of_magic = length < strlen(MAGIC) ? length : strlen(MAGIC);

	if (!length || memcmp(data, MAGIC, of_magic) != 0)
		return BLOCK_NONE;
	memset(header, 0, sizeof(*header));
	if (length < sizeof(*header))
		return BLOCK_CUT_SHORT;
	memcpy(header, data, sizeof(*header));
	if (header->major < BLOCK_MAJOR || header->raw_bytes > BLOCK_MAX_BYTES ||
	    header->stored_bytes > BLOCK_MAX_BYTES)
		return BLOCK_DAMAGED;
	return header->stored_bytes > length - sizeof(*header) ? BLOCK_CUT_SHORT : BLOCK_OK;
}

enum block_check block_check(const void *data, size_t length, struct block_header *header)
{
	enum block_check check = block_peek(data, length, header);

	if (check != BLOCK_OK)
		return check;
	if (header->checksum != checksum_of(header, (const char *)data + sizeof(*header)))
		return BLOCK_DAMAGED;
	return header->major == BLOCK_MAJOR ? BLOCK_OK : BLOCK_TOO_NEW;
}

/* Whether it is frames of today alone: zstd may know formats of old, too. */
static bool is_frames(const uint8_t *stored, size_t length)
{
	while (length) {
		uint32_t magic;
		size_t frame;

		if (length < sizeof(magic))
			return false;
		memcpy(&magic, stored, sizeof(magic));
		if (magic != ZSTD_MAGICNUMBER && magic != SKIPPABLE_FRAME)
			return false;
		frame = ZSTD_findFrameCompressedSize(stored, length);
		if (ZSTD_isError(frame) || frame > length)
			return false;
		stored += frame;
		length -= frame;
	}
	return true;
}

const void *block_decode(struct block_coder *coder, const struct block_header *header,
			 const void *stored)
{
	size_t bytes;

	if (header->codec == BLOCK_PLAIN)
		return header->stored_bytes == header->raw_bytes ? stored : NULL;
	if (header->codec != BLOCK_ZSTD ||
	    header->raw_bytes > (uint64_t)header->stored_bytes * BLOCK_MAX_EXPANSION ||
	    !is_frames(stored, header->stored_bytes))
		return NULL;
	bytes = ZSTD_decompressDCtx(coder->expander, coder->buffer, sizeof(coder->buffer), stored,
				    header->stored_bytes);
	return bytes == header->raw_bytes ? coder->buffer : NULL;
}
