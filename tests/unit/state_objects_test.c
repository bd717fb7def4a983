// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a program makes besides memory: modules, streams, events ... until they are destroyed, or
 * end with their context or their program.
 */
#include "ledger/objects.h"
#include "scenario.h"
#include "unit.h"

#define CONTEXT 0xc000ull
#define OTHER 0xd000ull
#define HANDLE 0x9000ull

static struct scenario *begin(void)
{
	struct scenario *scenario = calloc(1, sizeof(*scenario));

	assert_non_null(scenario);
	return scenario;
}

static void end(struct scenario *scenario)
{
	state_fini(&scenario->state);
	free(scenario);
}

static void make_in(struct scenario *scenario, uint64_t context, const char *symbol,
		    uint64_t handle)
{
	apply(scenario, record_in(context, record_on(0, record_memory(symbol, handle, 0))));
}

static struct object_total total_of(const struct scenario *scenario, enum ms_object_kind kind)
{
	size_t count, i;
	const struct object_total *totals = objects_totals(first_process(scenario), &count);

	for (i = 0; i < count; i++)
		if (totals[i].kind == kind)
			return totals[i];
	return (struct object_total){ .device = -1 };
}

#define assert_objects(scenario, kind, of_live, of_made, of_destroyed, of_ended) \
	do { \
		const struct object_total total = total_of(scenario, kind); \
\
		assert_int_equal(total.live, of_live); \
		assert_int_equal(total.made, of_made); \
		assert_int_equal(total.destroyed, of_destroyed); \
		assert_int_equal(total.ended, of_ended); \
	} while (0)

/* ---- by themselves --------------------------------------------------------------------------- */

static void test_made_and_destroyed(void **state)
{
	static const struct {
		const char *make, *end;
		enum ms_object_kind kind;
	} kinds[] = {
		{ "cuModuleLoadData", "cuModuleUnload", MS_OBJECT_MODULE },
		{ "cuLibraryLoadFromFile", "cuLibraryUnload", MS_OBJECT_LIBRARY },
		{ "cudaStreamCreate", "cudaStreamDestroy", MS_OBJECT_STREAM },
		{ "cuGreenCtxStreamCreate", "cuStreamDestroy_v2", MS_OBJECT_STREAM },
		{ "cuEventCreate", "cuEventDestroy_v2", MS_OBJECT_EVENT },
		{ "cuGraphClone", "cuGraphDestroy", MS_OBJECT_GRAPH },
		{ "cuStreamEndCapture", "cuGraphDestroy", MS_OBJECT_GRAPH },
		{ "cudaGraphInstantiate", "cuGraphExecDestroy", MS_OBJECT_EXECUTABLE },
		{ "cuMemPoolCreate", "cudaMemPoolDestroy", MS_OBJECT_MEMORY_POOL },
		{ "cuMemPoolImportFromShareableHandle", "cuMemPoolDestroy", MS_OBJECT_MEMORY_POOL },
		{ "cuGreenCtxCreate", "cuGreenCtxDestroy", MS_OBJECT_GREEN_CONTEXT },
		{ "cuIpcOpenEventHandle", "cuEventDestroy_v2", MS_OBJECT_EVENT },
		{ "cuLinkCreate_v2", "cuLinkDestroy", MS_OBJECT_LINKER },
		{ "cudaCreateTextureObject", "cuTexObjectDestroy", MS_OBJECT_TEXTURE },
		{ "cuSurfObjectCreate", "cudaDestroySurfaceObject", MS_OBJECT_SURFACE },
		{ "cuImportExternalSemaphore", "cuDestroyExternalSemaphore", MS_OBJECT_SEMAPHORE },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct scenario *scenario = begin();

		make_in(scenario, CONTEXT, kinds[i].make, HANDLE);
		assert_non_null(scenario->change.made_object);
		assert_int_equal(scenario->change.made_object->kind, kinds[i].kind);
		make_in(scenario, CONTEXT, kinds[i].make, HANDLE + 1);
		assert_objects(scenario, kinds[i].kind, 2, 2, 0, 0);
		make_in(scenario, CONTEXT, kinds[i].end, HANDLE);
		assert_int_equal(scenario->change.ended_objects_count, 1);
		assert_int_equal(scenario->change.ended_objects->handle, HANDLE);
		assert_objects(scenario, kinds[i].kind, 1, 2, 1, 0);
		assert_int_equal(total_of(scenario, kinds[i].kind).peak, 2);
		assert_int_equal(total_of(scenario, kinds[i].kind).device, 0);
		end(scenario);
	}
}

