// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stack_tally.h"

/* A slot of the stack, or else a free one; STACK_TALLY_SLOTS: there is neither. */
static size_t slot_for(const struct stack_tally *tally, uint32_t stack)
{
	size_t found = STACK_TALLY_SLOTS, i;

	for (i = 0; i < STACK_TALLY_SLOTS; i++) {
		if (tally->stacks[i] == stack)
			return i;
		if (!tally->stacks[i])
			found = i;
	}
	return found;
}

/* What is taken from each slot is also taken from what is to be added. Returns how much. */
static uint64_t take_from_all(struct stack_tally *tally, uint64_t amount)
{
	size_t i;

	for (i = 0; i < STACK_TALLY_SLOTS; i++)
		if (tally->parts[i] < amount)
			amount = tally->parts[i];
	tally->missing += amount;
	for (i = 0; i < STACK_TALLY_SLOTS; i++) {
		tally->parts[i] -= amount;
		if (!tally->parts[i])
			tally->stacks[i] = 0;
	}
	return amount;
}

static void add_part(struct stack_tally *tally, uint32_t stack, uint64_t amount)
{
	size_t slot;

	if (!stack || !amount)
		return;
	slot = slot_for(tally, stack);
	if (slot == STACK_TALLY_SLOTS) {
		amount -= take_from_all(tally, amount);
		if (!amount)
			return;
		slot = slot_for(tally, stack);
	}
	tally->stacks[slot] = stack;
	tally->parts[slot] += amount;
}

void stack_tally_add(struct stack_tally *tally, uint32_t stack, uint64_t amount)
{
	tally->whole += amount;
	add_part(tally, stack, amount);
}

/* No stack lacks more than all of them together: the whole that is in no part. */
static void bound_missing(struct stack_tally *tally)
{
	uint64_t rest = tally->whole;
	size_t i;

	for (i = 0; i < STACK_TALLY_SLOTS; i++)
		rest -= tally->parts[i] < rest ? tally->parts[i] : rest;
	if (tally->missing > rest)
		tally->missing = rest;
}

void stack_tally_remove(struct stack_tally *tally, uint32_t stack, uint64_t amount)
{
	size_t i;

	tally->whole -= amount < tally->whole ? amount : tally->whole;
	for (i = 0; stack && i < STACK_TALLY_SLOTS; i++) {
		if (tally->stacks[i] != stack)
			continue;
		tally->parts[i] -= amount < tally->parts[i] ? amount : tally->parts[i];
		if (!tally->parts[i])
			tally->stacks[i] = 0;
	}
	if (tally->missing)
		bound_missing(tally);
}

void stack_tally_merge(struct stack_tally *tally, const struct stack_tally *other)
{
	size_t i;

	tally->whole += other->whole;
	tally->missing += other->missing;
	for (i = 0; i < STACK_TALLY_SLOTS; i++)
		add_part(tally, other->stacks[i], other->parts[i]);
}
