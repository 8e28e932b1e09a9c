/*
 * dnn_workspace.c - the workspace of a convolution: a model, since which kernel cuDNN takes it
 * keeps to itself. Measured on an H200 (capability 9.0) with cuDNN 9.19 and PyTorch 2.11, without
 * cudnn.benchmark; docs/gpu-profiles.md has how far off it is.
 *
 * Kernels for tensor cores want channels last, and their number a multiple of 16 bytes. What lies
 * otherwise is converted before and after, and the workspace holds the copies: of x, of y, and of w
 * but for a pointwise convolution, whose weights lie the same either way. Besides,
 *
 *   - a pointwise convolution of planes is a product for each image, and needs no copies. For the
 *     weights' gradient there is then a result of floats for each image, unless that is more than
 *     the copies would be. Where a plane does not come out in 16 bytes, large ones are converted;
 *   - a weights' gradient has few tiles of 128 x 128 for all multiprocessors, so the sum of each is
 *     split into parts, which are kept as floats;
 *   - in fp32 some kernels of up to 64 channels write y as it lies;
 *   - a first layer, of fewer than four channels, is converted only if its kernel is large, and
 * then filled up to less in a forward;
 *   - small convolutions of few channels have kernels that need nothing, and so have those with a
 *     channel for each group. For the weights' gradient of these there is no rule if channels are
 *     last;
 *   - large kernels of few channels have the weights' gradient by transforms, in fp32;
 *   - groups of several channels are copied as all are, and in fp32 the other way around for the
 *     weights' gradient if channels are last.
 */
#include "dnn_workspace.h"
#include "dnn_sizes.h"
#include "dnn_transforms.h"

#define ATTENTION 256   /* of a plan's own; cudnn-frontend adds the rest, in the program */
#define PRODUCT 272     /* of the gradient of what goes in */
#define TILE 128        /* rows and columns */
#define COUNTERS 663    /* beside the parts of a split sum */
#define FIRST_MAX 4     /* channels; a first layer has fewer */
#define FIRST_KERNEL 49 /* positions, from which on it is converted */
#define FIRST_PATCH 256 /* from which on it is a product, in fp32 */
#define FEW_OF_GROUP 4
#define LARGE_KERNEL 5
#define FIRST_OUTPUT (INT64_C(1) << 18) /* elements */

static bool is_first(const struct dnn_work *work)
{
    return dnn_channels(work) < FIRST_MAX;
}

static bool is_forward(const struct dnn_work *work)
{
    return work->kind == DNN_FORWARD;
}

static bool is_of_weights(const struct dnn_work *work)
{
    return work->kind == DNN_BACKWARD_FILTER;
}

static bool has_stride(const struct dnn_work *work)
{
    return dnn_positions(&work->x) != dnn_positions(&work->y);
}

/* ---- copies ---- */

/* What channels are filled up to a multiple of. */
static int64_t step_of(const struct dnn_work *work)
{
    if (dnn_groups(work) > 1)
        return 1;
    if (is_first(work) && work->x.type == DNN_HALF && (is_forward(work) || dnn_is_last(&work->x)))
        return 4;
    if (is_first(work) && dnn_is_float(work) && is_forward(work))
        return 1;
    return DNN_VECTOR / dnn_width_of(work);
}

/* `outer`, `step`: what the first two dimensions are filled up to. */
static int64_t copy_of(const struct dnn_shape *shape, int64_t outer, int64_t step)
{
    return (int64_t)dnn_width(shape->type) * dnn_up(shape->size[0], outer) *
           dnn_up(shape->size[1], step) * dnn_positions(shape);
}

static int64_t copy_if(const struct dnn_shape *shape, int64_t outer, int64_t step)
{
    return dnn_is_last(shape) && shape->size[1] % step == 0 ? 0 : copy_of(shape, outer, step);
}

/* In fp32 a first layer whose channels are last is converted the other way around. */
static bool is_turned(const struct dnn_work *work)
{
    return is_first(work) && dnn_is_float(work) && dnn_is_last(&work->x);
}

static bool writes_straight(const struct dnn_work *work)
{
    int64_t in = dnn_channels(work), out = dnn_outputs(work), n = dnn_summed(work);
    if (!is_forward(work) || !dnn_is_float(work) || dnn_groups(work) > 1)
        return false;
    if (is_turned(work))
        return true;
    return in >= 32 && in <= 64 && n >= 2048 && (in < 64 || out > in || n <= 32768);
}

