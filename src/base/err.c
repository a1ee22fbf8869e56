#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status err_set(struct err *err, enum status code, const char *fmt, ...)
{
	if (!err)
		return code;
	if (err->code != ST_OK)
		return err->code;
	err->code = code;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	return code;
}

enum status err_errno(struct err *err, int errno_value, const char *fmt, ...)
{
	if (!err)
		return ST_SYSTEM;
	if (err->code != ST_OK)
		return err->code;
	err->code = ST_SYSTEM;
	va_list ap;
	va_start(ap, fmt);
	int used = vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	if (used >= 0 && (size_t)used < sizeof err->text)
		snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s", strerror(errno_value));
	return ST_SYSTEM;
}

enum status err_context(struct err *err, const char *fmt, ...)
{
	if (!err || err->code == ST_OK)
		return ST_OK;
	char old[sizeof err->text];
	memcpy(old, err->text, sizeof old);
	va_list ap;
	va_start(ap, fmt);
	int used = vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	if (used >= 0 && (size_t)used < sizeof err->text)
		snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s", old);
	return err->code;
}

_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
{
	fprintf(stderr, "assay: bug at %s:%d: ", file, line);
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}
