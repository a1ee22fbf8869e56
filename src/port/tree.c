#include "port/tree.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 64 * 1024 * 1024, COPY_IN_KERNEL_BYTES = 1024 * 1024, PROBLEMS_MAX = 20, DEPTH_MAX = 64 };

/* "No space left on device" ends a copy; it is worth saying what to do. */
static enum status write_failed(struct err *err, int errno_value, const char *path)
{
	if (errno_value == ENOSPC || errno_value == EDQUOT)
		return err_set(err, ST_SYSTEM, "the disk is full: %s can't be written: free some space or set TMPDIR to a larger "
		                               "one", path);
	return err_errno(err, errno_value, "can't write %s", path);
}

/* ---- snapshot ---------------------------------------------------------------------------------------------------- */

struct copier {
	struct arena *arena;   /* of the problems */
	struct arena scratch;
	const char *from, *to; /* roots, absolute */
	const char *real_from; /* the same without symbolic links */
	dev_t skip_device;
	ino_t skip_inode;
	bool skips;
	struct tree_stats *stats;
	struct err *err;
};

static void problem(struct copier *copier, const char *path, const char *what, int errno_value)
{
	if (copier->stats->problems.count >= PROBLEMS_MAX) {
		copier->stats->more_problems++;
		return;
	}
	list_push(copier->arena, &copier->stats->problems,
	          arena_printf(copier->arena, "%s is left out of the copy: %s%s%s", path, what, errno_value ? ": " : "",
	                       errno_value ? strerror(errno_value) : ""));
}

static bool name_skipped(const char *name)
{
	static const char *const names[] = {".git", ".hg", ".svn", ".bzr"};
	static const char *const suffixes[] = {".o", ".a", ".so", ".lo", ".la", ".ko", ".gcda", ".gcno"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
		if (text_ends(name, suffixes[i]))
			return true;
	return false;
}

static bool bytes_copy(int from, int to, size_t size, int *ret_errno)
{
	/* Shared blocks where the file system has them; for small files the two calls below are quicker. */
	while (size > COPY_IN_KERNEL_BYTES) {
		ssize_t done = copy_file_range(from, NULL, to, NULL, size, 0);
		if (done == 0)
			return true; /* it became shorter meanwhile */
		if (done < 0)
			break;
		size -= (size_t)done;
	}
	static _Thread_local char bytes[256 * 1024];
	while (size) {
		ssize_t got = read(from, bytes, size < sizeof bytes ? size : sizeof bytes);
		if (got == 0)
			return true;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			*ret_errno = 0;
			return false;
		}
		for (char *at = bytes; at < bytes + got;) {
			ssize_t put = write(to, at, (size_t)(bytes + got - at));
			if (put < 0 && errno == EINTR)
				continue;
			if (put < 0) {
				*ret_errno = errno;
				return false;
			}
			at += put;
		}
		size -= (size_t)got;
	}
	return true;
}

static enum status snapshot_file(struct copier *copier, int from_dir, int to_dir, const char *name, const char *path)
{
	int in = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (in < 0) {
		problem(copier, path, "it can't be read", errno);
		return ST_OK;
	}
	struct stat info;
	if (fstat(in, &info) != 0 || !S_ISREG(info.st_mode)) {
		close(in);
		return ST_OK;
	}
	if (info.st_size > FILE_MAX_BYTES) {
		problem(copier, path, "it is larger than 64 MiB", 0);
		close(in);
		return ST_OK;
	}
	/* Read-only: a clone shares it by a hard link, and nothing may be written through that. */
	mode_t mode = ((info.st_mode & 0555) | 0400) & 07777;
	int out = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int failure = out < 0 ? errno : 0;
	bool good = out >= 0 && bytes_copy(in, out, (size_t)info.st_size, &failure);
	if (good) {
		struct timespec times[2] = {info.st_atim, info.st_mtim};
		futimens(out, times);
		copier->stats->files++;
		copier->stats->size_bytes += (uint64_t)info.st_size;
	}
	if (out >= 0 && close(out) != 0 && good) {
		failure = errno;
		good = false;
	}
	close(in);
	if (good)
		return ST_OK;
	if (failure)
		return write_failed(copier->err, failure, path_join(&copier->scratch, copier->to, path));
	unlinkat(to_dir, name, 0);
	problem(copier, path, "it can't be read", EIO);
	return ST_OK;
}

