/* P12 slow-kernel: a well-known slow way to do a small thing. The ways that are known, a file each:
 *
 *   kernel_strings.c  lengths taken anew in every iteration
 *   kernel_crc.c      a CRC through one table, a byte at a time
 *   kernel_bits.c     bits counted one by one, the highest bit sought by shifting
 *   kernel_bytes.c    numbers put together from bytes in a loop, areas copied by bytes
 *
 * Each leaves alone what compilers recognise: a strlen() of a string that is only read, `p[0] | p[1] << 8` written out, a
 * copy between areas that are known to be apart.
 */
#include "patterns/kernels.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_p12 = {
    .id = "P12",
    .slug = "slow-kernel",
    .title = "a well-known slow way to do a small thing",
    .tier = TIER_B,
    .what = "strlen(s) in a loop that stores bytes which may be the string's, or that moves s along; sscanf() on a string that "
            "advances; strcat() onto a string that the loop keeps appending to; a CRC taken a byte at a time through one "
            "table; bits counted one by one; the highest bit, or the next power of two, sought by shifting; a number put "
            "together from its bytes in a loop; an area copied byte by byte.",
    .why = "Each string call walks the whole rest of the string, so n steps cost n squared reads. In a CRC each table look-up "
           "waits for the one before. The others take a step for each bit or byte where the processor has one instruction.",
    .when_not = "The input is always short; the loop only reads the string, so that the compiler takes the call out; the "
                "compiler recognises the idiom (both do for `x &= x - 1` when the flags allow popcnt); it runs once at "
                "start-up, or beside calls that do more.",
    .expected = "strings: grows with the length, over 300x for lower-casing in place at 16 KiB; CRC: 4x; counting bits: 12x "
                "with half of them set (all the catalogue's own measurements, gcc -O2); a few percent at 16 bytes",
    .refuted_by = "Equal machine code (the compiler recognised it), or a workload whose inputs are short.",
    .sources = (const char *const[]){"Jon Bentley, Programming Pearls, 2nd edition, 2000, column 9 (code tuning)",
                                     "Randal Bryant and David O'Hallaron, Computer Systems: A Programmer's Perspective, 3rd "
                                     "edition, 2016, section 5.4 (the lower-casing loop)",
                                     "Joel Spolsky, Back to Basics, 2001 (repeated strcat)",
                                     "Michael Kounavis and Frank Berry, A Systematic Approach to Building High Performance "
                                     "Software-based CRC Generators, 2005 (slicing by 8)",
                                     "Henry Warren, Hacker's Delight, 2nd edition, 2012, chapter 5 (counting bits)",
                                     NULL},
    .detect = detect,
};

static void look_at_loop(struct loop *loop, void *context)
{
	kernel_strings_look(context, loop);
	kernel_crc_look(context, loop);
	kernel_bits_look(context, loop);
	kernel_bytes_look(context, loop);
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct arena arena;
	arena_init(&arena);
	struct kernel_look look = {.unit = unit, .command = command, .sink = sink, .scratch = &arena};
	loops_visit(unit, &arena, look_at_loop, &look);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct state {
	char *original, *text;
	size_t size;
};

static __attribute__((noinline)) void lower_case(char *s)
{
	for (size_t i = 0; i < strlen(s); i++) // finds
		s[i] = (char)tolower((unsigned char)s[i]);
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 2048);
	s->original = malloc(s->size + 1);
	s->text = malloc(s->size + 1);
	assay_fill_text(b, s->original, s->size);
	for (size_t i = 0; i < s->size; i++)
		s->original[i] = s->original[i] ? s->original[i] : ' ';
	s->original[s->size] = '\0';
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		memcpy(s->text, s->original, s->size + 1);
		lower_case(s->text);
		assay_keep(s->text);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "lower case", s->text, s->size + 1);
}

static void edges(void *state, struct assay_bench *b)
{
	static const char *const texts[] = {"", "A", "aZ[", "\xc4\xd6 ABC", "THE LAST one."};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[32] = {0};
		strcpy(text, texts[i]);
		lower_case(text);
		assay_output(b, "a short text", text, sizeof text);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct state {
	char *original, *text;
	size_t size;
};

static __attribute__((noinline)) void lower_case(char *s)
{
	const size_t s_length = strlen(s);
	for (size_t i = 0; i < s_length; i++) // finds
		s[i] = (char)tolower((unsigned char)s[i]);
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 2048);
	s->original = malloc(s->size + 1);
	s->text = malloc(s->size + 1);
	assay_fill_text(b, s->original, s->size);
	for (size_t i = 0; i < s->size; i++)
		s->original[i] = s->original[i] ? s->original[i] : ' ';
	s->original[s->size] = '\0';
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		memcpy(s->text, s->original, s->size + 1);
		lower_case(s->text);
		assay_keep(s->text);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "lower case", s->text, s->size + 1);
}

static void edges(void *state, struct assay_bench *b)
{
	static const char *const texts[] = {"", "A", "aZ[", "\xc4\xd6 ABC", "THE LAST one."};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[32] = {0};
		strcpy(text, texts[i]);
		lower_case(text);
		assay_output(b, "a short text", text, sizeof text);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

struct state {
	char *text;
	size_t size, spaces;
};

/* Only reads: the compiler takes strlen() out of the loop by itself. */
static __attribute__((noinline)) size_t count_spaces(const char *s)
{
	size_t spaces = 0;
	for (size_t i = 0; i < strlen(s); i++)
		spaces += s[i] == ' ';
	return spaces;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 2048);
	s->text = malloc(s->size + 1);
	assay_fill_text(b, s->text, s->size);
	for (size_t i = 0; i < s->size; i++)
		s->text[i] = s->text[i] ? s->text[i] : ' ';
	s->text[s->size] = '\0';
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		assay_keep(s->text);
		s->spaces = count_spaces(s->text);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "spaces", &s->spaces, sizeof s->spaces);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also in a while loop, and twice */
#include <string.h>
struct entry {
	char *name;
};
void underline(struct entry *entry, char *below)
{
	size_t i = 0;
	while (i < strlen(entry->name)) { // finds
		below[i] = i + 1 == strlen(entry->name) ? '+' : '-';
		i++;
	}
}
#endif

#if 0 /* assay example: also in a while loop, and twice fixed */
#include <string.h>
struct entry {
	char *name;
};
void underline(struct entry *entry, char *below)
{
	size_t i = 0;
	const size_t name_length = strlen(entry->name);
	while (i < name_length) { // finds
		below[i] = i + 1 == name_length ? '+' : '-';
		i++;
	}
}
#endif

#if 0 /* assay example: also advice only */
#include <stdio.h>
#include <string.h>
unsigned sum_all(const char *at, char *copy)
{
	unsigned sum = 0, value;
	int used;
	while (sscanf(at, "%u%n", &value, &used) == 1) { // finds
		sum += value;
		at += used;
	}
	for (; strlen(at) >= 2; at += 2) // finds
		sum += (unsigned char)at[1];
	for (size_t i = 0; i < strlen(copy); i++) { // finds
		if (copy[i] == ';')
			copy[i] = '\0';
	}
	return sum;
}
void join(char *to, const char *const *words)
{
	while (*words) {
		strcat(to, *words++); // finds
		strcat(to, " ");
	}
}
#endif

#if 0 /* assay example: also a call that might write it */
#include <stdio.h>
#include <string.h>
void show(const char *s)
{
	for (size_t i = 0; i < strlen(s); i++) // finds
		putchar(s[i]);
}
#endif

#if 0 /* assay example: also a call that might write it fixed */
#include <stdio.h>
#include <string.h>
void show(const char *s)
{
	const size_t s_length = strlen(s);
	for (size_t i = 0; i < s_length; i++) // finds
		putchar(s[i]);
}
#endif

#if 0 /* assay example: lookalike taken once */
#include <string.h>
void blank(char *s)
{
	size_t n = strlen(s);
	for (size_t i = 0; i < n; i++)
		s[i] = ' ';
	for (size_t i = 0, end = strlen(s); i < end; i++)
		s[i] = '-';
}
#endif

#if 0 /* assay example: lookalike a list of strings */
#include <string.h>
size_t longest(char **names, const char *list)
{
	size_t most = 0;
	for (char **name = names; *name; name++) {
		if (strlen(*name) > most)
			most = strlen(*name);
	}
	while (*list) {
		size_t length = strlen(list);
		if (length > most)
			most = length;
		list += length + 1;
	}
	return most;
}
#endif

#if 0 /* assay example: lookalike an option of its own each time */
#include <string.h>
int verbose(int argc, char **argv)
{
	int found = 0;
	for (int i = 1; i < argc; i++) {
		const char *option = argv[i];
		if (option[0] == '-' && option[1] == '-')
			option++;
		size_t length = strlen(option);
		found += length >= 2 && strncmp(option, "-verbose", length) == 0;
	}
	return found;
}
#endif

#if 0 /* assay example: lookalike another line each time */
#include <stdio.h>
#include <string.h>
unsigned total(FILE *in)
{
	char line[512], label[64];
	unsigned sum = 0, value;
	while (fgets(line, sizeof line, in)) {
		char *at = line;
		if (line[strlen(line) - 1] == '\n')
			line[strlen(line) - 1] = '\0';
		if (sscanf(at, "%u", &value) == 1)
			sum += value;
		strcpy(label, "total ");
		strcat(label, "so far");
	}
	return sum;
}
#endif

#if 0 /* assay example: lookalike a store that stays local */
#include <string.h>
unsigned histogram(const char *s)
{
	unsigned char seen[256] = {0};
	unsigned kinds = 0;
	for (size_t i = 0; i < strlen(s); i++)
		seen[(unsigned char)s[i]] = 1;
	for (size_t i = 0; i < sizeof seen; i++)
		kinds += seen[i];
	return kinds;
}
#endif

#if 0 /* assay example: also a CRC of 64 bits, its table filled in */
#include <assay/bench.h>
#include <stdlib.h>

static uint64_t crc_table[256];

static void crc_fill(void)
{
	for (unsigned i = 0; i < 256; i++) {
		uint64_t crc = i;
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (-(crc & 1) & 0xc96c5795d7870f42u);
		crc_table[i] = crc;
	}
}

