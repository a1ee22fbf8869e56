/* Files that the program carries inside itself; cmake/embed.cmake makes them at build time. 0-terminated text. */
#ifndef ASSAY_PORT_EMBEDDED_H
#define ASSAY_PORT_EMBEDDED_H

/* src/bench/runtime.c with protocol.h in front: compile it with -I DIR where DIR/assay/bench.h is embedded_bench_h. */
extern const char embedded_runtime_c[];
extern const char embedded_bench_h[]; /* include/assay/bench.h */

#endif