/* "../../" for a path two folders deep. */
static const char *climb(struct arena *arena, const char *path)
{
	const char *text = "";
	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
		text = arena_printf(arena, "../%s", text);
	return text;
}

static enum status snapshot_link(struct copier *copier, int from_dir, int to_dir, const char *name, const char *path)
{
	char target[PATH_MAX];
	ssize_t size = readlinkat(from_dir, name, target, sizeof target - 1);
	if (size < 0) {
		problem(copier, path, "the link can't be read", errno);
		return ST_OK;
	}
	target[size] = '\0';
	const char *full = path_join(&copier->scratch, copier->from, path);
	char *real = realpath(full, NULL);
	const char *text = target;
	bool outside = false;
	if (real) {
		const char *inside = path_under(real, copier->real_from);
		/* A relative link that climbs out and comes back in would not in the copy. */
		bool climbs_out = target[0] == '/' ||
		                  text_starts(path_clean(&copier->scratch, path_join(&copier->scratch,
		                                                                     path_dir(&copier->scratch, path), target)),
		                              "..");
		if (inside && climbs_out)
			text = arena_printf(&copier->scratch, "%s%s", climb(&copier->scratch, path), inside);
		outside = !inside;
	} else if (target[0] == '/') {
		return ST_OK; /* leads nowhere */
	}
	struct stat info;
	enum status status = ST_OK;
	if (outside && stat(real, &info) == 0 && S_ISREG(info.st_mode)) {
		status = snapshot_file(copier, from_dir, to_dir, name, path);
	} else {
		if (outside)
			text = real;
		if (symlinkat(text, to_dir, name) != 0)
			status = write_failed(copier->err, errno, path_join(&copier->scratch, copier->to, path));
		else
			copier->stats->links++;
	}
	free(real);
	return status;
}

static enum status snapshot_folder(struct copier *copier, int from_dir, int to_dir, const char *path, unsigned depth)
{
	DIR *dir = fdopendir(from_dir);
	if (!dir) {
		close(from_dir);
		return err_errno(copier->err, errno, "can't read %s", path);
	}
	enum status status = ST_OK;
	for (struct dirent *entry; status == ST_OK && (entry = readdir(dir));) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || name_skipped(name))
			continue;
		const char *below = path[0] ? arena_printf(&copier->scratch, "%s/%s", path, name)
		                            : arena_strdup(&copier->scratch, name);
		unsigned char type = entry->d_type;
		struct stat info;
		if (type == DT_UNKNOWN || type == DT_DIR) {
			if (fstatat(dirfd(dir), name, &info, AT_SYMLINK_NOFOLLOW) != 0)
				continue;
			type = S_ISDIR(info.st_mode) ? DT_DIR : S_ISREG(info.st_mode) ? DT_REG : S_ISLNK(info.st_mode) ? DT_LNK : 0;
		}
		if (type == DT_REG) {
			status = snapshot_file(copier, dirfd(dir), to_dir, name, below);
		} else if (type == DT_LNK) {
			status = snapshot_link(copier, dirfd(dir), to_dir, name, below);
		} else if (type == DT_DIR) {
			if (copier->skips && info.st_dev == copier->skip_device && info.st_ino == copier->skip_inode)
				continue;
			if (depth >= DEPTH_MAX) {
				problem(copier, below, "more than 64 folders deep", 0);
				continue;
			}
			int from_below = openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (from_below < 0) {
				problem(copier, below, "it can't be read", errno);
				continue;
			}
			int to_below = -1;
			if (mkdirat(to_dir, name, 0755) != 0 ||
			    (to_below = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0) {
				status = write_failed(copier->err, errno, path_join(&copier->scratch, copier->to, below));
				close(from_below);
				continue;
			}
			copier->stats->folders++;
			status = snapshot_folder(copier, from_below, to_below, below, depth + 1);
			close(to_below);
		}
	}
	closedir(dir);
	return status;
}