/* Handles of two kinds may be equal. */
static void test_kinds_are_apart(void **state)
{
	struct scenario *scenario = begin();

	(void)state;
	make_in(scenario, CONTEXT, "cuStreamCreate", HANDLE);
	make_in(scenario, CONTEXT, "cuEventCreate", HANDLE);
	make_in(scenario, CONTEXT, "cuEventDestroy_v2", HANDLE);
	assert_objects(scenario, MS_OBJECT_STREAM, 1, 1, 0, 0);
	assert_objects(scenario, MS_OBJECT_EVENT, 0, 1, 1, 0);
	end(scenario);
}

static void test_unknown_ones(void **state)
{
	struct scenario *scenario = begin();

	(void)state;
	make_in(scenario, CONTEXT, "cuStreamDestroy_v2", HANDLE);
	apply(scenario, record_failed(2, record_memory("cuStreamCreate", HANDLE, 0)));
	apply(scenario, record_without(MS_KNOWN_ADDR, record_memory("cuStreamCreate", 0, 0)));
	assert_objects(scenario, MS_OBJECT_STREAM, 0, 0, 0, 0);
	end(scenario);
}

/* The driver's function inside of the runtime's. */
static void test_inner_calls_make_nothing_more(void **state)
{
	struct scenario *scenario = begin();
	union record inner = record_memory("cuEventCreate", HANDLE, 0);

	(void)state;
	inner.call.flags = MS_CALL_NESTED;
	apply(scenario, record_at(2000, record_taking(500, inner)));
	apply(scenario,
	      record_at(1900, record_taking(700, record_memory("cudaEventCreate", HANDLE, 0))));
	assert_objects(scenario, MS_OBJECT_EVENT, 1, 1, 0, 0);
	/* Its end was not seen, and the driver hands out the handle again. */
	apply(scenario, record_at(4000, record_memory("cudaEventCreate", HANDLE, 0)));
	assert_objects(scenario, MS_OBJECT_EVENT, 1, 2, 0, 1);
	end(scenario);
}

/* While one thread destroys it, another is given its handle. */
static void test_handle_is_given_anew_before_the_end(void **state)
{
	struct scenario *scenario = begin();

	(void)state;
	apply(scenario, record_at(1000, record_memory("cuEventCreate", HANDLE, 0)));
	apply(scenario,
	      record_at(3000, record_taking(100, record_memory("cuEventCreate", HANDLE, 0))));
	apply(scenario,
	      record_at(2000, record_taking(2000, record_memory("cuEventDestroy_v2", HANDLE, 0))));
	assert_objects(scenario, MS_OBJECT_EVENT, 1, 2, 0, 1);
	end(scenario);
}

/* ---- with others ----------------------------------------------------------------------------- */

static struct scenario *two_contexts(void)
{
	struct scenario *scenario = begin();

	apply(scenario, record_context("cuCtxCreate_v2", CONTEXT, 0));
	apply(scenario, record_context("cuDevicePrimaryCtxRetain", OTHER, 0));
	make_in(scenario, CONTEXT, "cuStreamCreate", HANDLE);
	make_in(scenario, CONTEXT, "cuModuleLoad", HANDLE + 1);
	make_in(scenario, OTHER, "cuStreamCreate", HANDLE + 2);
	make_in(scenario, CONTEXT, "cuGraphCreate", HANDLE + 3);
	make_in(scenario, CONTEXT, "cuLibraryLoadData", HANDLE + 4);
	assert_objects(scenario, MS_OBJECT_CONTEXT, 2, 2, 0, 0);
	return scenario;
}

