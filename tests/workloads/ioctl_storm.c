// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes many ioctls of NVIDIA's driver, in 32 threads, on the files that stand for its devices:
 * memory of the device and the host, that the driver refuses some of, other names of it, frees of
 * one object, of a device's and of a client's, and frees of what is not there; addresses, and what
 * is mapped there on one device or on both. A round begins with each line of standard input and
 * ends with what is held then, of memory of the device, of the host, ranges for objects, what is
 * mapped, managed ranges, and memory of each device that has a thread's object for it as its
 * parent: "BYTES OBJECTS HOST-BYTES RANGES BYTES MAPPED BYTES MANAGED BYTES FIRST SECOND OBJECTS
 * OBJECTS IOCTLS RECORDS". RECORDS: an ioctl that maps on both devices is two. Some lines are
 * something else than a round:
 *
 *   import       a child is handed a device's file, and one that stands for a dma-buf, and has by
 *                each a name of memory of its parent. It says "child PID", waits for a line, and
 *                lives as long as its parent.
 *   fork, pass   a child asks for memory for a client of its parent, by the file that it has
 *                inherited, or been handed by a socket. It says "child PID", and waits for a line.
 *   close        all files are closed, and opened again; the clients are gone
 *   leave, drop  all files are closed, but a child has them; the child is killed, and clients gone
 *   kill         it kills itself
 *
 * usage: ioctl_storm DIRECTORY IOCTLS [LAYOUT [alone]]    IOCTLS: of each thread in a round;
 *        LAYOUT: the driver's: 520, 530, 535, 570, or 580 and later; alone: without a call of CUDA
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ioctl_storm.h"
#include "simcuda.h"

#define THREADS 32
#define DEVICE_HANDLE 0x5c000000u

static struct worker workers[THREADS];
static pthread_barrier_t barrier;
int uvm, layout = 580;
static int control, device_file, each;
static bool done, is_alone;
static uint64_t others_bytes, others_objects, others_records; /* what children asked for */

/* One in eight is wrapped in another one, as any can be. */
static void request(struct worker *worker, uint32_t number, void *argument)
{
	struct {
		uint32_t number, bytes;
		void *argument;
	} wrapped = { number & 0xff, number >> 16 & 0x3fff, argument };
	const bool wraps = worker->ioctls++ % 8 == 7;

	worker->records++;
	if (ioctl(control, wraps ? 0xc01046d3 : number, wraps ? (void *)&wrapped : argument)) {
		perror("ioctl_storm");
		exit(1);
	}
}

/* In one of the two forms that the layout has. */
static void make(struct worker *worker, uint32_t parent, uint32_t handle, uint32_t class,
		 uint64_t value, uint32_t status)
{
	unsigned char argument[0x30] = { 0 }, params[0x80] = { 0 };
	const uint32_t long_bytes = layout < 535 ? 0x28 : 0x30;
	const uint32_t long_status = layout < 525 ? 0x20 : layout < 535 ? 0x24 : 0x28;
	const uint32_t short_status = layout < 535 ? 0x18 : 0x1c;
	const bool is_short = worker->ioctls % 4 == 3;
	const void *place = params;

	memcpy(argument, &worker->client, 4);
	memcpy(argument + 4, &parent, 4);
	memcpy(argument + 8, &handle, 4);
	memcpy(argument + 12, &class, 4);
	memcpy(argument + 16, &place, sizeof(place));
	memcpy(argument + (is_short ? short_status : long_status), &status, 4);
	memcpy(params + (class == 0x80 ? 0 : 0x40), &value, sizeof(value));
	request(worker, 0xc000462b | (is_short ? 0x20 : long_bytes) << 16, argument);
}

#define HEAP_BYTES 0xb8

