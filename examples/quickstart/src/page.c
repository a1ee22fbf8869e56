#include "logfold.h"

void lf_page_mask(uint8_t *page, const struct lf_store *store)
{
	for (size_t i = 0; i < LF_PAGE; i++)
		page[i] ^= store->key->mask;
}
