// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/unwind_rules.h"

#include <string.h>

#define REMEMBERED 16 /* states; compilers nest them twice at most */

/* Registers of x86-64 (psABI, figure 3.36). */
enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_RETURN = 16 };

enum {
	CFA_ADVANCE = 0x40, /* the two highest bits; the others are an operand */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

enum { OP_DEREF = 0x06, OP_LIT0 = 0x30, OP_BREG0 = 0x70 };

/* Where the caller's value of a register is. */
struct place {
	enum { PLACE_SAME, PLACE_UNDEFINED, PLACE_OFFSET, PLACE_EXPRESSION, PLACE_OTHER } kind;
	int64_t offset; /* from the CFA */
	struct cursor expression;
};

/* How the frame's address (CFA) is found. */
struct frame_address {
	bool is_expression;
	uint64_t reg;
	int64_t offset;
	struct cursor expression;
};

struct rules {
	struct frame_address cfa;
	struct place bp, ret;
};

struct machine {
	const struct eh_common *common;
	struct rules now, initial, remembered[REMEMBERED];
	unsigned int depth;
	uint64_t pc;
	bool lost; /* an instruction that is not known, or makes no sense */
};

/* ---- what a state comes to ------------------------------------------------------------------- */

/* A register and a constant: returns whether that is what the expression begins with. */
static bool takes_register(struct cursor *expression, uint64_t reg, int64_t *offset)
{
	if (cursor_number(expression, 1) != OP_BREG0 + reg)
		return false;
	*offset = cursor_sleb(expression);
	return !expression->failed;
}

/*
 * The one that linkers write for a lazily bound procedure linkage table, whose entries push a word
 * at their `literal`th byte: RSP + 8 + ((RIP & 15) >= literal) * 8.
 */
static bool is_plt(struct cursor expression, int16_t *literal)
{
	/* DW_OP_breg16 0, lit15, and, LITERAL, ge, lit3, shl, plus */
	static const uint8_t before[] = { 0x80, 0x00, 0x3f, 0x1a };
	static const uint8_t behind[] = { 0x2a, 0x33, 0x24, 0x22 };
	const size_t length = sizeof(before) + 1 + sizeof(behind);
	int64_t offset;
	uint8_t op;

	if (!takes_register(&expression, REGISTER_SP, &offset) || offset != 8 ||
	    (size_t)(expression.end - expression.at) != length ||
	    memcmp(expression.at, before, sizeof(before)) != 0 ||
	    memcmp(expression.at + sizeof(before) + 1, behind, sizeof(behind)) != 0)
		return false;
	op = expression.at[sizeof(before)];
	*literal = (int16_t)(op - OP_LIT0);
	return op >= OP_LIT0 && op <= OP_LIT0 + 15;
}

/* A function that aligned its stack has the address in memory: DW_OP_breg6 N, deref. */
static bool is_at_bp(struct cursor expression, int64_t *offset)
{
	return takes_register(&expression, REGISTER_BP, offset) &&
	       cursor_number(&expression, 1) == OP_DEREF && expression.at == expression.end;
}

static bool put_offset(struct ms_unwind_row *row, uint8_t rule, int64_t offset)
{
	if (offset % 8 || offset / 8 < INT16_MIN || offset / 8 > INT16_MAX)
		return false;
	row->rule = rule;
	row->offset = (int16_t)(offset / 8);
	return true;
}

static bool put_address(struct ms_unwind_row *row, const struct frame_address *cfa)
{
	int64_t offset;

	if (cfa->is_expression && is_plt(cfa->expression, &row->offset)) {
		row->rule = MS_UNWIND_PLT;
		return true;
	}
	if (cfa->is_expression)
		return is_at_bp(cfa->expression, &offset) &&
		       put_offset(row, MS_UNWIND_AT_BP, offset);
	if (cfa->reg == REGISTER_SP)
		return put_offset(row, MS_UNWIND_SP, cfa->offset);
	return cfa->reg == REGISTER_BP && put_offset(row, MS_UNWIND_BP, cfa->offset);
}

static bool put_bp(struct ms_unwind_row *row, const struct place *bp)
{
	struct cursor expression = bp->expression;
	int64_t offset;

	switch (bp->kind) {
	case PLACE_SAME:
	case PLACE_UNDEFINED:
		row->bp = MS_UNWIND_BP_SAME;
		return true;
	case PLACE_OFFSET:
		if (bp->offset % 8 || bp->offset >= 0 || bp->offset / -8 >= MS_UNWIND_BP_AT_BP)
			return false;
		row->bp = (uint8_t)(bp->offset / -8);
		return true;
	case PLACE_EXPRESSION:
		row->bp = MS_UNWIND_BP_AT_BP;
		return takes_register(&expression, REGISTER_BP, &offset) && !offset &&
		       expression.at == expression.end;
	case PLACE_OTHER:
		break;
	}
	return false;
}

static bool put_rule(struct ms_unwind_row *row, const struct machine *machine)
{
	const struct rules *rules = &machine->now;

	if (machine->common->is_signal) {
		row->rule = MS_UNWIND_SIGNAL;
		return true;
	}
	if (machine->lost)
		return false;
	if (rules->ret.kind == PLACE_UNDEFINED) {
		row->rule = MS_UNWIND_END;
		return true;
	}
	return rules->ret.kind == PLACE_OFFSET && rules->ret.offset == -8 &&
	       put_address(row, &rules->cfa) && put_bp(row, &rules->bp);
}

static struct ms_unwind_row row_of(const struct machine *machine)
{
	const struct ms_unwind_row unsupported = { .pc = (uint32_t)machine->pc,
						   .rule = MS_UNWIND_UNSUPPORTED };
	struct ms_unwind_row row = { .pc = unsupported.pc };