/* By RM_VID_HEAP_CONTROL, in each of the forms of which it has any. */
static void make_of_heap(struct worker *worker, uint32_t parent, uint32_t handle, bool host,
			 uint64_t bytes, uint32_t status)
{
	static const struct {
		uint32_t function;
		size_t attributes, size;
	} forms[] = { { 2, 0x38, 0x58 }, { 6, 0x40, 0x58 }, { 14, 0x38, 0x50 } };
	const uint32_t form = worker->ioctls % 3, system_memory = 1u << 25;
	unsigned char argument[HEAP_BYTES] = { 0 };

	memcpy(argument, &worker->client, 4);
	memcpy(argument + 4, &parent, 4);
	memcpy(argument + 8, &forms[form].function, 4);
	memcpy(argument + 0x14, &status, 4);
	memcpy(argument + 0x2c, &handle, 4);
	if (host)
		memcpy(argument + forms[form].attributes, &system_memory, 4);
	memcpy(argument + forms[form].size, &bytes, 8);
	request(worker, 0xc0b8464a, argument);
}

static void release_of_heap(struct worker *worker, uint32_t handle)
{
	const uint32_t function = 3, provided = 1;
	unsigned char argument[HEAP_BYTES] = { 0 };

	memcpy(argument, &worker->client, 4);
	memcpy(argument + 8, &function, 4);
	memcpy(argument + 0x2c, &handle, 4);
	memcpy(argument + 0x30, &provided, 4);
	request(worker, 0xc0b8464a, argument);
}

static void release(struct worker *worker, uint32_t handle)
{
	uint32_t argument[4] = { worker->client, 0, handle, 0 };

	request(worker, 0xc0104629, argument);
}

static void open_client(struct worker *worker)
{
	uint32_t i;

	make(worker, 0, worker->client, 0x41, 0, 0);
	for (i = 0; i < DEVICES; i++)
		make(worker, worker->client, DEVICE_HANDLE + i, 0x80, i, 0);
}

uint32_t random_of(struct worker *worker, uint32_t most)
{
	worker->seed = worker->seed * 1664525 + 1013904223;
	return (worker->seed >> 8) % most;
}

static void make_in_a_form(struct wanted *wanted)
{
	if (random_of(wanted->worker, 3))
		make(wanted->worker, wanted->parent, wanted->handle, wanted->host ? 0x3e : 0x40,
		     wanted->bytes, wanted->status);
	else
		make_of_heap(wanted->worker, wanted->parent, wanted->handle, wanted->host,
			     wanted->bytes, wanted->status);
}

static bool has_memory_of(const struct worker *worker, int device)
{
	int i;

	for (i = 0; i < OBJECTS; i++)
		if (worker->devices[i] == device + 1 && !worker->host[i])
			return true;
	return false;
}

static void allocate(struct worker *worker, uint32_t object)
{
	const uint32_t device = random_of(worker, DEVICES);
	const bool host = !random_of(worker, 4), refused = !random_of(worker, 10);
	const uint64_t bytes = (1 + random_of(worker, 1000)) * 4096ull;

	struct wanted wanted = { worker, DEVICE_HANDLE + device, MEMORY_HANDLE + object, host,
				 bytes,  refused ? 0x51 : 0 };

	/* A handle that is in use is refused. */
	if (worker->devices[object])
		return;
	/* What a call does on a device is there, and so is the rest of the same parent. */
	if (is_alone || host || has_memory_of(worker, (int)device))
		make_in_a_form(&wanted);
	else
		call_on_device((int)device, make_in_a_form, &wanted);
	if (refused)
		return;
	worker->devices[object] = (int)device + 1;
	worker->bytes[object] = bytes;
	worker->host[object] = host;
}

static void end_device(struct worker *worker, int device)
{
	int i;

	release(worker, DEVICE_HANDLE + (uint32_t)device);
	for (i = 0; i < OBJECTS; i++)
		if (worker->devices[i] == device + 1)
			worker->devices[i] = 0;
	make(worker, worker->client, DEVICE_HANDLE + (uint32_t)device, 0x80, (uint64_t)device, 0);
}

/* ---- exports and imports --------------------------------------------------------------------- */

