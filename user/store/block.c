// SPDX-License-Identifier: BSD-2-Clause
#include "store/block.h"

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

struct block_coder {
	ZSTD_CCtx *compressor;
	ZSTD_DCtx *expander;
	uint8_t buffer[ZSTD_COMPRESSBOUND(BLOCK_MAX_BYTES)];
};

struct block_coder *block_coder_new(void)
{
	struct block_coder *coder = calloc(1, sizeof(*coder));

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

const void *block_encode(struct block_coder *coder, struct block_header *header, const void *raw,
			 size_t raw_bytes)
{
	const void *stored = coder->buffer;
	size_t bytes = ZSTD_compressCCtx(coder->compressor, coder->buffer, sizeof(coder->buffer),
					 raw, raw_bytes, LEVEL);

	header->codec = BLOCK_ZSTD;
	/* It may be out of memory, too. */
	if (ZSTD_isError(bytes) || bytes >= raw_bytes) {
		header->codec = BLOCK_PLAIN;
		stored = raw;
		bytes = raw_bytes;
	}
	memcpy(header->magic, MAGIC, sizeof(header->magic));
	header->major = BLOCK_MAJOR;
	header->minor = BLOCK_MINOR;
	header->raw_bytes = raw_bytes;
	header->stored_bytes = bytes;
	header->checksum = checksum_of(header, stored);
	return stored;
}

enum block_check block_check(const void *data, size_t length, struct block_header *header)
{
	if (length < sizeof(*header) || memcmp(data, MAGIC, strlen(MAGIC)) != 0)
		return BLOCK_NONE;
	memcpy(header, data, sizeof(*header));
	if (header->major != BLOCK_MAJOR)
		return BLOCK_TOO_NEW;
	if (header->raw_bytes > BLOCK_MAX_BYTES || header->stored_bytes > BLOCK_MAX_BYTES)
		return BLOCK_DAMAGED;
	if (header->stored_bytes > length - sizeof(*header))
		return BLOCK_CUT_SHORT;
	return header->checksum == checksum_of(header, (const char *)data + sizeof(*header)) ?
		       BLOCK_OK :
		       BLOCK_DAMAGED;
}

const void *block_decode(struct block_coder *coder, const struct block_header *header,
			 const void *stored)
{
	size_t bytes;

	if (header->codec == BLOCK_PLAIN)
		return header->stored_bytes == header->raw_bytes ? stored : NULL;
	if (header->codec != BLOCK_ZSTD)
		return NULL;
	bytes = ZSTD_decompressDCtx(coder->expander, coder->buffer, sizeof(coder->buffer), stored,
				    header->stored_bytes);
	return bytes == header->raw_bytes ? coder->buffer : NULL;
}
