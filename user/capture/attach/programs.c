// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "capture/attach/attacher.h"
#include "capture/attach/libbpf_log.h"
#include "capture/attach/who_layout.h"
#include "capture/records/sources.h"
#include "host/nvidia_driver.h"
#include "host/nvidia_files.h"
#include "memscope.skel.h"

struct programs {
	struct memscope_bpf *skeleton;
	struct attacher *attacher;
	enum strategy strategy;
	struct placement_wants wants;
	struct sources sources;
	uint32_t files; /* numbers that are taken */
	uint32_t apart; /* bit set of enum ms_row_kind */
	bool without_bulk;
};

/* ---- loading --------------------------------------------------------------------------------- */

/* What is not wanted need not be verified, which takes milliseconds. */
static void choose_programs(struct memscope_bpf *skeleton, const struct programs_options *options)
{
	const enum strategy strategy = options->strategy;
	bool session = strategy == STRATEGY_SESSION;
	uint32_t type = strategy_attach_type(strategy, false);

	struct {
		struct bpf_program *program;
		bool session;
	} choice[] = {
		{ skeleton->progs.ms_session, true },
		{ skeleton->progs.ms_entry, false },
		{ skeleton->progs.ms_return, false },
		{ skeleton->progs.ms_ioctl_session, true },
		{ skeleton->progs.ms_ioctl_entry, false },
		{ skeleton->progs.ms_ioctl_return, false },
		{ skeleton->progs.ms_ask_session, true },
		{ skeleton->progs.ms_ask_entry, false },
		{ skeleton->progs.ms_ask_return, false },
	};
	size_t i;

	for (i = 0; i < sizeof(choice) / sizeof(*choice); i++) {
		bpf_program__set_autoload(choice[i].program, choice[i].session == session);
		bpf_program__set_expected_attach_type(choice[i].program, type);
	}
	bpf_program__set_autoload(skeleton->progs.ms_tensor, options->tensors);
	bpf_program__set_autoload(skeleton->progs.ms_tensor_return, options->tensors);
	bpf_program__set_expected_attach_type(skeleton->progs.ms_tensor_return,
					      strategy_attach_type(strategy, true));
	bpf_program__set_expected_attach_type(skeleton->progs.ms_ioctl_tail,
					      strategy_attach_type(strategy, true));
	bpf_program__set_autoload(skeleton->progs.ms_moved, options->moves);
	bpf_program__set_autoload(skeleton->progs.ms_marker, options->markers || options->marks);
	bpf_program__set_expected_attach_type(skeleton->progs.ms_tensor,
					      strategy_attach_type(strategy, true));
	bpf_program__set_expected_attach_type(skeleton->progs.ms_marker,
					      strategy_attach_type(strategy, true));
}

/* It needs bpf_loop(), of Linux 5.17; without it the library is not loaded (-ENOTSUP). */
static int choose_gpu_times(struct memscope_bpf *skeleton, const struct programs_options *options)
{
	bpf_program__set_autoload(skeleton->progs.ms_hand, options->gpu_times);
	bpf_program__set_expected_attach_type(skeleton->progs.ms_hand,
					      strategy_attach_type(options->strategy, true));
	if (!options->gpu_times ||
	    libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) > 0)
		return 0;
	log_error("--gpu-time needs Linux 5.17: this kernel cannot read CUPTI's records");
	return -ENOTSUP;
}

static void size_rings(struct memscope_bpf *skeleton, uint64_t bytes, int cpus)
{
	uint32_t slots = cpu_slots_choose(bytes, cpus);

	bpf_map__set_max_entries(skeleton->maps.ms_critical, bytes);
	bpf_map__set_max_entries(skeleton->maps.ms_bulk, bytes);
	bpf_map__set_value_size(skeleton->maps.ms_cpu_slots, cpu_slots_value_bytes(slots));
	bpf_map__set_max_entries(skeleton->maps.ms_cpu_slots, MS_CPU_SLOTS(cpus, 0));
	skeleton->rodata->settings.cpu_slots = slots;
}

#define STACK_PROCESSES 8192 /* whose stacks can be taken */
#define STACK_IDS 16384      /* stacks that are known to have been reported */

/* It takes bpf_loop(), of Linux 5.17 (commit e6f2dd0f8067). */
bool programs_can_walk_stacks(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) > 0;
}

