/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports who a process is (who_abi.h). What is read here are plain addresses of the kernel's, with
 * offsets that user space has looked up: each read is checked by the kernel, and what does not fit
 * together is at worst a wrong name.
 */
#ifndef MS_WHO_BPF_H
#define MS_WHO_BPF_H

#define MS_WHO_STEPS 32  /* directories and mounts of a path, and cgroups of one */
#define MS_WHO_STATES 16 /* controllers of cgroups that are looked through */

/*
 * Old kernels have 512 bytes of stack for a program and all that it calls, most of which is taken
 * where a process is let in: what is made lies in memory of the thread's, and each part of it is
 * made by a function of its own.
 */

/* Set while the programs run. */
struct ms_who_layout who_layout = {};

/* The texts but for the environment; the last name may go over. */
#define MS_WHO_FRONT_BYTES (MS_WHO_NAMES_BYTES + MS_WHO_NAME_BYTES + MS_WHO_ARGUMENTS_BYTES + 1)
#define MS_WHO_TEXTS_BYTES (MS_WHO_FRONT_BYTES + MS_WHO_ENVIRONMENT_BYTES + 1)

/* A record in the making, with room for the longest. */
struct ms_who_room {
	__u64 record[sizeof(struct ms_who) / 8];
	char texts[MS_WHO_TEXTS_BYTES];
	__u32 used;        /* of the texts */
	__u32 is_whole;    /* the path that was read last */
	__u64 node, mount; /* where that has come to; no mount: it is a cgroup's */
	__u32 parent_at, name_at;
	__u64 set, hierarchy, group; /* of cgroups */
};

/* Per thread: probes can be preempted. There is none but while a record is made. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ms_who_room);
} ms_who_rooms SEC(".maps");

/* What the steps of a loop share; pointers cannot be kept in maps. */
struct ms_who_context {
	struct ms_who_room *room;
};

static __always_inline struct ms_who_room *who_room(__u64 flags)
{
	return bpf_task_storage_get(&ms_who_rooms, bpf_get_current_task_btf(), NULL, flags);
}

static __always_inline struct ms_who *who_of(struct ms_who_room *room)
{
	return (struct ms_who *)room->record;
}

static __always_inline __u64 who_read(__u64 address, __u32 offset)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (const void *)(address + offset));
	return value;
}

static __always_inline __u32 who_read_u32(__u64 address, __u32 offset)
{
	__u32 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (const void *)(address + offset));
	return value;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Returns whether there was room. */
static __always_inline bool who_name(struct ms_who_room *room, __u64 name)
{
	__u64 used = room->used;
	long length;

	barrier_var(used);
	if (used > MS_WHO_NAMES_BYTES)
		return false;
	length = bpf_probe_read_kernel_str(room->texts + used, MS_WHO_NAME_BYTES, (void *)name);
	if (length > 0)
		room->used = used + length;
	return length > 0;
}

static long who_path_step(__u32 index, struct ms_who_context *context)
{
	struct ms_who_room *room = context->room;
	const __u64 node = room->node, mount = room->mount;
	const bool is_mounted = mount && node == who_read(mount, who_layout.mount_root);
	const __u64 next = is_mounted ? who_read(mount, who_layout.mount_parent) :
					who_read(node, room->parent_at);

	if (!next || next == (is_mounted ? mount : node)) {
		room->is_whole = 1;
		return 1;
	}
	if (is_mounted) {
		room->node = who_read(mount, who_layout.mount_point);
		room->mount = next;
		return 0;
	}
	room->node = next;
	return !who_name(room, who_read(node, room->name_at));
}

/*
 * The names from a node up to the root: of a directory entry, across the mounts that it is below,
 * or (without a mount) of a cgroup. Returns whether all are there.
 */
static __always_inline bool who_path(struct ms_who_room *room, __u64 node, __u64 mount)
{
	struct ms_who_context context = { .room = room };

	room->node = node;
	room->mount = mount;
	room->is_whole = 0;
	room->parent_at = mount ? who_layout.dentry_parent : who_layout.node_parent;
	room->name_at = mount ? who_layout.dentry_name : who_layout.node_name;
	bpf_loop(MS_WHO_STEPS, who_path_step, &context, 0);
	return room->is_whole;
}

