/*
 * dnn_trials.c - the largest workspace that PyTorch asks for when cudnn.benchmark tries a
 * convolution's kernels: one block, with room for each kernel that it tries. A model, fitted to
 * half of 5,426 convolutions on an H200 (capability 9.0) with cuDNN 9.19 and PyTorch 2.11;
 * docs/gpu-profiles.md has how far off it is on the other half. PyTorch tries ten kernels at most,
 * by an order of cuDNN's own, so whether one is among them is known only by frequency.
 *
 * In fp32, in two dimensions, without groups and dilation, the largest by far is a transform (FFT).
 * A spectrum of a plane that is filled up to `side`, a power of two, has side x (side / 2 + 1)
 * complex numbers. Products of spectra need each pair of channels, in x out, and the images:
 *
 *   - forward: w, and twice the spectra of w and x, or of y if these are more;
 *   - weights: y, and twice the spectra of w, or of x and y;
 *   - what goes in: tiles of 32 x 32, two at a time if the plane is larger. With a stride of two a
 *     plane is four, and x, w and y are copied in such parts. None for kernels of less than 3 x 3;
 *   - with channels last all three are copied besides. For a pointwise forward the transform is
 *     tried less often, and never for the largest planes.
 *
 * All others are
 *
 *   - copies in the other layout, in either direction: x, y and, but for a pointwise one, w, with
 * the channels filled up. In 16 bits a forward of few operations has kernels for floats, too, and
 * so has the gradient of what goes in with a stride of two;
 *   - sums that are split until each multiprocessor has a tile of 128 x 128, or four for weights:
 *     their parts, as floats. A kernel that needs copies has them beside the parts;
 *   - with a channel for each group: each of them filled up to four. With channels first only fp16
 *     has these kernels, without a stride, for kernels of less than 7 x 7.
 */
#include "dnn_trials.h"
#include "dnn_sizes.h"

#define MIB (INT64_C(1) << 20)
#define TILE 128 /* rows and columns */
#define TILE_BYTES (TILE * TILE * (int64_t)sizeof(float))
#define SIDE_MOST 256 /* of a transform */
#define SIDE_LEAST 16
#define SIDE_OF_TILE 32
#define FEW 4000000000     /* operations */
#define FOURTH 4           /* what a group's one channel is filled up to */
#define PARTS_OF_GROUPS 17 /* of the weights, as floats */

/* ---- what is computed ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t elements(const struct dnn_shape *shape)
{
    return shape->size[0] * shape->size[1] * dnn_positions(shape);
}

/* Of a single position both layouts are the same. */
static bool has_channels_last(const struct dnn_work *work)
{
    return dnn_positions(&work->x) > 1 && dnn_is_last(&work->x);
}

static int64_t all_three(const struct dnn_work *work)
{
    return elements(&work->x) + elements(&work->w) + elements(&work->y);
}

static const struct dnn_shape *result_of(const struct dnn_work *work)
{
    return work->kind == DNN_FORWARD         ? &work->y
           : work->kind == DNN_BACKWARD_DATA ? &work->x
                                             : &work->w;
}

/* How many are added up for each element of the result. */
static int64_t depth_of(const struct dnn_work *work)
{
    int64_t kernel = dnn_positions(&work->w);
    return work->kind == DNN_FORWARD         ? dnn_channels(work) * kernel
           : work->kind == DNN_BACKWARD_DATA ? dnn_outputs(work) * kernel
                                             : dnn_summed(work);
}

/* The result as a matrix, in tiles. */
static int64_t tiles_of(const struct dnn_work *work)
{
    const struct dnn_shape *result = result_of(work);
    int64_t rows = result->size[0], across = result->size[1];
    if (work->kind == DNN_BACKWARD_FILTER)
        across *= dnn_positions(result);
    else
        rows *= dnn_positions(result);
    return dnn_up(rows, TILE) / TILE * (dnn_up(across, TILE) / TILE);
}

static double operations(const struct dnn_work *work)
{
    return 2.0 * (double)elements(&work->w) * (double)dnn_summed(work);
}

/* A number of all dimensions; 0: they differ. */
static int64_t one_of(const int64_t *of, int32_t dims)
{
    for (int32_t i = 1; i < dims - 2; i++)
        if (of[i] != of[0])
            return 0;
    return larger(of[0], 1);
}

static int64_t stride_of(const struct dnn_work *work)
{
    return one_of(work->stride, work->x.dims);
}

/* ---- transforms ---- */

static int64_t side_of(int64_t size, int64_t kernel)
{
    int64_t side = SIDE_LEAST;
    while (side < size + kernel - 1)
        side *= 2;
    return side;
}