/* Without stacks none of it takes any memory. */
static void size_stacks(struct memscope_bpf *skeleton, const struct programs_options *options)
{
	if (options->stack_ops && !programs_can_walk_stacks()) {
		log_warning("call stacks need Linux 5.17: this kernel cannot walk stacks");
		return;
	}
	skeleton->rodata->settings.stack_ops = options->stack_ops;
	skeleton->rodata->settings.stack_depth = options->stack_depth;
	skeleton->rodata->settings.stack_kinds = options->stack_kinds;
	skeleton->rodata->settings.tensor_chance = options->tensor_chance;
	skeleton->rodata->settings.launch_one_in = options->launch_one_in;
	if (!options->stack_ops)
		return;
	bpf_map__set_max_entries(skeleton->maps.ms_stack_ranges, STACK_PROCESSES);
	bpf_map__set_max_entries(skeleton->maps.ms_stack_ids, STACK_IDS);
	bpf_map__set_max_entries(skeleton->maps.ms_pythons, MS_PYTHON_PROCESSES);
	bpf_map__set_max_entries(skeleton->maps.ms_python_codes, MS_PYTHON_CODES);
}

/* As the kernel has it. */
static uint32_t device_number(dev_t device)
{
	return major(device) << 20 | minor(device);
}

static void set_markers(struct memscope_bpf *skeleton, const struct marker_rows *markers)
{
	struct stat space;
	size_t i;

	for (i = 0; markers && i < markers->count; i++)
		skeleton->rodata->marker_rows[i] = markers->rows[i].kernel;
	skeleton->rodata->marker_rows[MS_MARKER_ROW_COMMAND] = marker_row_command;
	if (!stat("/proc/self/ns/pid", &space)) {
		skeleton->rodata->settings.pid_space_device = device_number(space.st_dev);
		skeleton->rodata->settings.pid_space = space.st_ino;
	}
}

/* The kernel's answer, or why there is none. `*result` is to be destroyed either way. */
static int load(struct memscope_bpf **result, const struct programs_options *options)
{
	int cpus = libbpf_num_possible_cpus(), err;
	struct memscope_bpf *skeleton;

	libbpf_log_init();
	skeleton = *result = memscope_bpf__open();
	if (!skeleton)
		return -errno;
	choose_programs(skeleton, options);
	err = cpus < 0 ? cpus : choose_gpu_times(skeleton, options);
	if (err)
		return err;
	skeleton->rodata->settings.return_ops = options->return_ops;
	skeleton->rodata->settings.count_launches = options->count_launches;
	skeleton->rodata->settings.admits = options->admits;
	skeleton->rodata->settings.who = programs_can_walk_stacks() ? options->who : MS_WHO_OF_NONE;
	skeleton->rodata->settings.governed =
		options->governed && options->strategy == STRATEGY_SESSION;
	if (options->count_launches) {
		bpf_map__set_max_entries(skeleton->maps.ms_launch_counts, MS_LAUNCH_KEYS);
		bpf_map__set_max_entries(skeleton->maps.ms_named, MS_LAUNCH_KEYS);
	}
	size_stacks(skeleton, options);
	set_markers(skeleton, options->markers);
	skeleton->rodata->settings.driver_version = nvidia_driver_version();
	skeleton->bss->uvm_major = nvidia_majors_read().uvm;
	/* Soon after the machine has started, the kernel may not have any to give. */
	if (getrandom(&skeleton->rodata->settings.secret, sizeof(uint64_t), GRND_NONBLOCK) < 0)
		skeleton->rodata->settings.secret = map_secret();
	skeleton->rodata->settings.test_device = device_number(nvidia_test_device());
	size_rings(skeleton, options->ring_bytes, cpus);
	return memscope_bpf__load(skeleton);
}

int programs_try(enum strategy strategy)
{
	/* What the settings rule out, the verifier does not look at. */
	static const struct marker_rows markers;
	const struct programs_options options = { .strategy = strategy,
						  .return_ops = UINT32_MAX,
						  .count_launches = true,
						  .admits = MS_ADMITS_CGROUP,
						  .governed = true,
						  .stack_ops = UINT32_MAX,
						  .launch_one_in = 100,
						  .stack_depth = MS_STACK_MOST,
						  .stack_kinds = UINT32_MAX,
						  .markers = &markers,
						  .tensors = true,
						  .tensor_chance = true,
						  .ring_bytes = sysconf(_SC_PAGESIZE) };
	struct memscope_bpf *skeleton;
	int err = load(&skeleton, &options);

	memscope_bpf__destroy(skeleton);
	return err;
}

