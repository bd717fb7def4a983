// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/file_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "capture/attach/attachment_bulk.h"

#define LOOK_MS 5 /* that are waited for probes to be gone */

struct probed_file {
	const struct library *library;
	struct attachment attachment;
	struct attachment ioctl; /* `fds` is NULL if there is none */
	uint32_t number;
	int lease_fd;  /* -1: none */
	bool open;     /* what its probes see is recorded */
	bool probed;   /* else it is to be attached to in each process alone */
	bool replaced; /* by probes in each traced process, which are being attached */
	bool given_up; /* its probes are being removed */
};

struct file_probes {
	struct programs *programs;
	struct detacher *detacher;
	struct probed_file **files; /* attachments are pointed to */
	size_t count, capacity;
	size_t holds;
};

struct file_probes *file_probes_open(struct programs *programs, struct detacher *detacher)
{
	struct file_probes *probes = calloc(1, sizeof(*probes));

	if (probes) {
		probes->programs = programs;
		probes->detacher = detacher;
	}
	return probes;
}

static void give_back(struct probed_file *file)
{
	if (file->lease_fd < 0)
		return;
	fcntl(file->lease_fd, F_SETLEASE, F_UNLCK);
	close(file->lease_fd);
	file->lease_fd = -1;
}

static void close_probes(struct probed_file *file)
{
	if (file->ioctl.fds)
		attachment_close(&file->ioctl);
	attachment_close(&file->attachment);
}

void file_probes_close(struct file_probes *probes)
{
	if (!probes)
		return;
	while (probes->count) {
		struct probed_file *file = probes->files[--probes->count];

		close_probes(file);
		give_back(file);
		free(file);
	}
	free(probes->files);
	free(probes);
}

/* ---- which files ----------------------------------------------------------------------------- */

/*
 * On overlayfs several files can have one inode below, which would be probed once for each of them;
 * and a mount of FUSE is to go when its process does.
 */
static bool is_one_inode(int fd)
{
	struct statfs status;

	return !fstatfs(fd, &status) && status.f_type != OVERLAYFS_SUPER_MAGIC &&
	       status.f_type != FUSE_SUPER_MAGIC;
}

/*
 * A read lease: who wants to write to the file waits, until the probes have been removed, and this
 * process gets the signal. Else there would be breakpoints in the middle of new code. Returns its
 * descriptor, or -errno: the file system has no leases, it is open for writing, or this process may
 * not (CAP_LEASE).
 */
static int take_lease(int file)
{
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETSIG, FILE_PROBES_SIGNAL) || fcntl(fd, F_SETLEASE, F_RDLCK))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* What the drivers show that have probes in every process. */
static uint32_t below(const struct file_probes *probes)
{
	struct driver_view view = { 0 };
	size_t i;

	for (i = 0; i < probes->count; i++)
		if (probes->files[i]->probed)
			attachment_add_view(&probes->files[i]->attachment, &view);
	return driver_view_below(&view);
}

struct change_search {
	struct placement_wants wants;
	const struct library *library;
	enum placement_code *code; /* of each of its points */
};

/* The process, if it has changed one. */
static int look_for_change(pid_t pid, void *context)
{
	const struct change_search *search = context;
	size_t i;

	memset(search->code, 0, search->library->points_count * sizeof(*search->code));
	if (placement_look(&search->wants, search->library, pid, search->code))
		return 0;
	for (i = 0; i < search->library->points_count; i++)
		if (search->code[i] == PLACEMENT_CHANGED)
			return pid;
	return 0;
}

/* A process that has changed functions of the library in its memory, as hooks do; 0: none has. */
static pid_t find_changed(const struct file_probes *probes, const struct library *library)
{
	struct change_search search = {
		.wants = *programs_wants(probes->programs),
		.library = library,
		.code = calloc(library->points_count, sizeof(*search.code)),
	};
	pid_t changed;

	if (!search.code)
		return 0;
	search.wants.below = below(probes);
	changed = proc_each(look_for_change, &search);
	free(search.code);
	return changed > 0 ? changed : 0;
}

/* ---- attaching ------------------------------------------------------------------------------- */

static void let_in(struct file_probes *probes, struct probed_file *file)
{
	programs_open_file(probes->programs, file->number);
	file->attachment.attached_ns = clock_monotonic_ns();
	file->open = true;
}

void file_probes_hold(struct file_probes *probes)
{
	if (probes)
		probes->holds++;
}

void file_probes_release(struct file_probes *probes)
{
	size_t i;

	if (!probes || --probes->holds)
		return;
	for (i = 0; i < probes->count; i++)
		if (probes->files[i]->probed && !probes->files[i]->open)
			let_in(probes, probes->files[i]);
}

/*
 * What the library asks NVIDIA's kernel driver for, from a process's first request on. The C
 * library is not probed in every process, which would cost those that never use CUDA. Only a
 * session does without the return where the entry was of no interest.
 */
static void attach_ioctl(struct file_probes *probes, struct probed_file *file,
			 const struct attachment_site *site)
{
	if (programs_strategy(probes->programs) != STRATEGY_SESSION ||
	    !site->library->ioctl_stub_offset)
		return;
	file->attachment.sees_ioctls =
		!attachment_open_ioctl(&file->ioctl, probes->programs, site, probes->detacher);
}

static void attach(struct file_probes *probes, struct probed_file *file, int fd)
{
	const struct library *library = file->library;
	char path[64];
	struct attachment_site site = { .path = path, .library = library, .below = below(probes) };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	site.file = file->number = programs_new_file(probes->programs);
	if (!site.file ||
	    attachment_open(&file->attachment, probes->programs, &site, probes->detacher))
		return;
	if (!file->attachment.functions) {
		attachment_close(&file->attachment);
		return;
	}
	attach_ioctl(probes, file, &site);
	file->attachment.attached_ns = UINT64_MAX;
	file->probed = true;
	if (!probes->holds)
		let_in(probes, file);
	log_debug("%s: attached to %zu functions in all processes that map it", library->path,
		  file->attachment.functions);
}

