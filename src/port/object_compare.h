/* Two objects of one unit: do their functions and data differ, once addresses are normalised?
 *
 * Equal means: the same instruction bytes, where a branch inside the function leads to the same instruction, and every
 * other reference leads to the same thing: a symbol plus offset, or unnamed read-only data with the same content. Not
 * compared: where functions and data stand, the order among them, padding between them, debug and unwind information,
 * and the numbers that compilers append to local names (`foo.constprop.0`). Padding inside a function does count: with
 * equal code it is equal, unless alignment was asked for. What can't be resolved or decoded counts as different.
 */
#ifndef ASSAY_PORT_OBJECT_COMPARE_H
#define ASSAY_PORT_OBJECT_COMPARE_H

#include "model/difference.h"
#include "port/object.h"

/* Adds what differs to *difference (also to its counts); strings live in `arena`. `thorough` compares function by
 * function even where whole sections are equal byte for byte: slower, the same answer. */
void object_compare(struct object *baseline, struct object *candidate, const char *unit, bool thorough,
                    struct arena *arena, struct code_difference *difference);

#endif