static int open_intake(struct programs *programs)
{
	const struct memscope_bpf *skeleton = programs->skeleton;
	const struct bpf_map *cpu_slots = skeleton->maps.ms_cpu_slots;
	const struct sources_maps maps = {
		.rings = { [MS_RING_CRITICAL] = bpf_map__fd(skeleton->maps.ms_critical),
			   [MS_RING_BULK] = bpf_map__fd(skeleton->maps.ms_bulk) },
		.cpu_slots = bpf_map__fd(cpu_slots),
		.ring_bytes = bpf_map__max_entries(skeleton->maps.ms_critical),
		.cpus = bpf_map__max_entries(cpu_slots) / MS_RINGS_COUNT,
		.slots = skeleton->rodata->settings.cpu_slots,
	};
	int err = sources_open(&programs->sources, &maps);

	if (err)
		log_error("cannot map the ring buffers: %s", strerror(-err));
	return err;
}

bool programs_is_for_want(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE || err == -EAGAIN ||
	       err == -EINTR || err == -EPERM;
}

static int set_cgroup(const struct memscope_bpf *skeleton, int fd)
{
	const uint32_t key = 0, value = fd;

	if (!bpf_map_update_elem(bpf_map__fd(skeleton->maps.ms_cgroup), &key, &value, BPF_ANY))
		return 0;
	log_error("cannot watch the cgroup: %s", strerror(errno));
	return -errno;
}

int programs_open(struct programs **result, const struct programs_options *options)
{
	struct programs *programs = calloc(1, sizeof(*programs));
	int err;

	if (!programs)
		return -ENOMEM;
	programs->strategy = options->strategy;
	/* To remove them one by one takes longer than a program should have to wait. */
	if (options->governed && options->strategy != STRATEGY_SINGLE)
		programs->apart = MS_BULK_OPS;
	programs->wants = (struct placement_wants){ .ops = options->ops,
						    .return_ops = options->return_ops,
						    .layers = options->layers,
						    .spared = options->spared,
						    .named = options->named };
	err = load(&programs->skeleton, options);
	if (err) {
		log_error("cannot load the BPF programs: %s; `memscope-bpf check` says what this"
			  " machine lacks, -v shows the kernel's answer",
			  strerror(-err));
		err = programs_is_for_want(err) ? err : -ENOTSUP;
		goto fail;
	}
	if (options->admits == MS_ADMITS_CGROUP)
		err = set_cgroup(programs->skeleton, options->cgroup_fd);
	if (err)
		goto fail;
	err = memscope_bpf__attach(programs->skeleton);
	if (err) {
		log_error("cannot watch processes start, execute and exit: %s; -v shows why",
			  strerror(-err));
		err = programs_is_for_want(err) ? err : -ENOTSUP;
		goto fail;
	}
	programs->attacher = attacher_open();
	err = open_intake(programs);
	if (err)
		goto fail;
	*result = programs;
	return 0;
fail:
	programs_close(programs);
	return err;
}

void programs_close(struct programs *programs)
{
	if (!programs)
		return;
	attacher_close(programs->attacher);
	sources_close(&programs->sources);
	memscope_bpf__destroy(programs->skeleton);
	free(programs);
}

enum strategy programs_strategy(const struct programs *programs)
{
	return programs->strategy;
}

const struct placement_wants *programs_wants(const struct programs *programs)
{
	return &programs->wants;
}