static int64_t spectrum(int64_t rows, int64_t columns)
{
    return rows * (columns / 2 + 1) * 2 * (int64_t)sizeof(float);
}

static bool is_tiled(const struct dnn_shape *plane, const struct dnn_shape *w, int64_t stride)
{
    for (int i = 2; i < 4; i++)
        if (plane->size[i] + (w->size[i] + stride - 1) / stride - 1 > SIDE_OF_TILE)
            return true;
    return false;
}

/* The spectra of the gradient of what goes in, and with a stride its copies. */
static int64_t tiled(const struct dnn_work *work)
{
    const struct dnn_shape *x = &work->x, *w = &work->w, *y = &work->y;
    int64_t stride = stride_of(work), parts = stride * stride;
    int64_t times = is_tiled(stride == 1 ? x : y, w, stride) ? 2 : 1;
    int64_t bytes =
        spectrum(SIDE_OF_TILE, SIDE_OF_TILE) *
        (parts * x->size[1] * y->size[1] + times * x->size[0] * (parts * x->size[1] + y->size[1]));
    if (stride == 1)
        return bytes;
    int64_t kernel = dnn_up(w->size[2], 2) * dnn_up(w->size[3], 2);
    int64_t plane = dnn_up(x->size[2], 2) * dnn_up(x->size[3], 2), more = w->size[2] % 4 == 3;
    return bytes + DNN_VECTOR +
           (int64_t)sizeof(float) *
               (kernel * x->size[1] * y->size[1] + plane * x->size[0] * x->size[1] +
                y->size[0] * y->size[1] * (y->size[2] + more) * (y->size[3] + more));
}

static int64_t spectra(const struct dnn_work *work)
{
    int64_t in = dnn_channels(work), out = dnn_outputs(work), n = dnn_batch(work);
    int64_t one = spectrum(side_of(work->x.size[2], work->w.size[2]),
                           side_of(work->x.size[3], work->w.size[3]));
    if (work->kind == DNN_FORWARD)
        return (int64_t)sizeof(float) * elements(&work->w) +
               2 * one * larger(in * out + n * in, n * out);
    return (int64_t)sizeof(float) * elements(&work->y) + 2 * one * larger(in * out, n * (in + out));
}

static bool fits_a_side(const struct dnn_work *work)
{
    return side_of(work->x.size[2], work->w.size[2]) <= SIDE_MOST &&
           side_of(work->x.size[3], work->w.size[3]) <= SIDE_MOST;
}

/* By how often it was seen among the kernels that are tried. */
static bool is_pointwise_tried(const struct dnn_work *work)
{
    int64_t plane = larger(work->x.size[2], work->x.size[3]);
    if (work->kind == DNN_BACKWARD_FILTER)
        return true;
    if (plane > 64)
        return false;
    if (!has_channels_last(work))
        return dnn_batch(work) > 2 || operations(work) < 9e7;
    return plane >= 4 && (dnn_channels(work) >= 3 * dnn_outputs(work) || operations(work) > 2e9);
}

static bool is_transformed(const struct dnn_work *work)
{
    int64_t stride = stride_of(work);
    if (!dnn_is_float(work) || work->x.dims != 4 || dnn_groups(work) > 1 ||
        one_of(work->dilation, 4) != 1)
        return false;
    if ((work->x.size[2] == 1) != (work->x.size[3] == 1)) /* of one dimension */
        return false;
    if (work->kind == DNN_BACKWARD_DATA)
        return (stride == 1 || stride == 2) && dnn_positions(&work->w) >= 9;
    if (stride != 1 || !fits_a_side(work))
        return false;
    return !dnn_is_pointwise(work) || is_pointwise_tried(work);
}

static int64_t copies_in_floats(const struct dnn_work *work)
{
    int64_t w = dnn_is_pointwise(work) ? 0 : elements(&work->w);
    return (int64_t)sizeof(float) * (elements(&work->x) + w + elements(&work->y)) + DNN_VECTOR;
}

static int64_t transforms(const struct dnn_work *work)
{
    if (!is_transformed(work))
        return 0;
    int64_t bytes = work->kind == DNN_BACKWARD_DATA ? tiled(work) : spectra(work);
    bool copied = has_channels_last(work) && stride_of(work) == 1;
    return bytes + (copied ? copies_in_floats(work) : 0);
}

/* ---- copies, and parts of sums ---- */

static int64_t filled(const struct dnn_shape *shape, int64_t outer, int64_t step)
{
    return (int64_t)dnn_width(shape->type) * dnn_up(shape->size[0], outer) *
           dnn_up(shape->size[1], step) * dnn_positions(shape);
}