static void test_end_with_their_context(void **state)
{
	struct scenario *scenario = two_contexts();

	(void)state;
	apply(scenario, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_int_equal(scenario->change.ended_objects_count, 3);
	assert_objects(scenario, MS_OBJECT_CONTEXT, 1, 2, 1, 0);
	assert_objects(scenario, MS_OBJECT_STREAM, 1, 2, 0, 1);
	assert_objects(scenario, MS_OBJECT_MODULE, 0, 1, 0, 1);
	/* They belong to none. */
	assert_objects(scenario, MS_OBJECT_GRAPH, 1, 1, 0, 0);
	assert_objects(scenario, MS_OBJECT_LIBRARY, 1, 1, 0, 0);
	make_in(scenario, OTHER, "cuStreamDestroy_v2", HANDLE);
	assert_objects(scenario, MS_OBJECT_STREAM, 1, 2, 0, 1);
	end(scenario);
}

static void test_end_with_a_reset(void **state)
{
	struct scenario *scenario = two_contexts();

	(void)state;
	apply(scenario, record_on(0, record_call("cuDevicePrimaryCtxReset_v2")));
	assert_objects(scenario, MS_OBJECT_STREAM, 1, 2, 0, 1);
	assert_objects(scenario, MS_OBJECT_CONTEXT, 1, 2, 1, 0);
	apply(scenario, record_context("cuDevicePrimaryCtxRetain", OTHER, 0));
	assert_objects(scenario, MS_OBJECT_CONTEXT, 2, 3, 1, 0);
	end(scenario);
}

static void test_end_with_the_last_release(void **state)
{
	struct scenario *scenario = two_contexts();

	(void)state;
	apply(scenario, record_context("cuDevicePrimaryCtxRetain", OTHER, 0));
	assert_objects(scenario, MS_OBJECT_CONTEXT, 2, 2, 0, 0);
	apply(scenario, record_on(0, record_call("cuDevicePrimaryCtxRelease_v2")));
	assert_objects(scenario, MS_OBJECT_STREAM, 2, 2, 0, 0);
	apply(scenario, record_on(0, record_call("cuDevicePrimaryCtxRelease_v2")));
	assert_objects(scenario, MS_OBJECT_STREAM, 1, 2, 0, 1);
	end(scenario);
}

/* Where they were is not known, but there is no context any more. */
static void test_unknown_contexts_end_with_the_last_one(void **state)
{
	struct scenario *scenario = begin();

	(void)state;
	apply(scenario, record_context("cuCtxCreate_v2", CONTEXT, 0));
	apply(scenario, record_context("cuCtxCreate_v2", OTHER, 0));
	apply(scenario, record_memory("cuStreamCreate", HANDLE, 0));
	apply(scenario, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_objects(scenario, MS_OBJECT_STREAM, 1, 1, 0, 0);
	apply(scenario, record_context("cuCtxDestroy_v2", OTHER, 0));
	assert_objects(scenario, MS_OBJECT_STREAM, 0, 1, 0, 1);
	end(scenario);
}

static void test_end_with_their_program(void **state)
{
	struct scenario *scenario = two_contexts();

	(void)state;
	apply(scenario, record_process(MS_TYPE_EXEC, "other", 0));
	assert_objects(scenario, MS_OBJECT_STREAM, 0, 2, 0, 2);
	assert_objects(scenario, MS_OBJECT_GRAPH, 0, 1, 0, 1);
	make_in(scenario, OTHER, "cuStreamCreate", HANDLE);
	/* What was live then stays to be said. */
	apply(scenario, record_exit(0));
	assert_objects(scenario, MS_OBJECT_STREAM, 1, 3, 0, 2);
	end(scenario);
}

/* ---- bounds, totals -------------------------------------------------------------------------- */

static void test_too_many_are_counted(void **state)
{
	struct scenario *scenario = begin();
	uint64_t i;

	(void)state;
	for (i = 0; i < LIMIT_OBJECTS + 3; i++)
		make_in(scenario, CONTEXT, "cuEventCreate", HANDLE + i);
	assert_int_equal(first_process(scenario)->counters[COUNTER_OTHER_OBJECTS], 3);
	end(scenario);
}

static void test_totals_begin_anew(void **state)
{
	struct scenario *scenario = two_contexts();

	(void)state;
	make_in(scenario, CONTEXT, "cuStreamDestroy_v2", HANDLE);
	state_restart(&scenario->state, scenario->now_ns);
	assert_objects(scenario, MS_OBJECT_STREAM, 1, 0, 0, 0);
	assert_int_equal(total_of(scenario, MS_OBJECT_STREAM).peak, 1);
	end(scenario);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_and_destroyed),
		cmocka_unit_test(test_kinds_are_apart),
		cmocka_unit_test(test_unknown_ones),
		cmocka_unit_test(test_inner_calls_make_nothing_more),
		cmocka_unit_test(test_handle_is_given_anew_before_the_end),
		cmocka_unit_test(test_end_with_their_context),
		cmocka_unit_test(test_end_with_a_reset),
		cmocka_unit_test(test_end_with_the_last_release),
		cmocka_unit_test(test_unknown_contexts_end_with_the_last_one),
		cmocka_unit_test(test_end_with_their_program),
		cmocka_unit_test(test_too_many_are_counted),
		cmocka_unit_test(test_totals_begin_anew),
	};

	return unit_run("state: objects", tests);
}
