// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that keep memory to no purpose: by calls that fail, in other processes; and those that
 * do something like it for a good reason. Pools: analysis_pools_test.c.
 */
#include "analysed.h"

/* ---- calls that fail ------------------------------------------------------------------------- */

#define INVALID_VALUE 1
#define DEINITIALIZED 4
#define ILLEGAL_ADDRESS 700
#define ALREADY_REGISTERED 712
#define NOT_SUPPORTED 801

static void free_in_vain(struct run *run, uint64_t addr, int32_t result)
{
	feed(run, record_free_begin(addr));
	feed(run, record_failed(result, record_free("cuMemFree_v2", addr)));
}

static void run_freed_twice(struct run *run)
{
	int i;

	for (i = 0; i < 4; i++)
		alloc_at(run, DEVICE_ADDR + i * MIB, MIB);
	for (i = 0; i < 4; i++)
		free_at(run, DEVICE_ADDR + i * MIB);
	for (i = 0; i < 4; i++)
		free_in_vain(run, DEVICE_ADDR + i * MIB, INVALID_VALUE);
}

static void run_failed_once(struct run *run)
{
	free_in_vain(run, DEVICE_ADDR, INVALID_VALUE);
}

static void run_freed_at_shutdown(struct run *run)
{
	int i;

	for (i = 0; i < 100; i++)
		free_in_vain(run, alloc_new(run, KIB), DEINITIALIZED);
}

/* They stay live. */
static void run_not_freed(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 4 * MIB);
	alloc_at(run, DEVICE_ADDR + 8 * MIB, 4 * MIB);
	free_in_vain(run, DEVICE_ADDR, INVALID_VALUE);
	free_in_vain(run, DEVICE_ADDR + 8 * MIB, INVALID_VALUE);
}

static void run_error_that_stays(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 4 * MIB);
	feed(run, record_failed(ILLEGAL_ADDRESS, record_call("cuCtxSynchronize")));
	free_in_vain(run, DEVICE_ADDR, ILLEGAL_ADDRESS);
	feed(run, record_failed(ILLEGAL_ADDRESS, record_launch("cuLaunchKernel", 0x1234)));
}

static void run_registered_twice(struct run *run)
{
	int i;

	feed(run, record_alloc("cuMemHostRegister_v2", HOST_ADDR, 16 * MIB));
	for (i = 0; i < 3; i++)
		feed(run, record_failed(ALREADY_REGISTERED, record_alloc("cuMemHostRegister_v2",
									 HOST_ADDR + MIB, MIB)));
}

/* It says so once, by the runtime's call. */
static void run_part_of_another(struct run *run)
{
	union record part = record_failed(INVALID_VALUE, record_free("cuMemFree_v2", DEVICE_ADDR));
	int i;

	part.call.flags = MS_CALL_NESTED | MS_CALL_PART;
	for (i = 0; i < 3; i++)
		feed(run, part);
}

/* A question that fails takes nothing. */
static void run_questions(struct run *run)
{
	int i;

	for (i = 0; i < 100; i++)
		feed(run, record_failed(INVALID_VALUE, record_call("cuMemGetInfo_v2")));
}

static void copy_in_vain(struct run *run, int count, int32_t result)
{
	while (count--)
		feed(run,
		     record_failed(result, record_copy("cuMemcpyHtoD_v2", MIB, MS_DIRECTION_HTOD)));
}

static void run_failed_copies(struct run *run)
{
	alloc_at(run, HOST_ADDR, MIB);
	copy_in_vain(run, 5, INVALID_VALUE);
}

static void run_failed_copy(struct run *run)
{
	copy_in_vain(run, 1, INVALID_VALUE);
}

static void run_unsupported_copies(struct run *run)
{
	copy_in_vain(run, 5, NOT_SUPPORTED);
}

