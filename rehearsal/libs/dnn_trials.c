/*
 * dnn_trials.c - the largest workspace that PyTorch asks for when cudnn.benchmark tries a
 * convolution's kernels: one block, with room for each kernel that it tries. A model, fitted to
 * half of 5,426 convolutions on an H200 (capability 9.0) with cuDNN 9.19 and PyTorch 2.11;
 * docs/gpu-profiles.md has how far off it is on the other half. PyTorch tries ten kernels at most,
 * by an order of cuDNN's own, so whether one is among them is known only by frequency.
 *
 * In fp32 the largest by far is a transform (dnn_transforms.h). All others are
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
#include "dnn_transforms.h"

#define MIB (INT64_C(1) << 20)
#define TILE 128 /* rows and columns */
#define TILE_BYTES (TILE * TILE * (int64_t)sizeof(float))
#define FEW 4000000000     /* operations */
#define FOURTH 4           /* what a group's one channel is filled up to */
#define PARTS_OF_GROUPS 17 /* of the weights, as floats */

/* ---- what is computed ---- */

static int64_t all_three(const struct dnn_work *work)
{
    return dnn_elements(&work->x) + dnn_elements(&work->w) + dnn_elements(&work->y);
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
    if (dnn_has_channels_last(work) || depth_of(work) < (weights ? 256 : 512))
        return 0;
    return weights ? 16 * MIB : 12 * MIB;
}

static int64_t parts(const struct dnn_work *work, int64_t sms)
{
    bool weights = work->kind == DNN_BACKWARD_FILTER;
    int64_t tiles = tiles_of(work), most = weights ? 4 * sms : sms, least = weights ? 64 : 128;
    if (tiles >= most)
        return dealt_out(work);
    int64_t n = dnn_smaller(most / tiles, depth_of(work) / least);
    int64_t bytes = n * (int64_t)sizeof(float) * dnn_elements(result_of(work));
    return n < 2 ? 0 : dnn_smaller(bytes, (weights ? 2 : 1) * sms * TILE_BYTES);
}

static int64_t of_weights(const struct dnn_work *work, int64_t sms)
{
    int64_t sum = parts(work, sms);
    if (!dnn_has_channels_last(work))
        return copies(work) + sum;
    if (dnn_is_float(work))
        return dnn_larger(copies(work), sum);
    if (dnn_channels(work) < FOURTH)
        return copies(work) + sum;
    return dnn_larger((int64_t)sizeof(float) * dnn_elements(&work->w), sum);
}

static int64_t in_floats(const struct dnn_work *work)
{
    if (dnn_is_float(work) || dnn_is_pointwise(work))
        return 0;
    if (work->kind == DNN_FORWARD)
        return dnn_operations(work) < FEW ? 2 * copies(work) : 0;
    if (dnn_stride(work) != 2 || work->w.size[2] % 2 == 0)
        return 0;
    return copies(work) + (int64_t)sizeof(float) * dnn_elements(&work->x);
}

static int64_t of_others(const struct dnn_work *work, int64_t sms)
{
    int64_t sum = dnn_is_pointwise(work) ? 0 : parts(work, sms);
    int64_t bytes = copies(work) + (dnn_has_channels_last(work) ? 0 : sum);
    return dnn_larger(dnn_larger(bytes, sum), in_floats(work));
}

static int64_t of_groups(const struct dnn_work *work)
{
    int64_t bytes = dnn_width_of(work) * all_three(work);
    bool turned = dnn_is_float(work) && work->kind == DNN_BACKWARD_FILTER;
    return dnn_has_channels_last(work) && !turned ? bytes / 2 : bytes;
}

/* ---- a channel for each group ---- */

static bool fills_groups(const struct dnn_work *work)
{
    int64_t kernel = work->w.size[work->w.dims - 1], stride = dnn_stride(work);
    if (!dnn_has_channels_last(work))
        return work->x.type == DNN_HALF && stride == 1 && kernel < 7;
    if (!dnn_is_float(work))
        return true;
    return !(work->kind == DNN_FORWARD && kernel >= 7) &&
           !(work->kind == DNN_BACKWARD_DATA && stride == 2 && kernel == 5);
}

static int64_t of_each_channel(const struct dnn_work *work)
{
    int64_t width = dnn_width_of(work), planes = dnn_elements(&work->x) + dnn_elements(&work->y);
    int64_t w = FOURTH * FOURTH * dnn_elements(&work->w);
    if (!fills_groups(work))
        return dnn_has_channels_last(work) ? width * planes / FOURTH : 0;
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
    return dnn_larger(bytes, dnn_transforms(work));
}

bool dnn_trial_workspace(const struct dnn_work *work, int32_t capability, int32_t sms,
                         int64_t *bytes)
{
    int64_t chosen;
    bool known = dnn_workspace(work, capability, sms, &chosen);
    *bytes = 0;
    if (!dnn_work_is_measured(work, capability) || !dnn_is_convolution(work))
        return false;
    *bytes = dnn_larger(known ? chosen : 0, largest(work, sms));
    return true;
}
