/*
 * cuDNN's workspaces, asked for as PyTorch does: descriptors that are destroyed once they are part
 * of the next one, a heuristic or an engine, a plan.
 *
 * The table was measured on an H200 with PyTorch 2.11.0 and cuDNN 9.19.0: what the allocator was
 * asked for inside of a convolution. A row holds if the answer takes a block of the same size.
 */
#include "dnn_asked.h"

#define BLOCK 512

static const struct measured TABLE[] = {
    {FORWARD, FLOAT, 0, 4, {8, 3, 224, 224}, {64, 3, 7, 7}, {8, 64, 112, 112}, 30544656},
    {DATA, FLOAT, 0, 4, {8, 3, 224, 224}, {64, 3, 7, 7}, {8, 64, 112, 112}, 0},
    {FORWARD, FLOAT, 0, 4, {8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}, 6570000},
    {DATA, FLOAT, 0, 4, {8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}, 12992528},
    {WEIGHTS, FLOAT, 0, 4, {8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}, 15057575},
    {FORWARD, FLOAT, 0, 4, {8, 64, 56, 56}, {256, 64, 1, 1}, {8, 256, 56, 56}, 0},
    {WEIGHTS, FLOAT, 0, 4, {8, 64, 56, 56}, {256, 64, 1, 1}, {8, 256, 56, 56}, 524288},
    {FORWARD, FLOAT, 0, 4, {8, 256, 28, 28}, {512, 256, 1, 1}, {8, 512, 14, 14}, 9633808},
    {DATA, FLOAT, 0, 4, {8, 256, 28, 28}, {512, 256, 1, 1}, {8, 512, 14, 14}, 9633939},
    {FORWARD, FLOAT, 0, 4, {8, 128, 28, 28}, {128, 128, 3, 3}, {8, 128, 28, 28}, 7012368},
    {DATA, FLOAT, 0, 4, {8, 128, 28, 28}, {128, 128, 3, 3}, {8, 128, 28, 28}, 7012368},
    {DATA, FLOAT, 0, 4, {8, 256, 14, 14}, {256, 256, 3, 3}, {8, 256, 7, 7}, 4366352},
    {WEIGHTS, FLOAT, 0, 4, {8, 256, 14, 14}, {256, 256, 3, 3}, {8, 256, 7, 7}, 4366352},
    {FORWARD, FLOAT, 0, 4, {8, 512, 7, 7}, {512, 512, 3, 3}, {8, 512, 7, 7}, 11042832},
    {WEIGHTS, FLOAT, 0, 4, {8, 512, 7, 7}, {512, 512, 3, 3}, {8, 512, 7, 7}, 11042832},
    {FORWARD, FLOAT, 0, 4, {4, 32, 32, 32}, {32, 32, 3, 3}, {4, 32, 32, 32}, 0},
    {DATA, FLOAT, 0, 4, {4, 32, 32, 32}, {32, 32, 3, 3}, {4, 32, 32, 32}, 0},
    {FORWARD, FLOAT, 0, 4, {4, 3, 32, 32}, {32, 3, 3, 3}, {4, 32, 32, 32}, 0},
    {DATA, FLOAT, 0, 4, {4, 3, 32, 32}, {32, 3, 3, 3}, {4, 32, 32, 32}, 0},
    {WEIGHTS, FLOAT, 0, 4, {4, 3, 32, 32}, {32, 3, 3, 3}, {4, 32, 32, 32}, 0},
    {FORWARD, FLOAT, 0, 4, {2, 128, 256, 256}, {128, 128, 3, 3}, {2, 128, 256, 256}, 134807699},
    {DATA, FLOAT, 0, 4, {2, 128, 256, 256}, {128, 128, 3, 3}, {2, 128, 256, 256}, 134807699},
    {WEIGHTS, FLOAT, 0, 4, {2, 128, 256, 256}, {128, 128, 3, 3}, {2, 128, 256, 256}, 143065767},
    {FORWARD, FLOAT, 0, 4, {2, 320, 64, 64}, {320, 320, 3, 3}, {2, 320, 64, 64}, 24657936},
    {DATA, FLOAT, 0, 4, {2, 320, 64, 64}, {320, 320, 3, 3}, {2, 320, 64, 64}, 24657936},
    {WEIGHTS, FLOAT, 0, 4, {2, 1280, 16, 16}, {1280, 1280, 3, 3}, {2, 1280, 16, 16}, 64225427},
    {FORWARD, FLOAT, 0, 4, {32, 1, 28, 28}, {6, 1, 5, 5}, {32, 6, 28, 28}, 0},
    {DATA, FLOAT, 0, 4, {32, 1, 28, 28}, {6, 1, 5, 5}, {32, 6, 28, 28}, 0},
    {WEIGHTS, FLOAT, 0, 4, {32, 1, 28, 28}, {6, 1, 5, 5}, {32, 6, 28, 28}, 0},
    {DATA, FLOAT, 0, 4, {32, 64, 56, 56}, {64, 64, 3, 3}, {32, 64, 56, 56}, 51527696},
    {WEIGHTS, FLOAT, 0, 4, {32, 64, 56, 56}, {64, 64, 3, 3}, {32, 64, 56, 56}, 53592743},
    {FORWARD, FLOAT, 0, 4, {4, 3, 224, 224}, {768, 3, 16, 16}, {4, 768, 15, 15}, 0},
    {WEIGHTS, FLOAT, 0, 4, {4, 3, 224, 224}, {768, 3, 16, 16}, {4, 768, 15, 15}, 9121936},
    {FORWARD, FLOAT, 0, 4, {8, 128, 28, 28}, {128, 4, 3, 3}, {8, 128, 28, 28}, 6440976},
    {DATA, FLOAT, 0, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 9707667},
    {WEIGHTS, FLOAT, 0, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 13902447},
    {FORWARD, FLOAT, 1, 4, {8, 3, 224, 224}, {64, 3, 7, 7}, {8, 64, 112, 112}, 4854544},
    {DATA, FLOAT, 1, 4, {8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}, 0},
    {WEIGHTS, FLOAT, 1, 4, {8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}, 2065047},
    {DATA, FLOAT, 1, 4, {8, 64, 56, 56}, {256, 64, 1, 1}, {8, 256, 56, 56}, 0},
    {FORWARD, FLOAT, 1, 4, {8, 256, 28, 28}, {512, 256, 1, 1}, {8, 512, 14, 14}, 0},
    {FORWARD, FLOAT, 1, 4, {8, 128, 28, 28}, {128, 128, 3, 3}, {8, 128, 28, 28}, 0},
    {DATA, FLOAT, 1, 4, {8, 128, 28, 28}, {128, 128, 3, 3}, {8, 128, 28, 28}, 0},
    {FORWARD, FLOAT, 1, 4, {8, 256, 14, 14}, {256, 256, 3, 3}, {8, 256, 7, 7}, 0},
    {WEIGHTS, FLOAT, 1, 4, {8, 256, 14, 14}, {256, 256, 3, 3}, {8, 256, 7, 7}, 0},
    {FORWARD, FLOAT, 1, 4, {8, 512, 7, 7}, {512, 512, 3, 3}, {8, 512, 7, 7}, 0},
    {WEIGHTS, FLOAT, 1, 4, {8, 512, 7, 7}, {512, 512, 3, 3}, {8, 512, 7, 7}, 0},
    {FORWARD, FLOAT, 1, 4, {4, 32, 32, 32}, {32, 32, 3, 3}, {4, 32, 32, 32}, 0},
    {DATA, FLOAT, 1, 4, {4, 32, 32, 32}, {32, 32, 3, 3}, {4, 32, 32, 32}, 0},
    {FORWARD, FLOAT, 1, 4, {4, 3, 32, 32}, {32, 3, 3, 3}, {4, 32, 32, 32}, 0},
    {WEIGHTS, FLOAT, 1, 4, {4, 3, 32, 32}, {32, 3, 3, 3}, {4, 32, 32, 32}, 0},
    {WEIGHTS, FLOAT, 1, 4, {2, 128, 256, 256}, {128, 128, 3, 3}, {2, 128, 256, 256}, 8258199},
    {FORWARD, FLOAT, 1, 4, {2, 320, 64, 64}, {320, 320, 3, 3}, {2, 320, 64, 64}, 0},
    {DATA, FLOAT, 1, 4, {2, 320, 64, 64}, {320, 320, 3, 3}, {2, 320, 64, 64}, 0},
    {FORWARD, FLOAT, 1, 4, {32, 1, 28, 28}, {6, 1, 5, 5}, {32, 6, 28, 28}, 0},
    {WEIGHTS, FLOAT, 1, 4, {32, 64, 56, 56}, {64, 64, 3, 3}, {32, 64, 56, 56}, 2065047},
    {FORWARD, FLOAT, 1, 4, {4, 3, 224, 224}, {768, 3, 16, 16}, {4, 768, 15, 15}, 4767760},
    {WEIGHTS, FLOAT, 1, 4, {4, 3, 224, 224}, {768, 3, 16, 16}, {4, 768, 15, 15}, 9121936},
    {FORWARD, FLOAT, 1, 4, {8, 96, 56, 56}, {96, 1, 7, 7}, {8, 96, 56, 56}, 0},
    {DATA, FLOAT, 1, 4, {8, 96, 56, 56}, {96, 1, 7, 7}, {8, 96, 56, 56}, 0},
    {FORWARD, FLOAT, 1, 4, {8, 128, 28, 28}, {128, 4, 3, 3}, {8, 128, 28, 28}, 0},
    {FORWARD, FLOAT, 1, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 0},
    {WEIGHTS, FLOAT, 1, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 4194911},
    {FORWARD, FLOAT, 0, 4, {8, 80, 1, 3000}, {512, 80, 1, 3}, {8, 512, 1, 3000}, 57323667},
    {DATA, FLOAT, 0, 4, {8, 80, 1, 3000}, {512, 80, 1, 3}, {8, 512, 1, 3000}, 57323536},
    {FORWARD, FLOAT, 0, 5, {2, 16, 32, 32, 32}, {32, 16, 3, 3, 3}, {2, 32, 32, 32, 32}, 12638224},
    {DATA, FLOAT, 0, 5, {2, 16, 32, 32, 32}, {32, 16, 3, 3, 3}, {2, 32, 32, 32, 32}, 12638355},
    {FORWARD, HALF, 0, 4, {8, 3, 224, 224}, {64, 3, 7, 7}, {8, 64, 112, 112}, 16081424},
    {FORWARD, HALF, 0, 4, {8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}, 6496272},
    {DATA, HALF, 0, 4, {8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}, 6496272},
    {FORWARD, HALF, 0, 4, {8, 64, 56, 56}, {256, 64, 1, 1}, {8, 256, 56, 56}, 0},
    {DATA, HALF, 0, 4, {8, 64, 56, 56}, {256, 64, 1, 1}, {8, 256, 56, 56}, 272},
    {WEIGHTS, HALF, 0, 4, {8, 64, 56, 56}, {256, 64, 1, 1}, {8, 256, 56, 56}, 524288},
    {FORWARD, HALF, 0, 4, {8, 256, 28, 28}, {512, 256, 1, 1}, {8, 512, 14, 14}, 4816912},
    {DATA, HALF, 0, 4, {8, 256, 28, 28}, {512, 256, 1, 1}, {8, 512, 14, 14}, 4816912},
    {WEIGHTS, HALF, 0, 4, {8, 256, 28, 28}, {512, 256, 1, 1}, {8, 512, 14, 14}, 4816912},
    {FORWARD, HALF, 0, 4, {8, 128, 28, 28}, {128, 128, 3, 3}, {8, 128, 28, 28}, 3506192},
    {DATA, HALF, 0, 4, {8, 128, 28, 28}, {128, 128, 3, 3}, {8, 128, 28, 28}, 3506192},
    {WEIGHTS, HALF, 0, 4, {8, 128, 28, 28}, {128, 128, 3, 3}, {8, 128, 28, 28}, 3506192},
    {FORWARD, HALF, 0, 4, {8, 256, 14, 14}, {256, 256, 3, 3}, {8, 256, 7, 7}, 2183184},
    {DATA, HALF, 0, 4, {8, 256, 14, 14}, {256, 256, 3, 3}, {8, 256, 7, 7}, 2183184},
    {WEIGHTS, HALF, 0, 4, {8, 256, 14, 14}, {256, 256, 3, 3}, {8, 256, 7, 7}, 2183184},
    {FORWARD, HALF, 0, 4, {8, 512, 7, 7}, {512, 512, 3, 3}, {8, 512, 7, 7}, 5521424},
    {DATA, HALF, 0, 4, {8, 512, 7, 7}, {512, 512, 3, 3}, {8, 512, 7, 7}, 5521424},
    {WEIGHTS, HALF, 0, 4, {8, 512, 7, 7}, {512, 512, 3, 3}, {8, 512, 7, 7}, 5521424},
    {FORWARD, HALF, 0, 4, {4, 32, 32, 32}, {32, 32, 3, 3}, {4, 32, 32, 32}, 542736},
    {DATA, HALF, 0, 4, {4, 32, 32, 32}, {32, 32, 3, 3}, {4, 32, 32, 32}, 542736},
    {WEIGHTS, HALF, 0, 4, {4, 32, 32, 32}, {32, 32, 3, 3}, {4, 32, 32, 32}, 542736},
    {FORWARD, HALF, 0, 4, {4, 3, 32, 32}, {32, 3, 3, 3}, {4, 32, 32, 32}, 0},
    {FORWARD, HALF, 0, 4, {2, 128, 256, 256}, {128, 128, 3, 3}, {2, 128, 256, 256}, 67403923},
    {DATA, HALF, 0, 4, {2, 128, 256, 256}, {128, 128, 3, 3}, {2, 128, 256, 256}, 67403923},
    {FORWARD, HALF, 0, 4, {2, 320, 64, 64}, {320, 320, 3, 3}, {2, 320, 64, 64}, 12328976},
    {DATA, HALF, 0, 4, {2, 320, 64, 64}, {320, 320, 3, 3}, {2, 320, 64, 64}, 12328976},
    {WEIGHTS, HALF, 0, 4, {2, 320, 64, 64}, {320, 320, 3, 3}, {2, 320, 64, 64}, 12328976},
    {FORWARD, HALF, 0, 4, {2, 1280, 16, 16}, {1280, 1280, 3, 3}, {2, 1280, 16, 16}, 32112656},
    {DATA, HALF, 0, 4, {2, 1280, 16, 16}, {1280, 1280, 3, 3}, {2, 1280, 16, 16}, 32112656},
    {WEIGHTS, HALF, 0, 4, {2, 1280, 16, 16}, {1280, 1280, 3, 3}, {2, 1280, 16, 16}, 32112787},
    {FORWARD, HALF, 0, 4, {32, 1, 28, 28}, {6, 1, 5, 5}, {32, 6, 28, 28}, 0},
    {FORWARD, HALF, 0, 4, {32, 64, 56, 56}, {64, 64, 3, 3}, {32, 64, 56, 56}, 25763987},
    {DATA, HALF, 0, 4, {32, 64, 56, 56}, {64, 64, 3, 3}, {32, 64, 56, 56}, 25763987},
    {WEIGHTS, HALF, 0, 4, {4, 3, 224, 224}, {768, 3, 16, 16}, {4, 768, 15, 15}, 7739408},
    {FORWARD, HALF, 0, 4, {8, 128, 28, 28}, {128, 4, 3, 3}, {8, 128, 28, 28}, 3220496},
    {DATA, HALF, 0, 4, {8, 128, 28, 28}, {128, 4, 3, 3}, {8, 128, 28, 28}, 3220496},
    {DATA, HALF, 0, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 4853776},
    {FORWARD, HALF, 0, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 4853776},
    {WEIGHTS, HALF, 0, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 4853776},
    {FORWARD, HALF, 1, 4, {8, 256, 28, 28}, {512, 256, 1, 1}, {8, 512, 14, 14}, 0},
    {DATA, HALF, 1, 4, {8, 256, 28, 28}, {512, 256, 1, 1}, {8, 512, 14, 14}, 0},
    {WEIGHTS, HALF, 1, 4, {8, 256, 28, 28}, {512, 256, 1, 1}, {8, 512, 14, 14}, 0},
    {FORWARD, HALF, 0, 4, {8, 80, 1, 3000}, {512, 80, 1, 3}, {8, 512, 1, 3000}, 28661907},
    {DATA, HALF, 0, 4, {8, 80, 1, 3000}, {512, 80, 1, 3}, {8, 512, 1, 3000}, 28661776},
    {FORWARD, HALF, 0, 5, {2, 16, 32, 32, 32}, {32, 16, 3, 3, 3}, {2, 32, 32, 32, 32}, 6319120},
    {DATA, HALF, 0, 5, {2, 16, 32, 32, 32}, {32, 16, 3, 3, 3}, {2, 32, 32, 32, 32}, 6319120},
    {FORWARD, BRAIN, 0, 4, {8, 3, 224, 224}, {64, 3, 7, 7}, {8, 64, 112, 112}, 19317776},
    {FORWARD, BRAIN, 0, 4, {4, 3, 224, 224}, {768, 3, 16, 16}, {4, 768, 15, 15}, 7739408},
    {WEIGHTS, BRAIN, 0, 4, {4, 3, 224, 224}, {768, 3, 16, 16}, {4, 768, 15, 15}, 7739408},
    {DATA, BRAIN, 0, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 4853776},
    {FORWARD, BRAIN, 0, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 4853776},
    {WEIGHTS, BRAIN, 0, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 4853776},
    {FORWARD, BRAIN, 1, 4, {8, 3, 224, 224}, {64, 3, 7, 7}, {8, 64, 112, 112}, 6472720},
    {FORWARD, BRAIN, 1, 4, {4, 3, 224, 224}, {768, 3, 16, 16}, {4, 768, 15, 15}, 6357008},
    {WEIGHTS, BRAIN, 1, 4, {4, 3, 224, 224}, {768, 3, 16, 16}, {4, 768, 15, 15}, 6357008},
    {DATA, BRAIN, 1, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 0},
    {FORWARD, BRAIN, 1, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 0},
    {WEIGHTS, BRAIN, 1, 4, {8, 64, 54, 54}, {128, 64, 4, 4}, {8, 128, 28, 28}, 0},
    {FORWARD, BRAIN, 0, 4, {8, 80, 1, 3000}, {512, 80, 1, 3}, {8, 512, 1, 3000}, 28661907},
    {DATA, BRAIN, 0, 4, {8, 80, 1, 3000}, {512, 80, 1, 3}, {8, 512, 1, 3000}, 28661776},
    {FORWARD, BRAIN, 0, 5, {2, 16, 32, 32, 32}, {32, 16, 3, 3, 3}, {2, 32, 32, 32, 32}, 6319120},
    {WEIGHTS, FLOAT, 0, 4, {8, 64, 40, 40}, {24, 64, 7, 7}, {8, 24, 40, 40}, 53133312},
    {WEIGHTS, FLOAT, 0, 4, {16, 80, 14, 14}, {40, 80, 5, 5}, {16, 40, 14, 14}, 28354560},
    {WEIGHTS, HALF, 0, 4, {1, 1024, 7, 7}, {1024, 32, 3, 3}, {1, 1024, 7, 7}, 790544},
    {WEIGHTS, BRAIN, 0, 4, {4, 256, 28, 28}, {256, 8, 3, 3}, {4, 256, 28, 28}, 3248144},
    {WEIGHTS, HALF, 0, 4, {32, 128, 56, 56}, {128, 4, 3, 3}, {32, 128, 56, 56}, 0},
    {WEIGHTS, HALF, 1, 4, {2, 512, 14, 14}, {512, 16, 3, 3}, {2, 512, 14, 14}, 0},
    {WEIGHTS, FLOAT, 0, 4, {2, 512, 14, 14}, {512, 16, 3, 3}, {2, 512, 14, 14}, 1900560},
    {WEIGHTS, FLOAT, 1, 4, {2, 512, 14, 14}, {512, 16, 3, 3}, {2, 512, 14, 14}, 1605648},
    {DATA, FLOAT, 0, 4, {4, 256, 28, 28}, {256, 8, 3, 3}, {4, 256, 28, 28}, 6496272},
    {DATA, FLOAT, 0, 4, {32, 128, 56, 56}, {128, 4, 3, 3}, {32, 128, 56, 56}, 0},
    {DATA, BRAIN, 0, 5, {2, 16, 32, 32, 32}, {32, 16, 3, 3, 3}, {2, 32, 32, 32, 32}, 6319120},
};
#define ROWS (sizeof TABLE / sizeof *TABLE)

