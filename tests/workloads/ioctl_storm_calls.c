// SPDX-License-Identifier: BSD-2-Clause
/*
 * Of ioctl_storm.c, what makes ioctls in a call of CUDA, by which it is known on which device their
 * objects are: a graph for each device, of one function of the host, which the simulated driver
 * calls in the launch.
 */
#include <pthread.h>

#include "ioctl_storm.h"
#include "simcuda.h"
#include "simcuda_graph.h"

static struct {
	CUcontext context;
	CUstream stream;
	CUgraphExec exec;
} devices[DEVICES];

static struct {
	void (*make)(struct wanted *);
	struct wanted *wanted;
} job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void do_job(void *unused)
{
	(void)unused;
	job.make(job.wanted);
}

bool prepare_calls(void)
{
	const CUDA_HOST_NODE_PARAMS params = { .fn = do_job };
	CUgraphNode node;
	CUgraph graph;
	int i;

	for (i = 0; i < DEVICES; i++)
		if (cuCtxCreate_v2(&devices[i].context, 0, i) ||
		    cuStreamCreate(&devices[i].stream, 0) || cuGraphCreate(&graph, 0) ||
		    cuGraphAddHostNode(&node, graph, NULL, 0, &params) ||
		    cuGraphInstantiateWithFlags(&devices[i].exec, graph, 0))
			return false;
	return true;
}

void call_on_device(int device, void (*make)(struct wanted *), struct wanted *wanted)
{
	pthread_mutex_lock(&lock);
	job.make = make;
	job.wanted = wanted;
	cuCtxSetCurrent(devices[device].context);
	cuGraphLaunch(devices[device].exec, devices[device].stream);
	pthread_mutex_unlock(&lock);
}
