#include "meter.h"

enum { GRID_ROWS = 1000, GRID_COLUMNS = 1000, GRID_LEVELS = 16 };

static uint32_t cells[GRID_ROWS][GRID_COLUMNS];

void grid_age(void);
void grid_age(void)
{
	for (size_t x = 0; x < GRID_COLUMNS; x++)
		for (size_t y = 0; y < GRID_ROWS; y++) /* plant: S08 */
			cells[y][x] >>= 1;
}

static uint32_t levels[GRID_LEVELS][GRID_LEVELS];

/* A kilobyte: it stays in the first-level cache. */
void grid_levels_age(void);
void grid_levels_age(void)
{
	for (size_t x = 0; x < GRID_LEVELS; x++)
		for (size_t y = 0; y < GRID_LEVELS; y++) /* twin: S08 */
			levels[y][x] >>= 1;
}

struct span { /* plant: S07 */
	uint8_t kind;
	uint64_t length;
	uint8_t colour;
};
static struct span spans[GRID_ROWS * GRID_COLUMNS];

/* The one hole that any order leaves. */
struct dense_span { /* twin: S07 */
	uint64_t length;
	uint8_t kind;
	uint8_t colour;
};
static struct dense_span dense_spans[GRID_ROWS * GRID_COLUMNS];

uint64_t grid_length(uint8_t kind);
uint64_t grid_length(uint8_t kind)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < GRID_ROWS * GRID_COLUMNS; i++)
		sum += (spans[i].kind == kind ? spans[i].length : 0) + (dense_spans[i].kind == kind ? dense_spans[i].length : 0);
	return sum;
}