static int64_t copies(const struct dnn_work *work)
{
    int64_t step = DNN_VECTOR / dnn_width_of(work);
    return filled(&work->x, 1, step) + filled(&work->y, 1, step) +
           (dnn_is_pointwise(work) ? 0 : filled(&work->w, step, step)) + DNN_VECTOR;
}

/* Where all multiprocessors have tiles anyway, and a sum is dealt out evenly. */
static int64_t dealt_out(const struct dnn_work *work)
{
    bool weights = work->kind == DNN_BACKWARD_FILTER;
    if (has_channels_last(work) || depth_of(work) < (weights ? 256 : 512))
        return 0;
    return weights ? 16 * MIB : 12 * MIB;
}

static int64_t parts(const struct dnn_work *work, int64_t sms)
{
    bool weights = work->kind == DNN_BACKWARD_FILTER;
    int64_t tiles = tiles_of(work), most = weights ? 4 * sms : sms, least = weights ? 64 : 128;
    if (tiles >= most)
        return dealt_out(work);
    int64_t n = smaller(most / tiles, depth_of(work) / least);
    int64_t bytes = n * (int64_t)sizeof(float) * elements(result_of(work));
    return n < 2 ? 0 : smaller(bytes, (weights ? 2 : 1) * sms * TILE_BYTES);
}

static int64_t of_weights(const struct dnn_work *work, int64_t sms)
{
    int64_t sum = parts(work, sms);
    if (!has_channels_last(work))
        return copies(work) + sum;
    if (dnn_is_float(work))
        return larger(copies(work), sum);
    if (dnn_channels(work) < FOURTH)
        return copies(work) + sum;
    return larger((int64_t)sizeof(float) * elements(&work->w), sum);
}

static int64_t in_floats(const struct dnn_work *work)
{
    if (dnn_is_float(work) || dnn_is_pointwise(work))
        return 0;
    if (work->kind == DNN_FORWARD)
        return operations(work) < FEW ? 2 * copies(work) : 0;
    if (stride_of(work) != 2 || work->w.size[2] % 2 == 0)
        return 0;
    return copies(work) + (int64_t)sizeof(float) * elements(&work->x);
}

static int64_t of_others(const struct dnn_work *work, int64_t sms)
{
    int64_t sum = dnn_is_pointwise(work) ? 0 : parts(work, sms);
    int64_t bytes = copies(work) + (has_channels_last(work) ? 0 : sum);
    return larger(larger(bytes, sum), in_floats(work));
}

static int64_t of_groups(const struct dnn_work *work)
{
    int64_t bytes = dnn_width_of(work) * all_three(work);
    bool turned = dnn_is_float(work) && work->kind == DNN_BACKWARD_FILTER;
    return has_channels_last(work) && !turned ? bytes / 2 : bytes;
}

/* ---- a channel for each group ---- */

static bool fills_groups(const struct dnn_work *work)
{
    int64_t kernel = work->w.size[work->w.dims - 1], stride = stride_of(work);
    if (!has_channels_last(work))
        return work->x.type == DNN_HALF && stride == 1 && kernel < 7;
    if (!dnn_is_float(work))
        return true;
    return !(work->kind == DNN_FORWARD && kernel >= 7) &&
           !(work->kind == DNN_BACKWARD_DATA && stride == 2 && kernel == 5);
}

static int64_t of_each_channel(const struct dnn_work *work)
{
    int64_t width = dnn_width_of(work), planes = elements(&work->x) + elements(&work->y);
    int64_t w = FOURTH * FOURTH * elements(&work->w);
    if (!fills_groups(work))
        return has_channels_last(work) ? width * planes / FOURTH : 0;
    int64_t sums =
        work->kind == DNN_BACKWARD_FILTER ? PARTS_OF_GROUPS * (int64_t)sizeof(float) * w : 0;
    return width * (FOURTH * planes + w) + sums;
}

static int64_t largest(const struct dnn_work *work, int64_t sms)
{
    if (dnn_groups(work) > 1)
        return work->w.size[1] == 1 ? of_each_channel(work) : of_groups(work);
    int64_t bytes =
        work->kind == DNN_BACKWARD_FILTER ? of_weights(work, sms) : of_others(work, sms);
    return larger(bytes, transforms(work));
}

bool dnn_trial_workspace(const struct dnn_work *work, int32_t capability, int32_t sms,
                         int64_t *bytes)
{
    int64_t chosen;
    bool known = dnn_workspace(work, capability, sms, &chosen);
    *bytes = 0;
    if (!dnn_work_is_measured(work, capability) || !dnn_is_convolution(work))
        return false;
    *bytes = larger(known ? chosen : 0, largest(work, sms));
    return true;
}