int programs_link(const struct programs *programs, enum program program,
		  const struct link_site *site, bool on_return)
{
	const struct memscope_bpf *skeleton = programs->skeleton;
	const struct bpf_program *const choice[] = {
		[PROGRAM_ENTRY] = skeleton->progs.ms_entry,
		[PROGRAM_RETURN] = skeleton->progs.ms_return,
		[PROGRAM_SESSION] = skeleton->progs.ms_session,
		[PROGRAM_IOCTL_ENTRY] = skeleton->progs.ms_ioctl_entry,
		[PROGRAM_IOCTL_RETURN] = skeleton->progs.ms_ioctl_return,
		[PROGRAM_IOCTL_SESSION] = skeleton->progs.ms_ioctl_session,
		[PROGRAM_IOCTL_TAIL] = skeleton->progs.ms_ioctl_tail,
		[PROGRAM_ASK_ENTRY] = skeleton->progs.ms_ask_entry,
		[PROGRAM_ASK_RETURN] = skeleton->progs.ms_ask_return,
		[PROGRAM_ASK_SESSION] = skeleton->progs.ms_ask_session,
		[PROGRAM_TENSOR] = skeleton->progs.ms_tensor,
		[PROGRAM_TENSOR_RETURN] = skeleton->progs.ms_tensor_return,
		[PROGRAM_HAND] = skeleton->progs.ms_hand,
		[PROGRAM_MARKER] = skeleton->progs.ms_marker,
	};

	return attacher_create(programs->attacher, bpf_program__fd(choice[program]),
			       strategy_attach_type(programs->strategy, program >= PROGRAM_TENSOR),
			       site, on_return);
}

enum detacher_way programs_detacher_way(const struct programs *programs)
{
	return programs->strategy == STRATEGY_SINGLE ? DETACHER_IN_TURN : DETACHER_AT_ONCE;
}

struct merge *programs_merge(struct programs *programs)
{
	return &programs->sources.merge;
}

int programs_wakeup_fd(const struct programs *programs)
{
	return bpf_map__fd(programs->skeleton->maps.ms_critical);
}

int programs_launch_counts_fd(const struct programs *programs)
{
	return bpf_map__fd(programs->skeleton->maps.ms_launch_counts);
}

int programs_asking_fd(const struct programs *programs)
{
	return bpf_map__fd(programs->skeleton->maps.ms_asking);
}

const struct ms_settings *programs_settings(const struct programs *programs, uint32_t **uvm_major)
{
	*uvm_major = &programs->skeleton->bss->uvm_major;
	return (const struct ms_settings *)&programs->skeleton->rodata->settings;
}

__u32 *programs_stacks(const struct programs *programs, int *ranges_fd, int *tables_fd)
{
	*ranges_fd = bpf_map__fd(programs->skeleton->maps.ms_stack_ranges);
	*tables_fd = bpf_map__fd(programs->skeleton->maps.ms_unwind_tables);
	return &programs->skeleton->bss->stack_generation;
}

const __u64 *programs_launch_keys(const struct programs *programs)
{
	return &programs->skeleton->bss->launch_keys;
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* struct ms_counters is nothing but counts. */
static void add_counters(struct ms_counters *sum, const struct ms_counters *cpu)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)cpu;
	size_t i;

	for (i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

int programs_counters(const struct programs *programs, struct ms_counters *counters)
{
	int cpus = libbpf_num_possible_cpus(), cpu, err = 0;
	struct ms_counters *values;
	uint32_t key = 0;

	if (cpus < 0)
		return cpus;
	values = calloc(cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	memset(counters, 0, sizeof(*counters));
	if (bpf_map_lookup_elem(bpf_map__fd(programs->skeleton->maps.ms_counts), &key, values))
		err = -errno;
	for (cpu = 0; !err && cpu < cpus; cpu++)
		add_counters(counters, &values[cpu]);
	free(values);
	return err;
}

int programs_losses_fd(const struct programs *programs)
{
	return programs->skeleton->bss->has_losses ?
		       bpf_map__fd(programs->skeleton->maps.ms_losses) :
		       -1;
}

void programs_run_time(const struct programs *programs, uint64_t *runs, uint64_t *ns)
{
	struct bpf_program *program;

	*runs = *ns = 0;
	bpf_object__for_each_program(program, programs->skeleton->obj)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t bytes = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes))
			continue;
		*runs += info.run_cnt;
		*ns += info.run_time_ns;
	}
}

int programs_set_target(struct programs *programs, pid_t pid, uint32_t flags)
{
	int map = bpf_map__fd(programs->skeleton->maps.ms_targets);
	uint32_t key = pid;
	int err = flags ? bpf_map_update_elem(map, &key, &flags, BPF_ANY) :
			  bpf_map_delete_elem(map, &key);

	return err ? -errno : 0;
}

bool programs_knows_stranger(const struct programs *programs, pid_t pid)
{
	uint32_t key = pid, flags;

	return !bpf_map_lookup_elem(bpf_map__fd(programs->skeleton->maps.ms_targets), &key,
				    &flags) &&
	       flags == MS_TARGET_STRANGER;
}

