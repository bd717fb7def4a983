// SPDX-License-Identifier: BSD-2-Clause
#include "capture/file_makers.h"

#define OF_UVM 0x80000000u /* with a process' number: the file is of /dev/nvidia-uvm */

static uint64_t maker_of(uint32_t look, uint32_t process)
{
	return (uint64_t)look << 32 | process;
}

/* Each process that made ranges by a file has them itself; clients are one process' for all. */
static uint64_t key_of(uint32_t file, pid_t pid, bool uvm)
{
	return uvm ? (uint64_t)pid << 32 | file : file;
}

static uint32_t key_file(uint64_t key)
{
	return (uint32_t)key;
}

static pid_t maker_pid(uint64_t maker)
{
	return (pid_t)((uint32_t)maker & ~OF_UVM);
}

void file_makers_fini(struct file_makers *makers)
{
	map_fini(&makers->by_file);
	map_fini(&makers->shares);
}

static uint64_t share_of(const struct file_makers *makers, pid_t pid)
{
	const uint64_t *share = map_get(&makers->shares, (uint64_t)pid);

	return share ? *share : 0;
}

static void give_back(struct file_makers *makers, pid_t pid)
{
	uint64_t *share = map_get(&makers->shares, (uint64_t)pid);

	if (share && !--*share)
		map_remove(&makers->shares, (uint64_t)pid);
}

/* It has one more. Returns false if there is no memory. */
static bool take(struct file_makers *makers, pid_t pid)
{
	return !map_set(&makers->shares, (uint64_t)pid, share_of(makers, pid) + 1);
}

/* The file is another process's now, if there is memory for that. */
static void hand_over(struct file_makers *makers, uint64_t *known, uint64_t maker)
{
	const pid_t before = maker_pid(*known);

	if (before != maker_pid(maker)) {
		if (!take(makers, maker_pid(maker)))
			return;
		give_back(makers, before);
	}
	*known = maker;
}

bool file_makers_note(struct file_makers *makers, uint32_t file, pid_t pid, bool uvm)
{
	const uint64_t key = key_of(file, pid, uvm);
	uint64_t *known = map_get(&makers->by_file, key);
	const uint64_t maker = maker_of(makers->look, (uint32_t)pid | (uvm ? OF_UVM : 0));
	const bool has_place = share_of(makers, pid) < FILE_MAKERS_OF_PROCESS;

	if (known) {
		/* Without a place it stays with the process that it is known of. */
		*known = maker_of(makers->look, (uint32_t)*known);
		if (has_place || maker_pid(*known) == pid)
			hand_over(makers, known, maker);
		return true;
	}
	if (!has_place || makers->by_file.count >= FILE_MAKERS_MOST || !take(makers, pid))
		return false;
	if (!map_set(&makers->by_file, key, maker))
		return true;
	give_back(makers, pid);
	return false;
}

bool file_makers_has(const struct file_makers *makers, pid_t pid)
{
	return share_of(makers, pid) > 0;
}

bool file_makers_any_closed(const struct file_makers *makers, const struct map *open)
{
	const struct map *files = &makers->by_file;
	size_t slot;

	for (slot = 0; slot < files->capacity; slot++)
		if (map_is_used(files, slot) && !map_get(open, key_file(map_key_at(files, slot))))
			return true;
	return false;
}

/* ---- the end of closed files ----------------------------------------------------------------- */

/* Which one of its device's files is mapped cannot be told. To look takes long. */
static bool may_be_mapped(const struct file_makers_visitor *visitor, struct map *answers,
			  uint64_t maker)
{
	const uint32_t process = (uint32_t)maker;
	const uint64_t *answer = map_get(answers, process);
	bool maps;

	if (answer)
		return *answer;
	maps = visitor->maps(maker_pid(maker), process & OF_UVM, visitor->context);
	map_set(answers, process, maps); /* without memory it is asked again */
	return maps;
}

int file_makers_end_closed(struct file_makers *makers, const struct map *open,
			   const struct file_makers_visitor *visitor)
{
	struct map *files = &makers->by_file, answers = { 0 };
	size_t slot = 0;
	int err = 0;

	while (!err && slot < files->capacity) {
		const uint64_t *has_it;
		uint64_t key, maker;
		bool traced, of_uvm;

		if (!map_is_used(files, slot)) {
			slot++;
			continue;
		}
		key = map_key_at(files, slot);
		maker = files->slots[slot].value;
		traced = visitor->is_traced(maker_pid(maker), visitor->context);
		of_uvm = (uint32_t)maker & OF_UVM;
		has_it = map_get(open, key_file(key));
		/* Others may have made clients by it as well; who has it now stands for all. */
		if (!traced && has_it && !of_uvm)
			hand_over(makers, &files->slots[slot].value,
				  maker_of(0, (uint32_t)*has_it));
		/* Ranges have ended with their process. */
		if ((has_it && (traced || !of_uvm)) || maker >> 32 == makers->look ||
		    (traced && may_be_mapped(visitor, &answers, maker))) {
			slot++;
			continue;
		}
		if (traced)
			err = visitor->closed(maker_pid(maker), key_file(key), visitor->context);
		give_back(makers, maker_pid(maker));
		map_remove(files, key); /* another one may lie there now */
	}
	map_fini(&answers);
	return err;
}
