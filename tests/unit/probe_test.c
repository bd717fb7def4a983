// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rows of bpf/probes.def: what every row of an operation must say, and that the BPF programs
 * can follow it.
 */
#include "unit.h"

#include <string.h>

#include "event/probe.h"
#include "regs.h"

/* Where the sources lie in struct ms_spec, which is nothing but them behind four bytes. */
#define PLACE(member) \
	((offsetof(struct ms_spec, member) - offsetof(struct ms_spec, addr)) / \
	 sizeof(struct ms_source))
#define SOURCES (PLACE(name) + 1)

_Static_assert(offsetof(struct ms_spec, addr) + SOURCES * sizeof(struct ms_source) ==
		       sizeof(struct ms_spec),
	       "`name` is the last source");

static struct ms_source source_at(const struct ms_spec *spec, size_t i)
{
	struct ms_source source;

	memcpy(&source, (const char *)&spec->addr + i * sizeof(source), sizeof(source));
	return source;
}

/* How many arguments it takes, one after the other; 0: none. */
static unsigned int arguments_of(struct ms_source source)
{
	switch (source.kind) {
	case MS_FROM_NOWHERE:
	case MS_FROM_CONST:
		return 0;
	case MS_FROM_ARGS6:
		return 6;
	case MS_FROM_DIM3S:
		return 4;
	}
	return 1;
}

static bool given(struct ms_source source)
{
	return source.kind != MS_FROM_NOWHERE;
}

static void require(bool condition, const struct probe *probe, const char *what)
{
	if (!condition)
		fail_msg("%s: %s", probe->symbol, what);
}

/* ---- every row ------------------------------------------------------------------------------- */

static void test_arguments_are_within_reach(void **state)
{
	uint32_t row;
	size_t i;

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		const struct probe *probe = probe_at(row);
		bool stack = probe->spec.flags & (MS_ROW_STACK_ARGS | MS_ROW_IPC_HANDLE);

		for (i = 0; i < SOURCES; i++) {
			struct ms_source source = source_at(&probe->spec, i);
			unsigned int end = source.arg + arguments_of(source);

			require(source.kind <= MS_FROM_MEM6, probe, "unknown kind of source");
			if (source.kind == MS_FROM_SUM && source.offset >= end)
				end = source.offset + 1;
			require(end <= MS_ARGS, probe, "more arguments than are kept");
			require(end <= MS_REG_ARGS || stack, probe, "needs STACK_ARGS");
		}
	}
}

static void test_kinds_of_source_are_where_they_mean_something(void **state)
{
	uint32_t row;
	size_t i;

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		const struct probe *probe = probe_at(row);
		const struct ms_spec *spec = &probe->spec;

		for (i = 0; i < SOURCES; i++) {
			struct ms_source source = source_at(spec, i);
			bool is_dims = i == PLACE(dims), is_name = i == PLACE(name);

			require(source.kind < MS_FROM_ARGS6 || is_dims, probe,
				"dimensions outside of dims");
			require(!is_dims || !given(source) || source.kind >= MS_FROM_ARGS6, probe,
				"dims is not dimensions");
			require((source.kind == MS_FROM_STRING) == (is_name && given(source)),
				probe, "strings are names and names are strings");
		}
	}
}

static void test_constant_directions_exist(void **state)
{
	uint32_t row;

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		const struct probe *probe = probe_at(row);

		require(probe->spec.direction.kind != MS_FROM_CONST ||
				probe->spec.direction.offset < MS_DIRECTIONS_COUNT,
			probe, "no such direction");
	}
}

static void test_names_are_unique_and_found(void **state)
{
	uint32_t row, other;

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		const struct probe *probe = probe_at(row);

		for (other = 0; other < row; other++)
			require(strcmp(probe->symbol, probe_at(other)->symbol) != 0, probe,
				"twice in the table");
		assert_int_equal(probe_find(probe->symbol), row);
	}
	assert_true(probe_count() < MS_NO_ROW);
}

static void test_other_names_are_not_found(void **state)
{
	(void)state;
	assert_int_equal(probe_find(""), -1);
	assert_int_equal(probe_find("cuMemAlloc_"), -1);
	assert_int_equal(probe_find("cuMemAlloc_v2x"), -1);
	assert_int_equal(probe_find("cumemalloc"), -1);
	assert_int_equal(probe_find("zzz"), -1);
}

