/* How fast the core that runs this very thread goes, found by running on it. */
#ifndef ASSAY_PORT_PACE_H
#define ASSAY_PORT_PACE_H

/* Core cycles per second right now, from the time that a chain of dependent 32-bit multiplications takes: 3 cycles each
 * on Intel since 2006 and on AMD but for the Bulldozer family. (A chain of additions is no measure: some CPUs carry them
 * out while they rename registers.) 0: the latency of this machine's multiplication isn't known. Takes some 0.1 ms. */
double pace_core_hz(void);
/* Ticks of the time stamp counter per second; 0: there is none. Takes some 10 ms. */
double pace_tsc_hz(void);
/* The cost of reading the clock that samples are timed with, in nanoseconds. */
double pace_clock_ns(void);

#endif
