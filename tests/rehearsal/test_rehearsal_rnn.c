/*
 * The working memory of recurrent networks against what cuDNN itself said: version 9.19 (CUDA 13.0,
 * driver 580.159), measured on 2026-11-27 on an H200 and an H100 by tests/gpu/libraries.py
 * (recurrent, recurrent_more) and, the last rows, on the H200 by tests/gpu/ops.py. These rows are
 * those of some 18,000 that between them need every term, every threshold that was measured and
 * every rounding of the formula (rehearsal/libs/dnn_rnn.c).
 */
#include <stdint.h>

#include "stand_in.h"

enum mode { RELU, TANH, LSTM, GRU };
enum type { FLOAT = 0, DOUBLE = 1, HALF = 2, BF16 = 9 };
enum lengths { FULL, FOUR, FALLING }; /* all the same; 9, 7, 5, 2; 64, 63, ... 1 */

#define BATCH_MOST 100

static const struct row {
    int mode, type, algorithm, padded;
    int steps, batch, input, hidden, projected, layers, ways;
    double dropout;
    int lengths;
    long training, reserve, inference; /* bytes; inference 0: not measured */
} rows[] = {
    {LSTM, FLOAT, 0, 0, 7, 3, 100, 33, 33, 1, 1, 0, FULL, 8472608, 14144, 8472608},
    {LSTM, FLOAT, 0, 0, 1, 1, 100, 33, 33, 1, 2, 0, FULL, 16921664, 1600, 16921664},
    {LSTM, FLOAT, 0, 0, 7, 3, 100, 33, 33, 2, 2, 0.5, FULL, 33852320, 61664, 33845632},
    {LSTM, HALF, 0, 0, 7, 3, 100, 33, 33, 1, 1, 0, FULL, 8430784, 7232, 8430784},
    {LSTM, HALF, 0, 0, 1, 1, 100, 33, 33, 1, 2, 0, FULL, 16849664, 960, 16849664},
    {LSTM, HALF, 0, 0, 7, 3, 100, 33, 33, 2, 2, 0.5, FULL, 33703552, 31168, 33700224},
    {LSTM, FLOAT, 0, 0, 1, 1, 100, 33, 33, 3, 1, 0, FULL, 25308960, 2560, 25308960},
    {LSTM, FLOAT, 0, 0, 7, 3, 100, 33, 33, 2, 1, 0.5, FULL, 16901216, 30880, 16901216},
    {LSTM, FLOAT, 0, 0, 512, 16, 100, 33, 33, 3, 1, 0, FULL, 28669408, 18383104, 27506720},
    {LSTM, FLOAT, 0, 0, 512, 16, 64, 64, 64, 1, 1, 0, FULL, 12738816, 10486016, 12738816},
    {LSTM, FLOAT, 0, 0, 128, 64, 100, 33, 33, 4, 2, 0, FULL, 85333696, 49742080, 81080000},
    {LSTM, FLOAT, 0, 0, 100, 80, 100, 33, 33, 2, 1, 0, FULL, 21233280, 11616256, 21233280},
    {LSTM, FLOAT, 0, 0, 50, 32, 256, 512, 512, 2, 1, 0.5, FULL, 48627968, 36147456, 48627968},
    {LSTM, FLOAT, 0, 0, 512, 16, 1500, 1500, 1500, 1, 2, 0, FULL, 752137472, 491520256, 752137472},
    {LSTM, BF16, 0, 0, 10, 4, 100, 33, 33, 3, 1, 0, FULL, 25251392, 45152, 25251392},
    {LSTM, HALF, 0, 0, 1, 1, 100, 33, 33, 1, 1, 0, FULL, 8424736, 640, 8424736},
    {GRU, FLOAT, 0, 0, 7, 3, 100, 33, 33, 1, 1, 0, FULL, 8453152, 16896, 8451072},
    {GRU, FLOAT, 0, 0, 1, 1, 100, 33, 33, 1, 2, 0, FULL, 16885536, 1856, 16885504},
    {GRU, FLOAT, 0, 0, 7, 3, 100, 33, 33, 2, 2, 0.5, FULL, 33787904, 72736, 33774112},
    {GRU, HALF, 0, 0, 7, 3, 100, 33, 33, 1, 1, 0, FULL, 8421056, 8576, 8419968},
    {GRU, HALF, 0, 0, 1, 1, 100, 33, 33, 1, 2, 0, FULL, 16831552, 1056, 16831552},
    {GRU, HALF, 0, 0, 7, 3, 100, 33, 33, 2, 2, 0.5, FULL, 33671328, 36704, 33664448},
    {GRU, FLOAT, 0, 0, 1, 1, 100, 33, 33, 3, 1, 0, FULL, 25272672, 2944, 25272672},
    {GRU, FLOAT, 0, 0, 7, 3, 100, 33, 33, 2, 1, 0.5, FULL, 16869792, 36416, 16869792},
    {GRU, FLOAT, 0, 0, 512, 16, 100, 33, 33, 3, 1, 0, FULL, 28621760, 21627136, 26912064},
    {GRU, FLOAT, 0, 0, 512, 16, 64, 64, 64, 1, 1, 0, FULL, 12685568, 12583168, 11645184},
    {GRU, FLOAT, 0, 0, 128, 64, 100, 33, 33, 4, 2, 0, FULL, 85085024, 58392832, 78601056},
    {GRU, FLOAT, 0, 0, 100, 80, 100, 33, 33, 2, 1, 0, FULL, 20246368, 13728256, 20087648},
    {GRU, FLOAT, 0, 0, 50, 32, 256, 512, 512, 2, 1, 0.5, FULL, 41287936, 42701056, 41287936},
    {GRU, FLOAT, 0, 0, 512, 16, 1500, 1500, 1500, 1, 2, 0, FULL, 617257472, 589824256, 617257472},
    {GRU, BF16, 0, 0, 10, 4, 100, 33, 33, 3, 1, 0, FULL, 25230016, 53056, 25228896},
    {GRU, HALF, 0, 0, 1, 1, 100, 33, 33, 1, 1, 0, FULL, 8415648, 672, 8415648},
    {TANH, FLOAT, 0, 0, 7, 3, 100, 33, 33, 1, 1, 0, FULL, 8418048, 3040, 8409632},
    {TANH, FLOAT, 0, 0, 1, 1, 100, 33, 33, 1, 2, 0, FULL, 16815328, 544, 16814272},
    {TANH, FLOAT, 0, 0, 7, 3, 100, 33, 33, 2, 2, 0.5, FULL, 33665408, 17312, 33637376},
    {TANH, HALF, 0, 0, 7, 3, 100, 33, 33, 1, 1, 0, FULL, 8403520, 1664, 8399296},
    {TANH, HALF, 0, 0, 1, 1, 100, 33, 33, 1, 2, 0, FULL, 16796448, 416, 16795936},
    {TANH, HALF, 0, 0, 7, 3, 100, 33, 33, 2, 2, 0.5, FULL, 33610080, 8992, 33596064},
    {TANH, FLOAT, 0, 0, 1, 1, 100, 33, 33, 3, 1, 0, FULL, 25202080, 960, 25201664},
    {TANH, FLOAT, 0, 0, 7, 3, 100, 33, 33, 2, 1, 0.5, FULL, 16815744, 8704, 16810112},
    {TANH, FLOAT, 0, 0, 512, 16, 100, 33, 33, 3, 1, 0, FULL, 28551808, 5406976, 25748096},
    {TANH, FLOAT, 0, 0, 512, 16, 64, 64, 64, 1, 1, 0, FULL, 12620032, 2097408, 9474304},
    {TANH, FLOAT, 0, 0, 128, 64, 100, 33, 33, 4, 2, 0, FULL, 84857984, 15139072, 73913472},
    {TANH, FLOAT, 0, 0, 128, 64, 100, 33, 33, 2, 1, 0, FULL, 20300192, 3244288, 17901984},
    {TANH, FLOAT, 0, 0, 100, 80, 100, 33, 33, 2, 1, 0, FULL, 20193824, 3168256, 17880864},
    {TANH, FLOAT, 0, 0, 50, 32, 256, 512, 512, 2, 1, 0.5, FULL, 27132160, 9933056, 27132160},
    {TANH, FLOAT, 0, 0, 512, 16, 1500, 1500, 1500, 1, 2, 0, FULL, 348265472, 98304256, 348265472},
    {TANH, BF16, 0, 0, 10, 4, 100, 33, 33, 3, 1, 0, FULL, 25195040, 13472, 25187040},
    {TANH, HALF, 0, 0, 1, 1, 100, 33, 33, 1, 1, 0, FULL, 8398080, 352, 8397856},
    /* projected, and padded sequences of different lengths */
    {LSTM, FLOAT, 0, 0, 35, 20, 200, 200, 64, 2, 1, 0, FULL, 21126272, 7638656, 21126272},
    {LSTM, FLOAT, 0, 0, 35, 20, 200, 200, 100, 2, 1, 0, FULL, 21529472, 7840256, 21529472},
    {LSTM, FLOAT, 0, 1, 9, 4, 256, 256, 256, 1, 1, 0, FOUR, 10725664, 118016, 10694944},
    {LSTM, FLOAT, 0, 1, 9, 4, 256, 256, 256, 2, 2, 0, FOUR, 44663072, 518400, 44630304},
    {LSTM, FLOAT, 0, 1, 64, 64, 256, 256, 256, 1, 1, 0, FALLING, 32244480, 10649856, 28050176},
    {LSTM, FLOAT, 0, 1, 64, 64, 256, 256, 256, 2, 2, 0, FALLING, 89654016, 46858496, 85328640},
    /* steps and sequences: 256 steps ahead, and those whose gradients wait */
    {LSTM, FLOAT, 0, 0, 257, 32, 96, 192, 192, 1, 1, 0, FULL, 34586880, 31580416, 34586880},
    {GRU, HALF, 0, 0, 1024, 4, 96, 192, 192, 3, 1, 0, FULL, 28058368, 31457536, 27576064},
    {TANH, FLOAT, 0, 0, 127, 32, 96, 192, 192, 2, 1, 0, FULL, 20857088, 9363712, 20463872},
    {TANH, FLOAT, 0, 0, 128, 32, 96, 192, 192, 2, 1, 0, FULL, 21078272, 9437440, 20488448},
    {TANH, HALF, 0, 0, 127, 32, 96, 192, 192, 3, 1, 0, FULL, 27414784, 7803136, 27169024},
    {TANH, FLOAT, 0, 0, 130, 1, 48, 256, 256, 2, 1, 0, FULL, 17846528, 399616, 17748224},
    {TANH, FLOAT, 0, 0, 64, 4, 96, 192, 192, 2, 1, 0, FULL, 17643776, 590080, 17496320},
    {TANH, FLOAT, 0, 0, 300, 8, 48, 128, 128, 3, 1, 0, FULL, 27021568, 6144256, 26579200},
    {TANH, FLOAT, 0, 0, 40, 16, 128, 256, 256, 5, 1, 0, FULL, 45826304, 5898496, 45170944},
    /* many layers; dropout with one layer, three and six */
    {LSTM, FLOAT, 0, 0, 40, 16, 128, 256, 256, 16, 2, 0.3, FULL, 378011904, 125747456, 378011904},
    {GRU, HALF, 0, 0, 40, 16, 128, 256, 256, 12, 1, 0, FULL, 111182080, 27197696, 111182080},
    {LSTM, FLOAT, 0, 0, 160, 16, 80, 60, 60, 1, 1, 0.5, FULL, 11618304, 3072256, 11618304},
    {GRU, FLOAT, 0, 0, 20, 16, 80, 60, 60, 3, 1, 0.5, FULL, 25781440, 1541056, 25781440},
    {TANH, FLOAT, 0, 0, 20, 16, 80, 60, 60, 6, 2, 0.1, FULL, 102017792, 1737856, 101761792},
    {TANH, HALF, 0, 0, 160, 16, 80, 256, 256, 1, 1, 0.1, FULL, 11190528, 1310976, 11190528},
    /* floats of 64 bits, and ReLU */
    {LSTM, DOUBLE, 0, 0, 300, 8, 48, 16, 16, 2, 2, 0, FULL, 38605056, 6758656, 37388544},
    {GRU, DOUBLE, 0, 0, 20, 16, 80, 60, 60, 4, 2, 0.5, FULL, 70910720, 8323456, 70910720},
    {TANH, DOUBLE, 0, 0, 129, 4, 96, 192, 192, 3, 1, 0, FULL, 27992320, 3963136, 27599104},
    {RELU, FLOAT, 0, 0, 130, 64, 48, 64, 64, 2, 1, 0, FULL, 19394816, 6390016, 19001600},
    {RELU, DOUBLE, 0, 0, 40, 16, 128, 256, 256, 6, 2, 0.3, FULL, 129630464, 29245696, 127009024},
    {RELU, HALF, 1, 0, 20, 64, 48, 384, 384, 2, 2, 0, FULL, 53289216, 5898496, 46407936},
    /* projected, with dropout, and in two ways */
    {LSTM, FLOAT, 0, 0, 200, 20, 100, 200, 64, 1, 1, 0.5, FULL, 28260864, 20224256, 28260864},
    {LSTM, FLOAT, 0, 0, 9, 4, 100, 200, 100, 3, 1, 0.5, FULL, 27556480, 620416, 27556480},
    {LSTM, HALF, 0, 0, 35, 4, 100, 256, 16, 2, 2, 0.5, FULL, 35328256, 1883008, 35328256},
    {LSTM, DOUBLE, 0, 0, 200, 20, 100, 256, 128, 3, 2, 0, FULL, 184877312, 352256256, 184877312},
    {LSTM, FLOAT, 0, 0, 35, 20, 100, 200, 100, 1, 2, 0, FULL, 26313472, 7280256, 26313472},
    /* the persistent static algorithm */
    {LSTM, FLOAT, 1, 0, 700, 32, 96, 192, 192, 3, 1, 0, FULL, 372769024, 292454656, 372769024},
    {GRU, FLOAT, 1, 0, 300, 64, 48, 64, 64, 2, 1, 0, FULL, 100585728, 63897856, 90755328},
    {TANH, HALF, 1, 0, 130, 64, 48, 384, 384, 1, 1, 0, FULL, 79106304, 6390016, 40767744},
    {LSTM, FLOAT, 1, 0, 130, 64, 48, 128, 128, 1, 2, 0, FULL, 137101568, 42598656, 137101568},
    {LSTM, HALF, 1, 0, 20, 64, 48, 384, 384, 3, 2, 0, FULL, 96141568, 33423616, 96141568},
    {GRU, FLOAT, 1, 0, 300, 8, 48, 32, 32, 1, 2, 0, FULL, 23603456, 3686656, 23603456},
    {GRU, HALF, 1, 0, 130, 64, 48, 256, 256, 2, 2, 0, FULL, 130957568, 110756096, 130957568},
    {TANH, FLOAT, 1, 0, 300, 64, 48, 64, 64, 1, 2, 0, FULL, 90661120, 9830656, 66085120},
    {TANH, HALF, 1, 0, 300, 64, 48, 16, 16, 3, 2, 0, FULL, 65739008, 6144256, 56523008},
    {GRU, HALF, 1, 0, 20, 8, 48, 64, 64, 1, 1, 0, FULL, 8910080, 123136, 8741120},
    {TANH, FLOAT, 1, 0, 20, 1, 48, 128, 128, 2, 1, 0, FULL, 17664512, 30976, 17051904},
    {TANH, HALF, 1, 0, 300, 1, 48, 256, 256, 1, 1, 0, FULL, 10252032, 153856, 9313536},
    {GRU, HALF, 1, 0, 64, 4, 96, 192, 192, 3, 1, 0, FULL, 28211968, 1966336, 27866368},
    {LSTM, HALF, 1, 0, 20, 1, 48, 384, 384, 2, 2, 0, FULL, 45355008, 338176, 43732224},
    /* as PyTorch 2.11 asked, and then allocated: training only */
    {LSTM, FLOAT, 3, 1, 10, 4, 64, 64, 64, 1, 1, 0, FULL, 8753440, 51456, 0},
    {LSTM, FLOAT, 3, 1, 7, 3, 100, 33, 33, 3, 1, 0, FULL, 25390240, 47424, 0},
    {LSTM, FLOAT, 0, 1, 50, 32, 256, 512, 512, 2, 2, 0.5, FULL, 121963008, 72499456, 0},
    {GRU, FLOAT, 3, 1, 10, 4, 64, 64, 64, 1, 1, 0, FULL, 8698144, 61696, 0},
    {GRU, FLOAT, 3, 1, 7, 3, 100, 33, 33, 3, 1, 0, FULL, 25353536, 55744, 0},
    {GRU, FLOAT, 0, 1, 50, 32, 256, 512, 512, 2, 2, 0.5, FULL, 106299904, 85606656, 0},
    {TANH, FLOAT, 3, 1, 10, 4, 64, 64, 64, 1, 1, 0, FULL, 8581408, 10496, 0},
    {TANH, FLOAT, 3, 1, 35, 20, 200, 200, 200, 2, 1, 0, FULL, 26569632, 1680256, 0},
    {TANH, FLOAT, 3, 1, 7, 3, 100, 33, 33, 3, 1, 0, FULL, 25269728, 14144, 0},
    {TANH, FLOAT, 0, 1, 50, 32, 256, 512, 512, 2, 2, 0.5, FULL, 87425536, 20070656, 0},
    {LSTM, HALF, 1, 1, 50, 32, 256, 512, 512, 1, 1, 0, FULL, 47022592, 8192256, 0},
    {LSTM, HALF, 3, 1, 7, 3, 100, 33, 33, 3, 1, 0, FULL, 25278336, 23840, 0},
    {LSTM, HALF, 1, 1, 128, 64, 128, 1024, 1024, 1, 1, 0, FULL, 373293824, 83886336, 0},
    {GRU, HALF, 3, 1, 7, 3, 100, 33, 33, 3, 1, 0, FULL, 25259936, 28000, 0},
    {TANH, HALF, 1, 1, 50, 32, 256, 512, 512, 1, 1, 0, FULL, 32309760, 1638656, 0},
    {TANH, HALF, 3, 1, 7, 3, 100, 33, 33, 3, 1, 0, FULL, 25218048, 7200, 0},
    {TANH, HALF, 1, 1, 128, 64, 128, 1024, 1024, 1, 1, 0, FULL, 233833216, 16777472, 0},
    {LSTM, BF16, 3, 1, 10, 4, 64, 64, 64, 1, 1, 0, FULL, 8490784, 25856, 0},
    {LSTM, BF16, 3, 1, 7, 3, 100, 33, 33, 3, 1, 0, FULL, 25259680, 23840, 0},
    {GRU, BF16, 3, 1, 7, 3, 100, 33, 33, 3, 1, 0, FULL, 25238528, 28000, 0},
    {TANH, BF16, 3, 1, 7, 3, 100, 33, 33, 3, 1, 0, FULL, 25203552, 7200, 0},
};

