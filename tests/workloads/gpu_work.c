// SPDX-License-Identifier: BSD-2-Clause
/*
 * Work for a GPU, of every kind that CUPTI tells of: in each of several threads, on a stream of its
 * own, kernels by three names, copies that are waited for and copies that are not, memsets, and a
 * graph of two kernels now and then. Prints how much of each, and how many signals have handlers;
 * then it ends with the code that it is told to.
 *
 * usage: gpu_work THREADS ROUNDS [EXIT_CODE [killed|forks|loops]]
 *        killed   it ends by SIGKILL instead, after all of its work
 *        forks    a child that does nothing is forked in between
 *        loops    graphs only in the first round: all others launch the same
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda.h"
#include "simcuda_graph.h"

#define BYTES 65536
#define KERNELS 3
#define GRAPH_EVERY 10

static const char image[] = "\177ELF"; /* any name is in it */
static CUcontext context;
static int rounds, graph_every = GRAPH_EVERY;

static void check(CUresult result, const char *what)
{
	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "gpu_work: %s: %d\n", what, (int)result);
		exit(1);
	}
}

static void launch(CUfunction function, CUstream stream)
{
	check(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 16, stream, NULL, NULL),
	      "cuLaunchKernel");
}

/* Two kernels, captured. */
static CUgraphExec make_graph(CUfunction function, CUstream stream)
{
	CUgraph graph;
	CUgraphExec exec;

	check(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
	      "cuStreamBeginCapture_v2");
	launch(function, stream);
	launch(function, stream);
	check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
	check(cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
	check(cuGraphDestroy(graph), "cuGraphDestroy");
	return exec;
}

static void *work(void *unused)
{
	static char host[BYTES];
	CUfunction functions[KERNELS];
	CUgraphExec exec;
	CUmodule module;
	CUdeviceptr memory;
	CUstream stream;
	char name[32];
	int i;

	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check(cuModuleLoadData(&module, image), "cuModuleLoadData");
	for (i = 0; i < KERNELS; i++) {
		snprintf(name, sizeof(name), "work_%d", i);
		check(cuModuleGetFunction(&functions[i], module, name), "cuModuleGetFunction");
	}
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	check(cuMemAlloc_v2(&memory, BYTES), "cuMemAlloc_v2");
	exec = make_graph(functions[0], stream);
	for (i = 0; i < rounds; i++) {
		launch(functions[i % KERNELS], stream);
		check(cuMemsetD8Async(memory, 1, BYTES, stream), "cuMemsetD8Async");
		check(cuMemcpyHtoDAsync_v2(memory, host, BYTES / 2, stream),
		      "cuMemcpyHtoDAsync_v2");
		check(cuMemcpyDtoH_v2(host, memory, BYTES), "cuMemcpyDtoH_v2");
		if (i % graph_every == 0)
			check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
	}
	check(cuStreamSynchronize(stream), "cuStreamSynchronize");
	return unused;
}

/* Signals with a handler. */
static int handled(void)
{
	struct sigaction action;
	int number, count = 0;

	for (number = 1; number < SIGRTMIN; number++)
		count += !sigaction(number, NULL, &action) && action.sa_handler != SIG_DFL &&
			 action.sa_handler != SIG_IGN;
	return count;
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 0;
	const char *how = argc > 4 ? argv[4] : "";
	pthread_t threads[64];
	int i, graphs;

	rounds = argc > 2 ? atoi(argv[2]) : 0;
	if (count < 1 || count > 64 || rounds < 1)
		return 2;
	if (!strcmp(how, "loops"))
		graph_every = rounds + 1;
	check(cuInit(0), "cuInit");
	check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate_v2");
	for (i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	if (!strcmp(how, "forks") && !fork())
		exit(0);
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	if (!strcmp(how, "forks"))
		wait(NULL);
	graphs = count * ((rounds + graph_every - 1) / graph_every);
	printf("kernels %d copies %d memsets %d graphs %d handled %d\n",
	       count * rounds + 2 * graphs, 2 * count * rounds, count * rounds, graphs, handled());
	fflush(stdout);
	if (!strcmp(how, "killed"))
		raise(SIGKILL);
	return argc > 3 ? atoi(argv[3]) : 0;
}
