// SPDX-License-Identifier: BSD-2-Clause
/*
 * Does what it is told, line by line on standard input, and answers "ok" or the result: so that a
 * test decides when a library is mapped, a context made or a block freed. Driver API, loaded by
 * name like most programs do.
 *
 *   load [PATH]    dlopen libcuda.so.1
 *   init           cuInit, a context on device 0
 *   uuid           cuDeviceGetUuid_v2 of device 0
 *   info           cuMemGetInfo_v2
 *   alloc BYTES    cuMemAlloc_v2
 *   free           the last block allocated and not freed yet
 *   churn COUNT    allocate and free 4 KiB so often
 *   spin MS        the same for so many milliseconds
 *   pin NODE BYTES cuMemHostAlloc, every page of it on that NUMA node
 *   copy BYTES     into the last block
 *   copies COUNT   of 16 bytes into the last block
 *   launch LENGTH  a kernel with a name of that length, xxx...
 *   graph BYTES    a graph that allocates so much, launched
 *   destroy        the context
 *   fork           a child, announced by "child PID", that executes this program with "load",
 *                  "init", "alloc 8192", "free" after 0.3 s
 *   idle           a child, announced the same way, that does nothing for 0.3 s
 *   keep [PROGRAM] a child that stays until this program ends; or executes that program with "60"
 *   exec [PROGRAM] the program anew; or that program
 *   thread         `churn 1` in a new thread
 *   threads COUNT  so many new threads, which do nothing
 *   map PATH       the file's first page, to execute
 *   share PATH     all of the file, to execute, in a mapping that others could write to
 *   hook           cuMemGetInfo_v2, by a copy of its first byte (a push) and a jump to the second,
 *                  as whoever has hooked it does (x86-64)
 *   title PATH     what is in that file becomes the process's title, as by setproctitle: instead of
 *                  its arguments and its environment
 *   exit CODE
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "simcuda.h"

#define MAX_BLOCKS 4096

static void *driver;
static CUcontext context;
static CUdeviceptr blocks[MAX_BLOCKS];
static size_t blocks_count;
static char source[1 << 20];

#define CALL(function, ...) (((__typeof__(&function))dlsym(driver, #function))(__VA_ARGS__))

/* By the exported name: the header may map the plain one to a version. */
typedef CUresult alloc_function(CUdeviceptr *address, size_t size_bytes);
typedef CUresult uuid_function(CUuuid *uuid, CUdevice device);
typedef CUresult free_function(CUdeviceptr address);
typedef CUresult host_function(void **address, size_t size_bytes, unsigned int flags);
typedef CUresult copy_function(CUdeviceptr to, const void *from, size_t size_bytes);
typedef CUresult info_function(size_t *free_bytes, size_t *total_bytes);
typedef CUresult launch_function(CUfunction kernel, unsigned int grid_x, unsigned int grid_y,
				 unsigned int grid_z, unsigned int block_x, unsigned int block_y,
				 unsigned int block_z, unsigned int shared_bytes, CUstream stream,
				 void **parameters, void **extra);
typedef CUresult create_function(CUcontext *context, unsigned int flags, CUdevice device);
typedef CUresult destroy_function(CUcontext context);

static CUresult allocate(CUdeviceptr *address, size_t size_bytes)
{
	return ((alloc_function *)dlsym(driver, "cuMemAlloc_v2"))(address, size_bytes);
}

static CUresult release(CUdeviceptr address)
{
	return ((free_function *)dlsym(driver, "cuMemFree_v2"))(address);
}

static int load(const char *path)
{
	driver = dlopen(*path ? path : "libcuda.so.1", RTLD_NOW);
	return driver ? 0 : -1;
}

static int init(void)
{
	int result = CALL(cuInit, 0);

	if (result)
		return result;
	return ((create_function *)dlsym(driver, "cuCtxCreate_v2"))(&context, 0, 0);
}

static int ask_uuid(void)
{
	CUuuid uuid;

	return ((uuid_function *)dlsym(driver, "cuDeviceGetUuid_v2"))(&uuid, 0);
}

static int ask_info(void)
{
	size_t free_bytes, total_bytes;

	return ((info_function *)dlsym(driver, "cuMemGetInfo_v2"))(&free_bytes, &total_bytes);
}

static int alloc_block(size_t size_bytes)
{
	int result;

	if (blocks_count == MAX_BLOCKS)
		return -1;
	result = allocate(&blocks[blocks_count], size_bytes);
	blocks_count += !result;
	return result;
}

