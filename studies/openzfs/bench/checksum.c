/* Workload: one checksum of one block, as OpenZFS computes it for a block pointer.
 *
 * Parameters:
 *   algorithm  fletcher_2, fletcher_4, sha256, sha512 (SHA-512/256, as ZFS's checksum=sha512 is), skein, edonr, blake3
 *   impl       an implementation by the tree's name (scalar, generic, x64, sse2, avx2, shani, ...), or
 *              fastest  what the kernel module's rule picks on this machine: each implementation is timed for a
 *                       millisecond, on 128 KiB for fletcher_4 and on 256 KiB for the others
 *              default  what user space uses when nobody chooses: it skips that benchmark
 *   size       bytes, a multiple of 64
 *   data       see data.h
 *   from       sources (the tree's, compiled with this driver) or libzpool (Debian's library, loaded at run time)
 *
 *   answer     digest, or agreement: what is handed over as the result, so that algorithms can be compared whose digests
 *              differ by design. `setup` fails where an implementation doesn't give the plain one's digests
 *
 * Compiled with -DSTUDY_ONLY_LIBZPOOL the driver needs no source tree and knows from=libzpool only.
 *
 * Keyed algorithms get a key of zeros and a template that is copied for each block, as zio_checksum_compute() does it.
 */
#include <assay/bench.h>

#include "data.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DIGEST_BYTES 32
#define CONTEXT_BYTES 4096
#define KEY_BYTES 32

/* The tree's zfs_impl_t. */
struct implementations {
	const char *name;
	uint32_t (*count)(void);
	uint32_t (*id)(void);
	const char *(*id_name)(void);
	void (*fastest_set)(uint32_t id);
	void (*id_set)(uint32_t id);
	int (*name_set)(const char *name);
};

/* What the drivers call, from one place or the other. Contexts are opaque here. */
struct calls {
	void (*fletcher_2)(const void *data, uint64_t size, const void *template, uint64_t *digest);
	void (*fletcher_4)(const void *data, uint64_t size, const void *template, uint64_t *digest);
	void (*fletcher_4_init)(void);
	int (*fletcher_4_impl_set)(const char *name);
	const struct implementations *(*implementations)(const char *algorithm);
	void (*sha2_init)(int type, void *context);
	void (*sha2_update)(void *context, const void *data, size_t size);
	void (*sha2_final)(void *digest, void *context);
	int (*skein_init)(void *context, size_t bits, uint64_t tree, const uint8_t *key, size_t key_bytes);
	int (*skein_update)(void *context, const uint8_t *data, size_t size);
	int (*skein_final)(void *context, uint8_t *digest);
	void (*edonr_init)(void *context);
	void (*edonr_update)(void *context, const uint8_t *data, size_t bits);
	void (*edonr_final)(void *context, uint8_t *digest);
	void (*edonr_hash)(const uint8_t *data, size_t bits, uint8_t *digest);
	void (*blake3_init_keyed)(void *context, const uint8_t *key);
	void (*blake3_update)(void *context, const void *data, size_t size);
	void (*blake3_final)(const void *context, uint8_t *digest);
};

static const struct {
	const char *symbol;
	size_t at;
} call_names[] = {
	{"fletcher_2_native", offsetof(struct calls, fletcher_2)},
	{"fletcher_4_native", offsetof(struct calls, fletcher_4)},
	{"fletcher_4_init", offsetof(struct calls, fletcher_4_init)},
	{"fletcher_4_impl_set", offsetof(struct calls, fletcher_4_impl_set)},
	{"zfs_impl_get_ops", offsetof(struct calls, implementations)},
	{"SHA2Init", offsetof(struct calls, sha2_init)},
	{"SHA2Update", offsetof(struct calls, sha2_update)},
	{"SHA2Final", offsetof(struct calls, sha2_final)},
	{"Skein_512_InitExt", offsetof(struct calls, skein_init)},
	{"Skein_512_Update", offsetof(struct calls, skein_update)},
	{"Skein_512_Final", offsetof(struct calls, skein_final)},
	{"EdonRInit", offsetof(struct calls, edonr_init)},
	{"EdonRUpdate", offsetof(struct calls, edonr_update)},
	{"EdonRFinal", offsetof(struct calls, edonr_final)},
	{"EdonRHash", offsetof(struct calls, edonr_hash)},
	{"Blake3_InitKeyed", offsetof(struct calls, blake3_init_keyed)},
	{"Blake3_Update", offsetof(struct calls, blake3_update)},
	{"Blake3_Final", offsetof(struct calls, blake3_final)},
};

