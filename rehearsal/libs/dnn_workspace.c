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
 *     channel for each group. For the weights' gradient of groups there is no rule.
 */
#include "dnn_workspace.h"

#define VECTOR 16       /* bytes that a kernel reads at once, and those beside the copies */
#define ATTENTION 256   /* of a plan's own; cudnn-frontend adds the rest, in the program */
#define PRODUCT 272     /* of the gradient of what goes in */
#define TILE 128        /* rows and columns */
#define COUNTERS 663    /* beside the parts of a split sum */
#define FIRST_MAX 4     /* channels; a first layer has fewer */
#define FIRST_KERNEL 49 /* positions, from which on it is converted */
#define FIRST_PATCH 256 /* from which on it is a product, in fp32 */
#define FIRST_OUTPUT (INT64_C(1) << 18) /* elements */

static int64_t up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

/* Of a plane, or of a kernel. */
static int64_t positions(const struct dnn_shape *shape)
{
    int64_t n = 1;
    for (int32_t i = 2; i < shape->dims; i++)
        n *= shape->size[i];
    return n;
}

static bool is_last(const struct dnn_shape *shape)
{
    return positions(shape) == 1 || (shape->stride[1] == 1 && shape->size[1] > 1);
}

static int64_t channels(const struct dnn_work *work)
{
    return work->x.size[1];
}

static int64_t outputs(const struct dnn_work *work)
{
    return work->w.size[0];
}

static int64_t groups(const struct dnn_work *work)
{
    return channels(work) / work->w.size[1];
}

static bool is_float(const struct dnn_work *work)
{
    return work->x.type == DNN_FLOAT;
}

static int64_t width(const struct dnn_work *work)
{
    return (int64_t)dnn_width(work->x.type);
}

static bool is_first(const struct dnn_work *work)
{
    return channels(work) < FIRST_MAX;
}

static bool is_forward(const struct dnn_work *work)
{
    return work->kind == DNN_FORWARD;
}

static bool is_of_weights(const struct dnn_work *work)
{
    return work->kind == DNN_BACKWARD_FILTER;
}

/* How many are added up for each element of the weights' gradient. */
static int64_t summed(const struct dnn_work *work)
{
    return work->y.size[0] * positions(&work->y);
}

static bool is_pointwise(const struct dnn_work *work)
{
    return positions(&work->w) == 1;
}

static bool has_stride(const struct dnn_work *work)
{
    return positions(&work->x) != positions(&work->y);
}

/* ---- copies ---- */

/* What channels are filled up to a multiple of. */
static int64_t step_of(const struct dnn_work *work)
{
    if (groups(work) > 1)
        return 1;
    if (is_first(work) && work->x.type == DNN_HALF && (is_forward(work) || is_last(&work->x)))
        return 4;
    if (is_first(work) && is_float(work) && is_forward(work))
        return 1;
    return VECTOR / width(work);
}

/* `outer`, `step`: what the first two dimensions are filled up to. */
static int64_t copy_of(const struct dnn_shape *shape, int64_t outer, int64_t step)
{
    return (int64_t)dnn_width(shape->type) * up(shape->size[0], outer) * up(shape->size[1], step) *
           positions(shape);
}

static int64_t copy_if(const struct dnn_shape *shape, int64_t outer, int64_t step)
{
    return is_last(shape) && shape->size[1] % step == 0 ? 0 : copy_of(shape, outer, step);
}

/* In fp32 a first layer whose channels are last is converted the other way around. */
static bool is_turned(const struct dnn_work *work)
{
    return is_first(work) && is_float(work) && is_last(&work->x);
}

static bool writes_straight(const struct dnn_work *work)
{
    int64_t in = channels(work), out = outputs(work), n = summed(work);
    if (!is_forward(work) || !is_float(work) || groups(work) > 1)
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
              (is_pointwise(work) ? 0 : copy_if(&work->w, step, step)) +
              (writes_straight(work) ? 0 : copy_if(&work->y, 1, step));
    return sum ? sum + VECTOR : 0;
}

/* ---- parts of a sum ---- */