static int64_t copies(const struct dnn_work *work)
{
    int64_t step = step_of(work), sum;
    if (is_turned(work))
        sum = copy_of(&work->x, 1, step) + copy_of(&work->w, step, step) +
              (writes_straight(work) ? 0 : copy_of(&work->y, 1, step));
    else
        sum = copy_if(&work->x, 1, step) +
              (dnn_is_pointwise(work) ? 0 : copy_if(&work->w, step, step)) +
              (writes_straight(work) ? 0 : copy_if(&work->y, 1, step));
    return sum ? sum + DNN_VECTOR : 0;
}

/* ---- parts of a sum ---- */

static int64_t tiles_of(const struct dnn_work *work)
{
    int64_t kernel = dnn_positions(&work->w), in = is_first(work) ? FIRST_MAX : dnn_channels(work);
    int64_t across = in < 32 ? dnn_up(in * kernel, TILE) / TILE : dnn_up(in, TILE) / TILE * kernel;
    return dnn_up(dnn_outputs(work), TILE) / TILE * across;
}

/* More than half a tile for each multiprocessor: in fp32 a long sum is dealt out evenly. */
static int64_t dealt_out(const struct dnn_work *work, int64_t tiles, int64_t sms)
{
    int64_t tile = TILE * TILE * (int64_t)sizeof(float);
    if (!dnn_is_float(work))
        return 0;
    if (tiles > sms)
        return tiles <= 4 * sms && dnn_summed(work) >= 3136 ? sms * tile : 0;
    return !dnn_is_pointwise(work) && dnn_summed(work) >= 8192 ? sms * tile / 2 : 0;
}

static int64_t parts(const struct dnn_work *work, int64_t sms)
{
    int64_t tiles = tiles_of(work), shortest = dnn_is_float(work) ? 784 : 4096;
    int64_t in = is_first(work) ? FIRST_MAX : dnn_channels(work);
    if (tiles > sms / 2)
        return dealt_out(work, tiles, sms);
    int64_t n =
        dnn_summed(work) / shortest < sms / tiles ? dnn_summed(work) / shortest : sms / tiles;
    return n < 2 ? 0
                 : n * (int64_t)sizeof(float) * dnn_outputs(work) * in * dnn_positions(&work->w) +
                       COUNTERS;
}

/* ---- the kinds of convolutions ---- */

static bool first_needs_nothing(const struct dnn_work *work)
{
    int64_t kernel = dnn_positions(&work->w);
    if (kernel < FIRST_KERNEL || dnn_summed(work) * dnn_outputs(work) < FIRST_OUTPUT)
        return true;
    if (!dnn_is_float(work))
        return is_forward(work) && work->x.type == DNN_HALF && dnn_is_last(&work->x);
    return work->kind == DNN_BACKWARD_DATA ||
           (is_forward(work) && kernel >= FIRST_PATCH && !dnn_is_last(&work->x));
}

static bool is_alone(const struct dnn_work *work)
{
    return dnn_groups(work) > 1 && work->w.size[1] == 1;
}

static bool needs_nothing(const struct dnn_work *work)
{
    int64_t in = dnn_channels(work), out = dnn_outputs(work);
    if (is_alone(work))
        return true;
    if (is_first(work))
        return first_needs_nothing(work);
    if (!dnn_is_float(work) || dnn_groups(work) > 1 || is_of_weights(work))
        return false;
    if (dnn_is_pointwise(work) && has_stride(work))
        return in <= (is_forward(work) ? 64 : 128);
    return in <= 64 && out <= 64 && work->x.size[0] < 16 &&
           work->x.size[0] * dnn_positions(&work->x) <= 4096;
}

/* Large kernels of few channels: 14 of 17 such convolutions had it, and one other. */
static bool is_transform(const struct dnn_work *work)
{
    int64_t in = dnn_channels(work), out = dnn_outputs(work);
    if (!is_of_weights(work) || !dnn_is_float(work) || dnn_groups(work) > 1 ||
        dnn_has_channels_last(work) || work->x.dims != 4)
        return false;
    if (dnn_stride(work) != 1 || dnn_one_of(work->dilation, 4) != 1 ||
        dnn_smaller(work->w.size[2], work->w.size[3]) < LARGE_KERNEL || !dnn_fits_a_side(work))
        return false;
    return in >= 40 && out >= 24 && out <= 80 && in * out <= 8192 && (in != 64 || out != 64);
}