#ifndef STUDY_ONLY_LIBZPOOL
#include <sys/blake3.h>
#include <sys/edonr.h>
#include <sys/sha2.h>
#include <sys/skein.h>
#include <sys/zfs_impl.h>

_Static_assert(sizeof(BLAKE3_CTX) <= CONTEXT_BYTES && sizeof(SHA2_CTX) <= CONTEXT_BYTES, "a context has grown");
_Static_assert(sizeof(EdonRState) <= CONTEXT_BYTES && sizeof(Skein_512_Ctxt_t) <= CONTEXT_BYTES, "a context has grown");
_Static_assert(sizeof(zfs_impl_t) == sizeof(struct implementations), "zfs_impl_t has other members in this tree");
_Static_assert(offsetof(zfs_impl_t, setname) == offsetof(struct implementations, name_set),
               "zfs_impl_t has other members in this tree");

/* What the tree's files need of the rest of user space's OpenZFS. */
uint32_t atomic_swap_32(volatile uint32_t *target, uint32_t value)
{
	return __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);
}
void membar_producer(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}
void libspl_assertf(const char *file, const char *function, int line, const char *format, ...)
{
	fprintf(stderr, "%s:%d: %s(): %s\n", file, line, function, format);
	abort();
}

/* Their header needs half of OpenZFS. */
extern void fletcher_2_native(), fletcher_4_native(), fletcher_4_init();
extern int fletcher_4_impl_set();

static void calls_from_sources(struct calls *calls)
{
	*calls = (struct calls){
		.fletcher_2 = (void *)fletcher_2_native,
		.fletcher_4 = (void *)fletcher_4_native,
		.fletcher_4_init = (void *)fletcher_4_init,
		.fletcher_4_impl_set = (void *)fletcher_4_impl_set,
		.implementations = (void *)zfs_impl_get_ops,
		.sha2_init = (void *)SHA2Init,
		.sha2_update = (void *)SHA2Update,
		.sha2_final = (void *)SHA2Final,
		.skein_init = (void *)Skein_512_InitExt,
		.skein_update = (void *)Skein_512_Update,
		.skein_final = (void *)Skein_512_Final,
		.edonr_init = (void *)EdonRInit,
		.edonr_update = (void *)EdonRUpdate,
		.edonr_final = (void *)EdonRFinal,
		.edonr_hash = (void *)EdonRHash,
		.blake3_init_keyed = (void *)Blake3_InitKeyed,
		.blake3_update = (void *)Blake3_Update,
		.blake3_final = (void *)Blake3_Final,
	};
}
#endif

/* Found by the program's run path (a folder that `fetch` fills), or where the system keeps its libraries. */
static void calls_from_libzpool(struct calls *calls)
{
	static char reason[256];
	void *library = dlopen("libzpool.so.6", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(reason, sizeof(reason), "OpenZFS's library can't be loaded (%s): run fetch, or install libzpool6linux",
		         dlerror());
		assay_unavailable(reason);
	}
	for (size_t i = 0; i < sizeof(call_names) / sizeof(call_names[0]); i++) {
		void *call = dlsym(library, call_names[i].symbol);
		if (!call) {
			snprintf(reason, sizeof(reason), "libzpool.so.6 has no %s", call_names[i].symbol);
			assay_unavailable(reason);
		}
		memcpy((char *)calls + call_names[i].at, &call, sizeof(call));
	}
}

/* ---- algorithms ------------------------------------------------------------------------------------------------ */

