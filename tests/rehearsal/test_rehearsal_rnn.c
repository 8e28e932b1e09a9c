/*
 * The working memory of recurrent networks against what cuDNN itself said: version 9.19 (CUDA 13.0,
 * driver 580.159) on an H200, measured on 2026-11-27 by tests/gpu/libraries.py and, below, by
 * tests/gpu/ops.py. These rows are those of some 6,000 that between them need every term and every
 * rounding of the formula (rehearsal/libs/dnn_rnn.c).
 */
#include <stdint.h>

#include "stand_in.h"

enum mode { TANH = 1, LSTM, GRU };
enum type { FLOAT = 0, HALF = 2, BF16 = 9 };
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

TEST_MAIN(TEST_CASE(working_memory_is_what_cudnn_says), TEST_CASE(inference_has_no_reserve),
          TEST_CASE(states_of_dropout), TEST_CASE(a_restored_dropout_counts))