static void run_failed_launches(struct run *run)
{
	int i;

	for (i = 0; i < 3; i++)
		feed(run, record_failed(INVALID_VALUE, record_launch("cuLaunchKernel", 0x1234)));
}

#define FAILED(bytes) { { FINDING_FAILED_CALLS, H, bytes } }, 1

static const struct program failures[] = {
	/* clang-format off */
	{ "freed twice", run_freed_twice, FAILED(0) },
	{ "failed once", run_failed_once, {}, 0 },
	{ "freed at shutdown", run_freed_at_shutdown, {}, 0 },
	{ "not freed", run_not_freed, FAILED(8 * MIB) },
	{ "an error that stays", run_error_that_stays, FAILED(0) },
	{ "registered twice", run_registered_twice, FAILED(0) },
	{ "part of another call", run_part_of_another, {}, 0 },
	{ "questions", run_questions, {}, 0 },
	{ "failed copies", run_failed_copies, FAILED(0) },
	{ "one failed copy", run_failed_copy, {}, 0 },
	{ "copies that are not supported", run_unsupported_copies, {}, 0 },
	{ "failed launches", run_failed_launches, FAILED(0) },
	/* clang-format on */
};

static void test_failures(void **state)
{
	(void)state;
	run_all(failures);
}

/* UINT64_MAX: the first finding has no such evidence. */
static uint64_t evidence_of(const struct run *run, const char *what)
{
	size_t count, i;
	const struct finding *findings = analysis_findings(run->analysis, &count);

	for (i = 0; count && i < findings->evidence_count; i++)
		if (!strcmp(findings->evidence[i].what, what))
			return findings->evidence[i].value;
	return UINT64_MAX;
}

static const struct program *find_program(const struct program *programs, size_t count,
					  const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(programs[i].name, name))
			return &programs[i];
	fail_msg("there is no program \"%s\"", name);
	return NULL;
}

static void test_failures_say_what_they_were_about(void **state)
{
	static const struct {
		const char *program, *what;
		uint64_t value;
	} cases[] = {
		{ "freed twice", "calls that failed", 4 },
		{ "freed twice", "of them, of what had been given back already", 4 },
		{ "freed twice", "result", INVALID_VALUE },
		{ "not freed", "of them, of what had been given back already", UINT64_MAX },
		{ "an error that stays", "calls, this one and others, that failed with this result",
		  3 },
		{ "failed copies", "calls that failed", 5 },
		{ "failed copies", "in its way, block at", UINT64_MAX },
		{ "registered twice", "in its way, block at", HOST_ADDR },
		{ "registered twice", "of bytes", 16 * MIB },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run run = { 0 };

		run_program(&run, find_program(failures, sizeof(failures) / sizeof(*failures),
					       cases[i].program));
		assert_int_equal(evidence_of(&run, cases[i].what), cases[i].value);
		run_end(&run);
	}
}

/* ---- memory of other processes --------------------------------------------------------------- */

#define OWNER RECORD_PID
#define USER 200
#define HANDLE 0x123456789abcull
#define THERE 0x7d0000000000ull

static void export_block(struct run *run, uint64_t addr)
{
	feed(run, record_memory("cuIpcGetMemHandle", addr, HANDLE));
}

static void open_block(struct run *run, uint64_t handle)
{
	as_process(run, USER);
	feed(run, record_on(0, record_from(handle, record_free("cuIpcOpenMemHandle_v2", THERE))));
	as_process(run, OWNER);
}

static void close_block(struct run *run)
{
	as_process(run, USER);
	feed(run, record_begin_of("cuIpcCloseMemHandle", THERE, 0));
	feed(run, record_free("cuIpcCloseMemHandle", THERE));
	as_process(run, OWNER);
}

static void share(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 512 * MIB);
	export_block(run, DEVICE_ADDR + MIB);
	open_block(run, HANDLE);
	wait_for(run, 100 * MS);
}