static __attribute__((noinline)) uint64_t crc64(uint64_t crc, const uint8_t *p, size_t size)
{
	while (size--)
		crc = crc_table[(crc ^ *p++) & 0xff] ^ (crc >> 8); // finds
	return crc;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	if (!crc_table[128])
		crc_fill();
	return crc64(start, bytes, size);
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a CRC of 64 bits, its table filled in fixed */
#include <assay/bench.h>
#include <stdlib.h>

static uint64_t crc_table[256];

/* [k][i]: what byte i comes to when k more bytes have gone by. */
static uint64_t crc_table_slices[8][256];

static void crc_table_slice(void)
{
	unsigned i, k;

	for (i = 0; i < 256; i++) {
		uint64_t crc = crc_table[i];

		crc_table_slices[0][i] = crc;
		for (k = 1; k < 8; k++) {
			crc = (crc >> 8) ^ crc_table[crc & 0xff];
			crc_table_slices[k][i] = crc;
		}
	}
}

static void crc_fill(void)
{
	for (unsigned i = 0; i < 256; i++) {
		uint64_t crc = i;
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (-(crc & 1) & 0xc96c5795d7870f42u);
		crc_table[i] = crc;
	}
	crc_table_slice();
}

static __attribute__((noinline)) uint64_t crc64(uint64_t crc, const uint8_t *p, size_t size)
{
	for (; size >= 8; size -= 8, p += 8)
		crc = crc_table_slices[7][(p[0] ^ crc) & 0xff] ^
		      crc_table_slices[6][(p[1] ^ (crc >> 8)) & 0xff] ^
		      crc_table_slices[5][(p[2] ^ (crc >> 16)) & 0xff] ^
		      crc_table_slices[4][(p[3] ^ (crc >> 24)) & 0xff] ^
		      crc_table_slices[3][(p[4] ^ (crc >> 32)) & 0xff] ^
		      crc_table_slices[2][(p[5] ^ (crc >> 40)) & 0xff] ^
		      crc_table_slices[1][(p[6] ^ (crc >> 48)) & 0xff] ^
		      crc_table_slices[0][(p[7] ^ (crc >> 56)) & 0xff];
	while (size--)
		crc = crc_table[(crc ^ *p++) & 0xff] ^ (crc >> 8); // finds
	return crc;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	if (!crc_table[128])
		crc_fill();
	return crc64(start, bytes, size);
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a plain CRC of 32 bits */
#include <assay/bench.h>
#include <stdlib.h>

static const uint32_t crc_table[256] = {
	0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b, 0x1a864db2, 0x1e475005,
	0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61, 0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd,
	0x4c11db70, 0x48d0c6c7, 0x4593e01e, 0x4152fda9, 0x5f15adac, 0x5bd4b01b, 0x569796c2, 0x52568b75,
	0x6a1936c8, 0x6ed82b7f, 0x639b0da6, 0x675a1011, 0x791d4014, 0x7ddc5da3, 0x709f7b7a, 0x745e66cd,
	0x9823b6e0, 0x9ce2ab57, 0x91a18d8e, 0x95609039, 0x8b27c03c, 0x8fe6dd8b, 0x82a5fb52, 0x8664e6e5,
	0xbe2b5b58, 0xbaea46ef, 0xb7a96036, 0xb3687d81, 0xad2f2d84, 0xa9ee3033, 0xa4ad16ea, 0xa06c0b5d,
	0xd4326d90, 0xd0f37027, 0xddb056fe, 0xd9714b49, 0xc7361b4c, 0xc3f706fb, 0xceb42022, 0xca753d95,
	0xf23a8028, 0xf6fb9d9f, 0xfbb8bb46, 0xff79a6f1, 0xe13ef6f4, 0xe5ffeb43, 0xe8bccd9a, 0xec7dd02d,
	0x34867077, 0x30476dc0, 0x3d044b19, 0x39c556ae, 0x278206ab, 0x23431b1c, 0x2e003dc5, 0x2ac12072,
	0x128e9dcf, 0x164f8078, 0x1b0ca6a1, 0x1fcdbb16, 0x018aeb13, 0x054bf6a4, 0x0808d07d, 0x0cc9cdca,
	0x7897ab07, 0x7c56b6b0, 0x71159069, 0x75d48dde, 0x6b93dddb, 0x6f52c06c, 0x6211e6b5, 0x66d0fb02,
	0x5e9f46bf, 0x5a5e5b08, 0x571d7dd1, 0x53dc6066, 0x4d9b3063, 0x495a2dd4, 0x44190b0d, 0x40d816ba,
	0xaca5c697, 0xa864db20, 0xa527fdf9, 0xa1e6e04e, 0xbfa1b04b, 0xbb60adfc, 0xb6238b25, 0xb2e29692,
	0x8aad2b2f, 0x8e6c3698, 0x832f1041, 0x87ee0df6, 0x99a95df3, 0x9d684044, 0x902b669d, 0x94ea7b2a,
	0xe0b41de7, 0xe4750050, 0xe9362689, 0xedf73b3e, 0xf3b06b3b, 0xf771768c, 0xfa325055, 0xfef34de2,
	0xc6bcf05f, 0xc27dede8, 0xcf3ecb31, 0xcbffd686, 0xd5b88683, 0xd1799b34, 0xdc3abded, 0xd8fba05a,
	0x690ce0ee, 0x6dcdfd59, 0x608edb80, 0x644fc637, 0x7a089632, 0x7ec98b85, 0x738aad5c, 0x774bb0eb,
	0x4f040d56, 0x4bc510e1, 0x46863638, 0x42472b8f, 0x5c007b8a, 0x58c1663d, 0x558240e4, 0x51435d53,
	0x251d3b9e, 0x21dc2629, 0x2c9f00f0, 0x285e1d47, 0x36194d42, 0x32d850f5, 0x3f9b762c, 0x3b5a6b9b,
	0x0315d626, 0x07d4cb91, 0x0a97ed48, 0x0e56f0ff, 0x1011a0fa, 0x14d0bd4d, 0x19939b94, 0x1d528623,
	0xf12f560e, 0xf5ee4bb9, 0xf8ad6d60, 0xfc6c70d7, 0xe22b20d2, 0xe6ea3d65, 0xeba91bbc, 0xef68060b,
	0xd727bbb6, 0xd3e6a601, 0xdea580d8, 0xda649d6f, 0xc423cd6a, 0xc0e2d0dd, 0xcda1f604, 0xc960ebb3,
	0xbd3e8d7e, 0xb9ff90c9, 0xb4bcb610, 0xb07daba7, 0xae3afba2, 0xaafbe615, 0xa7b8c0cc, 0xa379dd7b,
	0x9b3660c6, 0x9ff77d71, 0x92b45ba8, 0x9675461f, 0x8832161a, 0x8cf30bad, 0x81b02d74, 0x857130c3,
	0x5d8a9099, 0x594b8d2e, 0x5408abf7, 0x50c9b640, 0x4e8ee645, 0x4a4ffbf2, 0x470cdd2b, 0x43cdc09c,
	0x7b827d21, 0x7f436096, 0x7200464f, 0x76c15bf8, 0x68860bfd, 0x6c47164a, 0x61043093, 0x65c52d24,
	0x119b4be9, 0x155a565e, 0x18197087, 0x1cd86d30, 0x029f3d35, 0x065e2082, 0x0b1d065b, 0x0fdc1bec,
	0x3793a651, 0x3352bbe6, 0x3e119d3f, 0x3ad08088, 0x2497d08d, 0x2056cd3a, 0x2d15ebe3, 0x29d4f654,
	0xc5a92679, 0xc1683bce, 0xcc2b1d17, 0xc8ea00a0, 0xd6ad50a5, 0xd26c4d12, 0xdf2f6bcb, 0xdbee767c,
	0xe3a1cbc1, 0xe760d676, 0xea23f0af, 0xeee2ed18, 0xf0a5bd1d, 0xf464a0aa, 0xf9278673, 0xfde69bc4,
	0x89b8fd09, 0x8d79e0be, 0x803ac667, 0x84fbdbd0, 0x9abc8bd5, 0x9e7d9662, 0x933eb0bb, 0x97ffad0c,
	0xafb010b1, 0xab710d06, 0xa6322bdf, 0xa2f33668, 0xbcb4666d, 0xb8757bda, 0xb5365d03, 0xb1f740b4,
};

static __attribute__((noinline)) uint32_t crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		crc = (crc << 8) ^ crc_table[(crc >> 24) ^ bytes[i]]; // finds
	return crc;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	return crc32((uint32_t)start, bytes, size);
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a plain CRC of 32 bits fixed */
#include <assay/bench.h>
#include <stdlib.h>

static const uint32_t crc_table[256] = {
	0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b, 0x1a864db2, 0x1e475005,
	0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61, 0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd,
	0x4c11db70, 0x48d0c6c7, 0x4593e01e, 0x4152fda9, 0x5f15adac, 0x5bd4b01b, 0x569796c2, 0x52568b75,
	0x6a1936c8, 0x6ed82b7f, 0x639b0da6, 0x675a1011, 0x791d4014, 0x7ddc5da3, 0x709f7b7a, 0x745e66cd,
	0x9823b6e0, 0x9ce2ab57, 0x91a18d8e, 0x95609039, 0x8b27c03c, 0x8fe6dd8b, 0x82a5fb52, 0x8664e6e5,
	0xbe2b5b58, 0xbaea46ef, 0xb7a96036, 0xb3687d81, 0xad2f2d84, 0xa9ee3033, 0xa4ad16ea, 0xa06c0b5d,
	0xd4326d90, 0xd0f37027, 0xddb056fe, 0xd9714b49, 0xc7361b4c, 0xc3f706fb, 0xceb42022, 0xca753d95,
	0xf23a8028, 0xf6fb9d9f, 0xfbb8bb46, 0xff79a6f1, 0xe13ef6f4, 0xe5ffeb43, 0xe8bccd9a, 0xec7dd02d,
	0x34867077, 0x30476dc0, 0x3d044b19, 0x39c556ae, 0x278206ab, 0x23431b1c, 0x2e003dc5, 0x2ac12072,
	0x128e9dcf, 0x164f8078, 0x1b0ca6a1, 0x1fcdbb16, 0x018aeb13, 0x054bf6a4, 0x0808d07d, 0x0cc9cdca,
	0x7897ab07, 0x7c56b6b0, 0x71159069, 0x75d48dde, 0x6b93dddb, 0x6f52c06c, 0x6211e6b5, 0x66d0fb02,
	0x5e9f46bf, 0x5a5e5b08, 0x571d7dd1, 0x53dc6066, 0x4d9b3063, 0x495a2dd4, 0x44190b0d, 0x40d816ba,
	0xaca5c697, 0xa864db20, 0xa527fdf9, 0xa1e6e04e, 0xbfa1b04b, 0xbb60adfc, 0xb6238b25, 0xb2e29692,
	0x8aad2b2f, 0x8e6c3698, 0x832f1041, 0x87ee0df6, 0x99a95df3, 0x9d684044, 0x902b669d, 0x94ea7b2a,
	0xe0b41de7, 0xe4750050, 0xe9362689, 0xedf73b3e, 0xf3b06b3b, 0xf771768c, 0xfa325055, 0xfef34de2,
	0xc6bcf05f, 0xc27dede8, 0xcf3ecb31, 0xcbffd686, 0xd5b88683, 0xd1799b34, 0xdc3abded, 0xd8fba05a,
	0x690ce0ee, 0x6dcdfd59, 0x608edb80, 0x644fc637, 0x7a089632, 0x7ec98b85, 0x738aad5c, 0x774bb0eb,
	0x4f040d56, 0x4bc510e1, 0x46863638, 0x42472b8f, 0x5c007b8a, 0x58c1663d, 0x558240e4, 0x51435d53,
	0x251d3b9e, 0x21dc2629, 0x2c9f00f0, 0x285e1d47, 0x36194d42, 0x32d850f5, 0x3f9b762c, 0x3b5a6b9b,
	0x0315d626, 0x07d4cb91, 0x0a97ed48, 0x0e56f0ff, 0x1011a0fa, 0x14d0bd4d, 0x19939b94, 0x1d528623,
	0xf12f560e, 0xf5ee4bb9, 0xf8ad6d60, 0xfc6c70d7, 0xe22b20d2, 0xe6ea3d65, 0xeba91bbc, 0xef68060b,
	0xd727bbb6, 0xd3e6a601, 0xdea580d8, 0xda649d6f, 0xc423cd6a, 0xc0e2d0dd, 0xcda1f604, 0xc960ebb3,
	0xbd3e8d7e, 0xb9ff90c9, 0xb4bcb610, 0xb07daba7, 0xae3afba2, 0xaafbe615, 0xa7b8c0cc, 0xa379dd7b,
	0x9b3660c6, 0x9ff77d71, 0x92b45ba8, 0x9675461f, 0x8832161a, 0x8cf30bad, 0x81b02d74, 0x857130c3,
	0x5d8a9099, 0x594b8d2e, 0x5408abf7, 0x50c9b640, 0x4e8ee645, 0x4a4ffbf2, 0x470cdd2b, 0x43cdc09c,
	0x7b827d21, 0x7f436096, 0x7200464f, 0x76c15bf8, 0x68860bfd, 0x6c47164a, 0x61043093, 0x65c52d24,
	0x119b4be9, 0x155a565e, 0x18197087, 0x1cd86d30, 0x029f3d35, 0x065e2082, 0x0b1d065b, 0x0fdc1bec,
	0x3793a651, 0x3352bbe6, 0x3e119d3f, 0x3ad08088, 0x2497d08d, 0x2056cd3a, 0x2d15ebe3, 0x29d4f654,
	0xc5a92679, 0xc1683bce, 0xcc2b1d17, 0xc8ea00a0, 0xd6ad50a5, 0xd26c4d12, 0xdf2f6bcb, 0xdbee767c,
	0xe3a1cbc1, 0xe760d676, 0xea23f0af, 0xeee2ed18, 0xf0a5bd1d, 0xf464a0aa, 0xf9278673, 0xfde69bc4,
	0x89b8fd09, 0x8d79e0be, 0x803ac667, 0x84fbdbd0, 0x9abc8bd5, 0x9e7d9662, 0x933eb0bb, 0x97ffad0c,
	0xafb010b1, 0xab710d06, 0xa6322bdf, 0xa2f33668, 0xbcb4666d, 0xb8757bda, 0xb5365d03, 0xb1f740b4,
};

/* [k][i]: what byte i comes to when k more bytes have gone by. */
static uint32_t crc_table_slices[8][256];

static __attribute__((constructor)) void crc_table_slice(void)
{
	unsigned i, k;

	for (i = 0; i < 256; i++) {
		uint32_t crc = crc_table[i];

		crc_table_slices[0][i] = crc;
		for (k = 1; k < 8; k++) {
			crc = (crc << 8) ^ crc_table[(crc >> 24) & 0xff];
			crc_table_slices[k][i] = crc;
		}
	}
}

static __attribute__((noinline)) uint32_t crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
	size_t sliced;
	for (sliced = 0; size - sliced >= 8; sliced += 8)
		crc = crc_table_slices[7][(bytes[sliced + 0] ^ (crc >> 24)) & 0xff] ^
		      crc_table_slices[6][(bytes[sliced + 1] ^ (crc >> 16)) & 0xff] ^
		      crc_table_slices[5][(bytes[sliced + 2] ^ (crc >> 8)) & 0xff] ^
		      crc_table_slices[4][(bytes[sliced + 3] ^ crc) & 0xff] ^
		      crc_table_slices[3][bytes[sliced + 4] & 0xff] ^
		      crc_table_slices[2][bytes[sliced + 5] & 0xff] ^
		      crc_table_slices[1][bytes[sliced + 6] & 0xff] ^
		      crc_table_slices[0][bytes[sliced + 7] & 0xff];
	for (size_t i = sliced; i < size; i++)
		crc = (crc << 8) ^ crc_table[(crc >> 24) ^ bytes[i]]; // finds
	return crc;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	return crc32((uint32_t)start, bytes, size);
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a reflected CRC of 32 bits */
#include <assay/bench.h>
#include <stdlib.h>

static const unsigned crc_table[256] = {
	0x00000000, 0x77073096, 0xee0e612c, 0x990951ba, 0x076dc419, 0x706af48f, 0xe963a535, 0x9e6495a3,
	0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988, 0x09b64c2b, 0x7eb17cbd, 0xe7b82d07, 0x90bf1d91,
	0x1db71064, 0x6ab020f2, 0xf3b97148, 0x84be41de, 0x1adad47d, 0x6ddde4eb, 0xf4d4b551, 0x83d385c7,
	0x136c9856, 0x646ba8c0, 0xfd62f97a, 0x8a65c9ec, 0x14015c4f, 0x63066cd9, 0xfa0f3d63, 0x8d080df5,
	0x3b6e20c8, 0x4c69105e, 0xd56041e4, 0xa2677172, 0x3c03e4d1, 0x4b04d447, 0xd20d85fd, 0xa50ab56b,
	0x35b5a8fa, 0x42b2986c, 0xdbbbc9d6, 0xacbcf940, 0x32d86ce3, 0x45df5c75, 0xdcd60dcf, 0xabd13d59,
	0x26d930ac, 0x51de003a, 0xc8d75180, 0xbfd06116, 0x21b4f4b5, 0x56b3c423, 0xcfba9599, 0xb8bda50f,
	0x2802b89e, 0x5f058808, 0xc60cd9b2, 0xb10be924, 0x2f6f7c87, 0x58684c11, 0xc1611dab, 0xb6662d3d,
	0x76dc4190, 0x01db7106, 0x98d220bc, 0xefd5102a, 0x71b18589, 0x06b6b51f, 0x9fbfe4a5, 0xe8b8d433,
	0x7807c9a2, 0x0f00f934, 0x9609a88e, 0xe10e9818, 0x7f6a0dbb, 0x086d3d2d, 0x91646c97, 0xe6635c01,
	0x6b6b51f4, 0x1c6c6162, 0x856530d8, 0xf262004e, 0x6c0695ed, 0x1b01a57b, 0x8208f4c1, 0xf50fc457,
	0x65b0d9c6, 0x12b7e950, 0x8bbeb8ea, 0xfcb9887c, 0x62dd1ddf, 0x15da2d49, 0x8cd37cf3, 0xfbd44c65,
	0x4db26158, 0x3ab551ce, 0xa3bc0074, 0xd4bb30e2, 0x4adfa541, 0x3dd895d7, 0xa4d1c46d, 0xd3d6f4fb,
	0x4369e96a, 0x346ed9fc, 0xad678846, 0xda60b8d0, 0x44042d73, 0x33031de5, 0xaa0a4c5f, 0xdd0d7cc9,
	0x5005713c, 0x270241aa, 0xbe0b1010, 0xc90c2086, 0x5768b525, 0x206f85b3, 0xb966d409, 0xce61e49f,
	0x5edef90e, 0x29d9c998, 0xb0d09822, 0xc7d7a8b4, 0x59b33d17, 0x2eb40d81, 0xb7bd5c3b, 0xc0ba6cad,
	0xedb88320, 0x9abfb3b6, 0x03b6e20c, 0x74b1d29a, 0xead54739, 0x9dd277af, 0x04db2615, 0x73dc1683,
	0xe3630b12, 0x94643b84, 0x0d6d6a3e, 0x7a6a5aa8, 0xe40ecf0b, 0x9309ff9d, 0x0a00ae27, 0x7d079eb1,
	0xf00f9344, 0x8708a3d2, 0x1e01f268, 0x6906c2fe, 0xf762575d, 0x806567cb, 0x196c3671, 0x6e6b06e7,
	0xfed41b76, 0x89d32be0, 0x10da7a5a, 0x67dd4acc, 0xf9b9df6f, 0x8ebeeff9, 0x17b7be43, 0x60b08ed5,
	0xd6d6a3e8, 0xa1d1937e, 0x38d8c2c4, 0x4fdff252, 0xd1bb67f1, 0xa6bc5767, 0x3fb506dd, 0x48b2364b,
	0xd80d2bda, 0xaf0a1b4c, 0x36034af6, 0x41047a60, 0xdf60efc3, 0xa867df55, 0x316e8eef, 0x4669be79,
	0xcb61b38c, 0xbc66831a, 0x256fd2a0, 0x5268e236, 0xcc0c7795, 0xbb0b4703, 0x220216b9, 0x5505262f,
	0xc5ba3bbe, 0xb2bd0b28, 0x2bb45a92, 0x5cb36a04, 0xc2d7ffa7, 0xb5d0cf31, 0x2cd99e8b, 0x5bdeae1d,
	0x9b64c2b0, 0xec63f226, 0x756aa39c, 0x026d930a, 0x9c0906a9, 0xeb0e363f, 0x72076785, 0x05005713,
	0x95bf4a82, 0xe2b87a14, 0x7bb12bae, 0x0cb61b38, 0x92d28e9b, 0xe5d5be0d, 0x7cdcefb7, 0x0bdbdf21,
	0x86d3d2d4, 0xf1d4e242, 0x68ddb3f8, 0x1fda836e, 0x81be16cd, 0xf6b9265b, 0x6fb077e1, 0x18b74777,
	0x88085ae6, 0xff0f6a70, 0x66063bca, 0x11010b5c, 0x8f659eff, 0xf862ae69, 0x616bffd3, 0x166ccf45,
	0xa00ae278, 0xd70dd2ee, 0x4e048354, 0x3903b3c2, 0xa7672661, 0xd06016f7, 0x4969474d, 0x3e6e77db,
	0xaed16a4a, 0xd9d65adc, 0x40df0b66, 0x37d83bf0, 0xa9bcae53, 0xdebb9ec5, 0x47b2cf7f, 0x30b5ffe9,
	0xbdbdf21c, 0xcabac28a, 0x53b39330, 0x24b4a3a6, 0xbad03605, 0xcdd70693, 0x54de5729, 0x23d967bf,
	0xb3667a2e, 0xc4614ab8, 0x5d681b02, 0x2a6f2b94, 0xb40bbe37, 0xc30c8ea1, 0x5a05df1b, 0x2d02ef8d,
};

static __attribute__((noinline)) unsigned crc32(unsigned crc, const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;
	crc = ~crc;
	while (at < end)
		crc = (crc >> 8) ^ crc_table[(crc & 0xff) ^ *at++]; // finds
	return ~crc;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	return crc32((unsigned)start, bytes, size);
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a reflected CRC of 32 bits fixed */
#include <assay/bench.h>
#include <stdlib.h>

static const unsigned crc_table[256] = {
	0x00000000, 0x77073096, 0xee0e612c, 0x990951ba, 0x076dc419, 0x706af48f, 0xe963a535, 0x9e6495a3,
	0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988, 0x09b64c2b, 0x7eb17cbd, 0xe7b82d07, 0x90bf1d91,
	0x1db71064, 0x6ab020f2, 0xf3b97148, 0x84be41de, 0x1adad47d, 0x6ddde4eb, 0xf4d4b551, 0x83d385c7,
	0x136c9856, 0x646ba8c0, 0xfd62f97a, 0x8a65c9ec, 0x14015c4f, 0x63066cd9, 0xfa0f3d63, 0x8d080df5,
	0x3b6e20c8, 0x4c69105e, 0xd56041e4, 0xa2677172, 0x3c03e4d1, 0x4b04d447, 0xd20d85fd, 0xa50ab56b,
	0x35b5a8fa, 0x42b2986c, 0xdbbbc9d6, 0xacbcf940, 0x32d86ce3, 0x45df5c75, 0xdcd60dcf, 0xabd13d59,
	0x26d930ac, 0x51de003a, 0xc8d75180, 0xbfd06116, 0x21b4f4b5, 0x56b3c423, 0xcfba9599, 0xb8bda50f,
	0x2802b89e, 0x5f058808, 0xc60cd9b2, 0xb10be924, 0x2f6f7c87, 0x58684c11, 0xc1611dab, 0xb6662d3d,
	0x76dc4190, 0x01db7106, 0x98d220bc, 0xefd5102a, 0x71b18589, 0x06b6b51f, 0x9fbfe4a5, 0xe8b8d433,
	0x7807c9a2, 0x0f00f934, 0x9609a88e, 0xe10e9818, 0x7f6a0dbb, 0x086d3d2d, 0x91646c97, 0xe6635c01,
	0x6b6b51f4, 0x1c6c6162, 0x856530d8, 0xf262004e, 0x6c0695ed, 0x1b01a57b, 0x8208f4c1, 0xf50fc457,
	0x65b0d9c6, 0x12b7e950, 0x8bbeb8ea, 0xfcb9887c, 0x62dd1ddf, 0x15da2d49, 0x8cd37cf3, 0xfbd44c65,
	0x4db26158, 0x3ab551ce, 0xa3bc0074, 0xd4bb30e2, 0x4adfa541, 0x3dd895d7, 0xa4d1c46d, 0xd3d6f4fb,
	0x4369e96a, 0x346ed9fc, 0xad678846, 0xda60b8d0, 0x44042d73, 0x33031de5, 0xaa0a4c5f, 0xdd0d7cc9,
	0x5005713c, 0x270241aa, 0xbe0b1010, 0xc90c2086, 0x5768b525, 0x206f85b3, 0xb966d409, 0xce61e49f,
	0x5edef90e, 0x29d9c998, 0xb0d09822, 0xc7d7a8b4, 0x59b33d17, 0x2eb40d81, 0xb7bd5c3b, 0xc0ba6cad,
	0xedb88320, 0x9abfb3b6, 0x03b6e20c, 0x74b1d29a, 0xead54739, 0x9dd277af, 0x04db2615, 0x73dc1683,
	0xe3630b12, 0x94643b84, 0x0d6d6a3e, 0x7a6a5aa8, 0xe40ecf0b, 0x9309ff9d, 0x0a00ae27, 0x7d079eb1,
	0xf00f9344, 0x8708a3d2, 0x1e01f268, 0x6906c2fe, 0xf762575d, 0x806567cb, 0x196c3671, 0x6e6b06e7,
	0xfed41b76, 0x89d32be0, 0x10da7a5a, 0x67dd4acc, 0xf9b9df6f, 0x8ebeeff9, 0x17b7be43, 0x60b08ed5,
	0xd6d6a3e8, 0xa1d1937e, 0x38d8c2c4, 0x4fdff252, 0xd1bb67f1, 0xa6bc5767, 0x3fb506dd, 0x48b2364b,
	0xd80d2bda, 0xaf0a1b4c, 0x36034af6, 0x41047a60, 0xdf60efc3, 0xa867df55, 0x316e8eef, 0x4669be79,
	0xcb61b38c, 0xbc66831a, 0x256fd2a0, 0x5268e236, 0xcc0c7795, 0xbb0b4703, 0x220216b9, 0x5505262f,
	0xc5ba3bbe, 0xb2bd0b28, 0x2bb45a92, 0x5cb36a04, 0xc2d7ffa7, 0xb5d0cf31, 0x2cd99e8b, 0x5bdeae1d,
	0x9b64c2b0, 0xec63f226, 0x756aa39c, 0x026d930a, 0x9c0906a9, 0xeb0e363f, 0x72076785, 0x05005713,
	0x95bf4a82, 0xe2b87a14, 0x7bb12bae, 0x0cb61b38, 0x92d28e9b, 0xe5d5be0d, 0x7cdcefb7, 0x0bdbdf21,
	0x86d3d2d4, 0xf1d4e242, 0x68ddb3f8, 0x1fda836e, 0x81be16cd, 0xf6b9265b, 0x6fb077e1, 0x18b74777,
	0x88085ae6, 0xff0f6a70, 0x66063bca, 0x11010b5c, 0x8f659eff, 0xf862ae69, 0x616bffd3, 0x166ccf45,
	0xa00ae278, 0xd70dd2ee, 0x4e048354, 0x3903b3c2, 0xa7672661, 0xd06016f7, 0x4969474d, 0x3e6e77db,
	0xaed16a4a, 0xd9d65adc, 0x40df0b66, 0x37d83bf0, 0xa9bcae53, 0xdebb9ec5, 0x47b2cf7f, 0x30b5ffe9,
	0xbdbdf21c, 0xcabac28a, 0x53b39330, 0x24b4a3a6, 0xbad03605, 0xcdd70693, 0x54de5729, 0x23d967bf,
	0xb3667a2e, 0xc4614ab8, 0x5d681b02, 0x2a6f2b94, 0xb40bbe37, 0xc30c8ea1, 0x5a05df1b, 0x2d02ef8d,
};

/* [k][i]: what byte i comes to when k more bytes have gone by. */
static unsigned int crc_table_slices[8][256];

static __attribute__((constructor)) void crc_table_slice(void)
{
	unsigned i, k;

	for (i = 0; i < 256; i++) {
		unsigned int crc = crc_table[i];

		crc_table_slices[0][i] = crc;
		for (k = 1; k < 8; k++) {
			crc = (crc >> 8) ^ crc_table[crc & 0xff];
			crc_table_slices[k][i] = crc;
		}
	}
}

static __attribute__((noinline)) unsigned crc32(unsigned crc, const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;
	crc = ~crc;
	for (; end - at >= 8; at += 8)
		crc = crc_table_slices[7][(at[0] ^ crc) & 0xff] ^
		      crc_table_slices[6][(at[1] ^ (crc >> 8)) & 0xff] ^
		      crc_table_slices[5][(at[2] ^ (crc >> 16)) & 0xff] ^
		      crc_table_slices[4][(at[3] ^ (crc >> 24)) & 0xff] ^
		      crc_table_slices[3][at[4] & 0xff] ^
		      crc_table_slices[2][at[5] & 0xff] ^
		      crc_table_slices[1][at[6] & 0xff] ^
		      crc_table_slices[0][at[7] & 0xff];
	while (at < end)
		crc = (crc >> 8) ^ crc_table[(crc & 0xff) ^ *at++]; // finds
	return ~crc;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	return crc32((unsigned)start, bytes, size);
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a plain CRC of 64 bits */
#include <assay/bench.h>
#include <stdlib.h>

static const uint64_t table64[256] = {
	0x0000000000000000, 0x42f0e1eba9ea3693, 0x85e1c3d753d46d26, 0xc711223cfa3e5bb5,
	0x493366450e42ecdf, 0x0bc387aea7a8da4c, 0xccd2a5925d9681f9, 0x8e224479f47cb76a,
	0x9266cc8a1c85d9be, 0xd0962d61b56fef2d, 0x17870f5d4f51b498, 0x5577eeb6e6bb820b,
	0xdb55aacf12c73561, 0x99a54b24bb2d03f2, 0x5eb4691841135847, 0x1c4488f3e8f96ed4,
	0x663d78ff90e185ef, 0x24cd9914390bb37c, 0xe3dcbb28c335e8c9, 0xa12c5ac36adfde5a,
	0x2f0e1eba9ea36930, 0x6dfeff5137495fa3, 0xaaefdd6dcd770416, 0xe81f3c86649d3285,
	0xf45bb4758c645c51, 0xb6ab559e258e6ac2, 0x71ba77a2dfb03177, 0x334a9649765a07e4,
	0xbd68d2308226b08e, 0xff9833db2bcc861d, 0x388911e7d1f2dda8, 0x7a79f00c7818eb3b,
	0xcc7af1ff21c30bde, 0x8e8a101488293d4d, 0x499b3228721766f8, 0x0b6bd3c3dbfd506b,
	0x854997ba2f81e701, 0xc7b97651866bd192, 0x00a8546d7c558a27, 0x4258b586d5bfbcb4,
	0x5e1c3d753d46d260, 0x1cecdc9e94ace4f3, 0xdbfdfea26e92bf46, 0x990d1f49c77889d5,
	0x172f5b3033043ebf, 0x55dfbadb9aee082c, 0x92ce98e760d05399, 0xd03e790cc93a650a,
	0xaa478900b1228e31, 0xe8b768eb18c8b8a2, 0x2fa64ad7e2f6e317, 0x6d56ab3c4b1cd584,
	0xe374ef45bf6062ee, 0xa1840eae168a547d, 0x66952c92ecb40fc8, 0x2465cd79455e395b,
	0x3821458aada7578f, 0x7ad1a461044d611c, 0xbdc0865dfe733aa9, 0xff3067b657990c3a,
	0x711223cfa3e5bb50, 0x33e2c2240a0f8dc3, 0xf4f3e018f031d676, 0xb60301f359dbe0e5,
	0xda050215ea6c212f, 0x98f5e3fe438617bc, 0x5fe4c1c2b9b84c09, 0x1d14202910527a9a,
	0x93366450e42ecdf0, 0xd1c685bb4dc4fb63, 0x16d7a787b7faa0d6, 0x5427466c1e109645,
	0x4863ce9ff6e9f891, 0x0a932f745f03ce02, 0xcd820d48a53d95b7, 0x8f72eca30cd7a324,
	0x0150a8daf8ab144e, 0x43a04931514122dd, 0x84b16b0dab7f7968, 0xc6418ae602954ffb,
	0xbc387aea7a8da4c0, 0xfec89b01d3679253, 0x39d9b93d2959c9e6, 0x7b2958d680b3ff75,
	0xf50b1caf74cf481f, 0xb7fbfd44dd257e8c, 0x70eadf78271b2539, 0x321a3e938ef113aa,
	0x2e5eb66066087d7e, 0x6cae578bcfe24bed, 0xabbf75b735dc1058, 0xe94f945c9c3626cb,
	0x676dd025684a91a1, 0x259d31cec1a0a732, 0xe28c13f23b9efc87, 0xa07cf2199274ca14,
	0x167ff3eacbaf2af1, 0x548f120162451c62, 0x939e303d987b47d7, 0xd16ed1d631917144,
	0x5f4c95afc5edc62e, 0x1dbc74446c07f0bd, 0xdaad56789639ab08, 0x985db7933fd39d9b,
	0x84193f60d72af34f, 0xc6e9de8b7ec0c5dc, 0x01f8fcb784fe9e69, 0x43081d5c2d14a8fa,
	0xcd2a5925d9681f90, 0x8fdab8ce70822903, 0x48cb9af28abc72b6, 0x0a3b7b1923564425,
	0x70428b155b4eaf1e, 0x32b26afef2a4998d, 0xf5a348c2089ac238, 0xb753a929a170f4ab,
	0x3971ed50550c43c1, 0x7b810cbbfce67552, 0xbc902e8706d82ee7, 0xfe60cf6caf321874,
	0xe224479f47cb76a0, 0xa0d4a674ee214033, 0x67c58448141f1b86, 0x253565a3bdf52d15,
	0xab1721da49899a7f, 0xe9e7c031e063acec, 0x2ef6e20d1a5df759, 0x6c0603e6b3b7c1ca,
	0xf6fae5c07d3274cd, 0xb40a042bd4d8425e, 0x731b26172ee619eb, 0x31ebc7fc870c2f78,
	0xbfc9838573709812, 0xfd39626eda9aae81, 0x3a28405220a4f534, 0x78d8a1b9894ec3a7,
	0x649c294a61b7ad73, 0x266cc8a1c85d9be0, 0xe17dea9d3263c055, 0xa38d0b769b89f6c6,
	0x2daf4f0f6ff541ac, 0x6f5faee4c61f773f, 0xa84e8cd83c212c8a, 0xeabe6d3395cb1a19,
	0x90c79d3fedd3f122, 0xd2377cd44439c7b1, 0x15265ee8be079c04, 0x57d6bf0317edaa97,
	0xd9f4fb7ae3911dfd, 0x9b041a914a7b2b6e, 0x5c1538adb04570db, 0x1ee5d94619af4648,
	0x02a151b5f156289c, 0x4051b05e58bc1e0f, 0x87409262a28245ba, 0xc5b073890b687329,
	0x4b9237f0ff14c443, 0x0962d61b56fef2d0, 0xce73f427acc0a965, 0x8c8315cc052a9ff6,
	0x3a80143f5cf17f13, 0x7870f5d4f51b4980, 0xbf61d7e80f251235, 0xfd913603a6cf24a6,
	0x73b3727a52b393cc, 0x31439391fb59a55f, 0xf652b1ad0167feea, 0xb4a25046a88dc879,
	0xa8e6d8b54074a6ad, 0xea16395ee99e903e, 0x2d071b6213a0cb8b, 0x6ff7fa89ba4afd18,
	0xe1d5bef04e364a72, 0xa3255f1be7dc7ce1, 0x64347d271de22754, 0x26c49cccb40811c7,
	0x5cbd6cc0cc10fafc, 0x1e4d8d2b65facc6f, 0xd95caf179fc497da, 0x9bac4efc362ea149,
	0x158e0a85c2521623, 0x577eeb6e6bb820b0, 0x906fc95291867b05, 0xd29f28b9386c4d96,
	0xcedba04ad0952342, 0x8c2b41a1797f15d1, 0x4b3a639d83414e64, 0x09ca82762aab78f7,
	0x87e8c60fded7cf9d, 0xc51827e4773df90e, 0x020905d88d03a2bb, 0x40f9e43324e99428,
	0x2cffe7d5975e55e2, 0x6e0f063e3eb46371, 0xa91e2402c48a38c4, 0xebeec5e96d600e57,
	0x65cc8190991cb93d, 0x273c607b30f68fae, 0xe02d4247cac8d41b, 0xa2dda3ac6322e288,
	0xbe992b5f8bdb8c5c, 0xfc69cab42231bacf, 0x3b78e888d80fe17a, 0x7988096371e5d7e9,
	0xf7aa4d1a85996083, 0xb55aacf12c735610, 0x724b8ecdd64d0da5, 0x30bb6f267fa73b36,
	0x4ac29f2a07bfd00d, 0x08327ec1ae55e69e, 0xcf235cfd546bbd2b, 0x8dd3bd16fd818bb8,
	0x03f1f96f09fd3cd2, 0x41011884a0170a41, 0x86103ab85a2951f4, 0xc4e0db53f3c36767,
	0xd8a453a01b3a09b3, 0x9a54b24bb2d03f20, 0x5d45907748ee6495, 0x1fb5719ce1045206,
	0x919735e51578e56c, 0xd367d40ebc92d3ff, 0x1476f63246ac884a, 0x568617d9ef46bed9,
	0xe085162ab69d5e3c, 0xa275f7c11f7768af, 0x6564d5fde549331a, 0x279434164ca30589,
	0xa9b6706fb8dfb2e3, 0xeb46918411358470, 0x2c57b3b8eb0bdfc5, 0x6ea7525342e1e956,
	0x72e3daa0aa188782, 0x30133b4b03f2b111, 0xf7021977f9cceaa4, 0xb5f2f89c5026dc37,
	0x3bd0bce5a45a6b5d, 0x79205d0e0db05dce, 0xbe317f32f78e067b, 0xfcc19ed95e6430e8,
	0x86b86ed5267cdbd3, 0xc4488f3e8f96ed40, 0x0359ad0275a8b6f5, 0x41a94ce9dc428066,
	0xcf8b0890283e370c, 0x8d7be97b81d4019f, 0x4a6acb477bea5a2a, 0x089a2aacd2006cb9,
	0x14dea25f3af9026d, 0x562e43b4931334fe, 0x913f6188692d6f4b, 0xd3cf8063c0c759d8,
	0x5dedc41a34bbeeb2, 0x1f1d25f19d51d821, 0xd80c07cd676f8394, 0x9afce626ce85b507,
};

/* Signed characters and a signed length. */
static __attribute__((noinline)) uint64_t crc64(uint64_t crc, const char *at, int size)
{
	int i;
	for (i = 0; i < size; i++)
		crc = (crc << 8) ^ table64[((crc >> 56) ^ *at++) & 0x00FF]; // finds
	return crc;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	return crc64(start, (const char *)bytes, (int)size);
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a plain CRC of 64 bits fixed */
#include <assay/bench.h>
#include <stdlib.h>

static const uint64_t table64[256] = {
	0x0000000000000000, 0x42f0e1eba9ea3693, 0x85e1c3d753d46d26, 0xc711223cfa3e5bb5,
	0x493366450e42ecdf, 0x0bc387aea7a8da4c, 0xccd2a5925d9681f9, 0x8e224479f47cb76a,
	0x9266cc8a1c85d9be, 0xd0962d61b56fef2d, 0x17870f5d4f51b498, 0x5577eeb6e6bb820b,
	0xdb55aacf12c73561, 0x99a54b24bb2d03f2, 0x5eb4691841135847, 0x1c4488f3e8f96ed4,
	0x663d78ff90e185ef, 0x24cd9914390bb37c, 0xe3dcbb28c335e8c9, 0xa12c5ac36adfde5a,
	0x2f0e1eba9ea36930, 0x6dfeff5137495fa3, 0xaaefdd6dcd770416, 0xe81f3c86649d3285,
	0xf45bb4758c645c51, 0xb6ab559e258e6ac2, 0x71ba77a2dfb03177, 0x334a9649765a07e4,
	0xbd68d2308226b08e, 0xff9833db2bcc861d, 0x388911e7d1f2dda8, 0x7a79f00c7818eb3b,
	0xcc7af1ff21c30bde, 0x8e8a101488293d4d, 0x499b3228721766f8, 0x0b6bd3c3dbfd506b,
	0x854997ba2f81e701, 0xc7b97651866bd192, 0x00a8546d7c558a27, 0x4258b586d5bfbcb4,
	0x5e1c3d753d46d260, 0x1cecdc9e94ace4f3, 0xdbfdfea26e92bf46, 0x990d1f49c77889d5,
	0x172f5b3033043ebf, 0x55dfbadb9aee082c, 0x92ce98e760d05399, 0xd03e790cc93a650a,
	0xaa478900b1228e31, 0xe8b768eb18c8b8a2, 0x2fa64ad7e2f6e317, 0x6d56ab3c4b1cd584,
	0xe374ef45bf6062ee, 0xa1840eae168a547d, 0x66952c92ecb40fc8, 0x2465cd79455e395b,
	0x3821458aada7578f, 0x7ad1a461044d611c, 0xbdc0865dfe733aa9, 0xff3067b657990c3a,
	0x711223cfa3e5bb50, 0x33e2c2240a0f8dc3, 0xf4f3e018f031d676, 0xb60301f359dbe0e5,
	0xda050215ea6c212f, 0x98f5e3fe438617bc, 0x5fe4c1c2b9b84c09, 0x1d14202910527a9a,
	0x93366450e42ecdf0, 0xd1c685bb4dc4fb63, 0x16d7a787b7faa0d6, 0x5427466c1e109645,
	0x4863ce9ff6e9f891, 0x0a932f745f03ce02, 0xcd820d48a53d95b7, 0x8f72eca30cd7a324,
	0x0150a8daf8ab144e, 0x43a04931514122dd, 0x84b16b0dab7f7968, 0xc6418ae602954ffb,
	0xbc387aea7a8da4c0, 0xfec89b01d3679253, 0x39d9b93d2959c9e6, 0x7b2958d680b3ff75,
	0xf50b1caf74cf481f, 0xb7fbfd44dd257e8c, 0x70eadf78271b2539, 0x321a3e938ef113aa,
	0x2e5eb66066087d7e, 0x6cae578bcfe24bed, 0xabbf75b735dc1058, 0xe94f945c9c3626cb,
	0x676dd025684a91a1, 0x259d31cec1a0a732, 0xe28c13f23b9efc87, 0xa07cf2199274ca14,
	0x167ff3eacbaf2af1, 0x548f120162451c62, 0x939e303d987b47d7, 0xd16ed1d631917144,
	0x5f4c95afc5edc62e, 0x1dbc74446c07f0bd, 0xdaad56789639ab08, 0x985db7933fd39d9b,
	0x84193f60d72af34f, 0xc6e9de8b7ec0c5dc, 0x01f8fcb784fe9e69, 0x43081d5c2d14a8fa,
	0xcd2a5925d9681f90, 0x8fdab8ce70822903, 0x48cb9af28abc72b6, 0x0a3b7b1923564425,
	0x70428b155b4eaf1e, 0x32b26afef2a4998d, 0xf5a348c2089ac238, 0xb753a929a170f4ab,
	0x3971ed50550c43c1, 0x7b810cbbfce67552, 0xbc902e8706d82ee7, 0xfe60cf6caf321874,
	0xe224479f47cb76a0, 0xa0d4a674ee214033, 0x67c58448141f1b86, 0x253565a3bdf52d15,
	0xab1721da49899a7f, 0xe9e7c031e063acec, 0x2ef6e20d1a5df759, 0x6c0603e6b3b7c1ca,
	0xf6fae5c07d3274cd, 0xb40a042bd4d8425e, 0x731b26172ee619eb, 0x31ebc7fc870c2f78,
	0xbfc9838573709812, 0xfd39626eda9aae81, 0x3a28405220a4f534, 0x78d8a1b9894ec3a7,
	0x649c294a61b7ad73, 0x266cc8a1c85d9be0, 0xe17dea9d3263c055, 0xa38d0b769b89f6c6,
	0x2daf4f0f6ff541ac, 0x6f5faee4c61f773f, 0xa84e8cd83c212c8a, 0xeabe6d3395cb1a19,
	0x90c79d3fedd3f122, 0xd2377cd44439c7b1, 0x15265ee8be079c04, 0x57d6bf0317edaa97,
	0xd9f4fb7ae3911dfd, 0x9b041a914a7b2b6e, 0x5c1538adb04570db, 0x1ee5d94619af4648,
	0x02a151b5f156289c, 0x4051b05e58bc1e0f, 0x87409262a28245ba, 0xc5b073890b687329,
	0x4b9237f0ff14c443, 0x0962d61b56fef2d0, 0xce73f427acc0a965, 0x8c8315cc052a9ff6,
	0x3a80143f5cf17f13, 0x7870f5d4f51b4980, 0xbf61d7e80f251235, 0xfd913603a6cf24a6,
	0x73b3727a52b393cc, 0x31439391fb59a55f, 0xf652b1ad0167feea, 0xb4a25046a88dc879,
	0xa8e6d8b54074a6ad, 0xea16395ee99e903e, 0x2d071b6213a0cb8b, 0x6ff7fa89ba4afd18,
	0xe1d5bef04e364a72, 0xa3255f1be7dc7ce1, 0x64347d271de22754, 0x26c49cccb40811c7,
	0x5cbd6cc0cc10fafc, 0x1e4d8d2b65facc6f, 0xd95caf179fc497da, 0x9bac4efc362ea149,
	0x158e0a85c2521623, 0x577eeb6e6bb820b0, 0x906fc95291867b05, 0xd29f28b9386c4d96,
	0xcedba04ad0952342, 0x8c2b41a1797f15d1, 0x4b3a639d83414e64, 0x09ca82762aab78f7,
	0x87e8c60fded7cf9d, 0xc51827e4773df90e, 0x020905d88d03a2bb, 0x40f9e43324e99428,
	0x2cffe7d5975e55e2, 0x6e0f063e3eb46371, 0xa91e2402c48a38c4, 0xebeec5e96d600e57,
	0x65cc8190991cb93d, 0x273c607b30f68fae, 0xe02d4247cac8d41b, 0xa2dda3ac6322e288,
	0xbe992b5f8bdb8c5c, 0xfc69cab42231bacf, 0x3b78e888d80fe17a, 0x7988096371e5d7e9,
	0xf7aa4d1a85996083, 0xb55aacf12c735610, 0x724b8ecdd64d0da5, 0x30bb6f267fa73b36,
	0x4ac29f2a07bfd00d, 0x08327ec1ae55e69e, 0xcf235cfd546bbd2b, 0x8dd3bd16fd818bb8,
	0x03f1f96f09fd3cd2, 0x41011884a0170a41, 0x86103ab85a2951f4, 0xc4e0db53f3c36767,
	0xd8a453a01b3a09b3, 0x9a54b24bb2d03f20, 0x5d45907748ee6495, 0x1fb5719ce1045206,
	0x919735e51578e56c, 0xd367d40ebc92d3ff, 0x1476f63246ac884a, 0x568617d9ef46bed9,
	0xe085162ab69d5e3c, 0xa275f7c11f7768af, 0x6564d5fde549331a, 0x279434164ca30589,
	0xa9b6706fb8dfb2e3, 0xeb46918411358470, 0x2c57b3b8eb0bdfc5, 0x6ea7525342e1e956,
	0x72e3daa0aa188782, 0x30133b4b03f2b111, 0xf7021977f9cceaa4, 0xb5f2f89c5026dc37,
	0x3bd0bce5a45a6b5d, 0x79205d0e0db05dce, 0xbe317f32f78e067b, 0xfcc19ed95e6430e8,
	0x86b86ed5267cdbd3, 0xc4488f3e8f96ed40, 0x0359ad0275a8b6f5, 0x41a94ce9dc428066,
	0xcf8b0890283e370c, 0x8d7be97b81d4019f, 0x4a6acb477bea5a2a, 0x089a2aacd2006cb9,
	0x14dea25f3af9026d, 0x562e43b4931334fe, 0x913f6188692d6f4b, 0xd3cf8063c0c759d8,
	0x5dedc41a34bbeeb2, 0x1f1d25f19d51d821, 0xd80c07cd676f8394, 0x9afce626ce85b507,
};

/* [k][i]: what byte i comes to when k more bytes have gone by. */
static uint64_t table64_slices[8][256];

static __attribute__((constructor)) void table64_slice(void)
{
	unsigned i, k;

	for (i = 0; i < 256; i++) {
		uint64_t crc = table64[i];

		table64_slices[0][i] = crc;
		for (k = 1; k < 8; k++) {
			crc = (crc << 8) ^ table64[(crc >> 56) & 0xff];
			table64_slices[k][i] = crc;
		}
	}
}

/* Signed characters and a signed length. */
static __attribute__((noinline)) uint64_t crc64(uint64_t crc, const char *at, int size)
{
	int i;
	int sliced;
	for (sliced = 0; size - sliced >= 8; sliced += 8, at += 8)
		crc = table64_slices[7][(at[0] ^ (crc >> 56)) & 0xff] ^
		      table64_slices[6][(at[1] ^ (crc >> 48)) & 0xff] ^
		      table64_slices[5][(at[2] ^ (crc >> 40)) & 0xff] ^
		      table64_slices[4][(at[3] ^ (crc >> 32)) & 0xff] ^
		      table64_slices[3][(at[4] ^ (crc >> 24)) & 0xff] ^
		      table64_slices[2][(at[5] ^ (crc >> 16)) & 0xff] ^
		      table64_slices[1][(at[6] ^ (crc >> 8)) & 0xff] ^
		      table64_slices[0][(at[7] ^ crc) & 0xff];
	for (i = sliced; i < size; i++)
		crc = (crc << 8) ^ table64[((crc >> 56) ^ *at++) & 0x00FF]; // finds
	return crc;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	return crc64(start, (const char *)bytes, (int)size);
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a CRC whose table is elsewhere */
#include <stddef.h>
#include <stdint.h>
extern uint64_t crc64_table[256];
uint64_t name_hash(const char *name)
{
	uint64_t crc = -1ULL;
	for (const uint8_t *p = (const uint8_t *)name; *p != 0; p++)
		crc = (crc >> 8) ^ crc64_table[(crc ^ (*p)) & 0xFF]; // finds
	return crc;
}
uint64_t words_hash(uint64_t h, const uint64_t *words, int count)
{
	for (int i = 0; i < count; words++, i++) {
		uint64_t word = *words;
		for (int j = 0; j < 8; j++) {
			h = (h >> 8) ^ crc64_table[(h ^ word) & 0xFF]; // finds
			word >>= 8;
		}
	}
	return h;
}
unsigned mixed_in(unsigned crc, const unsigned *table, const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		crc = table[crc & 0xff] ^ (crc >> 8); // finds
	}
	return crc;
}
#endif

#if 0 /* assay example: lookalike a table that is not a CRC's, and the rest of a sliced one */
#include <stddef.h>
#include <stdint.h>
static uint32_t slices[8][256];
uint32_t sliced(uint32_t crc, const uint8_t *p, size_t size)
{
	for (; size >= 4; size -= 4, p += 4)
		crc = slices[3][(p[0] ^ crc) & 0xff] ^ slices[2][(p[1] ^ (crc >> 8)) & 0xff] ^
		      slices[1][(p[2] ^ (crc >> 16)) & 0xff] ^ slices[0][(p[3] ^ (crc >> 24)) & 0xff];
	while (size--)
		crc = slices[0][(crc ^ *p++) & 0xff] ^ (crc >> 8);
	return crc;
}
uint32_t rolling(uint32_t hash, const uint32_t *table, const uint8_t *p, size_t size)
{
	while (size--)
		hash = ((hash << 1) | (hash >> 31)) ^ table[*p++];
	return hash;
}
uint8_t pearson(uint8_t hash, const uint8_t *table, const uint8_t *p, size_t size)
{
	while (size--)
		hash = table[hash ^ *p++];
	return hash;
}
#endif

#if 0 /* assay example: also a table of other numbers, advice only */
#include <stddef.h>
#include <stdint.h>
static const uint16_t mixer[256] = {
	0x9f76, 0x4164, 0xbde5, 0x5bc8, 0xcb91, 0xb0c1, 0xf144, 0xd76d, 0xbd69, 0xa6eb, 0xec1d, 0x87b0,
	0x076c, 0xd721, 0x7733, 0xc6a5, 0xf17f, 0x3fc1, 0xa623, 0x0d46, 0xe6a1, 0x2827, 0x1cfb, 0x5f2d,
	0x7814, 0xde52, 0x3f1f, 0x6179, 0x8b33, 0x1a1a, 0x92ed, 0x3fd4, 0x035b, 0xbb2e, 0x377b, 0x687c,
	0x478c, 0x2e9c, 0xea95, 0xde11, 0xc406, 0x63b2, 0x28db, 0xc30d, 0xcc11, 0x126a, 0x2386, 0x9e30,
	0x9e11, 0x71e0, 0x206f, 0x21da, 0x0074, 0xf8eb, 0xdf14, 0x015c, 0x359e, 0xc60a, 0x3729, 0xf5ca,
	0xfb7f, 0x2a75, 0xdf56, 0x2a9e, 0x4a0f, 0x504b, 0xf623, 0x32ea, 0x8a0a, 0xe049, 0xad86, 0xa02f,
	0x346c, 0x2e81, 0xf0e3, 0xf7f3, 0xb0cd, 0x3266, 0xf770, 0xf710, 0xe4cc, 0x621a, 0x4c7d, 0x0585,
	0x5c76, 0x6a37, 0x2a7c, 0xef90, 0x254c, 0x4389, 0x10ac, 0x54f4, 0x4d25, 0xd141, 0x9a65, 0x960d,
	0x00dd, 0x9892, 0xad8d, 0xb52a, 0x5680, 0x10e6, 0x4f59, 0x5af8, 0xd18a, 0x4e5a, 0x7b12, 0xb248,
	0x50d7, 0x2f4d, 0x7b31, 0x78f8, 0xb465, 0x2d16, 0x0e97, 0x4195, 0xf9a0, 0xf063, 0x05da, 0xf300,
	0xbff2, 0x5b8e, 0xd84a, 0x677f, 0x04a0, 0x8c8f, 0xc9a9, 0x6b38, 0x5dbe, 0x6059, 0x9419, 0xd75b,
	0x0252, 0x73ec, 0x0bf6, 0xb52f, 0x2e50, 0x9fab, 0xf486, 0xf453, 0x324f, 0x1e78, 0xc177, 0x3eff,
	0xedfd, 0xd1ca, 0xf129, 0x7653, 0x5829, 0x8332, 0x5ad3, 0xe488, 0x8652, 0x403a, 0xc68d, 0x767d,
	0x1ba9, 0x96fa, 0xbf97, 0xc7ee, 0xcc17, 0x5e07, 0xdc14, 0x4bbd, 0x0960, 0x6ed7, 0xf21f, 0xfa74,
	0x1757, 0x355f, 0x573a, 0x834c, 0x9c5f, 0x5cd5, 0xeb07, 0x25f0, 0x5707, 0x4692, 0xec98, 0xb3de,
	0x8b8e, 0x1792, 0x4ffc, 0xaf9b, 0x5119, 0x4e61, 0x2d6f, 0xcc7c, 0x1404, 0xa076, 0x261c, 0xb89c,
	0xb06d, 0x4f2e, 0xff29, 0x7bd9, 0x2959, 0xb85a, 0x0c6d, 0x14b9, 0xfc98, 0x99c4, 0x8895, 0xec71,
	0x67e8, 0x0825, 0x3cc2, 0xbd95, 0x980d, 0x5805, 0xd388, 0x400d, 0x74a6, 0xa6a5, 0x6bf8, 0x2547,
	0x0e42, 0xfaa3, 0xea83, 0xa369, 0x0860, 0xcd39, 0x7e5a, 0x558d, 0xd6a3, 0x3501, 0x216d, 0xfb36,
	0xbb4e, 0x9065, 0xf325, 0x21fd, 0xa161, 0xe580, 0xc9ba, 0x69f0, 0x1b4c, 0x2b37, 0x6f3f, 0x5f7c,
	0x2634, 0x0f0b, 0xd840, 0x6baf, 0x4b78, 0x2425, 0x7401, 0xec08, 0xffd2, 0x9ed2, 0xda2d, 0x2b56,
	0xf9db, 0x85ae, 0x741b, 0xf5cb,
};
uint16_t mix(uint16_t sum, const uint8_t *p, size_t size)
{
	while (size--)
		sum = (sum >> 8) ^ mixer[(sum ^ *p++) & 0xff]; // finds
	return sum;
}
#endif

#if 0 /* assay example: also bits counted and sought one by one */
#include <assay/bench.h>
#include <stdlib.h>

static unsigned ones(uint64_t word)
{
	unsigned count = 0;
	while (word) { // finds
		word &= word - 1;
		count++;
	}
	return count;
}

static unsigned sparse(unsigned word, unsigned *left)
{
	unsigned count;
	for (count = 0; word != 0; count++) // finds
		word = word & (word - 1);
	*left = word;
	return count;
}

static unsigned shifting(unsigned long long word)
{
	int count = 0;
	for (; word > 0; word >>= 1) // finds
		count += word & 1;
	return count;
}

static unsigned testing(uint16_t word)
{
	unsigned char count = 7;
	while (word) { // finds
		if (word & 1)
			++count;
		word = word >> 1;
	}
	return count;
}

static unsigned length(uint32_t word)
{
	unsigned count = 0;
	while (word) { // finds
		count++;
		word /= 2;
	}
	return count;
}

static unsigned logarithm(uint64_t word)
{
	unsigned count = 0;
	while (word >>= 1) // finds
		count++;
	return count;
}

static unsigned logarithm_and_rest(uint64_t word)
{
	unsigned count = 3;
	while (word > 1) { // finds
		word >>= 1;
		count++;
	}
	return count + (unsigned)word;
}

static uint32_t power(uint32_t wanted)
{
	uint32_t size = 4;
	while (size < wanted) // finds
		size <<= 1;
	return size;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	uint64_t sum = start;
	for (size_t i = 0; i < size; i++) {
		uint64_t word = (sum * 0x9e3779b97f4a7c15u) >> (bytes[i] & 63);
		unsigned left = 1;
		sum = sum * 31 + ones(word) + shifting(word) + testing((uint16_t)word) + length((uint32_t)word);
		sum += sparse((unsigned)word, &left) * 5 + left + logarithm(word) * 3 + logarithm_and_rest(word) * 7;
		sum += power((uint32_t)(word & 0x7fffffff)) + ones(0) + length(0) + logarithm(0) + logarithm_and_rest(0);
	}
	return sum;
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also bits counted and sought one by one fixed */
#include <assay/bench.h>
#include <stdlib.h>

static unsigned ones(uint64_t word)
{
	unsigned count = 0;
	count += __builtin_popcountl(word);
	return count;
}

static unsigned sparse(unsigned word, unsigned *left)
{
	unsigned count;
	{ count = __builtin_popcount(word); word = 0; }
	*left = word;
	return count;
}

static unsigned shifting(unsigned long long word)
{
	int count = 0;
	count += __builtin_popcountll(word);
	return count;
}

static unsigned testing(uint16_t word)
{
	unsigned char count = 7;
	count += __builtin_popcount(word);
	return count;
}

static unsigned length(uint32_t word)
{
	unsigned count = 0;
	count += word ? 32 - __builtin_clz(word) : 0;
	return count;
}

static unsigned logarithm(uint64_t word)
{
	unsigned count = 0;
	count += word ? 63 - __builtin_clzl(word) : 0;
	return count;
}

static unsigned logarithm_and_rest(uint64_t word)
{
	unsigned count = 3;
	{ count += word ? 63 - __builtin_clzl(word) : 0; word = word != 0; }
	return count + (unsigned)word;
}

static uint32_t power(uint32_t wanted)
{
	uint32_t size = 4;
	if (size < wanted) size = (uint32_t)1 << (32 - __builtin_clz(wanted - 1));
	return size;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	uint64_t sum = start;
	for (size_t i = 0; i < size; i++) {
		uint64_t word = (sum * 0x9e3779b97f4a7c15u) >> (bytes[i] & 63);
		unsigned left = 1;
		sum = sum * 31 + ones(word) + shifting(word) + testing((uint16_t)word) + length((uint32_t)word);
		sum += sparse((unsigned)word, &left) * 5 + left + logarithm(word) * 3 + logarithm_and_rest(word) * 7;
		sum += power((uint32_t)(word & 0x7fffffff)) + ones(0) + length(0) + logarithm(0) + logarithm_and_rest(0);
	}
	return sum;
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: lookalike loops over the bits that are set */
#include <stdint.h>
unsigned sum_of_positions(uint64_t word, const unsigned *weights)
{
	unsigned sum = 0;
	while (word) {
		sum += weights[__builtin_ctzll(word)];
		word &= word - 1;
	}
	return sum;
}
unsigned parity(uint64_t word)
{
	unsigned odd = 0;
	while (word) {
		odd ^= 1;
		word &= word - 1;
	}
	return odd;
}
unsigned digits(uint64_t word)
{
	unsigned count = 0;
	while (word) {
		word /= 10;
		count++;
	}
	return count;
}
unsigned steps(volatile unsigned *device)
{
	unsigned count = 0, all = 0;
	while (*device) {
		all += *device & 1;
		count++;
	}
	return count + all;
}
int halves(int number)
{
	int count = 0;
	while (number) { /* also for negative numbers, which end at 0 by division only */
		number /= 2;
		count++;
	}
	return count;
}
uint64_t grow(uint64_t size, uint64_t wanted, uint64_t *tries)
{
	while (size < wanted) {
		size *= 2;
		(*tries)++;
	}
	return size;
}
#endif

#if 0 /* assay example: lookalike loops that begin with something else */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* What a loop begins with is lost, or comes too late, when something takes its place or is put before it. */
void copy_on(unsigned char *to, const unsigned char *from, size_t i, size_t n, size_t *left)
{
	size_t j;
	for (j = 0; i < n; i++)
		to[i] = from[i];
	*left = j;
}
void copy_twice(unsigned char *to, const unsigned char *from, size_t n, size_t *left)
{
	size_t i, j;
	for (i = (j = 0); i < n; i++)
		to[i] = from[i];
	for (i = j, *left = i; i < n; i++)
		to[i] = from[i];
}
void walk_on(char *to, const char *from, int n, const char **start)
{
	for (*start = from; n--;)
		*to++ = *from++;
}
uint64_t number_on(const uint8_t *bytes, unsigned i, unsigned *left)
{
	uint64_t number = 0;
	unsigned j;
	for (j = 0; i < 8; i++)
		number = number << 8 | bytes[i];
	*left = j;
	return number;
}
unsigned count_on(uint64_t word, unsigned count, uint64_t *left)
{
	unsigned j, all = count;
	for (j = 0; word; word >>= 1)
		all++;
	for (word = *left; word; word &= word - 1)
		all++;
	for (count = 0, word = 7; word; word >>= 1)
		count++;
	for (unsigned own = 0; word; word &= word - 1)
		if (own++ > 64)
			break;
	return all + j + count;
}
uint32_t power_on(uint32_t power, uint32_t wanted, uint32_t *left)
{
	uint32_t j;
	for (j = 1; power < wanted;)
		power <<= 1;
	*left = j;
	return power;
}
uint32_t powers(const uint32_t *wanted, size_t count, uint32_t *left)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += power_on(1, wanted[i], left);
	return sum;
}
void blank(char *text, char *const *next)
{
	size_t i = 0;
	for (text = *next; i < strlen(text); i++)
		text[i] = ' ';
}
#endif

#if 0 /* assay example: also a CRC whose loop begins with something else, advice only */
#include <stddef.h>
#include <stdint.h>
static uint32_t table[256];
void fill(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t entry = i;
		for (unsigned bit = 0; bit < 8; bit++)
			entry = entry & 1 ? entry >> 1 ^ 0xedb88320 : entry >> 1;
		table[i] = entry;
	}
}
uint32_t to_end(const uint8_t *p, const uint8_t *end)
{
	uint32_t crc;
	for (crc = ~0u; p < end; p++)
		crc = table[(crc ^ *p) & 0xff] ^ (crc >> 8); // finds
	return ~crc;
}
uint32_t counted_down(uint32_t crc, const uint8_t *p, size_t size, const uint8_t **start)
{
	for (*start = p; size > 0; size--)
		crc = table[(crc ^ *p++) & 0xff] ^ (crc >> 8); // finds
	return crc;
}
uint32_t indexed(const uint8_t *p, size_t i, size_t size)
{
	uint32_t crc;
	for (crc = 0; i < size; i++)
		crc = table[(crc ^ p[i]) & 0xff] ^ (crc >> 8); // finds
	return crc;
}
#endif

#if 0 /* assay example: lookalike bits that are sought once, beside more */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
/* The growth of a buffer: some turns beside a reallocation, also where it is called in a loop. */
static void *grown(void *buffer, size_t *size, size_t wanted)
{
	while (*size < wanted)
		*size *= 2;
	size_t next = 64;
	while (next < wanted)
		next *= 2;
	return realloc(buffer, next);
}
void *grow_all(void **buffers, size_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffers[i] = grown(buffers[i], &sizes[i], i * 100);
	return buffers;
}
/* Nothing shows that it is repeated. */
size_t directory_size(size_t segments)
{
	size_t size = 256;
	while (size < segments)
		size <<= 1;
	return size;
}
/* A word's bits, once, beside the calls that are made for it. */
extern void node_put(unsigned at, unsigned level);
extern unsigned node_level(unsigned at);
void tree_put(unsigned count)
{
	unsigned bits = 0;
	for (; count > 0; count >>= 1)
		bits++;
	node_put(count, bits + node_level(count));
}
static unsigned level_of(uint64_t size)
{
	unsigned level = 0;
	while (size >>= 1)
		level++;
	return level;
}
void window_choose(uint64_t size, unsigned *window)
{
	*window = level_of(size) + 10;
}
#endif

#if 0 /* assay example: lookalike strings that have room for a few letters */
#include <stdlib.h>
#include <string.h>
char *roman(unsigned number)
{
	char *result = malloc(16);
	*result = '\0';
	while (number-- && strlen(result) < 15)
		strcat(result, "M");
	return result;
}
struct tag {
	char name[12];
};
void tag_upper(struct tag *tag)
{
	for (size_t i = 0; i < strlen(tag->name); i++)
		tag->name[i] = (char)(tag->name[i] & ~32);
}
#endif

#if 0 /* assay example: also numbers put together from bytes */
#include <assay/bench.h>
#include <stdlib.h>

static uint64_t big(const uint8_t *p)
{
	uint64_t number = 0;
	for (int i = 0; i < 8; i++) // finds
		number = (number << 8) | p[i];
	return number;
}

static uint64_t little(const unsigned char *p)
{
	uint64_t number = 0;
	unsigned i;
	for (i = 0; i < 8; i++) // finds
		number |= (uint64_t)p[i] << (8 * i);
	return number + i;
}

static uint32_t downwards(const uint8_t *p)
{
	uint32_t number = 0;
	for (int i = 3; i >= 0; i--) { // finds
		number = number << 8 | p[i];
	}
	return number;
}

static uint64_t appended(uint64_t number, const uint8_t *p)
{
	for (int i = 0; i < 4; i++) // finds
		number = number * 256 + p[i];
	return number;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	uint64_t sum = start;
	for (size_t i = 0; i + 8 <= size; i++)
		sum = sum * 31 + big(bytes + i) + little(bytes + i) * 3 + downwards(bytes + i) * 5 + appended(sum, bytes + i) * 7;
	return sum;
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also numbers put together from bytes fixed */
#include <assay/bench.h>
#include <stdlib.h>

static uint64_t big(const uint8_t *p)
{
	uint64_t number = 0;
	number = (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 | (uint64_t)p[3] << 32 | (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 | (uint64_t)p[6] << 8 | (uint64_t)p[7];
	return number;
}

static uint64_t little(const unsigned char *p)
{
	uint64_t number = 0;
	unsigned i;
	{ number |= (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56; i = 8; }
	return number + i;
}

static uint32_t downwards(const uint8_t *p)
{
	uint32_t number = 0;
	number = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	return number;
}

static uint64_t appended(uint64_t number, const uint8_t *p)
{
	number = number << 32 | (uint64_t)p[0] << 24 | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 8 | (uint64_t)p[3];
	return number;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	uint64_t sum = start;
	for (size_t i = 0; i + 8 <= size; i++)
		sum = sum * 31 + big(bytes + i) + little(bytes + i) * 3 + downwards(bytes + i) * 5 + appended(sum, bytes + i) * 7;
	return sum;
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: lookalike numbers that compilers see through, or must not */
#include <stddef.h>
#include <stdint.h>
uint32_t load(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
uint32_t read_device(volatile uint8_t *port)
{
	uint32_t number = 0;
	for (int i = 0; i < 4; i++)
		number = number << 8 | port[i];
	return number;
}
uint64_t any_length(const uint8_t *p, int count)
{
	uint64_t number = 0;
	for (int i = 0; i < count; i++)
		number = number << 8 | p[i];
	return number;
}
#endif

#if 0 /* assay example: also a copy that may overlap, advice only */
#include <stddef.h>
void put(unsigned char *to, const unsigned char *from, size_t size)
{
	for (size_t i = 0; i < size; i++) // finds
		to[i] = from[i];
}
void give(char *out, const char *in, int size)
{
	while (size-- > 0) // finds
		*out++ = *in++;
}
#endif

#if 0 /* assay example: also a copy that the flags keep slow */
// flags: -O1
#include <assay/bench.h>
#include <stdlib.h>

static __attribute__((noinline)) void put(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
	for (size_t i = 0; i < size; i++) // finds
		to[i] = from[i];
}

static __attribute__((noinline)) void give(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
	while (size--) // finds
		*to++ = *from++;
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	static uint8_t first[4096], second[4096];
	put(first, bytes, size);
	give(second, bytes, size);
	for (size_t i = 0; i < size; i++)
		start = start * 31 + first[i] * 3 + second[i];
	return start;
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a copy that the flags keep slow fixed */
// flags: -O1
#include <assay/bench.h>
#include <stdlib.h>

static __attribute__((noinline)) void put(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
	__builtin_memcpy(to, from, size);
}

static __attribute__((noinline)) void give(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
	__builtin_memcpy(to, from, size);
}

static uint64_t checksum(uint64_t start, const uint8_t *bytes, size_t size)
{
	static uint8_t first[4096], second[4096];
	put(first, bytes, size);
	give(second, bytes, size);
	for (size_t i = 0; i < size; i++)
		start = start * 31 + first[i] * 3 + second[i];
	return start;
}

struct state {
	uint8_t *bytes;
	size_t size;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->bytes = malloc(s->size);
	assay_fill_random(b, s->bytes, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum ^= checksum(s->sum, s->bytes, s->size);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t sum = checksum(1, s->bytes, s->size);
	assay_output(b, "checksum", &sum, sizeof sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t size = 0; size < 40; size++)
		for (size_t from = 0; from < 3; from++) {
			uint64_t sum = checksum(size * 0x123456789abcdef1u, s->bytes + from, size);
			assay_output(b, "a few bytes", &sum, sizeof sum);
		}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: lookalike copies that become memcpy, or are not one */
#include <stddef.h>
void put(unsigned char *restrict to, const unsigned char *restrict from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = from[i];
}
void copy_match(unsigned char *out, const unsigned char *in, size_t size)
{
	while (size--)
		*out++ = *in++;
}
void widen(unsigned short *to, const unsigned char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = from[i];
}
void reverse(unsigned char *to, const unsigned char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = from[size - 1 - i];
}
void within(unsigned char *at, size_t distance, size_t size)
{
	unsigned char *from = at - distance;
	while (size--)
		*at++ = *from++;
}
#endif