static void probe(struct file_probes *probes, struct probed_file *file, int fd)
{
	const char *path = file->library->path;
	pid_t changed;

	if (!is_one_inode(fd)) {
		log_debug("%s: its inode is not its own: attaching in each process", path);
		return;
	}
	file->lease_fd = take_lease(fd);
	if (file->lease_fd < 0) {
		log_debug("%s: cannot keep others from writing to it (%s): attaching in each"
			  " process",
			  path, strerror(-file->lease_fd));
		return;
	}
	changed = find_changed(probes, file->library);
	if (changed)
		log_debug("%s: process %d has changed its functions: attaching in each process",
			  path, changed);
	else
		attach(probes, file, fd);
	if (!file->probed)
		give_back(file);
}

static struct probed_file *find(const struct file_probes *probes, const struct library *library)
{
	size_t i;

	for (i = 0; probes && i < probes->count; i++)
		if (probes->files[i]->library == library)
			return probes->files[i];
	return NULL;
}

static const struct attachment *attachment_of(const struct probed_file *file)
{
	return file && file->probed && !file->replaced ? &file->attachment : NULL;
}

const struct attachment *file_probes_of(struct file_probes *probes, const struct library *library,
					int fd)
{
	struct probed_file *file = find(probes, library);

	if (!probes || file)
		return attachment_of(file);
	file = calloc(1, sizeof(*file));
	if (!file || memory_grow(&probes->files, &probes->capacity, probes->count + 1,
				 sizeof(*probes->files))) {
		free(file);
		return NULL;
	}
	file->library = library;
	file->lease_fd = -1;
	probes->files[probes->count++] = file;
	probe(probes, file, fd);
	return attachment_of(file);
}

const struct attachment *file_probes_find(const struct file_probes *probes,
					  const struct library *library)
{
	return attachment_of(find(probes, library));
}

const struct attachment *file_probes_at(const struct file_probes *probes, uint32_t number)
{
	size_t i;

	for (i = 0; probes && i < probes->count; i++)
		if (probes->files[i]->probed && probes->files[i]->number == number)
			return &probes->files[i]->attachment;
	return NULL;
}

bool file_probes_has_driver(const struct file_probes *probes)
{
	size_t i;

	for (i = 0; probes && i < probes->count; i++)
		if (probes->files[i]->probed &&
		    placement_wants_of(programs_wants(probes->programs), probes->files[i]->library,
				       MS_LAYER_DRIVER))
			return true;
	return false;
}

/* Whether a process has changed it; until then its probes of bulk calls are missing. */
static bool is_held(const struct file_probes *probes, struct attachment *attachment,
		    pid_t (*changed_by)(const struct attachment *attachment, void *context),
		    void *context)
{
	pid_t pid = 0;

	if (attachment_bulk_is_missing(attachment, probes->programs))
		pid = changed_by(attachment, context);
	if (pid && attachment_bulk_hold(attachment))
		log_warning("%s: process %d has changed its functions meanwhile: copies, memsets,"
			    " launches and synchronisation of all processes that use this file stay"
			    " untraced until it has ended",
			    attachment->library->name, pid);
	return pid != 0;
}

int file_probes_set_bulk(struct file_probes *probes,
			 pid_t (*changed_by)(const struct attachment *attachment, void *context),
			 void *context)
{
	int err = 0;
	size_t i;

	for (i = 0; probes && i < probes->count; i++) {
		struct attachment *attachment = &probes->files[i]->attachment;
		int file_err;

		if (!probes->files[i]->probed || is_held(probes, attachment, changed_by, context))
			continue;
		file_err = attachment_bulk_set(attachment, probes->programs);
		err = file_err ? file_err : err;
	}
	return err;
}

/* ---- giving up ------------------------------------------------------------------------------- */

const struct library *file_probes_replace(struct file_probes *probes)
{
	size_t i;

	for (i = 0; probes && i < probes->count; i++) {
		if (!probes->files[i]->probed || probes->files[i]->replaced)
			continue;
		probes->files[i]->replaced = true;
		return probes->files[i]->library;
	}
	return NULL;
}

uint32_t file_probes_before(const struct file_probes *probes, const struct library *library)
{
	const struct probed_file *file = find(probes, library);

	return file && file->probed && file->replaced ? file->number | MS_FILE_AFTER : 0;
}

static bool is_being_broken(const struct probed_file *file)
{
	return file->lease_fd >= 0 && fcntl(file->lease_fd, F_GETLEASE) == F_UNLCK;
}

const struct library *file_probes_give_up(struct file_probes *probes)
{
	size_t i;

	for (i = 0; probes && i < probes->count; i++) {
		struct probed_file *file = probes->files[i];

		if (!file->probed || !(file->replaced || is_being_broken(file)))
			continue;
		programs_shut_file(probes->programs, file->number);
		close_probes(file);
		file->probed = file->open = false;
		file->given_up = true;
		return file->library;
	}
	return NULL;
}

void file_probes_look(struct file_probes *probes)
{
	bool waits = false;
	size_t i;

	for (i = 0; probes && i < probes->count; i++)
		waits |= probes->files[i]->given_up;
	if (!waits || detacher_wait(probes->detacher, LOOK_MS) == -ETIMEDOUT)
		return;
	for (i = 0; i < probes->count; i++) {
		if (!probes->files[i]->given_up)
			continue;
		give_back(probes->files[i]);
		probes->files[i]->given_up = false;
	}
}
