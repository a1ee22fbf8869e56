/* Which words of a compile command reach a compiler. */
#include "port/flags.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static const char *kept(const char *text)
{
	struct string_list words = {0};
	assert_true(shell_split(&arena, text, &words));
	struct string_list left = flags_kept(&arena, &words);
	return text_join(&arena, &left, " ");
}

/* What loads or starts something, by any name that a driver knows. Nothing of it may be left, wherever it stands. */
static const char *const foreign[] = {
    "-fplugin=evil.so",
    "-fplugin=evil.so -fplugin-arg-evil-x=y",
    "--plugin=evil.so",
    "-fpass-plugin=evil.so",
    "--pass-plugin=evil.so",
    "-iplugindir=evil",
    "-Xclang -load -Xclang evil.so",
    "-Xclang -load -Xclang evil.so -Xclang -add-plugin -Xclang evil",
    "-Xclang -fpass-plugin=evil.so",
    "-Xclang -plugin -Xclang evil",
    "-Xclang -mllvm -Xclang -load=evil.so",
    "-Xclang -target-feature -Xclang -load",
    "-Xclang -mlink-bitcode-file -Xclang evil.bc",
    "-Xarch_host -fplugin=evil.so",
    "-Xarch_x86_64 -fpass-plugin=evil.so",
    "-Xpreprocessor -fplugin=evil.so",
    "-Xassembler -fplugin=evil.so",
    "-Xlinker -plugin -Xlinker evil.so",
    "-mllvm -load=evil.so",
    "-mllvm -load-pass-plugin=evil.so",
    "-mllvm=-load=evil.so",
    "-Wp,-fplugin=evil.so",
    "-Wp,-DX=1,-fplugin=evil.so",
    "-Wl,-plugin,evil.so",
    "-Wl,-z,now,--plugin=evil.so",
    "-wrapper evil,--args",
    "-B evil",
    "-B evil/",
    "-Bevil",
    "--prefix evil",
    "--prefix=evil",
    "-specs=evil.specs",
    "-specs evil.specs",
    "--specs=evil.specs",
    "--specs evil.specs",
    "@evil.rsp",
    "--config evil.cfg",
    "--config=evil.cfg",
    "--config-user-dir=evil",
    "--driver-mode=cl",
    "-ccc-gcc-name evil",
    "-ccc-install-dir evil",
    "-fuse-ld=./evil",
    "-fuse-ld=evil",
    "--use-ld=./evil",
    "--ld-path=evil",
    "-fno-integrated-as",
    "-no-integrated-as",
    "--no-integrated-as",
    "--gcc-toolchain=evil",
    "--gcc-install-dir=evil",
    "-x cuda",
    "-xhip",
    "--language cuda",
    "--cuda-path=evil",
    "--ptxas-path=evil",
    "--offload-arch=sm_70",
    "-fopenmp-targets=nvptx64",
    "-foffload=nvptx-none",
    "-fmodule-mapper=|evil",
    "--module-mapper=|evil",
};

/* What writes beside the object. */
static const char *const writing[] = {
    "-o x.o",
    "-ox.o",
    "--output x.o",
    "--output=x.o",
    "-MD",
    "-MMD -MF x.d -MT x.o -MQ x.o -MP -MG",
    "-MFx.d",
    "-MJ x.json",
    "-Wp,-MD,x.d",
    "-Wp,-MMD,x.d",
    "-Wp,-DX=1,-MD,x.d",
    "-Xclang -dependency-file -Xclang x.d",
    "-Xclang -o -Xclang x",
    "-Xpreprocessor -MD",
    "-dependency-dot x.dot",
    "-dependency-file x.d",
    "-gen-cdb-fragment-path x",
    "--gen-cdb-fragment-path x",
    "-Wa,-ahls=x.lst",
    "-Wa,-mtune=generic,-a=x.lst",
    "-Wa,--MD,x.d",
    "-Wa,-o,x.o",
    "-Wl,-Map,x.map",
    "-Wl,-Map=x.map",
    "-save-temps",
    "-save-temps=obj",
    "--save-temps",
    "-save-stats=obj",
    "--save-stats",
    "-time=x",
    "-da",
    "-dumpbase x",
    "-dumpdir x",
    "-fdump-tree-all",
    "--dump-tree-all",
    "-fdeps-file=x",
    "-aux-info x",
    "-aux-info=x",
    "-fstack-usage",
    "--stack-usage",
    "-fcallgraph-info=su",
    "-fopt-info-vec=x",
    "-fsave-optimization-record",
    "-foptimization-record-file=x",
    "--optimization-record-file=x",
    "-fdiagnostics-format=sarif-file",
    "-serialize-diagnostics x",
    "--serialize-diagnostics x",
    "-ftime-trace=x",
    "-fproc-stat-report=x",
    "-fcrash-diagnostics-dir=x",
    "-index-store-path x",
    "-gsplit-dwarf",
    "-fprofile-generate=x",
    "--profile-generate",
    "-fcs-profile-generate",
    "--coverage",
    "-ftest-coverage",
    "-fmodules-cache-path=x",
    "-mllvm -info-output-file=x",
    "-mllvm -view-cfg",
    "-mllvm -stats-json=x",
    "-fthin-link-bitcode=x",
    "--analyze",
    "-emit-ast",
    "-rewrite-objc",
};