struct network {
    void *rnn, *sequence, *dropout;
};

static void open_network(struct network *net)
{
    open_stand_in("gpu=h200");
    CALL(int, cudnnCreateRNNDescriptor, (void **), (&net->rnn));
    CALL(int, cudnnCreateRNNDataDescriptor, (void **), (&net->sequence));
    CALL(int, cudnnCreateDropoutDescriptor, (void **), (&net->dropout));
}

static void set_lengths(const struct network *net, const struct row *row)
{
    static const int four[] = {9, 7, 5, 2};
    int lengths[BATCH_MOST];
    REQUIRE(row->batch <= BATCH_MOST);
    for (int i = 0; i < row->batch; i++)
        lengths[i] = row->lengths == FOUR ? four[i] : row->steps - (row->lengths == FALLING) * i;
    CALL(int, cudnnSetRNNDataDescriptor, (void *, int, int, int, int, int, const int *, void *),
         (net->sequence, row->type, 0, row->steps, row->batch, row->input, lengths, NULL));
}

static void set_network(const struct network *net, const struct row *row)
{
    CALL(int, cudnnSetDropoutDescriptor,
         (void *, void *, float, void *, size_t, unsigned long long),
         (net->dropout, NULL, (float)row->dropout, NULL, 0, 0));
    CALL(int, cudnnSetRNNDescriptor_v8,
         (void *, int, int, int, int, int, int, int, int, int32_t, int32_t, int32_t, int32_t,
          void *, uint32_t),
         (net->rnn, row->algorithm, row->mode, 2, row->ways - 1, 0, row->type, 0, 0, row->input,
          row->hidden, row->projected, row->layers, net->dropout, (uint32_t)row->padded));
    set_lengths(net, row);
}