enum status tree_snapshot(struct arena *arena, const char *from, const char *to, const char *skip,
                          struct tree_stats *ret_stats, struct err *err)
{
	struct err own = ERR_INIT;
	*ret_stats = (struct tree_stats){0};
	struct copier copier = {.arena = arena, .from = from, .to = to, .stats = ret_stats, .err = err ? err : &own};
	struct stat info;
	if (skip && stat(skip, &info) == 0) {
		copier.skips = true;
		copier.skip_device = info.st_dev;
		copier.skip_inode = info.st_ino;
	}
	int from_dir = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from_dir < 0)
		return err_errno(copier.err, errno, "can't read the source tree %s", from);
	if (mkdir(to, 0755) != 0) {
		close(from_dir);
		return write_failed(copier.err, errno, to);
	}
	int to_dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to_dir < 0) {
		close(from_dir);
		return err_errno(copier.err, errno, "can't open %s", to);
	}
	arena_init(&copier.scratch);
	char *real = realpath(from, NULL);
	copier.real_from = real ? real : from;
	enum status status = snapshot_folder(&copier, from_dir, to_dir, "", 0);
	free(real);
	arena_release(&copier.scratch);
	close(to_dir);
	return status;
}

bool tree_measure(const char *tree, uint64_t enough_bytes, uint64_t *ret_size_bytes)
{
	*ret_size_bytes = 0;
	char *const roots[] = {(char *)tree, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!walk)
		return false;
	for (FTSENT *entry; *ret_size_bytes < enough_bytes && (entry = fts_read(walk));) {
		if (entry->fts_info == FTS_D && entry->fts_level > 0 && name_skipped(entry->fts_name))
			fts_set(walk, entry, FTS_SKIP);
		/* Small files take a page each. */
		if (entry->fts_info == FTS_F && !name_skipped(entry->fts_name) && entry->fts_statp->st_size <= FILE_MAX_BYTES)
			*ret_size_bytes += (uint64_t)entry->fts_statp->st_size + 4096;
	}
	fts_close(walk);
	return true;
}

/* ---- clone ------------------------------------------------------------------------------------------------------- */