static void nothing_of_it_is_left(void **state)
{
	(void)state;
	static const struct {
		const char *const *at;
		size_t count;
	} lists[] = {{foreign, sizeof foreign / sizeof *foreign}, {writing, sizeof writing / sizeof *writing}};
	for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
		for (size_t i = 0; i < lists[l].count; i++) {
			const char *words = lists[l].at[i];
			assert_string_equal(kept(words), "");
			assert_string_equal(kept(arena_printf(&arena, "-O2 %s -Iinclude a.c", words)), "-O2 -Iinclude a.c");
			/* As the value of an option that takes one: what is left is harmless in both roles. */
			assert_null(strstr(kept(arena_printf(&arena, "-I %s a.c", words)), "evil"));
			assert_null(strstr(kept(arena_printf(&arena, "-o %s a.c", words)), "evil.so"));
			assert_null(strstr(kept(arena_printf(&arena, "-Xclang %s a.c", words)), "evil.so"));
		}
}

/* What real projects compile with stays as it is, word for word. */
static void ordinary_commands_stay(void **state)
{
	(void)state;
	static const char *const ordinary[] = {
	    "-std=gnu11 -O2 -g -Wall -Wextra -Werror=implicit -pedantic -pipe -pthread a.c",
	    "-O3 -march=x86-64-v3 -mtune=generic -mno-avx512f -mpopcnt -msse4.2 -m64 -mcmodel=kernel -mno-red-zone",
	    "-DNDEBUG -D X=1 -UDEBUG '-DNAME=\"a,b\"' -D'F(x)=x' -DPATH=/usr/bin -DOPT=-fplugin=x",
	    "-Iinclude -I include -isystem /usr/include/x -iquote . -idirafter y -include config.h -imacros m.h -nostdinc",
	    "-fPIC -fno-strict-aliasing -fno-omit-frame-pointer -fvisibility=hidden -ffunction-sections -fno-builtin",
	    "-fstack-protector-strong -fstack-clash-protection -fcf-protection -fwrapv -fno-common -fexceptions -fopenmp",
	    "-ftree-vectorize -fvect-cost-model=dynamic -ffast-math -fno-lto -fsanitize=address --param max-inline-insns=40",
	    "--param=max-inline-insns=40 --sysroot=/opt/root --target=aarch64-linux-gnu -target x86_64-linux-gnu -x c",
	    "-xc -x assembler-with-cpp -Wp,-D_FORTIFY_SOURCE=2 -Wp,-U_FORTIFY_SOURCE,-DX",
	    "-Wa,--noexecstack -Wa,-mrelax-relocations=no,--defsym,X=1 -Wa,-I,-Iasm",
	    "-Wl,-z,relro,-z,now -Wl,-rpath,/opt/x-old/lib -Wl,--as-needed -fuse-ld=lld -fuse-ld=bfd -L. -lm -static -no-pie",
	    "-Xclang -target-feature -Xclang +avx2 -Xclang -fno-pch-timestamp -mllvm -unroll-count=4 -mllvm -enable-x=false",
	    "-fno-integrated-cc1 -fcolor-diagnostics -Qunused-arguments -no-canonical-prefixes -fmacro-backtrace-limit=0",
	};
	for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++) {
		struct string_list words = {0};
		assert_true(shell_split(&arena, ordinary[i], &words));
		assert_string_equal(kept(ordinary[i]), text_join(&arena, &words, " "));
	}
}

static void pairs_are_kept_or_left_out_as_pairs(void **state)
{
	(void)state;
	assert_string_equal(kept("-Xclang -target-feature -Xclang -avx2 a.c"), "a.c");
	assert_string_equal(kept("-Xclang -target-feature"), "");
	assert_string_equal(kept("-Xclang"), "");
	assert_string_equal(kept("-mllvm"), "");
	assert_string_equal(kept("-B"), "");
	assert_string_equal(kept("-mllvm -disable-x a.c"), "a.c"); /* alone "-disable-x" would be gcc's -d */
	assert_string_equal(kept("-c -- a.c"), "a.c");
}

static void response_files_are_read_before_they_are_judged(void **state)
{
	(void)state;
	char folder[] = "/tmp/assay-flags-XXXXXX";
	assert_non_null(mkdtemp(folder));
	const char *path = path_join(&arena, folder, "words.rsp");
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("-DX=1 '-DY=a b'\n-fplugin=evil.so @words.rsp @missing.rsp -I", file);
	assert_int_equal(fclose(file), 0);
	struct compile_command command = {.file = "/a.c", .directory = folder};
	list_push(&arena, &command.argv, "gcc");
	list_push(&arena, &command.argv, "@words.rsp");
	list_push(&arena, &command.argv, "include");
	struct string_list given = flags_given(&arena, &command), left = flags_kept(&arena, &given);
	assert_true(left.count > 3 && left.count < 1000); /* a file that names itself comes to an end */
	assert_string_equal(left.at[0], "-DX=1");
	assert_string_equal(left.at[1], "-DY=a b");
	assert_string_equal(left.at[left.count - 2], "-I");
	assert_string_equal(left.at[left.count - 1], "include");
	for (size_t i = 0; i < left.count; i++)
		assert_null(strstr(left.at[i], "evil"));
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(nothing_of_it_is_left, setup, teardown),
	    cmocka_unit_test_setup_teardown(ordinary_commands_stay, setup, teardown),
	    cmocka_unit_test_setup_teardown(pairs_are_kept_or_left_out_as_pairs, setup, teardown),
	    cmocka_unit_test_setup_teardown(response_files_are_read_before_they_are_judged, setup, teardown),
	};
	return cmocka_run_group_tests_name("flags", tests, NULL, NULL);
}