#define EXPORT_OBJECT_TO_FD 0x3d05
#define IMPORT_OBJECT_FROM_FD 0x3d06
#define NAME_HANDLE 0x5c000a00u

static void pass(struct worker *worker, uint32_t command, uint32_t parent, uint32_t handle)
{
	const bool exports = command == EXPORT_OBJECT_TO_FD;
	unsigned char argument[0x20] = { 0 }, params[0x20] = { 0 };
	const void *place = params;

	memcpy(argument, &worker->client, 4);
	memcpy(argument + 4, &worker->client, 4);
	memcpy(argument + 8, &command, 4);
	memcpy(argument + 16, &place, sizeof(place));
	if (!exports)
		memcpy(params + 12, &parent, 4);
	memcpy(params + (exports ? 16 : 0), &device_file, 4);
	memcpy(params + (exports ? 12 : 16), &handle, 4);
	request(worker, 0xc020462a, argument);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void step(struct worker *worker)
{
	const uint32_t object = random_of(worker, OBJECTS), what = random_of(worker, 300);
	uint32_t another[7] = { worker->client, DEVICE_HANDLE, 0x5c000900, worker->client,
				MEMORY_HANDLE + object };

	if (what == 0 && worker == workers)
		return; /* children use its client */
	if (what == 0) {
		release(worker, worker->client);
		memset(worker->devices, 0, sizeof(worker->devices));
		open_client(worker);
	} else if (what < 3) {
		end_device(worker, (int)what - 1);
	} else if (what < 20) {
		request(worker, 0xc01c4634, another);
	} else if (what < 24) {
		pass(worker, EXPORT_OBJECT_TO_FD, 0, MEMORY_HANDLE + object);
		pass(worker, IMPORT_OBJECT_FROM_FD, DEVICE_HANDLE, NAME_HANDLE + object);
	} else if (what >= 200) {
		step_of_ranges(worker, (uint32_t)(worker - workers), object);
	} else if (what < 110) {
		allocate(worker, object);
	} else {
		if (what < 140)
			release_of_heap(worker, MEMORY_HANDLE + object);
		else
			release(worker, MEMORY_HANDLE + object);
		worker->devices[object] = 0;
	}
}

static void *work(void *own)
{
	struct worker *worker = own;
	uint64_t until = 0;

	open_client(worker);
	for (;;) {
		pthread_barrier_wait(&barrier); /* a round begins */
		if (done)
			return NULL;
		for (until += (uint64_t)each; worker->ioctls < until;)
			step(worker);
		pthread_barrier_wait(&barrier);
	}
}

struct held {
	uint64_t bytes, objects, host, ranges, range_bytes, mapped, mapped_bytes, managed,
		managed_bytes, on_device[DEVICES], objects_on_device[DEVICES], ioctls, records;
};

static void add(struct held *held, const struct worker *worker, int i)
{
	if (worker->devices[i] && worker->host[i]) {
		held->host += worker->bytes[i];
	} else if (worker->devices[i]) {
		held->bytes += worker->bytes[i];
		held->on_device[worker->devices[i] - 1] += worker->bytes[i];
		held->objects_on_device[worker->devices[i] - 1]++;
		held->objects++;
	}
	held->ranges += !!worker->ranges[i];
	held->range_bytes += worker->ranges[i];
	held->mapped += !!worker->mapped[i];
	held->mapped_bytes += worker->mapped[i] ? worker->ranges[i] : 0;
	held->managed += !!worker->managed[i];
	held->managed_bytes += worker->managed[i];
}

static void tell(void)
{
	struct held held = { .bytes = others_bytes,
			     .objects = others_objects,
			     .ioctls = others_records,
			     .records = others_records };
	const uint64_t *numbers = (const uint64_t *)&held;
	size_t i;
	int j;

	for (i = 0; i < THREADS; i++) {
		held.ioctls += workers[i].ioctls;
		held.records += workers[i].records;
		for (j = 0; j < OBJECTS; j++)
			add(&held, &workers[i], j);
	}
	for (i = 0; i < sizeof(held) / sizeof(*numbers); i++)
		printf(i ? " %" PRIu64 : "%" PRIu64, numbers[i]);
	printf("\n");
	fflush(stdout);
}

/* ---- what one process does with another one's file ------------------------------------------- */

#define CHILD_HANDLE 0x5c100000u
#define EXPORTED_HANDLE 0x5c200000u
#define CHILD_OBJECTS 5
#define CHILD_FREES 2
#define CHILD_BYTES (1ull << 20)

static void ask_for_parent(int turn)
{
	struct worker *worker = &workers[0];
	const uint32_t first = CHILD_HANDLE + (uint32_t)turn * CHILD_OBJECTS;
	char byte;
	uint32_t i;

	printf("child %d\n", (int)getpid());
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(1);
	for (i = 0; i < CHILD_OBJECTS; i++)
		make(worker, DEVICE_HANDLE + DEVICES, first + i, 0x40, CHILD_BYTES, 0);
	for (i = 0; i < CHILD_FREES; i++)
		release(worker, first + i);
	_exit(0);
}

static bool has_device;

/* A device that no round frees, of a client that none does. */
static void have_device(void)
{
	if (!has_device)
		make(&workers[0], workers[0].client, DEVICE_HANDLE + DEVICES, 0x80, 0, 0);
	has_device = true;
}

static void share(bool passes)
{
	static int turn;
	int sockets[2];
	pid_t child;

	turn++;
	have_device();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		exit(1);
	child = fork();
	if (!child) {
		if (passes) {
			close(control);
			control = receive_file(sockets[1]);
		}
		ask_for_parent(turn);
	}
	if (passes)
		send_file(sockets[0], control);
	waitpid(child, NULL, 0);
	close(sockets[0]);
	close(sockets[1]);
	others_records += CHILD_OBJECTS + CHILD_FREES;
	others_objects += CHILD_OBJECTS - CHILD_FREES;
	others_bytes += (CHILD_OBJECTS - CHILD_FREES) * CHILD_BYTES;
}

static int open_file(const char *directory, const char *name)
{
	char path[512];
	int file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0) {
		perror(path);
		exit(1);
	}
	return file;
}