static enum status clone_folder(int from_dir, int to_dir, const char *from, const char *to, struct err *err)
{
	DIR *dir = fdopendir(from_dir);
	if (!dir) {
		close(from_dir);
		return err_errno(err, errno, "can't read %s", from);
	}
	char target[PATH_MAX], from_below[PATH_MAX], to_below[PATH_MAX];
	enum status status = ST_OK;
	for (struct dirent *entry; status == ST_OK && (entry = readdir(dir));) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		struct stat info;
		if (fstatat(dirfd(dir), name, &info, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (snprintf(from_below, sizeof from_below, "%s/%s", from, name) >= (int)sizeof from_below ||
		    snprintf(to_below, sizeof to_below, "%s/%s", to, name) >= (int)sizeof to_below) {
			status = err_set(err, ST_SYSTEM, "%s/%s is too long a path", to, name);
		} else if (S_ISREG(info.st_mode)) {
			if (linkat(dirfd(dir), name, to_dir, name, 0) == 0)
				continue;
			/* No hard links here, or too many of them. */
			if ((errno != EPERM && errno != EMLINK && errno != ENOTSUP && errno != EXDEV && errno != ENOSYS) ||
			    symlinkat(from_below, to_dir, name) != 0)
				status = write_failed(err, errno, to_below);
		} else if (S_ISLNK(info.st_mode)) {
			ssize_t size = readlinkat(dirfd(dir), name, target, sizeof target - 1);
			if (size < 0)
				continue;
			target[size] = '\0';
			if (symlinkat(target, to_dir, name) != 0)
				status = write_failed(err, errno, to_below);
		} else if (S_ISDIR(info.st_mode)) {
			int in = openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (in < 0) {
				status = err_errno(err, errno, "can't read %s", from_below);
				continue;
			}
			int out = mkdirat(to_dir, name, 0755) == 0
			              ? openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			              : -1;
			if (out < 0) {
				status = write_failed(err, errno, to_below);
				close(in);
				continue;
			}
			status = clone_folder(in, out, from_below, to_below, err);
			close(out);
		}
	}
	closedir(dir);
	return status;
}

enum status tree_clone(const char *from, const char *to, struct err *err)
{
	int from_dir = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from_dir < 0)
		return err_errno(err, errno, "can't read %s", from);
	int to_dir = mkdir(to, 0755) == 0 ? open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (to_dir < 0) {
		close(from_dir);
		return write_failed(err, errno, to);
	}
	enum status status = clone_folder(from_dir, to_dir, from, to, err);
	close(to_dir);
	return status;
}

enum status tree_put(struct arena *arena, const char *clone, const char *path, const char *text, size_t size,
                     struct err *err)
{
	/* Each folder on the way must be a folder of the clone's own: a link may lead out of it. */
	char *part = arena_strdup(arena, path);
	for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		const char *folder = path_join(arena, clone, part);
		struct stat info;
		if (lstat(folder, &info) != 0) {
			if (text && mkdir(folder, 0755) != 0)
				return write_failed(err, errno, folder);
		} else if (!S_ISDIR(info.st_mode)) {
			return err_set(err, ST_INPUT, "%s lies behind the link %s: name the file by the folder that it is really in",
			               path, part);
		}
		*slash = '/';
	}
	const char *full = path_join(arena, clone, path);
	struct stat old;
	bool existed = stat(full, &old) == 0;
	if (unlink(full) != 0 && errno != ENOENT)
		return write_failed(err, errno, full);
	if (!text)
		return ST_OK;
	enum status status = file_write(full, text, size, err);
	if (status == ST_OK && existed) {
		struct timespec times[2] = {old.st_atim, old.st_mtim};
		utimensat(AT_FDCWD, full, times, 0);
		chmod(full, (old.st_mode & 07777) | 0600);
	}
	return status;
}

bool tree_same(struct arena *arena, const char *snapshot, const char *clone, const char *path)
{
	struct stat a, b;
	bool has_a = stat(path_join(arena, snapshot, path), &a) == 0;
	bool has_b = stat(path_join(arena, clone, path), &b) == 0;
	return has_a == has_b && (!has_a || (a.st_dev == b.st_dev && a.st_ino == b.st_ino));
}

static bool name_is_source(const char *name)
{
	static const char *const suffixes[] = {".c",   ".h",   ".s",   ".S",   ".y",   ".l",  ".cc", ".cpp",
	                                       ".cxx", ".hpp", ".hxx", ".inc", ".def", ".in", ".am", ".ac"};
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
		if (text_ends(name, suffixes[i]))
			return true;
	return false;
}

enum status tree_copy(struct arena *arena, const char *from, const char *to, struct err *err)
{
	struct tree_stats stats;
	enum status status = tree_snapshot(arena, from, to, NULL, &stats, err);
	if (status != ST_OK)
		return status;
	char *roots[] = {(char *)to, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!walk)
		return err_errno(err, errno, "can't read %s", to);
	for (FTSENT *entry; (entry = fts_read(walk));) {
		if (entry->fts_info != FTS_F && entry->fts_info != FTS_D)
			continue;
		if (chmod(entry->fts_path, (entry->fts_statp->st_mode & 07777) | 0600) != 0 && status == ST_OK)
			status = err_errno(err, errno, "can't change the mode of %s", entry->fts_path);
		/* A program that was built in the user's tree is copied with it: it must not look up to date. */
		if (entry->fts_info == FTS_F && name_is_source(entry->fts_name))
			utimensat(AT_FDCWD, entry->fts_path, NULL, 0);
	}
	fts_close(walk);
	return status;
}

