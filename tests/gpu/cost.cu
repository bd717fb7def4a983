// SPDX-License-Identifier: BSD-2-Clause
/*
 * What calls take, in a line: nanoseconds per call, the median of rounds.
 *
 * usage: cost [ROUNDS]
 */
#include <cuda_runtime.h>
#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vector>

__global__ void nothing(void)
{
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

template <typename Call> static void time_of(const char *name, int rounds, int times, Call call)
{
	std::vector<double> all;

	for (int round = 0; round < rounds; round++) {
		double began = now_ns();

		for (int i = 0; i < times; i++)
			call();
		all.push_back((now_ns() - began) / times);
		cudaDeviceSynchronize();
	}
	std::sort(all.begin(), all.end());
	printf(" %s=%.0f", name, all[all.size() / 2]);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 15;
	cudaStream_t stream;
	cudaEvent_t event;
	void *ptr, *device, *locked;

	cudaStreamCreate(&stream);
	cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
	cudaMalloc(&device, 1 << 20);
	cudaMallocHost(&locked, 1 << 20);
	time_of("launch", rounds, 1000, [&] { nothing<<<1, 1, 0, stream>>>(); });
	time_of("copy4K", rounds, 500, [&] {
		cudaMemcpyAsync(device, locked, 4096, cudaMemcpyHostToDevice, stream);
	});
	time_of("memset", rounds, 500, [&] { cudaMemsetAsync(device, 0, 4096, stream); });
	time_of("event", rounds, 1000, [&] { cudaEventRecord(event, stream); });
	time_of("async_pair", rounds, 500, [&] {
		cudaMallocAsync(&ptr, 4096, stream);
		cudaFreeAsync(ptr, stream);
	});
	time_of("small_pair", rounds, 200, [&] {
		cudaMalloc(&ptr, 4096);
		cudaFree(ptr);
	});
	time_of("large_pair", rounds, 20, [&] {
		cudaMalloc(&ptr, 64 << 20);
		cudaFree(ptr);
	});
	time_of("get_device", rounds, 1000, [&] {
		int device_number;
		cudaGetDevice(&device_number);
	});
	printf("\n");
	return 0;
}