static void open_files(const char *directory)
{
	control = open_file(directory, "nvidiactl");
	uvm = open_file(directory, "nvidia-uvm");
	device_file = open_file(directory, "nvidia0");
}

#define IMPORTER 0xc1e00000u
#define BUFFER_HANDLE 0x5c200001u
#define BUFFER_NAME_HANDLE 0x5c200002u

/* Memory for which a file of another kind stands, as if it were page-locked memory. */
static void take_buffer(struct worker *worker, int buffer)
{
	const uint32_t words[] = { worker->client, DEVICE_HANDLE, BUFFER_NAME_HANDLE, 0x71 };
	const uint64_t descriptor = (uint64_t)buffer, limit = CHILD_BYTES - 1;
	unsigned char argument[0x30] = { 0 }, params[0x28] = { 0 };
	const void *place = params;

	memcpy(argument, words, sizeof(words));
	memcpy(argument + 16, &place, sizeof(place));
	memcpy(params + 0x10, &descriptor, 8);
	memcpy(params + 0x18, &limit, 8);
	params[0x20] = 4; /* NVOS32_DESCRIPTOR_TYPE_OS_FILE_HANDLE */
	request(worker, 0xc030462b, argument);
}

static void give_buffer(struct worker *worker, int buffer)
{
	unsigned char argument[0xa30] = { 0 };
	const uint32_t handle = BUFFER_HANDLE;

	memcpy(argument, &buffer, 4);
	memcpy(argument + 4, &worker->client, 4);
	memcpy(argument + 0x24, &handle, 4);
	request(worker, 0xca3046d9, argument);
}