/* ---- files and folders --------------------------------------------------------------------------------------------- */

enum status file_write(const char *path, const char *text, size_t size, struct err *err)
{
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (out < 0)
		return write_failed(err, errno, path);
	while (size) {
		ssize_t put = write(out, text, size);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0) {
			int failure = errno;
			close(out);
			return write_failed(err, failure, path);
		}
		text += put;
		size -= (size_t)put;
	}
	return close(out) == 0 ? ST_OK : write_failed(err, errno, path);
}

bool path_is_file(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool path_is_folder(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

enum { SIZE_UNKNOWN = 4096 };

enum status file_read(struct arena *arena, const char *path, const char **ret_text, size_t *ret_size, struct err *err)
{
	int in = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (in < 0)
		return err_errno(err, errno, "can't read %s", path);
	struct stat info;
	if (fstat(in, &info) != 0 || !S_ISREG(info.st_mode)) {
		close(in);
		return err_set(err, ST_INPUT, "%s is not a regular file", path);
	}
	/* A byte more than its size, to see its end; the kernel's own files (/proc, /sys) have none or a made-up one. */
	size_t size = info.st_size > 0 ? (size_t)info.st_size + 1 : SIZE_UNKNOWN, used = 0;
	char *text = arena_alloc(arena, size + 1);
	for (;;) {
		if (used == size) {
			char *more = arena_alloc(arena, 2 * size + 1);
			memcpy(more, text, used);
			text = more;
			size *= 2;
		}
		ssize_t got = read(in, text + used, size - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int failure = errno;
			close(in);
			return err_errno(err, failure, "can't read %s", path);
		}
		if (got == 0)
			break;
		used += (size_t)got;
	}
	close(in);
	text[used] = '\0';
	*ret_text = text;
	if (ret_size)
		*ret_size = used;
	return ST_OK;
}

const char *user_folder(struct arena *arena, const char *variable, const char *below_home)
{
	const char *named = getenv(variable), *home = getenv("HOME");
	if (named && named[0] == '/')
		return named;
	return home && home[0] == '/' ? path_join(arena, home, below_home) : NULL;
}

enum status folder_make(const char *path, struct err *err)
{
	char part[PATH_MAX];
	if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
		return err_set(err, ST_SYSTEM, "%s is too long a path", path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) != 0 && errno != EEXIST)
			return write_failed(err, errno, part);
		*slash = '/';
	}
	if (mkdir(part, 0755) != 0 && errno != EEXIST)
		return write_failed(err, errno, part);
	return ST_OK;
}

static enum status remove_below(int parent, const char *name, unsigned depth, struct err *err)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? ST_OK : err_errno(err, errno, "can't remove %s", name);
	DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return err_errno(err, errno, "can't remove %s", name);
	}
	enum status status = ST_OK;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(dir), entry->d_name, 0) == 0)
			continue;
		if ((errno == EISDIR || errno == EPERM) && depth < 2 * DEPTH_MAX) {
			enum status below = remove_below(dirfd(dir), entry->d_name, depth + 1, err);
			status = status ? status : below;
		} else {
			status = err_errno(err, errno, "can't remove %s", entry->d_name);
		}
	}
	closedir(dir);
	if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && status == ST_OK)
		status = err_errno(err, errno, "can't remove %s", name);
	return status;
}

enum status tree_remove(const char *path, struct err *err)
{
	return remove_below(AT_FDCWD, path, 0, err);
}
