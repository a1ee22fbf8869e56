/* Reports on their way out, and progress on stderr. */
#include "cmd/cmd.h"

#include "port/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_WITHOUT_TERMINAL = 100 };
static const double DRAW_EVERY_S = 0.1, PLAIN_EVERY_S = 10;

int complain(const struct err *err)
{
	if (err->text[0])
		fprintf(stderr, "assay: %s\n", err->text);
	switch (err->code) {
	case ST_OK:
		return EXIT_DONE;
	case ST_USAGE:
		return EXIT_USAGE;
	case ST_INPUT:
	case ST_SYSTEM:
	case ST_TIMEOUT:
	case ST_INTERRUPTED:
		return EXIT_FAILED;
	}
	BUG("status %d", (int)err->code);
}

static bool terminal_has_colour(int fd)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fd) && !(no_colour && no_colour[0]) && term && strcmp(term, "dumb") != 0;
}

static unsigned terminal_width(int fd)
{
	struct winsize size;
	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return WIDTH_WITHOUT_TERMINAL;
}

enum status output_open(struct output *ret_output, const struct options *options, struct err *err)
{
	*ret_output = (struct output){.path = options->output, .fd = STDOUT_FILENO};
	if (options->output) {
		ret_output->fd = open(options->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (ret_output->fd < 0)
			return err_errno(err, errno, "can't write the report to %s", options->output);
	}
	ret_output->file = open_memstream(&ret_output->text, &ret_output->size);
	if (!ret_output->file)
		return err_errno(err, errno, "can't make the report");
	int fd = ret_output->fd;
	ret_output->term = (struct term_options){.colour = terminal_has_colour(fd), .width = terminal_width(fd),
	                                         .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
	return ST_OK;
}

static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t written = write(fd, text, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return errno;
		text += written;
		size -= (size_t)written;
	}
	return 0;
}

enum status output_close(struct output *output, struct err *err)
{
	if (!output->file)
		return ST_OK;
	int code = fclose(output->file) == 0 ? 0 : errno;
	output->file = NULL;
	if (!code)
		code = write_all(output->fd, output->text, output->size);
	free(output->text);
	if (output->path && close(output->fd) != 0 && !code)
		code = errno;
	if (!code)
		return ST_OK;
	if (code == EPIPE && !output->path)
		return err_set(err, ST_SYSTEM, "%s", "");
	return err_errno(err, code, "can't write the report to %s", output->path ? output->path : "stdout");
}

void output_drop(struct output *output)
{
	if (!output->file)
		return;
	fclose(output->file);
	free(output->text);
	output->file = NULL;
	if (output->path)
		close(output->fd);
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

void progress_begin(struct progress_line *line)
{
	const char *term = getenv("TERM");
	*line = (struct progress_line){.terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0,
	                               .started = proc_now()};
	line->last = line->started;
}

static void left_print(char *text, size_t size, double seconds, const char *of_what)
{
	long whole = (long)(seconds + 0.5);
	if (seconds < 0)
		text[0] = '\0';
	else if (whole < 60)
		snprintf(text, size, ", %ld s%s", whole, of_what);
	else
		snprintf(text, size, ", %ld m %02ld s%s", whole / 60, whole % 60, of_what);
}

void progress_part(struct progress_line *line, size_t done, size_t count)
{
	/* What came before the first hypothesis, maps and surveys, says nothing of how long the others take. */
	if (line->parts == 0)
		line->settling = proc_now();
	line->part = done;
	line->parts = count;
}

void progress_tick(void *context, const char *what, double done, double total, double seconds_left)
{
	struct progress_line *line = context;
	double now = proc_now();
	if (now - line->last < (line->terminal ? DRAW_EVERY_S : PLAIN_EVERY_S))
		return;
	line->last = now;
	char left[48], share[80] = "", settled[96] = "";
	left_print(left, sizeof left, seconds_left, " left");
	double fraction = total > 0 ? done / total : -1;
	if (fraction > 1)
		fraction = 1;
	if (line->parts > 1) {
		/* The hypotheses that are done say how long the others may take: a guess, and called one. */
		double all = line->part ? (now - line->settling) / (double)line->part * (double)(line->parts - line->part) : -1;
		char guess[48];
		left_print(guess, sizeof guess, all, " in all");
		snprintf(settled, sizeof settled, "; %zu of %zu done%s%s", line->part, line->parts, guess[0] ? ", about" : "",
		         guess[0] ? guess + 1 : "");
	}
	if (!line->terminal) {
		if (fraction >= 0)
			snprintf(share, sizeof share, ", %.0f %%", 100 * fraction);
		fprintf(stderr, "assay: %s%s%s%s%s%s\n", line->subject ? line->subject : "", line->subject ? ": " : "", what, share,
		        left, settled);
		return;
	}
	size_t width = terminal_width(STDERR_FILENO);
	if (fraction >= 0 && width < 100) {
		snprintf(share, sizeof share, " %3.0f %%", 100 * fraction);
	} else if (fraction >= 0) {
		enum { BAR = 20 };
		char bar[BAR + 1];
		memset(bar, '.', BAR);
		memset(bar, '#', (size_t)(fraction * BAR + 0.5));
		bar[BAR] = '\0';
		snprintf(share, sizeof share, " [%s] %3.0f %%", bar, 100 * fraction);
	}
	/* Cut to the terminal's width: a line that wraps can't be drawn again. */
	char text[512];
	snprintf(text, sizeof text, "%s%s%s", line->subject ? line->subject : "", line->subject ? ": " : "", what);
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = ' ';
	if (strlen(share) + strlen(left) + strlen(settled) + 20 > width)
		settled[0] = '\0';
	size_t tail = strlen(share) + strlen(left) + strlen(settled) + 1;
	size_t room = width > tail ? width - tail : 0;
	size_t bytes = 0;
	for (size_t columns = 0; text[bytes]; bytes++) {
		columns += ((unsigned char)text[bytes] & 0xc0) != 0x80;
		if (columns > room)
			break;
	}
	fprintf(stderr, "\r\033[K%.*s%s%s%s", (int)bytes, text, share, left, settled);
	fflush(stderr);
	line->drawn = true;
}

void progress_clear(struct progress_line *line)
{
	if (line->drawn)
		fputs("\r\033[K", stderr);
	line->drawn = false;
}