static int free_block(void)
{
	return blocks_count ? (int)release(blocks[--blocks_count]) : -1;
}

static int churn(long count)
{
	CUdeviceptr address;
	int result = 0;

	while (!result && count-- > 0) {
		result = allocate(&address, 4096);
		if (!result)
			result = release(address);
	}
	return result;
}

static int spin(long duration_ms)
{
	struct timespec start, now;
	int result;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		result = churn(100);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!result &&
		 (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
			 duration_ms);
	return result;
}

/* Where each page is, the kernel is asked; the node's number and the size are in `rest`. */
static int pin(const char *rest)
{
	unsigned long nodes;
	size_t node, size_bytes, at;
	int on, result;
	char *block;

	if (sscanf(rest, "%zu %zu", &node, &size_bytes) != 2)
		return -1;
	nodes = 1ul << node;
	result = ((host_function *)dlsym(driver, "cuMemHostAlloc"))((void **)&block, size_bytes, 0);
	if (result || syscall(SYS_mbind, block, size_bytes, MPOL_BIND, &nodes,
			      8 * sizeof(nodes) + 1, MPOL_MF_MOVE))
		return -1;
	memset(block, 1, size_bytes);
	for (at = 0; at < size_bytes; at += 4096)
		if (syscall(SYS_get_mempolicy, &on, NULL, 0, block + at,
			    MPOL_F_NODE | MPOL_F_ADDR) ||
		    (size_t)on != node)
			return -1;
	return 0;
}

static int copy(size_t size_bytes)
{
	if (!blocks_count || size_bytes > sizeof(source))
		return -1;
	return ((copy_function *)dlsym(driver, "cuMemcpyHtoD_v2"))(blocks[blocks_count - 1], source,
								   size_bytes);
}

static int copies(long count)
{
	int result = 0;

	while (!result && count-- > 0)
		result = copy(16);
	return result;
}

static int launch_graph(size_t size_bytes)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.poolProps.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
		.bytesize = size_bytes,
	};
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;
	int result = CALL(cuGraphCreate, &graph, 0);

	if (!result)
		result = CALL(cuGraphAddMemAllocNode, &node, graph, NULL, 0, &params);
	if (!result)
		result = CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	return result ? result : (int)CALL(cuGraphLaunch, exec, NULL);
}

static int launch(size_t length)
{
	/* Not PTX: the simulated driver takes any name to be in it. */
	static const char image[] = "\177ELF";
	char *name = malloc(length + 1);
	CUfunction kernel;
	CUmodule module;
	int result;

	if (!name)
		return -1;
	memset(name, 'x', length);
	name[length] = '\0';
	result = CALL(cuModuleLoadData, &module, image);
	if (!result)
		result = CALL(cuModuleGetFunction, &kernel, module, name);
	if (!result)
		result = ((launch_function *)dlsym(driver, "cuLaunchKernel"))(
			kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return result; /* The name stays, as a constant of a program does. */
}

static int destroy(void)
{
	blocks_count = 0;
	return ((destroy_function *)dlsym(driver, "cuCtxDestroy_v2"))(context);
}

/* `argv`: NULL, or of this program, for the child to execute it. */
static int in_child(char **argv)
{
	char *const child_argv[] = { argv ? argv[0] : NULL, "child", NULL };
	pid_t child = fork();
	int status;

	if (child == 0) {
		usleep(300000); /* time to be attached to */
		if (!argv)
			_exit(0);
		execv("/proc/self/exe", child_argv);
		_exit(127);
	}
	printf("child %d\n", child);
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

static int keep(const char *program)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (program)
			execl(program, program, "60", NULL);
		for (;;)
			pause();
	}
	printf("child %d\n", child);
	return child > 0 ? 0 : -1;
}

static void *churn_once(void *result)
{
	CALL(cuCtxSetCurrent, context);
	*(int *)result = churn(1);
	return NULL;
}

static int in_thread(void)
{
	pthread_t thread;
	int result = -1;

	if (pthread_create(&thread, NULL, churn_once, &result))
		return -1;
	pthread_join(thread, NULL);
	return result;
}