static int64_t block(int64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK;
}

static void tell(const struct measured *row, int64_t bytes)
{
    fprintf(stderr, "row %d: measured %lld, answered %lld\n", (int)(row - TABLE),
            (long long)row->bytes, (long long)bytes);
}

TEST(measured_convolutions_take_what_they_took)
{
    open_stand_in("gpu=h200");
    for (const struct measured *row = TABLE; row < TABLE + ROWS; row++) {
        int64_t bytes = workspace_of(from_heuristic(graph_of(row)));
        if (block(bytes) != block(row->bytes))
            tell(row, bytes);
        CHECK_INT(block(bytes), block(row->bytes));
        CHECK_INT(workspace_of(from_engine(graph_of(row))), bytes);
    }
}

TEST(an_engine_of_a_heuristic_is_of_the_same_graph)
{
    const struct measured *row = &TABLE[0];
    open_stand_in("gpu=h200");
    void *config = from_heuristic(graph_of(row)), *engine = make(ENGINE), *again = make(CONFIG);
    get(config, 300, OF_DESCRIPTOR, engine);
    put(again, 300, engine);
    CHECK_INT(workspace_of(again), workspace_of(config));
}

static void nothing_on(const char *gpu)
{
    open_stand_in(gpu);
    for (const struct measured *row = TABLE; row < TABLE + ROWS; row++)
        CHECK_INT(workspace_of(from_heuristic(graph_of(row))), 0);
}