static void ask(const struct network *net, int mode, size_t *workspace, size_t *reserve)
{
    CHECK_INT(CALL(int, cudnnGetRNNTempSpaceSizes,
                   (void *, void *, int, void *, size_t *, size_t *),
                   (NULL, net->rnn, mode, net->sequence, workspace, reserve)),
              0);
}

static void check_row(const struct network *net, const struct row *row)
{
    size_t training = 0, reserve = 0, inference = 0;
    set_network(net, row);
    ask(net, 1, &training, &reserve);
    ask(net, 0, &inference, NULL);
    if (training != (size_t)row->training || reserve != (size_t)row->reserve ||
        (row->inference && inference != (size_t)row->inference))
        fprintf(stderr, "row %d:\n", (int)(row - rows));
    CHECK_INT(training, row->training);
    CHECK_INT(reserve, row->reserve);
    if (row->inference)
        CHECK_INT(inference, row->inference);
}

TEST(working_memory_is_what_cudnn_says)
{
    struct network net;
    open_network(&net);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&net, &rows[i]);
}

/* As PyTorch 2.11 allocated it on an H100, in whole 512 bytes: packed, 4,136 tokens in 64 sequences
 * of 120 at most. */
TEST(dropout_has_bits_for_padding)
{
    struct network net;
    struct row row = {LSTM, FLOAT, 0, 0, 120, 64, 300, 400, 400, 2, 2, 0.3, FULL, 0, 0, 0};
    int lengths[64] = {120}, left = 4136 - 120;
    size_t workspace = 0, reserve = 0;
    for (int i = 1; i < 64; left -= lengths[i], i++)
        lengths[i] = left / (64 - i);
    open_network(&net);
    set_network(&net, &row);
    CALL(int, cudnnSetRNNDataDescriptor, (void *, int, int, int, int, int, const int *, void *),
         (net.sequence, FLOAT, 1, 120, 64, 300, lengths, NULL));
    ask(&net, 1, &workspace, &reserve);
    CHECK_INT((workspace + 511) / 512 * 512, 140562944);
    CHECK_INT((reserve + 511) / 512 * 512, 147123712);
}