	return put_rule(&row, machine) ? row : unsupported;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static struct place *place_of(struct machine *machine, uint64_t reg)
{
	static _Thread_local struct place unused; /* of registers that are of no interest */

	if (reg == REGISTER_BP)
		return &machine->now.bp;
	if (reg == REGISTER_RETURN)
		return &machine->now.ret;
	return &unused;
}

static void set_place(struct machine *machine, uint64_t reg, int kind, int64_t offset)
{
	*place_of(machine, reg) = (struct place){ .kind = kind, .offset = offset };
}

static void restore_place(struct machine *machine, uint64_t reg)
{
	if (reg == REGISTER_BP)
		machine->now.bp = machine->initial.bp;
	else if (reg == REGISTER_RETURN)
		machine->now.ret = machine->initial.ret;
}

static struct cursor read_block(struct cursor *at)
{
	const uint64_t length = cursor_uleb(at);
	struct cursor block = *at;

	if (!cursor_skip(at, length))
		return (struct cursor){ 0 };
	block.end = at->at;
	return block;
}

static int64_t scaled(const struct machine *machine, int64_t factor)
{
	return (int64_t)((uint64_t)factor * (uint64_t)machine->common->data_step);
}

static void define_address(struct machine *machine, uint64_t reg, int64_t offset)
{
	machine->now.cfa = (struct frame_address){ .reg = reg, .offset = offset };
}

static void set_expression(struct machine *machine, struct cursor *at)
{
	const uint64_t reg = cursor_uleb(at);

	set_place(machine, reg, PLACE_EXPRESSION, 0);
	place_of(machine, reg)->expression = read_block(at);
}

static void restore_state(struct machine *machine)
{
	if (machine->depth)
		machine->now = machine->remembered[--machine->depth];
	else
		machine->lost = true;
}

static void remember_state(struct machine *machine)
{
	if (machine->depth < REMEMBERED)
		machine->remembered[machine->depth++] = machine->now;
	else
		machine->lost = true;
}

/* About where the frame is. Returns whether it is such an instruction. */
static bool run_of_address(struct machine *machine, uint8_t op, struct cursor *at)
{
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cursor_uleb(at);
		define_address(machine, reg, (int64_t)cursor_uleb(at));
		return true;
	case CFA_DEF_CFA_SF:
		reg = cursor_uleb(at);
		define_address(machine, reg, scaled(machine, cursor_sleb(at)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		machine->now.cfa.reg = cursor_uleb(at);
		return true;
	case CFA_DEF_CFA_OFFSET:
		machine->now.cfa.offset = (int64_t)cursor_uleb(at);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		machine->now.cfa.offset = scaled(machine, cursor_sleb(at));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		machine->now.cfa = (struct frame_address){ .is_expression = true,
							   .expression = read_block(at) };
		return true;
	}
	return false;
}

/* About where registers are. */
static void run_of_place(struct machine *machine, uint8_t op, struct cursor *at)
{
	const uint64_t reg = op == CFA_GNU_ARGS_SIZE ? 0 : cursor_uleb(at);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_place(machine, reg, PLACE_OFFSET, scaled(machine, (int64_t)cursor_uleb(at)));
		return;
	case CFA_OFFSET_EXTENDED_SF:
		set_place(machine, reg, PLACE_OFFSET, scaled(machine, cursor_sleb(at)));
		return;
	case CFA_GNU_NEGATIVE_OFFSET:
		set_place(machine, reg, PLACE_OFFSET, scaled(machine, -(int64_t)cursor_uleb(at)));
		return;
	case CFA_RESTORE_EXTENDED:
		restore_place(machine, reg);
		return;
	case CFA_UNDEFINED:
		set_place(machine, reg, PLACE_UNDEFINED, 0);
		return;
	case CFA_SAME_VALUE:
		set_place(machine, reg, PLACE_SAME, 0);
		return;
	case CFA_REGISTER:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_GNU_ARGS_SIZE:
		cursor_uleb(at);
		if (op != CFA_GNU_ARGS_SIZE)
			set_place(machine, reg, PLACE_OTHER, 0);
		return;
	case CFA_VAL_EXPRESSION:
		read_block(at);
		set_place(machine, reg, PLACE_OTHER, 0);
		return;
	}
	machine->lost = true;
}

static void run_other(struct machine *machine, uint8_t op, struct cursor *at)
{
	switch (op) {
	case CFA_NOP:
		return;
	case CFA_REMEMBER:
		remember_state(machine);
		return;
	case CFA_RESTORE_STATE:
		restore_state(machine);
		return;
	case CFA_EXPRESSION:
		set_expression(machine, at);
		return;
	}
	if (!run_of_address(machine, op, at))
		run_of_place(machine, op, at);
}

/* By how much the instruction goes on in the code; 0: it is another one. */
static uint64_t advance_of(const struct machine *machine, uint8_t op, struct cursor *at)
{
	switch (op) {
	case CFA_ADVANCE1:
		return cursor_number(at, 1) * machine->common->code_step;
	case CFA_ADVANCE2:
		return cursor_number(at, 2) * machine->common->code_step;
	case CFA_ADVANCE4:
		return cursor_number(at, 4) * machine->common->code_step;
	}
	return (op & 0x3f) * machine->common->code_step;
}

static bool is_advance(uint8_t op)
{
	return (op & 0xc0) == CFA_ADVANCE || (op >= CFA_ADVANCE1 && op <= CFA_ADVANCE4);
}

static void run(struct machine *machine, uint8_t op, struct cursor *at)
{
	const uint64_t reg = op & 0x3f;

	if ((op & 0xc0) == CFA_OFFSET)
		set_place(machine, reg, PLACE_OFFSET, scaled(machine, (int64_t)cursor_uleb(at)));
	else if ((op & 0xc0) == CFA_RESTORE)
		restore_place(machine, reg);
	else
		run_other(machine, op, at);
}

/* ---- a function ------------------------------------------------------------------------------ */

static void run_common(struct machine *machine)
{
	struct cursor at = machine->common->instructions;

	while (at.at < at.end && !machine->lost) {
		const uint8_t op = cursor_number(&at, 1);

		if (is_advance(op))
			machine->lost = true;
		else
			run(machine, op, &at);
	}
	machine->lost |= at.failed;
	machine->initial = machine->now;
}

int unwind_rules_each(const struct eh_section *section, const struct eh_common *common,
		      const struct eh_function *function,
		      int (*put)(const struct ms_unwind_row *row, void *context), void *context)
{
	struct machine machine = { .common = common, .pc = function->begin };
	struct cursor at = { section->bytes + function->offset,
			     section->bytes + function->end_offset, false };
	struct ms_unwind_row row;
	int err;

	machine.lost = common->return_register != REGISTER_RETURN;
	run_common(&machine);
	while (at.at < at.end && !machine.lost) {
		const uint8_t op = cursor_number(&at, 1);
		uint64_t advance;

		if (!is_advance(op)) {
			run(&machine, op, &at);
			machine.lost |= at.failed;
			continue;
		}
		advance = advance_of(&machine, op, &at);
		if (!advance)
			continue;
		row = row_of(&machine);
		err = put(&row, context);
		if (err)
			return err;
		if (advance >= function->end - machine.pc)
			return 0; /* there is no code of it there */
		machine.pc += advance;
	}
	row = row_of(&machine);
	return put(&row, context);
}