static void test_layers_agree_with_the_names(void **state)
{
	uint32_t row;

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		const struct probe *probe = probe_at(row);
		bool runtime =
			!strncmp(probe->symbol, "cuda", 4) || !strncmp(probe->symbol, "__cuda", 6);

		require(runtime == (probe->layer == MS_LAYER_RUNTIME), probe, "wrong layer");
	}
}

/* ---- forms of one function ------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && !strcmp(text + length - end_length, end);
}

static void test_per_thread_stream_forms_equal_their_base(void **state)
{
	uint32_t row, forms = 0;
	char base[128];

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		const struct probe *probe = probe_at(row);
		int found;

		if (!ends_with(probe->symbol, "_ptsz") && !ends_with(probe->symbol, "_ptds"))
			continue;
		assert_true(strlen(probe->symbol) < sizeof(base));
		strcpy(base, probe->symbol);
		base[strlen(base) - strlen("_ptsz")] = '\0';
		found = probe_find(base);
		require(found >= 0, probe, "has no base");
		require(probe->layer == probe_at(found)->layer &&
				!memcmp(&probe->spec, &probe_at(found)->spec, sizeof(probe->spec)),
			probe, "differs from its base");
		/* CUDA's rule: what takes a stream ends in _ptsz, what is synchronous in _ptds. */
		require(ends_with(probe->symbol, "_ptsz") || !given(probe->spec.stream), probe,
			"_ptsz is for functions that take a stream");
		forms++;
	}
	assert_true(forms > 50);
}

/* ---- rows of an operation -------------------------------------------------------------------- */

static void check_alloc(const struct probe *probe)
{
	bool imported = probe->spec.space == MS_SPACE_IMPORTED;

	require(given(probe->spec.addr), probe, "an alloc needs addr");
	require(given(probe->spec.size) || imported, probe, "an alloc needs size");
	require(!(probe->spec.flags & MS_ROW_EXTENT) || given(probe->spec.element), probe,
		"an extent needs the size of its elements");
	require(probe->spec.space > MS_SPACE_NONE && probe->spec.space < MS_SPACES_COUNT, probe,
		"an alloc needs a space");
	/* What only a successful call writes cannot tell what a failed one asked for. */
	require((probe->spec.size.kind != MS_FROM_OUT64 &&
		 probe->spec.size.kind != MS_FROM_OUT32) ||
			given(probe->spec.request),
		probe, "a size that the call writes needs a request");
}

static void check_free(const struct probe *probe)
{
	require(given(probe->spec.addr), probe, "a free needs addr");
	require(probe->spec.addr.kind == MS_FROM_ARG || probe->spec.addr.kind == MS_FROM_ARG32,
		probe, "a free's addr must be there at entry");
	require(probe->spec.space == MS_SPACE_NONE, probe, "a free's space is its block's");
}

static void check_copy(const struct probe *probe)
{
	struct ms_source direction = probe->spec.direction;
	bool migrates = direction.kind == MS_FROM_CONST && direction.offset == MS_DIRECTION_MIGRATE;
	bool batch = strstr(probe->symbol, "3DBatch") || strstr(probe->symbol, "FabricCpyBatch");

	require(given(direction), probe, "a copy needs direction");
	require((given(probe->spec.addr) && given(probe->spec.size)) || batch, probe,
		"a copy needs addr and size");
	require(given(probe->spec.src) != (migrates || batch), probe,
		"a copy needs src, unless memory moves where it is");
}

static void check_launch(const struct probe *probe)
{
	bool graph = probe->spec.action == MS_ACTION_GRAPH_LAUNCH;

	require(given(probe->spec.addr) && given(probe->spec.stream), probe,
		"a launch needs addr and stream");
	require(graph || given(probe->spec.dims), probe, "a launch needs dims");
	require(graph || given(probe->spec.shared), probe, "a launch needs shared");
}

static void check_context(const struct probe *probe)
{
	switch (probe->spec.action) {
	case MS_ACTION_CREATE:
	case MS_ACTION_RETAIN:
		require(given(probe->spec.device), probe, "needs the device of the new context");
		/* fallthrough */
	case MS_ACTION_DESTROY:
	case MS_ACTION_SET:
	case MS_ACTION_PUSH:
	case MS_ACTION_POP:
		require(given(probe->spec.addr), probe, "needs the context");
		break;
	case MS_ACTION_RELEASE:
	case MS_ACTION_RESET:
	case MS_ACTION_SET_DEVICE:
		require(given(probe->spec.device), probe, "needs the device");
		break;
	}
	require(probe->spec.action <= MS_ACTION_SET_DEVICE, probe, "unknown action");
}