struct state {
	struct calls calls;
	void (*compute)(struct state *s, const void *data, size_t size, uint64_t *digest);
	int sha2_type;
	bool only_agreement;
	size_t size_bytes;
	char *data;
	uint64_t digest[DIGEST_BYTES / 8];
	_Alignas(64) char template[CONTEXT_BYTES];
	_Alignas(64) char context[CONTEXT_BYTES];
	size_t context_bytes; /* of the template, that are copied for each block */
};

static void fletcher_2_compute(struct state *s, const void *data, size_t size, uint64_t *digest)
{
	s->calls.fletcher_2(data, size, NULL, digest);
}

static void fletcher_4_compute(struct state *s, const void *data, size_t size, uint64_t *digest)
{
	s->calls.fletcher_4(data, size, NULL, digest);
}

static void sha2_compute(struct state *s, const void *data, size_t size, uint64_t *digest)
{
	s->calls.sha2_init(s->sha2_type, s->context);
	s->calls.sha2_update(s->context, data, size);
	s->calls.sha2_final(digest, s->context);
}

static void skein_compute(struct state *s, const void *data, size_t size, uint64_t *digest)
{
	memcpy(s->context, s->template, s->context_bytes);
	s->calls.skein_update(s->context, data, size);
	s->calls.skein_final(s->context, (uint8_t *)digest);
}

static void edonr_compute(struct state *s, const void *data, size_t size, uint64_t *digest)
{
	uint64_t whole[8];
	memcpy(s->context, s->template, s->context_bytes);
	s->calls.edonr_update(s->context, data, size * 8);
	s->calls.edonr_final(s->context, (uint8_t *)whole);
	memcpy(digest, whole, DIGEST_BYTES);
}

static void blake3_compute(struct state *s, const void *data, size_t size, uint64_t *digest)
{
	memcpy(s->context, s->template, s->context_bytes);
	s->calls.blake3_update(s->context, data, size);
	s->calls.blake3_final(s->context, (uint8_t *)digest);
}

/* The last byte of the template that was written; what follows needs no copying. Rounded up to a cache line. */
static size_t template_bytes(const struct state *s)
{
	size_t used = CONTEXT_BYTES;
	while (used > 64 && s->template[used - 1] == 0)
		used--;
	return (used + 63) / 64 * 64;
}

/* The numbers of the SHA-2 types differ between releases: found by a known answer, the digest of "abc". */
static void sha2_find(struct assay_bench *bench, struct state *s, const char *name)
{
	static const unsigned char sha256[8] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea};
	static const unsigned char sha512_256[8] = {0x53, 0x04, 0x8e, 0x26, 0x81, 0x94, 0x1e, 0xf9};
	bool wide = strcmp(name, "sha512") == 0;
	for (s->sha2_type = 0; s->sha2_type < 12; s->sha2_type++) {
		unsigned char digest[64] = {0};
		s->calls.sha2_init(s->sha2_type, s->context);
		s->calls.sha2_update(s->context, "abc", 3);
		s->calls.sha2_final(digest, s->context);
		if (memcmp(digest, wide ? sha512_256 : sha256, sizeof(sha256)) == 0)
			return;
	}
	assay_fail(bench, "no type of SHA2Init() gives the known digest of \"abc\" for %s", name);
}