static void import(const char *directory, int socket)
{
	static struct worker worker; /* of a client that no round has */
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(control);
	close(uvm);
	close(device_file);
	printf("child %d\n", (int)getpid());
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(1);
	device_file = receive_file(socket);
	control = open_file(directory, "nvidiactl");
	worker.client = IMPORTER + ((uint32_t)getpid() & 0xffff);
	open_client(&worker);
	pass(&worker, IMPORT_OBJECT_FROM_FD, DEVICE_HANDLE, NAME_HANDLE);
	take_buffer(&worker, receive_file(socket));
	send_file(socket, control);
	for (;;)
		pause();
}

/* Memory that no round frees, by a file of its own. */
static void export(const char *directory)
{
	const int files = device_file, buffer = memfd_create("dma-buf", MFD_CLOEXEC);
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		exit(1);
	have_device();
	make(&workers[0], DEVICE_HANDLE + DEVICES, EXPORTED_HANDLE, 0x40, CHILD_BYTES, 0);
	make(&workers[0], DEVICE_HANDLE + DEVICES, BUFFER_HANDLE, 0x40, CHILD_BYTES, 0);
	others_objects += 2;
	others_bytes += 2 * CHILD_BYTES;
	device_file = open_file(directory, "nvidia0");
	pass(&workers[0], EXPORT_OBJECT_TO_FD, 0, EXPORTED_HANDLE);
	give_buffer(&workers[0], buffer);
	if (!fork())
		import(directory, sockets[1]);
	send_file(sockets[0], device_file);
	send_file(sockets[0], buffer);
	close(receive_file(sockets[0])); /* it has it */
	others_records += 1 + DEVICES + 2;
	close(device_file);
	close(buffer);
	device_file = files;
	close(sockets[0]);
	close(sockets[1]);
}

static void forget_all(void)
{
	uint32_t i;

	others_bytes = others_objects = 0;
	for (i = 0; i < THREADS; i++) {
		memset(workers[i].devices, 0, sizeof(workers[i].devices));
		memset(workers[i].ranges, 0, sizeof(workers[i].ranges));
		memset(workers[i].mapped, 0, sizeof(workers[i].mapped));
		memset(workers[i].managed, 0, sizeof(workers[i].managed));
	}
}

static void close_files(void)
{
	close(control);
	close(uvm);
	close(device_file);
	has_device = false;
}

static void close_all(void)
{
	close_files();
	forget_all();
}

static pid_t keeper;

/* A child has the file open still. */
static void leave(void)
{
	keeper = fork();
	while (!keeper)
		pause();
	close_files();
}

static void drop(void)
{
	kill(keeper, SIGKILL);
	waitpid(keeper, NULL, 0);
	forget_all();
}

static void reopen(const char *directory)
{
	uint32_t i;

	open_files(directory);
	for (i = 0; i < THREADS; i++)
		open_client(&workers[i]);
}

static void round_of_all(void)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
}

int main(int argc, char **argv)
{
	char line[64];
	bool is_open = true;
	uint32_t i;

	is_alone = argc > 4;
	unsetenv("SIMCUDA_DRIVER"); /* the ioctls are this program's */
	if (argc < 3 || cuInit(0) || (!is_alone && !prepare_calls()))
		return 2;
	setvbuf(stdin, NULL, _IONBF, 0); /* children read the same */
	each = atoi(argv[2]);
	layout = argc > 3 ? atoi(argv[3]) : layout;
	open_files(argv[1]);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++) {
		workers[i].client = 0xc1d00000u + i;
		workers[i].seed = i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (!is_open && strcmp(line, "drop\n") != 0)
			reopen(argv[1]);
		is_open = !strstr("close\nleave\ndrop\n", line);
		if (!strcmp(line, "leave\n"))
			leave();
		else if (!strcmp(line, "drop\n"))
			drop();
		else if (!strcmp(line, "close\n"))
			close_all();
		else if (!strcmp(line, "import\n"))
			export(argv[1]);
		else if (!strcmp(line, "fork\n") || !strcmp(line, "pass\n"))
			share(line[0] == 'p');
		else if (!strcmp(line, "kill\n"))
			raise(SIGKILL);
		else
			round_of_all();
		tell();
	}
	done = true;
	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