void programs_want_all_moves(struct programs *programs, bool wanted)
{
	programs->skeleton->bss->moves_of_all = wanted;
}

uint32_t programs_lost_moves(const struct programs *programs)
{
	return programs->skeleton->bss->lost_moves;
}

int programs_set_flag(struct programs *programs, pid_t pid, enum ms_target flag, bool wanted)
{
	struct memscope_bpf *skeleton = programs->skeleton;
	const int map = bpf_map__fd(skeleton->maps.ms_targets);
	uint32_t key = pid, flags;

	if (flag == MS_TARGET_ENTRIES && !skeleton->rodata->settings.governed)
		return -ENOTSUP;
	if (bpf_map_lookup_elem(map, &key, &flags))
		return -errno;
	if (!(flags & flag) == !wanted)
		return 0;
	*(flag == MS_TARGET_ENTRIES ? &skeleton->bss->entry_targets :
				      &skeleton->bss->stackless_targets) = 1;
	flags ^= flag;
	return bpf_map_update_elem(map, &key, &flags, BPF_EXIST) ? -errno : 0;
}

uint32_t programs_apart(const struct programs *programs)
{
	return programs->apart;
}

void programs_set_bulk(struct programs *programs, bool wanted)
{
	programs->without_bulk = !wanted;
}

bool programs_wants_bulk(const struct programs *programs)
{
	return !programs->without_bulk;
}

int programs_set_python(struct programs *programs, pid_t pid, const struct ms_python *python)
{
	const uint32_t key = pid;

	return bpf_map_update_elem(bpf_map__fd(programs->skeleton->maps.ms_pythons), &key, python,
				   BPF_ANY) ?
		       -errno :
		       0;
}

int programs_shut_target(struct programs *programs, pid_t pid, uint32_t flags)
{
	int err;

	programs->skeleton->bss->shut_targets++;
	err = programs_set_target(programs, pid, flags | MS_TARGET_SHUT);
	if (err)
		programs->skeleton->bss->shut_targets--;
	return err;
}

void programs_open_target(struct programs *programs, pid_t pid, uint32_t flags)
{
	const uint32_t key = pid;

	/* If it is there still: the process may have ended. */
	bpf_map_update_elem(bpf_map__fd(programs->skeleton->maps.ms_targets), &key, &flags,
			    BPF_EXIST);
	programs->skeleton->bss->shut_targets--;
}

uint32_t programs_new_file(struct programs *programs)
{
	return programs->files + 1 < MS_FILES ? ++programs->files : 0;
}

void programs_open_file(struct programs *programs, uint32_t file)
{
	programs->skeleton->bss->open_files[file] = 1;
}

void programs_learn_layout(struct programs *programs)
{
	if (programs->skeleton->rodata->settings.who != MS_WHO_OF_NONE)
		who_layout_learn(&programs->skeleton->bss->who_layout);
}

void programs_shut_file(struct programs *programs, uint32_t file)
{
	programs->skeleton->bss->open_files[file] = 0;
}

void programs_stop(struct programs *programs)
{
	programs->skeleton->bss->stopped = MS_STOP_ENTRIES;
	attacher_wait(programs->attacher);
}

/*
 * Whoever changes a map within a map is kept until no program can be using what was there before;
 * which map that is does not matter (Linux, maybe_wait_bpf_programs()).
 */
static int wait_for_running_programs(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);
	int inner, outer, err;
	__u32 key = 0;

	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ms_inner", sizeof(key), 8, 1, NULL);
	if (inner < 0)
		return inner;
	options.inner_map_fd = inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "ms_outer", sizeof(key), sizeof(inner),
			       1, &options);
	err = outer < 0 ? outer : bpf_map_update_elem(outer, &key, &inner, BPF_ANY);
	if (outer >= 0)
		close(outer);
	close(inner);
	return err;
}

void programs_silence(struct programs *programs)
{
	int err;

	programs->skeleton->bss->stopped = MS_STOP_ALL;
	err = wait_for_running_programs();
	if (err)
		log_warning("cannot wait for calls that end just now: %s; a few can be missing",
			    strerror(-err));
}

uint64_t programs_cpu_ns(const struct programs *programs)
{
	return attacher_cpu_ns(programs->attacher);
}