/* Whether a pointwise convolution is a product for each image; each one's result, for the weights'
 * gradient, is floats. */
static bool is_product(const struct dnn_work *work)
{
    int64_t in = dnn_channels(work), out = dnn_outputs(work), plane = dnn_positions(&work->x);
    if (!dnn_is_pointwise(work) || has_stride(work) || dnn_groups(work) > 1)
        return false;
    if (plane == 1)
        return true;
    if (dnn_is_last(&work->x))
        return false;
    if (is_of_weights(work))
        return 4 * in * out <= 5 * (in + out) * plane;
    int64_t from = is_forward(work) ? in : out, to = is_forward(work) ? out : in;
    return plane * dnn_width_of(work) % DNN_VECTOR == 0 ||
           (in * out < (1 << 20) && (from < 1024 || to < 256));
}

static int64_t product(const struct dnn_work *work)
{
    if (dnn_positions(&work->x) == 1 || is_forward(work))
        return 0;
    if (work->kind == DNN_BACKWARD_DATA)
        return PRODUCT;
    return work->x.size[0] * dnn_channels(work) * dnn_outputs(work) * (int64_t)sizeof(float);
}

static bool has_rule(const struct dnn_work *work)
{
    return !is_alone(work) || !is_of_weights(work) || !dnn_is_last(&work->x);
}

/* Of groups of several channels. The kernels for the weights' gradient in fp32 want channels first;
 * a sum in parts would be of a few MiB. Groups of four have gradients that need no copies. */
static int64_t of_groups(const struct dnn_work *work)
{
    if (work->w.size[1] <= FEW_OF_GROUP &&
        work->kind == (dnn_is_float(work) ? DNN_BACKWARD_DATA : DNN_BACKWARD_FILTER))
        return 0;
    if (!is_of_weights(work) || !dnn_is_float(work) || !dnn_is_last(&work->x))
        return copies(work);
    return copy_of(&work->x, 1, 1) + copy_of(&work->y, 1, 1) + DNN_VECTOR;
}

/* No product of sizes here overflows. */
static bool is_shape(const struct dnn_shape *shape, const struct dnn_work *work)
{
    int64_t elements = 1;
    if (shape->type != work->x.type || shape->dims != work->x.dims)
        return false;
    for (int32_t i = 0; i < shape->dims; i++) {
        if (shape->size[i] < 1 || shape->size[i] > DNN_ELEMENTS_MAX / elements)
            return false;
        elements *= shape->size[i];
    }
    return shape->size[0] <= DNN_CHANNELS_MAX && shape->size[1] <= DNN_CHANNELS_MAX;
}

bool dnn_is_convolution(const struct dnn_work *work)
{
    return work->kind >= DNN_FORWARD && work->kind <= DNN_BACKWARD_FILTER;
}

bool dnn_work_is_valid(const struct dnn_work *work)
{
    if (!dnn_is_convolution(work))
        return true;
    if (work->x.dims < 3 || work->x.dims > 5)
        return false;
    return is_shape(&work->x, work) && is_shape(&work->w, work) && is_shape(&work->y, work) &&
           work->y.size[1] == work->w.size[0] && work->x.size[1] % work->w.size[1] == 0;
}

bool dnn_work_is_measured(const struct dnn_work *work, int32_t capability)
{
    if (capability < 9)
        return false;
    if (!dnn_is_convolution(work))
        return work->kind == DNN_ATTENTION;
    return dnn_work_is_valid(work) &&
           (work->x.type == DNN_FLOAT || work->x.type == DNN_HALF || work->x.type == DNN_BFLOAT16);
}

bool dnn_workspace(const struct dnn_work *work, int32_t capability, int32_t sms, int64_t *bytes)
{
    *bytes = 0;
    if (!dnn_work_is_measured(work, capability))
        return false;
    if (work->kind == DNN_ATTENTION) {
        *bytes = ATTENTION;
        return true;
    }
    if (!has_rule(work))
        return false;
    if (needs_nothing(work))
        return true;
    if (dnn_groups(work) > 1)
        *bytes = of_groups(work);
    else if (is_product(work))
        *bytes = product(work);
    else if (is_transform(work))
        *bytes = dnn_spectra(work);
    else
        *bytes = copies(work) + (is_of_weights(work) ? parts(work, sms) : 0);
    return true;
}
