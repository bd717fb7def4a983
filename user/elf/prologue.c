// SPDX-License-Identifier: BSD-2-Clause
#include "elf/prologue.h"

#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

/* ---- one instruction ------------------------------------------------------------------------- */

#define LONGEST_INSTRUCTION 15 /* whatever the number of prefixes */

_Static_assert(PROLOGUE_REACH + LONGEST_INSTRUCTION <= PROLOGUE_BYTES, "points are not complete");

enum register_number { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9 };

/* What an instruction with a ModRM byte does with its two operands. */
enum effect {
	READS,      /* both */
	WRITES_REG, /* the register */
	WRITES_RM,  /* the other one, which may be memory */
	LOADS_REG,  /* lea: the other one must be memory */
};

struct instruction {
	enum prologue_form form;
	size_t length;
	uint32_t stack_bytes; /* by which it lowers rsp */
};

struct reader {
	const uint8_t *next, *end;
	bool failed; /* went beyond the end */
	uint8_t rex;
	uint8_t reg, rm; /* of the ModRM byte, with their bits from REX */
	bool memory;     /* rm is an address */
};

#define REX_W 8
#define REX_R 4
#define REX_B 1

static uint8_t take(struct reader *reader)
{
	if (reader->next == reader->end) {
		reader->failed = true;
		return 0;
	}
	return *reader->next++;
}

static void skip(struct reader *reader, size_t bytes)
{
	if ((size_t)(reader->end - reader->next) < bytes)
		reader->failed = true;
	else
		reader->next += bytes;
}

static uint32_t take_u32(struct reader *reader)
{
	uint32_t value = 0;
	int i;

	for (i = 0; i < 4; i++)
		value |= (uint32_t)take(reader) << 8 * i;
	return value;
}

static void take_modrm(struct reader *reader)
{
	const uint8_t displacements[] = { 0, 1, 4, 0 };
	uint8_t modrm = take(reader), mode = modrm >> 6, base = modrm & 7;
	size_t bytes = displacements[mode];

	reader->memory = mode != 3;
	reader->reg = (modrm >> 3 & 7) | (reader->rex & REX_R ? 8 : 0);
	reader->rm = base | (reader->rex & REX_B ? 8 : 0);
	if (reader->memory && base == 4)
		base = take(reader) & 7;
	if (mode == 0 && base == 5)
		bytes = 4;
	skip(reader, bytes);
}

/* Rule 3 (and 4, for rsp). */
static bool may_write(uint8_t number)
{
	return number == RAX || number == RBX || number > R9;
}

/* Opcodes with a ModRM byte. Not here: those that write an 8-bit register (which is it?). */
static const struct {
	uint16_t opcode; /* 0x0f..: of two bytes */
	int8_t digit;    /* the reg field is part of the opcode: this value; -1: it is not */
	uint8_t immediate_bytes;
	uint8_t effect;
	uint8_t form;
} opcodes[] = {
	/* clang-format off */
	{ 0x31, -1, 0, WRITES_RM, PROLOGUE_XOR },
	{ 0x33, -1, 0, WRITES_REG, PROLOGUE_XOR },
	{ 0x38, -1, 0, READS, PROLOGUE_CMP },
	{ 0x39, -1, 0, READS, PROLOGUE_CMP },
	{ 0x3a, -1, 0, READS, PROLOGUE_CMP },
	{ 0x3b, -1, 0, READS, PROLOGUE_CMP },
	{ 0x63, -1, 0, WRITES_REG, PROLOGUE_MOV }, /* movsxd */
	{ 0x80, 7, 1, READS, PROLOGUE_CMP },
	{ 0x81, 7, 4, READS, PROLOGUE_CMP },
	{ 0x83, 7, 1, READS, PROLOGUE_CMP },
	{ 0x84, -1, 0, READS, PROLOGUE_TEST },
	{ 0x85, -1, 0, READS, PROLOGUE_TEST },
	{ 0x89, -1, 0, WRITES_RM, PROLOGUE_MOV },
	{ 0x8b, -1, 0, WRITES_REG, PROLOGUE_MOV },
	{ 0x8d, -1, 0, LOADS_REG, PROLOGUE_LEA },
	{ 0xc7, 0, 4, WRITES_RM, PROLOGUE_MOV },
	{ 0xf6, 0, 1, READS, PROLOGUE_TEST },
	{ 0xf7, 0, 4, READS, PROLOGUE_TEST },
	{ 0x0fb6, -1, 0, WRITES_REG, PROLOGUE_MOV }, /* movzx, movsx */
	{ 0x0fb7, -1, 0, WRITES_REG, PROLOGUE_MOV },
	{ 0x0fbe, -1, 0, WRITES_REG, PROLOGUE_MOV },
	{ 0x0fbf, -1, 0, WRITES_REG, PROLOGUE_MOV },
	/* clang-format on */
};

