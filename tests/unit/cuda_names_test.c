// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include "event/cuda_names.h"
#include "event/probe.h"

static void test_new_names(void **unused)
{
	static const struct {
		const char *name;
		enum ms_layer layer;
		bool is_new;
	} cases[] = {
		{ "cuMemAlloc_v2", MS_LAYER_DRIVER, false },
		{ "cuGLGetDevices", MS_LAYER_DRIVER, false },
		{ "cuFabricCpyBatchAsync_ptsz", MS_LAYER_DRIVER, false },
		{ "cudaMalloc", MS_LAYER_RUNTIME, false },
		{ "cudaBindTexture2D", MS_LAYER_RUNTIME, false }, /* until CUDA 11 */
		{ "cudaGreenCtxCreate", MS_LAYER_RUNTIME, false },
		{ "cuMemAlloc_v9", MS_LAYER_DRIVER, true },
		{ "cuMemAlloc_v", MS_LAYER_DRIVER, true },
		{ "cudaMallocTwice", MS_LAYER_RUNTIME, true },
		{ "cuMallocTwice", MS_LAYER_RUNTIME, false }, /* the driver's would be called so */
		{ "cublasCreate_v2", MS_LAYER_DRIVER, false },
		{ "cudnnCreate", MS_LAYER_DRIVER, false },
		{ "cudaMallocTwice", MS_LAYER_DRIVER, false },
		{ "__cudaRegisterSomething", MS_LAYER_RUNTIME, false },
		{ "cu", MS_LAYER_DRIVER, false },
		{ "", MS_LAYER_DRIVER, false },
	};
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (cuda_name_is_new(cases[i].name, cases[i].layer) != cases[i].is_new)
			fail_msg("%s", cases[i].name);
}

static void test_every_row_is_known(void **unused)
{
	uint32_t row;

	(void)unused;
	for (row = 0; row < probe_count(); row++)
		assert_false(cuda_name_is_new(probe_at(row)->symbol, probe_at(row)->layer));
}

static void test_names_about_memory(void **unused)
{
	static const char *const yes[] = { "cuMemcpyWithAttributesAsync",
					   "cuFabricCpyBatchAsync",
					   "cuArrayCreate_v5",
					   "cudaMallocTwice",
					   "cudaFreeLater",
					   "cuGraphicsMapResources",
					   "cudaImportExternalMemory" };
	static const char *const no[] = { "cuCtxSynchronize", "cuLaunchKernel",
					  "cudaDeviceGetAttribute" };
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		assert_true(cuda_name_is_about_memory(yes[i]));
	for (i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(cuda_name_is_about_memory(no[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_names),
		cmocka_unit_test(test_every_row_is_known),
		cmocka_unit_test(test_names_about_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