static void algorithm_set(struct assay_bench *bench, struct state *s, const char *name)
{
	static const uint8_t key[KEY_BYTES];
	uint8_t block[128];
	memset(s->template, 0, sizeof(s->template));
	if (strcmp(name, "fletcher_2") == 0) {
		s->compute = fletcher_2_compute;
	} else if (strcmp(name, "fletcher_4") == 0) {
		s->compute = fletcher_4_compute;
	} else if (strcmp(name, "sha256") == 0 || strcmp(name, "sha512") == 0) {
		s->compute = sha2_compute;
		sha2_find(bench, s, name);
	} else if (strcmp(name, "skein") == 0) {
		s->compute = skein_compute;
		s->calls.skein_init(s->template, 8 * DIGEST_BYTES, 0, key, sizeof(key));
	} else if (strcmp(name, "edonr") == 0) {
		/* The key is stretched to a block, as abd_checksum_edonr_tmpl_init() does it. */
		s->compute = edonr_compute;
		s->calls.edonr_hash(key, 8 * sizeof(key), block);
		s->calls.edonr_hash(block, 512, block + 64);
		s->calls.edonr_init(s->template);
		s->calls.edonr_update(s->template, block, 8 * sizeof(block));
	} else if (strcmp(name, "blake3") == 0) {
		s->compute = blake3_compute;
		s->calls.blake3_init_keyed(s->template, key);
	} else {
		assay_fail(bench, "algorithm=%s is unknown: take fletcher_2, fletcher_4, sha256, sha512, skein, edonr or blake3", name);
	}
	s->context_bytes = template_bytes(s);
}

/* ---- implementations ------------------------------------------------------------------------------------------- */

static bool cpu_has_sha(void)
{
	unsigned a, b, c, d;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29);
}

/* Does this CPU have what an implementation of that name needs? */
static bool cpu_serves(const char *impl)
{
	__builtin_cpu_init();
	if (strcmp(impl, "sse2") == 0)
		return __builtin_cpu_supports("sse2");
	if (strcmp(impl, "ssse3") == 0)
		return __builtin_cpu_supports("ssse3");
	if (strcmp(impl, "sse41") == 0)
		return __builtin_cpu_supports("sse4.1");
	if (strcmp(impl, "avx") == 0)
		return __builtin_cpu_supports("avx");
	if (strcmp(impl, "avx2") == 0)
		return __builtin_cpu_supports("avx2");
	if (strcmp(impl, "avx512f") == 0)
		return __builtin_cpu_supports("avx512f");
	if (strcmp(impl, "avx512bw") == 0)
		return __builtin_cpu_supports("avx512bw");
	if (strcmp(impl, "avx512") == 0)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
	if (strcmp(impl, "shani") == 0)
		return cpu_has_sha();
	return true;
}

/* In the order of the tree's own lists. Fletcher-4 has no call that lists them. */
static const char *const fletcher_4_names[] = {"scalar", "superscalar", "superscalar4", "sse2", "ssse3",
                                               "avx2",   "avx512f",     "avx512bw"};
enum { FLETCHER_4_NAMES = sizeof(fletcher_4_names) / sizeof(fletcher_4_names[0]) };

static const struct implementations *implementations_of(struct state *s, const char *algorithm)
{
	if (strcmp(algorithm, "sha256") != 0 && strcmp(algorithm, "sha512") != 0 && strcmp(algorithm, "blake3") != 0)
		return NULL;
	return s->calls.implementations(algorithm);
}

static bool impl_select(struct state *s, const char *algorithm, const char *name)
{
	const struct implementations *list = implementations_of(s, algorithm);
	if (list)
		return list->name_set(name) == 0;
	if (strcmp(algorithm, "fletcher_4") == 0)
		return s->calls.fletcher_4_impl_set(name) == 0;
	return strcmp(name, "generic") == 0;
}

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Bytes per nanosecond within a millisecond, as the kernel module's benchmark counts them. */
static double rate(struct state *s, const char *algorithm, const void *data, size_t size)
{
	uint64_t digest[DIGEST_BYTES / 8], done = 0;
	double start = now_ns(), took;
	algorithm_set(NULL, s, algorithm); /* a template belongs to an implementation */
	do {
		for (int i = 0; i < 8; i++, done += size)
			s->compute(s, data, size, digest);
		took = now_ns() - start;
	} while (took < 1e6);
	return (double)done / took;
}