static bool is_harmless(const struct reader *reader, enum effect effect)
{
	switch (effect) {
	case READS:
		return true;
	case WRITES_REG:
		return may_write(reader->reg);
	case WRITES_RM:
		return !reader->memory && may_write(reader->rm);
	case LOADS_REG:
		return reader->memory && may_write(reader->reg);
	}
	return false;
}

static enum prologue_form take_listed(struct reader *reader, uint16_t opcode)
{
	size_t i;

	for (i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		struct reader ahead = *reader;

		if (opcodes[i].opcode != opcode)
			continue;
		take_modrm(&ahead);
		if (opcodes[i].digit >= 0 && (ahead.reg & 7) != opcodes[i].digit)
			continue;
		skip(&ahead, opcodes[i].immediate_bytes);
		*reader = ahead;
		return is_harmless(reader, opcodes[i].effect) ? opcodes[i].form : PROLOGUE_OTHER;
	}
	return PROLOGUE_OTHER;
}

/* sub $n,%rsp, or add $-n,%rsp, which is shorter for 128. */
static enum prologue_form take_stack(struct reader *reader, uint8_t opcode, uint32_t *stack_bytes)
{
	int64_t value;

	take_modrm(reader);
	value = opcode == 0x83 ? (int8_t)take(reader) : (int32_t)take_u32(reader);
	if (!(reader->rex & REX_W) || reader->memory || reader->rm != RSP)
		return PROLOGUE_OTHER;
	if ((reader->reg & 7) == 0)
		value = -value;
	else if ((reader->reg & 7) != 5)
		return PROLOGUE_OTHER;
	if (value <= 0 || value > INT32_MAX)
		return PROLOGUE_OTHER;
	*stack_bytes = value;
	return PROLOGUE_SUB;
}

/* Instructions without a ModRM byte, but for push. */
static enum prologue_form take_plain(struct reader *reader, uint8_t opcode)
{
	switch (opcode) {
	case 0x3c: /* cmp $n,%al */
		skip(reader, 1);
		return PROLOGUE_CMP;
	case 0x3d:
		skip(reader, 4);
		return PROLOGUE_CMP;
	case 0xa8:
		skip(reader, 1);
		return PROLOGUE_TEST;
	case 0xa9:
		skip(reader, 4);
		return PROLOGUE_TEST;
	}
	if (opcode >= 0xb8 && opcode <= 0xbf) { /* mov $n,%reg */
		skip(reader, reader->rex & REX_W ? 8 : 4);
		return may_write((opcode & 7) | (reader->rex & REX_B ? 8 : 0)) ? PROLOGUE_MOV :
										 PROLOGUE_OTHER;
	}
	return PROLOGUE_OTHER;
}

static enum prologue_form take_two_bytes(struct reader *reader)
{
	uint8_t opcode = take(reader);

	if (opcode >= 0x80 && opcode <= 0x8f && !reader->rex) {
		skip(reader, 4);
		return PROLOGUE_JCC;
	}
	return take_listed(reader, 0x0f00 | opcode);
}

static enum prologue_form take_branch(struct reader *reader, uint8_t opcode)
{
	bool is_near = opcode == 0xe8 || opcode == 0xe9;

	skip(reader, is_near ? 4 : 1);
	if (opcode == 0xe8)
		return PROLOGUE_CALL;
	return is_near || opcode == 0xeb ? PROLOGUE_JMP : PROLOGUE_JCC;
}

/* With fs: or gs: in front (the stack protector's value), and then REX. */
static enum prologue_form take_ordinary(struct reader *reader, uint32_t *stack_bytes)
{
	uint8_t opcode = take(reader);
	bool prefixed = opcode == 0x64 || opcode == 0x65;