__noinline int ms_who_exe(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	struct ms_who_room *room = who_room(0);
	__u32 before;

	if (!settings.who || !room || !file)
		return 0;
	before = room->used;
	if (!who_path(room, (__u64)BPF_CORE_READ(file, f_path.dentry),
		      (__u64)BPF_CORE_READ(file, f_path.mnt) - who_layout.mount_inner))
		who_of(room)->known |= MS_WHO_CUT_EXE;
	who_of(room)->known |= MS_WHO_EXE;
	who_of(room)->bytes[MS_WHO_TEXT_EXE] = room->used - before;
	return 0;
}

/* ---- cgroups --------------------------------------------------------------------------------- */

/* The path of a cgroup is known as a whole, or not at all. */
static __always_inline void who_group(struct ms_who_room *room, __u64 group, enum ms_who_text text,
				      __u32 known)
{
	const __u32 before = room->used;

	if (!who_path(room, who_read(group, who_layout.group_node), 0)) {
		room->used = before;
		return;
	}
	who_of(room)->bytes[text] = room->used - before;
	who_of(room)->known |= known;
}

static long who_old_group_step(__u32 index, struct ms_who_context *context)
{
	struct ms_who_room *room = context->room;
	const __u64 state = who_read(room->set, who_layout.set_states + 8 * (index & 31));
	const __u64 group = who_read(state, who_layout.state_group);

	if (index >= who_layout.states_count)
		return 1;
	if (!group || who_read(group, who_layout.group_root) == room->hierarchy ||
	    !who_read(who_read(group, who_layout.group_node), who_layout.node_parent))
		return 0;
	room->group = group;
	return 1;
}