/* The kernel module's choice: chksum_benchmark() and fletcher_4_benchmark(), which user space leaves out. */
static void fastest_select(struct assay_bench *bench, struct state *s, const char *algorithm)
{
	const struct implementations *list = implementations_of(s, algorithm);
	bool fletcher = strcmp(algorithm, "fletcher_4") == 0;
	size_t size = fletcher ? 128 << 10 : 256 << 10, best = 0;
	size_t count = list ? list->count() : fletcher ? FLETCHER_4_NAMES : 0;
	double best_rate = 0;
	if (!count)
		return; /* there is but one */
	char *data = aligned_alloc(64, size);
	if (!data)
		assay_fail(bench, "no memory");
	memset(data, 0x5a, size);
	for (size_t i = 0; i < count; i++) {
		if (list)
			list->id_set((uint32_t)i);
		else if (!impl_select(s, algorithm, fletcher_4_names[i]))
			continue;
		double r = rate(s, algorithm, data, size);
		if (r > best_rate) {
			best_rate = r;
			best = i;
		}
	}
	free(data);
	if (list) {
		list->fastest_set((uint32_t)best);
		list->name_set("fastest");
	} else {
		impl_select(s, algorithm, fletcher_4_names[best]);
	}
}

/* A build without its HAVE_ defines compiles, links and silently holds scalar code only: named, never timed as if it
 * were the real thing. */
static void simd_check(struct assay_bench *bench, struct state *s, const char *algorithm)
{
	if (strcmp(algorithm, "fletcher_2") == 0 || strcmp(algorithm, "skein") == 0 || strcmp(algorithm, "edonr") == 0)
		return;
#ifdef __x86_64__
	if (cpu_serves("avx2") && !impl_select(s, algorithm, "avx2"))
		assay_fail(bench, "this build of %s has lost its SIMD variants: the CPU has AVX2 and the build holds no avx2 "
		                  "implementation: compile it with -DHAVE_AVX2=1 and its like (newer trees: HAVE_TOOLCHAIN_AVX2)",
		           algorithm);
#else
	(void)bench, (void)s;
#endif
}

static void impl_set(struct assay_bench *bench, struct state *s, const char *algorithm, const char *impl)
{
	static char reason[192];
	if (strcmp(impl, "fastest") == 0) {
		fastest_select(bench, s, algorithm);
		return;
	}
	if (!cpu_serves(impl)) {
		snprintf(reason, sizeof(reason), "this CPU lacks what %s's %s implementation needs", algorithm, impl);
		assay_unavailable(reason);
	}
	if (impl_select(s, algorithm, strcmp(impl, "default") == 0 ? "fastest" : impl))
		return;
	snprintf(reason, sizeof(reason), "%s offers no %s, though this CPU could run it: the build lacks it, or the tree's own "
	         "test of the CPU says no", algorithm, impl);
	assay_unavailable(reason);
}

/* ---- the workload ---------------------------------------------------------------------------------------------- */

static const size_t check_sizes[] = {64, 512, 576, 1024, 1088, 4096, 16384, 65600};
enum { CHECK_SIZES = sizeof(check_sizes) / sizeof(check_sizes[0]) };

/* Every implementation must agree with the plain one, aligned and not, before any of them is timed. */
static void agreement_check(struct assay_bench *bench, struct state *s, const char *algorithm, const char *impl)
{
	const char *plain = strcmp(algorithm, "fletcher_4") == 0 ? "scalar" : "generic";
	uint64_t expected[CHECK_SIZES][2][DIGEST_BYTES / 8];
	char *data = malloc(check_sizes[CHECK_SIZES - 1] + 64);
	if (!data)
		assay_fail(bench, "no memory");
	assay_fill_random(bench, data, check_sizes[CHECK_SIZES - 1] + 64);
	for (int pass = 0; pass < 2; pass++) {
		if (pass == 0) {
			if (!impl_select(s, algorithm, plain))
				assay_fail(bench, "%s has no %s implementation to check the others with", algorithm, plain);
		} else {
			impl_set(bench, s, algorithm, impl);
		}
		algorithm_set(bench, s, algorithm);
		for (size_t i = 0; i < CHECK_SIZES; i++) {
			for (size_t off = 0; off < 2; off++) {
				uint64_t digest[DIGEST_BYTES / 8];
				s->compute(s, data + 4 * off, check_sizes[i], digest);
				if (pass == 0)
					memcpy(expected[i][off], digest, sizeof(digest));
				else if (memcmp(expected[i][off], digest, sizeof(digest)) != 0)
					assay_fail(bench, "%s by %s and by %s differ for %zu bytes, %zu off alignment: nothing is timed", algorithm,
					           plain, impl, check_sizes[i], 4 * off);
			}
		}
	}
	free(data);
}