	if (prefixed)
		opcode = take(reader);
	if (opcode >> 4 == 4) {
		reader->rex = opcode;
		opcode = take(reader);
	}
	/* The kernel emulates a push with no prefix or with REX.B alone. */
	if (opcode >> 3 == 0x50 >> 3 && !prefixed &&
	    (!reader->rex || reader->rex == (0x40 | REX_B)))
		return PROLOGUE_PUSH;
	if ((opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb || opcode >> 4 == 7) && !prefixed &&
	    !reader->rex)
		return take_branch(reader, opcode);
	if (opcode == 0x0f)
		return take_two_bytes(reader);
	if (opcode == 0x81 || opcode == 0x83) {
		struct reader ahead = *reader;
		enum prologue_form form = take_stack(&ahead, opcode, stack_bytes);

		if (form != PROLOGUE_OTHER) {
			*reader = ahead;
			return form;
		}
	}
	return take_listed(reader, opcode) ?: take_plain(reader, opcode);
}

/* nop, 66 nop, 66 66 nop, and 0f 1f /0 with any operand behind any number of 66 and one cs:. */
static enum prologue_form take_nop(struct reader *reader)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	const uint8_t *begin = reader->next;
	uint8_t opcode = take(reader);

	while (opcode == 0x66 && !reader->failed)
		opcode = take(reader);
	if (opcode == 0x90)
		return PROLOGUE_NOP;
	if (opcode == 0x2e)
		opcode = take(reader);
	if (opcode != 0x0f || take(reader) != 0x1f)
		return PROLOGUE_OTHER;
	take_modrm(reader);
	if (reader->reg != 0 || !reader->memory)
		return PROLOGUE_OTHER;
	if (reader->next - begin == sizeof(nop5) && !memcmp(begin, nop5, sizeof(nop5)))
		return PROLOGUE_NOP5;
	return PROLOGUE_NOPS;
}

static struct instruction decode(const uint8_t *code, size_t length)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const size_t left = length < LONGEST_INSTRUCTION ? length : LONGEST_INSTRUCTION;
	struct reader start = { .next = code, .end = code + left }, reader = start;
	struct instruction instruction = { 0 };

	if (length >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64))) {
		instruction.form = PROLOGUE_ENDBR;
		reader.next += sizeof(endbr64);
	} else {
		instruction.form = take_nop(&reader);
		if (instruction.form == PROLOGUE_OTHER || reader.failed) {
			reader = start;
			instruction.form = take_ordinary(&reader, &instruction.stack_bytes);
		}
	}
	if (reader.failed || instruction.form == PROLOGUE_OTHER)
		return (struct instruction){ 0 };
	instruction.length = reader.next - code;
	return instruction;
}

/* ---- rule 2: what jumps where ---------------------------------------------------------------- */

/* By first byte: how long a direct branch is. With two opcode bytes, not all are branches. */
static const uint8_t branch_lengths[256] = {
	[0x0f] = 6, [0x70 ... 0x7f] = 2, [0xe0 ... 0xe3] = 2, [0xe8] = 5, [0xe9] = 5, [0xeb] = 2,
};

/* Returns how many bytes the branch at `code` has, or 0: there is none. */
static inline size_t branch_length(const uint8_t *code, size_t left)
{
	size_t length = branch_lengths[code[0]];

	if (!length || length > left)
		return 0;
	return length == 6 && code[1] >> 4 != 8 ? 0 : length;
}

static inline int64_t branch_distance(const uint8_t *end, size_t length)
{
	int32_t distance;

	if (length == 2)
		return (int8_t)end[-1];
	memcpy(&distance, end - sizeof(distance), sizeof(distance));
	return distance;
}

static void visit_branch(const uint8_t *code, size_t length, size_t at,
			 void (*visit)(size_t place, int64_t target, void *context), void *context)
{
	size_t bytes = branch_length(code + at, length - at);

	if (bytes)
		visit(at, (int64_t)(at + bytes) + branch_distance(code + at + bytes, bytes),
		      context);
}