/* Of the calling thread's context, which the call does not name: only how much is known. */
static bool is_limit(const struct probe *probe)
{
	return given(probe->spec.size) && (!strcmp(probe->symbol, "cuCtxSetLimit") ||
					   !strcmp(probe->symbol, "cudaDeviceSetLimit"));
}

static void check_memory(const struct probe *probe)
{
	const struct ms_spec *spec = &probe->spec;

	switch (spec->action) {
	case MS_ACTION_NONE:
		require(given(spec->addr) || given(spec->device) || is_limit(probe), probe,
			"what is it about?");
		break;
	case MS_ACTION_GLOBAL:
	case MS_ACTION_GRAPH_DESTROY:
	case MS_ACTION_EXECUTABLE_DESTROY:
		require(given(spec->addr), probe, "needs addr");
		break;
	case MS_ACTION_DEVICE_INFO:
		require(given(spec->size) && given(spec->src), probe, "needs size and src");
		break;
	case MS_ACTION_POOL_CREATE:
	case MS_ACTION_POOL_DESTROY:
		require(given(spec->addr), probe, "needs the pool");
		break;
	case MS_ACTION_POOL_CURRENT:
		require(given(spec->addr) && given(spec->device), probe,
			"needs the pool and its device");
		break;
	case MS_ACTION_POOL_TRIM:
		require(given(spec->addr) && given(spec->size), probe, "needs the pool and bytes");
		break;
	case MS_ACTION_POOL_INFO:
	case MS_ACTION_POOL_SETTING:
		require(given(spec->addr) && given(spec->size) && given(spec->src), probe,
			"needs addr, size and src");
		break;
	case MS_ACTION_EXPORT:
	case MS_ACTION_REFER:
	case MS_ACTION_GRAPH_NODE:
	case MS_ACTION_GRAPH_COPY:
	case MS_ACTION_GRAPH_INSERT:
	case MS_ACTION_GRAPH_INSTANTIATE:
		require(given(spec->addr) && given(spec->src), probe, "needs addr and src");
		break;
	case MS_ACTION_CAPTURE_BEGIN:
		require(given(spec->stream), probe, "needs stream");
		break;
	case MS_ACTION_CAPTURE_END:
		require(given(spec->stream) && given(spec->addr), probe, "needs stream and graph");
		break;
	case MS_ACTION_DEVICE_UUID:
	case MS_ACTION_DEVICE_PCI:
	case MS_ACTION_DEVICE_NAME:
	case MS_ACTION_DEVICE_PROPERTIES:
		require(given(spec->device) && given(spec->addr) && given(spec->src), probe,
			"needs the device and two words");
		break;
	case MS_ACTION_DEVICE_TOTAL:
		require(given(spec->device) && given(spec->size), probe,
			"needs the device and its size");
		break;
	default:
		require(false, probe, "unknown action");
	}
}

static void check_name(const struct probe *probe)
{
	require(given(probe->spec.addr), probe, "needs the handle that it names");
	require(given(probe->spec.name) != given(probe->spec.src), probe,
		"needs either a name or another handle");
}

static void check_row(const struct probe *probe)
{
	const struct ms_spec *spec = &probe->spec;

	switch (spec->op) {
	case MS_OP_ALLOC:
		check_alloc(probe);
		break;
	case MS_OP_FREE:
		check_free(probe);
		break;
	case MS_OP_COPY:
		check_copy(probe);
		break;
	case MS_OP_MEMSET:
		require(given(spec->addr) && given(spec->size), probe,
			"a memset needs addr and size");
		break;
	case MS_OP_LAUNCH:
		check_launch(probe);
		break;
	case MS_OP_SYNC:
		break;
	case MS_OP_CONTEXT:
		check_context(probe);
		break;
	case MS_OP_MEMORY:
		check_memory(probe);
		break;
	case MS_OP_NAME:
		check_name(probe);
		break;
	default:
		require(false, probe, "unknown op");
	}
	require(spec->op == MS_OP_ALLOC || !spec->space, probe, "a space belongs to an alloc");
	require(spec->op == MS_OP_CONTEXT || spec->op == MS_OP_MEMORY || !spec->action ||
			spec->action == MS_ACTION_GRAPH_LAUNCH,
		probe, "an action to a call about contexts, memory or graphs");
	require(spec->key < MS_KEYS_COUNT, probe, "unknown key");
	require(spec->op == MS_OP_ALLOC || spec->op == MS_OP_FREE || !spec->key, probe,
		"a key to an alloc or a free");
	require(spec->op == MS_OP_ALLOC || !given(spec->request), probe, "a request to an alloc");
	require(given(spec->size) || (!given(spec->height) && !given(spec->depth)), probe,
		"factors need a size");
	require(!(spec->flags & ~(MS_ROW_STACK_ARGS | MS_ROW_VOID | MS_ROW_EXTENT |
				  MS_ROW_IPC_HANDLE | MS_ROW_ENDS)),
		probe, "unknown flags");
	require(!spec->object || (spec->object < MS_OBJECT_OPENED && spec->op == MS_OP_MEMORY &&
				  spec->addr.kind == (spec->flags & MS_ROW_ENDS ? MS_FROM_ARG :
										  MS_FROM_OUT64)),
		probe, "an object is made or destroyed by its handle");
	require(spec->object || !(spec->flags & MS_ROW_ENDS), probe, "it ends no object");
}