static void *do_nothing(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static int start_threads(long count)
{
	pthread_t thread;
	int result = 0;

	while (!result && count-- > 0)
		result = pthread_create(&thread, NULL, do_nothing, NULL);
	return result;
}

/* It stays mapped. */
static int map_file(const char *path, int flags)
{
	int fd = open(path, O_RDONLY);
	size_t bytes = flags == MAP_SHARED ? lseek(fd, 0, SEEK_END) : 4096;
	void *code = mmap(NULL, bytes, PROT_READ | PROT_EXEC, flags, fd, 0);

	close(fd);
	return code == MAP_FAILED ? -1 : 0;
}

static int call_copied(void)
{
	const unsigned char *function = dlsym(driver, "cuMemGetInfo_v2");
	const unsigned char *next = function + 1;
	size_t free_bytes, total_bytes;
	unsigned char *code;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (!function || code == MAP_FAILED)
		return -1;
	code[0] = *function;
	memcpy(code + 1, "\x48\xb8", 2); /* mov $next,%rax */
	memcpy(code + 3, &next, sizeof(next));
	memcpy(code + 11, "\xff\xe0", 2); /* jmp *%rax */
	return ((info_function *)code)(&free_bytes, &total_bytes);
}

/* Its variables are then somewhere else, where they can still be asked for. */
static char *free_environment(char **argv)
{
	char *end = argv[0] + strlen(argv[0]) + 1;
	size_t count = 0, i;
	char **copy;

	for (i = 1; argv[i]; i++)
		end = argv[i] + strlen(argv[i]) + 1;
	while (environ[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (i = 0; copy && i < count; i++) {
		end = environ[i] + strlen(environ[i]) + 1;
		copy[i] = strdup(environ[i]);
	}
	environ = copy;
	return end;
}

static int set_title(char **argv, const char *path)
{
	static char *end;
	static char title[8192];
	int fd = open(path, O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, title, sizeof(title) - 1);

	if (fd >= 0)
		close(fd);
	if (length < 0)
		return -1;
	title[length] = '\0';
	if (!end)
		end = free_environment(argv);
	memset(argv[0], 0, (size_t)(end - argv[0]));
	if (length >= end - argv[0])
		length = end - argv[0] - 1;
	memcpy(argv[0], title, (size_t)length);
	return prctl(PR_SET_NAME, title, 0, 0, 0);
}

static int obey(char **argv, const char *word, const char *rest)
{
	long number = atol(rest);

	if (!strcmp(word, "load"))
		return load(rest);
	if (!strcmp(word, "init"))
		return init();
	if (!strcmp(word, "uuid"))
		return ask_uuid();
	if (!strcmp(word, "info"))
		return ask_info();
	if (!strcmp(word, "alloc"))
		return alloc_block(number);
	if (!strcmp(word, "free"))
		return free_block();
	if (!strcmp(word, "churn"))
		return churn(number);
	if (!strcmp(word, "spin"))
		return spin(number);
	if (!strcmp(word, "pin"))
		return pin(rest);
	if (!strcmp(word, "copy"))
		return copy(number);
	if (!strcmp(word, "copies"))
		return copies(number);
	if (!strcmp(word, "graph"))
		return launch_graph(number);
	if (!strcmp(word, "launch"))
		return launch(number);
	if (!strcmp(word, "destroy"))
		return destroy();
	if (!strcmp(word, "fork"))
		return in_child(argv);
	if (!strcmp(word, "idle"))
		return in_child(NULL);
	if (!strcmp(word, "keep"))
		return keep(*rest ? rest : NULL);
	if (!strcmp(word, "exec") && *rest)
		execl(rest, rest, NULL);
	if (!strcmp(word, "exec"))
		execv("/proc/self/exe", argv);
	if (!strcmp(word, "thread"))
		return in_thread();
	if (!strcmp(word, "threads"))
		return start_threads(number);
	if (!strcmp(word, "map"))
		return map_file(rest, MAP_PRIVATE);
	if (!strcmp(word, "share"))
		return map_file(rest, MAP_SHARED);
	if (!strcmp(word, "hook"))
		return call_copied();
	if (!strcmp(word, "title"))
		return set_title(argv, rest);
	if (!strcmp(word, "exit"))
		exit(number);
	return -1;
}

int main(int argc, char **argv)
{
	char line[512], word[32], rest[480];
	int result;

	if (argc > 1)
		return load("") || init() || alloc_block(8192) || free_block();
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		rest[0] = '\0';
		if (sscanf(line, "%31s %479[^\n]", word, rest) < 1)
			continue;
		result = obey(argv, word, rest);
		if (result)
			printf("%d\n", result);
		else
			printf("ok\n");
	}
	return 0;
}