/* Who infers needs no reserve, and says so by NULL; who asks is told 0. */
TEST(inference_has_no_reserve)
{
    struct network net;
    size_t workspace = 0, reserve = 7;
    open_network(&net);
    set_network(&net, &rows[0]);
    ask(&net, 0, &workspace, &reserve);
    CHECK_INT(reserve, 0);
    CHECK_INT(workspace, rows[0].inference);
    ask(&net, 1, NULL, &reserve);
    CHECK_INT(reserve, rows[0].reserve);
}

/* As PyTorch 2.11 allocated them on the H200. */
TEST(states_of_dropout)
{
    size_t bytes = 0;
    open_stand_in("gpu=h200");
    CALL(int, cudnnDropoutGetStatesSize, (void *, size_t *), (NULL, &bytes));
    CHECK_INT(bytes, 6488064);
}

/* A dropout that is set again is that of networks that are set afterwards. */
TEST(a_restored_dropout_counts)
{
    struct network net;
    size_t with, without;
    struct row row = {LSTM, FLOAT, 0, 0, 7, 3, 100, 33, 33, 2, 1, 0, FULL, 0, 0, 0};
    open_network(&net);
    set_network(&net, &row);
    ask(&net, 1, NULL, &without);
    CALL(int, cudnnRestoreDropoutDescriptor,
         (void *, void *, float, void *, size_t, unsigned long long),
         (net.dropout, NULL, 0.5f, NULL, 0, 0));
    CALL(int, cudnnSetRNNDescriptor_v8,
         (void *, int, int, int, int, int, int, int, int, int32_t, int32_t, int32_t, int32_t,
          void *, uint32_t),
         (net.rnn, 0, LSTM, 2, 0, 0, FLOAT, 0, 0, 100, 33, 33, 2, net.dropout, 0));
    ask(&net, 1, NULL, &with);
    CHECK_INT(with - without, 96);
}

TEST_MAIN(TEST_CASE(working_memory_is_what_cudnn_says), TEST_CASE(dropout_has_bits_for_padding),
          TEST_CASE(inference_has_no_reserve), TEST_CASE(states_of_dropout),
          TEST_CASE(a_restored_dropout_counts))