__noinline int ms_who_groups(__u64 leader)
{
	struct task_struct *task = (struct task_struct *)leader;
	struct ms_who_context context = { .room = who_room(0) };
	struct ms_who_room *room = context.room;
	__u64 group;

	if (!settings.who || !room)
		return 0;
	room->set = (__u64)BPF_CORE_READ(task, cgroups);
	group = who_read(room->set, who_layout.set_group);
	if (!group)
		return 0;
	who_group(room, group, MS_WHO_TEXT_GROUP, MS_WHO_GROUP);
	/* Of version 1, one that is not the root. */
	room->hierarchy = who_read(group, who_layout.group_root);
	bpf_loop(MS_WHO_STATES, who_old_group_step, &context, 0);
	if (room->group)
		who_group(room, room->group, MS_WHO_TEXT_OLD_GROUP, MS_WHO_OLD_GROUP);
	return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

#define MS_WHO_UPID_BYTES 16 /* struct upid, include/linux/pid.h */

static __always_inline void who_numbers(struct ms_who *who, struct task_struct *leader)
{
	const __u64 cred = (__u64)BPF_CORE_READ(leader, real_cred);
	const __u64 pid = (__u64)BPF_CORE_READ(leader, thread_pid);
	const __u32 level = who_read_u32(pid, who_layout.pid_level);

	who->uid = who_read_u32(cred, who_layout.cred_uid);
	who->gid = who_read_u32(cred, who_layout.cred_gid);
	who->parent = BPF_CORE_READ(leader, real_parent, tgid);
	who->ns_pid = who_read_u32(pid, who_layout.pid_numbers + (level & 31) * MS_WHO_UPID_BYTES);
	who->known = MS_WHO_USER | MS_WHO_PARENT | MS_WHO_NS_PID;
}

/* By which one can tell whether two processes see the same files. */
static __always_inline void who_root(struct ms_who *who, struct task_struct *leader)
{
	const __u64 fs = (__u64)BPF_CORE_READ(leader, fs);
	const __u64 mount = who_read(fs, who_layout.root_mount) - who_layout.mount_inner;

	if (who_read(fs, who_layout.root_dentry) != who_read(mount, who_layout.mount_root))
		return;
	who->root_mount = who_read_u32(mount, who_layout.mount_id);
	who->known |= MS_WHO_ROOT;
}

/* ---- what it was started with ---------------------------------------------------------------- */

/*
 * A forked child has its parent's memory at that time, so that it is read in the one that runs.
 * What has been swapped out since cannot be read here.
 */
__noinline int ms_who_arguments(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct ms_who_room *room = who_room(0);
	const __u64 start = BPF_CORE_READ(mm, arg_start);
	__u64 bytes = BPF_CORE_READ(mm, arg_end) - start, used;

	if (!settings.who || !room)
		return 0;
	if (bytes > MS_WHO_ARGUMENTS_BYTES) {
		bytes = MS_WHO_ARGUMENTS_BYTES;
		who_of(room)->known |= MS_WHO_CUT_ARGUMENTS;
	}
	barrier_var(bytes);
	bytes &= MS_WHO_ARGUMENTS_BYTES;
	used = room->used;
	barrier_var(used);
	if (used > MS_WHO_NAMES_BYTES + MS_WHO_NAME_BYTES ||
	    bpf_probe_read_user(room->texts + used, bytes, (const void *)start))
		return 0;
	who_of(room)->bytes[MS_WHO_TEXT_ARGUMENTS] = bytes;
	who_of(room)->known |= MS_WHO_ARGUMENTS;
	room->used = used + bytes;
	return 0;
}

__noinline int ms_who_environment(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct ms_who_room *room = who_room(0);
	const __u64 start = BPF_CORE_READ(mm, env_start);
	__u64 bytes = BPF_CORE_READ(mm, env_end) - start, used;

	if (!settings.who || !room)
		return 0;
	if (bytes > MS_WHO_ENVIRONMENT_BYTES) {
		bytes = MS_WHO_ENVIRONMENT_BYTES;
		who_of(room)->known |= MS_WHO_CUT_ENVIRONMENT;
	}
	barrier_var(bytes);
	bytes &= MS_WHO_ENVIRONMENT_BYTES;
	used = room->used;
	barrier_var(used);
	if (used > MS_WHO_FRONT_BYTES ||
	    bpf_probe_read_user(room->texts + used, bytes, (const void *)start))
		return 0;
	who_of(room)->bytes[MS_WHO_TEXT_ENVIRONMENT] = bytes;
	who_of(room)->known |= MS_WHO_ENVIRONMENT;
	room->used = used + bytes;
	return 0;
}

/* ---- the record ------------------------------------------------------------------------------ */

/*
 * Of a process, by its first thread. The verifier takes an address for a number if it has been read
 * from memory. Returns whether there is memory for the record.
 */
__noinline int ms_who_begin(__u64 address)
{
	struct task_struct *leader = (struct task_struct *)address;
	struct ms_who_room *room;
	struct ms_who *who;

	if (!settings.who)
		return 0;
	room = who_room(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!room)
		return 0;
	/* What could not be deleted after the last one of the thread's is there still. */
	room->used = 0;
	room->group = 0;
	__builtin_memset(room->record, 0, sizeof(room->record));
	who = who_of(room);
	event_init(&who->event, MS_TYPE_WHO, 0, start_of(leader), bpf_ktime_get_ns());
	who->event.pid = who->event.tid = BPF_CORE_READ(leader, tgid);
	bpf_probe_read_kernel_str(who->comm, sizeof(who->comm), leader->comm);
	who_numbers(who, leader);
	who_root(who, leader);
	return 1;
}

/* User space receives none of the kind as a record. The stack has no room for the process's own. */
static __always_inline void who_lost(void)
{
	struct ms_counters *count = counters();

	count_seen(MS_KIND_WHO);
	if (count)
		__sync_fetch_and_add(&count->lost[MS_KIND_WHO], 1);
}

__noinline int ms_who_end(void)
{
	struct ms_who_room *room = who_room(0);
	__u64 size;

	if (!settings.who || !room)
		return 0;
	size = (room->used + 7) & ~7u;
	barrier_var(size);
	if (size <= MS_WHO_TEXTS_BYTES) {
		size += sizeof(struct ms_who);
		who_of(room)->event.size = size;
		who_of(room)->known &= who_layout.known;
		if (ring_output(false, who_of(room), size, BPF_RB_NO_WAKEUP))
			who_lost();
	}
	bpf_task_storage_delete(&ms_who_rooms, bpf_get_current_task_btf());
	return 0;
}

/* Ahead of the record for which user space has to know it. */
static __always_inline void who_report(struct task_struct *task)
{
	const __u64 leader = (__u64)BPF_CORE_READ(task, group_leader);

	if (!who_layout.known || !ms_who_begin(leader))
		return;
	ms_who_groups(leader);
	ms_who_exe();
	ms_who_arguments();
	ms_who_environment();
	ms_who_end();
}

#endif /* MS_WHO_BPF_H */