static void test_rows_say_what_their_operation_needs(void **state)
{
	uint32_t rows[MS_OPS_COUNT] = { 0 }, row;

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		check_row(probe_at(row));
		rows[probe_at(row)->spec.op]++;
	}
	for (row = 0; row < MS_OPS_COUNT; row++)
		assert_true(rows[row] > 0);
}

/* ---- what things are called ------------------------------------------------------------------ */

static void test_vocabulary_has_names(void **state)
{
	uint32_t i;

	(void)state;
	assert_string_equal(probe_op_name(MS_OP_ALLOC), "alloc");
	assert_string_equal(probe_op_name(MS_OP_NAME), "name");
	assert_string_equal(probe_space_name(MS_SPACE_DEVICE), "device");
	assert_string_equal(probe_space_name(MS_SPACE_REGISTERED), "registered");
	assert_string_equal(probe_direction_name(MS_DIRECTION_HTOD), "HtoD");
	assert_string_equal(probe_direction_name(MS_DIRECTION_ATOA), "AtoA");
	assert_string_equal(probe_layer_name(MS_LAYER_DRIVER), "driver");
	assert_string_equal(probe_layer_name(MS_LAYER_RUNTIME), "runtime");
	for (i = 0; i < MS_OPS_COUNT; i++)
		assert_true(*probe_op_name(i));
	for (i = MS_SPACE_NONE + 1; i < MS_SPACES_COUNT; i++)
		assert_true(*probe_space_name(i));
	for (i = 0; i < MS_DIRECTIONS_COUNT; i++)
		assert_true(*probe_direction_name(i));
}

static void test_results_are_named_by_layer(void **state)
{
	static const struct {
		int32_t code;
		const char *driver, *runtime;
	} cases[] = {
		{ 0, "CUDA_SUCCESS", "cudaSuccess" },
		{ 1, "CUDA_ERROR_INVALID_VALUE", "cudaErrorInvalidValue" },
		{ 2, "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation" },
		{ 201, "CUDA_ERROR_INVALID_CONTEXT", "cudaErrorDeviceUninitialized" },
		{ 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "cudaErrorIllegalAddress" },
		{ 999, "CUDA_ERROR_UNKNOWN", "cudaErrorUnknown" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_string_equal(probe_result_name(MS_LAYER_DRIVER, cases[i].code),
				    cases[i].driver);
		assert_string_equal(probe_result_name(MS_LAYER_RUNTIME, cases[i].code),
				    cases[i].runtime);
	}
	assert_null(probe_result_name(MS_LAYER_DRIVER, 9)); /* the runtime's alone */
	assert_string_equal(probe_result_name(MS_LAYER_RUNTIME, 9),
			    "cudaErrorInvalidConfiguration");
	assert_null(probe_result_name(MS_LAYER_DRIVER, -1));
	assert_null(probe_result_name(MS_LAYER_RUNTIME, INT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_are_within_reach),
		cmocka_unit_test(test_kinds_of_source_are_where_they_mean_something),
		cmocka_unit_test(test_constant_directions_exist),
		cmocka_unit_test(test_names_are_unique_and_found),
		cmocka_unit_test(test_other_names_are_not_found),
		cmocka_unit_test(test_layers_agree_with_the_names),
		cmocka_unit_test(test_per_thread_stream_forms_equal_their_base),
		cmocka_unit_test(test_rows_say_what_their_operation_needs),
		cmocka_unit_test(test_vocabulary_has_names),
		cmocka_unit_test(test_results_are_named_by_layer),
	};

	return unit_run("probe", tests);
}