void prologue_find_branches(const uint8_t *code, size_t length,
			    void (*visit)(size_t place, int64_t target, void *context),
			    void *context)
{
	size_t i;

	for (i = 0; i < length; i++)
		visit_branch(code, length, i, visit, context);
}

/* A bit for each of 16 bytes with which a branch of 32 bits can begin: 0f, e8, e9. */
static uint32_t far_candidates(const uint8_t *code)
{
#ifdef __x86_64__
	__m128i bytes = _mm_loadu_si128((const __m128i *)code);
	__m128i low_bit_off = _mm_and_si128(bytes, _mm_set1_epi8((char)0xfe));
	__m128i found = _mm_or_si128(_mm_cmpeq_epi8(low_bit_off, _mm_set1_epi8((char)0xe8)),
				     _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x0f)));

	return _mm_movemask_epi8(found);
#else
	(void)code;
	return 0xffff;
#endif
}

void prologue_find_far_branches(const uint8_t *code, size_t length,
				void (*visit)(size_t place, int64_t target, void *context),
				void *context)
{
	size_t at = 0;

	for (; length - at >= 16; at += 16) {
		uint32_t candidates = far_candidates(code + at);

		for (; candidates; candidates &= candidates - 1)
			visit_branch(code, length, at + __builtin_ctz(candidates), visit, context);
	}
	for (; at < length; at++)
		visit_branch(code, length, at, visit, context);
}

static void note_lowest(size_t place, int64_t target, void *context)
{
	int64_t *lowest = context;

	(void)place;
	if (target > 0 && target < *lowest)
		*lowest = target;
}

/* Whether two registers are taken from the stack by the instructions that end there. */
static bool ends_with_pops(const uint8_t *code, size_t end)
{
	int pops;

	for (pops = 0; pops < 2; pops++) {
		if (!end || (code[end - 1] & 0xf8) != 0x58)
			return false;
		end--;
		if (end && code[end - 1] == 0x41) /* r8 to r15 */
			end--;
	}
	return true;
}

/* Whether the jump by a register at ff is a tail call: see rule 2. */
static bool is_tail_call(const uint8_t *code, size_t at)
{
	return ends_with_pops(code, at && code[at - 1] == 0x41 ? at - 1 : at);
}

/* ff /4 with a register, or with an index (a SIB byte). Far jumps (ff /5) do not occur. */
static bool has_indirect_jump(const uint8_t *code, size_t length)
{
	size_t i;

	for (i = 0; i + 1 < length; i++) {
		const uint8_t modrm = code[i + 1];

		if (code[i] != 0xff || (modrm >> 3 & 7) != 4)
			continue;
		if (modrm >> 6 == 3 ? !is_tail_call(code, i) : (modrm & 7) == 4)
			return true;
	}
	return false;
}

static bool nothing_jumps_there(const uint8_t *code, size_t size, uint32_t point)
{
	int64_t lowest = INT64_MAX;

	prologue_find_branches(code, size, note_lowest, &lowest);
	return lowest > point && !has_indirect_jump(code, size);
}

/* ---- the best points ------------------------------------------------------------------------- */

static enum prologue_price price_of(enum prologue_form form, bool nops)
{
	switch (form) {
	case PROLOGUE_NOP:
	case PROLOGUE_PUSH:
	case PROLOGUE_JMP:
	case PROLOGUE_JCC:
	case PROLOGUE_CALL:
		return PROLOGUE_EMULATED;
	case PROLOGUE_NOP5:
		return nops ? PROLOGUE_OPTIMISED : PROLOGUE_STEPPED;
	case PROLOGUE_NOPS:
		return nops ? PROLOGUE_EMULATED : PROLOGUE_STEPPED;
	default:
		return PROLOGUE_STEPPED;
	}
}

/* The first cheap point of the straight line (rules 1, 3 and 4); false: there is none. */
static bool find_cheap(const uint8_t *code, size_t length, bool nops, struct prologue_point *point)
{
	*point = (struct prologue_point){ 0 };
	while (point->offset < PROLOGUE_REACH && point->offset < length) {
		struct instruction instruction =
			decode(code + point->offset, length - point->offset);

		point->form = instruction.form;
		point->length = instruction.length;
		point->price = price_of(instruction.form, nops);
		if (instruction.form == PROLOGUE_OTHER)
			return false;
		if (point->price != PROLOGUE_STEPPED)
			return true;
		if (__builtin_add_overflow(point->stack_bytes, instruction.stack_bytes,
					   &point->stack_bytes))
			return false;
		point->offset += instruction.length;
	}
	return false;
}