static void run_kept_open(struct run *run)
{
	share(run);
	free_at(run, DEVICE_ADDR);
	wait_for(run, SECOND);
}

static void run_user_exits(struct run *run)
{
	run_kept_open(run);
	as_process(run, USER);
	end_process(run, 0);
	as_process(run, OWNER);
	wait_for(run, SECOND);
}

static void run_closed_late(struct run *run)
{
	run_kept_open(run);
	close_block(run);
	wait_for(run, SECOND);
}

static void run_closed_soon(struct run *run)
{
	share(run);
	free_at(run, DEVICE_ADDR);
	wait_for(run, 100 * MS);
	close_block(run);
	wait_for(run, SECOND);
}

static void run_closed_before(struct run *run)
{
	share(run);
	close_block(run);
	free_at(run, DEVICE_ADDR);
	wait_for(run, SECOND);
}

static void run_not_freed_yet(struct run *run)
{
	share(run);
	wait_for(run, SECOND);
}

/* It was the same address, but another block that was exported. */
static void run_freed_another(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 512 * MIB);
	export_block(run, DEVICE_ADDR);
	alloc_at(run, DEVICE_ADDR + GIB, 512 * MIB);
	open_block(run, HANDLE);
	free_at(run, DEVICE_ADDR + GIB);
	wait_for(run, SECOND);
}

static void run_opened_another(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 512 * MIB);
	export_block(run, DEVICE_ADDR);
	open_block(run, HANDLE + 1);
	free_at(run, DEVICE_ADDR);
	wait_for(run, SECOND);
}

#define EXPORTED(bytes) { { FINDING_EXPORTED_KEPT, H, bytes } }, 1

static const struct program shared[] = {
	/* clang-format off */
	{ "kept open", run_kept_open, EXPORTED(512 * MIB) },
	{ "its user exits", run_user_exits, EXPORTED(512 * MIB) },
	{ "closed late", run_closed_late, EXPORTED(512 * MIB) },
	{ "closed soon", run_closed_soon, {}, 0 },
	{ "closed before", run_closed_before, {}, 0 },
	{ "not freed yet", run_not_freed_yet, {}, 0 },
	{ "another block freed", run_freed_another, {}, 0 },
	{ "another handle opened", run_opened_another, {}, 0 },
	/* clang-format on */
};

static void test_shared(void **state)
{
	(void)state;
	run_all(shared);
}

static void test_shared_say_who(void **state)
{
	struct run run = { 0 };
	const struct finding *findings;
	size_t count;

	(void)state;
	run_program(&run, &shared[0]);
	findings = analysis_findings(run.analysis, &count);
	assert_int_equal(findings->pid, OWNER);
	assert_int_equal(evidence_of(&run, "process that had them open"), USER);
	assert_int_equal(evidence_of(&run, "of them, open when the recording ended"), 1);
	run_end(&run);
}

/* While a part of the recording is missing, it may have been closed. */
static void test_shared_across_a_gap(void **state)
{
	struct run run = { 0 };

	(void)state;
	assert_true(run_begin(&run));
	share(&run);
	analysis_gap(run.analysis);
	free_at(&run, DEVICE_ADDR);
	wait_for(&run, SECOND);
	expect_none(&run);
	run_end(&run);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static const struct lossy_program lossy[] = {
	{ { "closed, memory lost", run_kept_open, { { FINDING_EXPORTED_KEPT, M, 0 } }, 1 },
	  MS_OP_MEMORY },
	{ { "failures, allocations lost", run_freed_twice, { { FINDING_FAILED_CALLS, M, 0 } }, 1 },
	  MS_OP_ALLOC },
};

static void test_losses(void **state)
{
	(void)state;
	run_all_lossy(lossy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_failures_say_what_they_were_about),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_shared_say_who),
		cmocka_unit_test(test_shared_across_a_gap),
		cmocka_unit_test(test_losses),
	};

	return unit_run("analysis: memory kept without need", tests);
}