/* Nothing was measured there. */
TEST(a_gpu_of_8_0_is_not_known)
{
    nothing_on("gpu=a100-40gb");
}

TEST(a_gpu_of_7_5_is_not_known)
{
    nothing_on("gpu=t4");
}

TEST(two_products_are_an_attention)
{
    void *operations[2], *graph, *single;
    open_stand_in("gpu=h200");
    graph = make(GRAPH);
    single = make(GRAPH);
    put(single, 801, make(MATMUL));
    CHECK_INT(workspace_of(from_heuristic(single)), 0);
    operations[0] = make(MATMUL);
    operations[1] = make(MATMUL);
    set(graph, 801, OF_DESCRIPTOR, 2, operations);
    destroy(operations[0]);
    destroy(operations[1]);
    CHECK_INT(workspace_of(from_heuristic(graph)), 256);
}

/* Two convolutions, other numbers, sizes that cannot be: each has a row's tensors but for that. */
TEST(what_has_no_rule_takes_nothing)
{
    struct measured row = {FORWARD,         FLOAT,           0, 4, {8, 64, 56, 56}, {64, 64, 3, 3},
                           {8, 64, 56, 56}, INT64_C(6570000)};
    open_stand_in("gpu=h200");
    CHECK(workspace_of(from_heuristic(graph_of(&row))) > 0);
    row.type = DOUBLE;
    CHECK_INT(workspace_of(from_heuristic(graph_of(&row))), 0);
    row.type = FLOAT;
    row.w[1] = 48; /* 64 is no multiple */
    CHECK_INT(workspace_of(from_heuristic(graph_of(&row))), 0);
    row.w[1] = 0;
    CHECK_INT(workspace_of(from_heuristic(graph_of(&row))), 0);
    row.w[1] = 64;
    row.x[2] = INT64_MAX / 2;
    CHECK_INT(workspace_of(from_heuristic(graph_of(&row))), 0);
    row.x[2] = -56;
    CHECK_INT(workspace_of(from_heuristic(graph_of(&row))), 0);
    row.x[2] = 56;
    row.y[1] = 65;
    CHECK_INT(workspace_of(from_heuristic(graph_of(&row))), 0);
    CHECK_INT(workspace_of(make(CONFIG)), 0);
}

TEST(a_recorder_is_told_what_an_answer_is)
{
    struct measured row = TABLE[0];
    open_stand_in("gpu=h200");
    workspace_of(from_heuristic(graph_of(&row)));
    CHECK_STR(told, "modelled cudnn graph");
    row.type = DOUBLE;
    workspace_of(from_heuristic(graph_of(&row)));
    CHECK_STR(told, "library cudnn graph");
}

TEST_MAIN(TEST_CASE(measured_convolutions_take_what_they_took),
          TEST_CASE(an_engine_of_a_heuristic_is_of_the_same_graph),
          TEST_CASE(a_gpu_of_8_0_is_not_known), TEST_CASE(a_gpu_of_7_5_is_not_known),
          TEST_CASE(two_products_are_an_attention), TEST_CASE(what_has_no_rule_takes_nothing),
          TEST_CASE(a_recorder_is_told_what_an_answer_is))