static void *setup(struct assay_bench *bench)
{
	struct state *s = aligned_alloc(64, (sizeof(*s) + 63) / 64 * 64);
	const char *algorithm = assay_param(bench, "algorithm", "fletcher_4");
	const char *impl = assay_param(bench, "impl", "fastest");
	if (!s)
		assay_fail(bench, "no memory");
	memset(s, 0, sizeof(*s));
	s->size_bytes = assay_param_u64(bench, "size", 131072);
	if (s->size_bytes < 64 || s->size_bytes % 64 || s->size_bytes > 16 << 20)
		assay_fail(bench, "size=%zu is not one of a block's: take a multiple of 64 up to 16777216", s->size_bytes);
#ifdef STUDY_ONLY_LIBZPOOL
	calls_from_libzpool(&s->calls);
#else
	const char *from = assay_param(bench, "from", "sources");
	if (strcmp(from, "libzpool") == 0)
		calls_from_libzpool(&s->calls);
	else if (strcmp(from, "sources") == 0)
		calls_from_sources(&s->calls);
	else
		assay_fail(bench, "from=%s is unknown: take sources or libzpool", from);
#endif
	const char *answer = assay_param(bench, "answer", "digest");
	s->only_agreement = strcmp(answer, "agreement") == 0;
	if (!s->only_agreement && strcmp(answer, "digest") != 0)
		assay_fail(bench, "answer=%s is unknown: take digest or agreement", answer);
	s->calls.fletcher_4_init();
	simd_check(bench, s, algorithm);
	agreement_check(bench, s, algorithm, impl);
	/* Page-aligned, as an ABD's buffers are. */
	s->data = aligned_alloc(4096, (s->size_bytes + 4095) / 4096 * 4096);
	if (!s->data)
		assay_fail(bench, "no memory for a block of %zu bytes", s->size_bytes);
	data_fill(bench, assay_param(bench, "data", "random"), s->data, s->size_bytes);
	assay_bytes_per_iteration(bench, s->size_bytes);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->compute(s, s->data, s->size_bytes, s->digest);
		assay_keep(s->digest);
	}
}

static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	static const char agrees[] = "the digests of the plain implementation";
	if (s->only_agreement)
		assay_output(bench, "agreement", agrees, sizeof(agrees));
	else
		assay_output(bench, "digest", s->digest, sizeof(s->digest));
}

/* Sizes around the SIMD variants' strides, each at several alignments. */
static void edges(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	if (s->only_agreement)
		return;
	char *data = malloc((1 << 20) + 64);
	if (!data)
		assay_fail(bench, "no memory");
	assay_fill_random(bench, data, (1 << 20) + 64);
	static const size_t sizes[] = {64, 128, 192, 448, 512, 1024, 2048, 4032, 4096, 8192, 65536, 131072, 1048576};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t off = 0; off <= 8; off += 4) {
			uint64_t digest[DIGEST_BYTES / 8];
			char label[64];
			snprintf(label, sizeof(label), "digest of %zu bytes, %zu off alignment", sizes[i], off);
			s->compute(s, data + off, sizes[i], digest);
			assay_output(bench, label, digest, sizeof(digest));
		}
	}
	memset(data, 0xff, 1 << 20); /* sums at their largest */
	uint64_t digest[DIGEST_BYTES / 8];
	s->compute(s, data, 1 << 20, digest);
	assay_output(bench, "digest of ones", digest, sizeof(digest));
	free(data);
}

static void teardown(void *state)
{
	struct state *s = state;
	free(s->data);
	free(s);
}

const struct assay_workload assay_workload = {
	.setup = setup, .run = run, .output = output, .edges = edges, .teardown = teardown};