static struct prologue_point first_point(const uint8_t *code, size_t length, bool nops)
{
	struct instruction instruction = decode(code, length);

	return (struct prologue_point){ .length = instruction.length,
					.form = instruction.form,
					.price = price_of(instruction.form, nops) };
}

void prologue_distrust(struct prologue *prologue)
{
	prologue->entry = prologue->result = prologue->first;
}

void prologue_read(struct prologue *prologue, const uint8_t *code, size_t length, uint64_t size,
		   bool nops)
{
	struct prologue_point cheap;

	*prologue = (struct prologue){ 0 };
#ifdef __x86_64__
	if (size && length > size)
		length = size;
	prologue->first = first_point(code, length, nops);
	prologue_distrust(prologue);
	if (!size || length != size || !find_cheap(code, length, nops, &cheap) ||
	    !nothing_jumps_there(code, size, cheap.offset))
		return;
	prologue->entry = cheap;
	if (!cheap.stack_bytes)
		prologue->result = cheap;
#else
	(void)code, (void)length, (void)size, (void)nops, (void)cheap;
#endif
}

/* ---- the same code in memory ----------------------------------------------------------------- */

static bool is_uprobe_call(const uint8_t *memory, uint64_t address,
			   bool (*is_trampoline)(uint64_t address, const void *context),
			   const void *context)
{
	return memory[0] == 0xe8 &&
	       is_trampoline(address + 5 + branch_distance(memory + 5, 5), context);
}

enum prologue_change prologue_compare(const uint8_t *code, const uint8_t *memory, size_t length,
				      uint64_t address,
				      bool (*is_trampoline)(uint64_t address, const void *context),
				      const void *context)
{
	size_t at = 0;

	while (at < length) {
		struct instruction instruction = decode(code + at, length - at);
		size_t bytes = instruction.length ? instruction.length : length - at;
		bool same = !memcmp(code + at, memory + at, bytes);
		bool breakpoint =
			memory[at] == 0xcc && !memcmp(code + at + 1, memory + at + 1, bytes - 1);
		bool optimised = instruction.form == PROLOGUE_NOP5 &&
				 is_uprobe_call(memory + at, address + at, is_trampoline, context);

		if (!same && !breakpoint && !optimised)
			return PROLOGUE_CHANGED;
		at += bytes;
	}
	return PROLOGUE_SAME;
}

bool prologue_is_probed(const struct prologue_point *point, const uint8_t *memory, uint64_t address,
			bool (*is_trampoline)(uint64_t address, const void *context),
			const void *context)
{
	return memory[0] == 0xcc || (point->form == PROLOGUE_NOP5 &&
				     is_uprobe_call(memory, address, is_trampoline, context));
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *prologue_form_name(enum prologue_form form)
{
	static const char *const names[PROLOGUE_FORMS_COUNT] = {
		[PROLOGUE_OTHER] = "other", [PROLOGUE_ENDBR] = "endbr64", [PROLOGUE_NOP] = "nop",
		[PROLOGUE_NOP5] = "nop5",   [PROLOGUE_NOPS] = "nops",     [PROLOGUE_PUSH] = "push",
		[PROLOGUE_SUB] = "sub",     [PROLOGUE_MOV] = "mov",       [PROLOGUE_LEA] = "lea",
		[PROLOGUE_XOR] = "xor",     [PROLOGUE_TEST] = "test",     [PROLOGUE_CMP] = "cmp",
		[PROLOGUE_JMP] = "jmp",     [PROLOGUE_JCC] = "jcc",       [PROLOGUE_CALL] = "call",
	};

	return names[form];
}

const char *prologue_price_name(enum prologue_price price)
{
	static const char *const names[PROLOGUE_PRICES_COUNT] = {
		[PROLOGUE_UNPRICED] = "unknown",
		[PROLOGUE_OPTIMISED] = "optimised",
		[PROLOGUE_EMULATED] = "emulated",
		[PROLOGUE_STEPPED] = "single-stepped",
	};

	return names[price];
}