static int64_t tiles_of(const struct dnn_work *work)
{
    int64_t kernel = positions(&work->w), in = is_first(work) ? FIRST_MAX : channels(work);
    int64_t across = in < 32 ? up(in * kernel, TILE) / TILE : up(in, TILE) / TILE * kernel;
    return up(outputs(work), TILE) / TILE * across;
}

/* More than half a tile for each multiprocessor: in fp32 a long sum is dealt out evenly. */
static int64_t dealt_out(const struct dnn_work *work, int64_t tiles, int64_t sms)
{
    int64_t tile = TILE * TILE * (int64_t)sizeof(float);
    if (!is_float(work))
        return 0;
    if (tiles > sms)
        return tiles <= 4 * sms && summed(work) >= 3136 ? sms * tile : 0;
    return !is_pointwise(work) && summed(work) >= 8192 ? sms * tile / 2 : 0;
}

static int64_t parts(const struct dnn_work *work, int64_t sms)
{
    int64_t tiles = tiles_of(work), shortest = is_float(work) ? 784 : 4096;
    int64_t in = is_first(work) ? FIRST_MAX : channels(work);
    if (tiles > sms / 2)
        return dealt_out(work, tiles, sms);
    int64_t n = summed(work) / shortest < sms / tiles ? summed(work) / shortest : sms / tiles;
    return n < 2 ? 0
                 : n * (int64_t)sizeof(float) * outputs(work) * in * positions(&work->w) + COUNTERS;
}

/* ---- the kinds of convolutions ---- */

static bool first_needs_nothing(const struct dnn_work *work)
{
    int64_t kernel = positions(&work->w);
    if (kernel < FIRST_KERNEL || summed(work) * outputs(work) < FIRST_OUTPUT)
        return true;
    if (!is_float(work))
        return is_forward(work) && work->x.type == DNN_HALF && is_last(&work->x);
    return work->kind == DNN_BACKWARD_DATA ||
           (is_forward(work) && kernel >= FIRST_PATCH && !is_last(&work->x));
}

static bool needs_nothing(const struct dnn_work *work)
{
    int64_t in = channels(work), out = outputs(work);
    if (groups(work) == in && in > 1)
        return true;
    if (is_first(work))
        return first_needs_nothing(work);
    if (!is_float(work) || groups(work) > 1 || is_of_weights(work))
        return false;
    if (is_pointwise(work) && has_stride(work))
        return in <= (is_forward(work) ? 64 : 128);
    return in <= 64 && out <= 64 && work->x.size[0] < 16 &&
           work->x.size[0] * positions(&work->x) <= 4096;
}

/* Whether a pointwise convolution is a product for each image; each one's result, for the weights'
 * gradient, is floats. */
static bool is_product(const struct dnn_work *work)
{
    int64_t in = channels(work), out = outputs(work), plane = positions(&work->x);
    if (!is_pointwise(work) || has_stride(work) || groups(work) > 1)
        return false;
    if (plane == 1)
        return true;
    if (is_last(&work->x))
        return false;
    if (is_of_weights(work))
        return 4 * in * out <= 5 * (in + out) * plane;
    int64_t from = is_forward(work) ? in : out, to = is_forward(work) ? out : in;
    return plane * width(work) % VECTOR == 0 || (in * out < (1 << 20) && (from < 1024 || to < 256));
}

static int64_t product(const struct dnn_work *work)
{
    if (positions(&work->x) == 1 || is_forward(work))
        return 0;
    if (work->kind == DNN_BACKWARD_DATA)
        return PRODUCT;
    return work->x.size[0] * channels(work) * outputs(work) * (int64_t)sizeof(float);
}

static bool has_rule(const struct dnn_work *work)
{
    if (groups(work) == 1)
        return true;
    return is_forward(work) ||
           (work->kind == DNN_BACKWARD_DATA && (!is_float(work) || groups(work) == channels(work)));
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

static bool is_measured(const struct dnn_work *work, int32_t capability)
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
    if (!is_measured(work, capability))
        return false;
    if (work->kind == DNN_ATTENTION) {
        *bytes = ATTENTION;
        return true;
    }
    if (!has_rule(work))
        return false;
    if (needs_nothing(work))
        return true;
    if (is_product(work))
        *bytes = product(work);
    else
        *bytes = copies(work) + (is_of_weights(work) ? parts(work, sms) : 0);
    return true;
}
