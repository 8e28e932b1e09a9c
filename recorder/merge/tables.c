#include "tables.h"

#define C(kind, name) {#name, MERGE_##kind},
#define TABLE(name, order, columns)                                                                \
    static const struct merge_column columns_of_##name[] = {columns};
#include "tables.def"
#undef TABLE
#undef C

const struct merge_table merge_tables[MERGE_TABLES] = {
#define TABLE(name, order, columns)                                                                \
    [MERGE_TABLE_##name] = {#name, MERGE_##order, columns_of_##name,                               \
                            sizeof columns_of_##name / sizeof *columns_of_##name},
#include "tables.def"
#undef TABLE
};
