/* dnn_transforms.c - see dnn_transforms.h. */
#include "dnn_transforms.h"
#include "dnn_sizes.h"

#define SIDE_MOST 256
#define SIDE_LEAST 16
#define SIDE_OF_TILE 32

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
    int64_t stride = dnn_stride(work), parts = stride * stride;
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

int64_t dnn_spectra(const struct dnn_work *work)
{
    int64_t in = dnn_channels(work), out = dnn_outputs(work), n = dnn_batch(work);
    int64_t one = spectrum(side_of(work->x.size[2], work->w.size[2]),
                           side_of(work->x.size[3], work->w.size[3]));
    if (work->kind == DNN_FORWARD)
        return (int64_t)sizeof(float) * dnn_elements(&work->w) +
               2 * one * dnn_larger(in * out + n * in, n * out);
    return (int64_t)sizeof(float) * dnn_elements(&work->y) +
           2 * one * dnn_larger(in * out, n * (in + out));
}

bool dnn_fits_a_side(const struct dnn_work *work)
{
    return side_of(work->x.size[2], work->w.size[2]) <= SIDE_MOST &&
           side_of(work->x.size[3], work->w.size[3]) <= SIDE_MOST;
}

/* By how often it was seen among the kernels that are tried. */
static bool is_pointwise_tried(const struct dnn_work *work)
{
    int64_t plane = dnn_larger(work->x.size[2], work->x.size[3]);
    if (work->kind == DNN_BACKWARD_FILTER)
        return true;
    if (plane > 64)
        return false;
    if (!dnn_has_channels_last(work))
        return dnn_batch(work) > 2 || dnn_operations(work) < 9e7;
    return plane >= 4 &&
           (dnn_channels(work) >= 3 * dnn_outputs(work) || dnn_operations(work) > 2e9);
}

static bool is_transformed(const struct dnn_work *work)
{
    int64_t stride = dnn_stride(work);
    if (!dnn_is_float(work) || work->x.dims != 4 || dnn_groups(work) > 1 ||
        dnn_one_of(work->dilation, 4) != 1)
        return false;
    if ((work->x.size[2] == 1) != (work->x.size[3] == 1)) /* of one dimension */
        return false;
    if (work->kind == DNN_BACKWARD_DATA)
        return (stride == 1 || stride == 2) && dnn_positions(&work->w) >= 9;
    if (stride != 1 || !dnn_fits_a_side(work))
        return false;
    return !dnn_is_pointwise(work) || is_pointwise_tried(work);
}

static int64_t copies_in_floats(const struct dnn_work *work)
{
    int64_t w = dnn_is_pointwise(work) ? 0 : dnn_elements(&work->w);
    return (int64_t)sizeof(float) * (dnn_elements(&work->x) + w + dnn_elements(&work->y)) +
           DNN_VECTOR;
}

int64_t dnn_transforms(const struct dnn_work *work)
{
    if (!is_transformed(work))
        return 0;
    int64_t bytes = work->kind == DNN_BACKWARD_DATA ? tiled(work) : dnn_spectra(work);
    bool copied = dnn_has_channels_last(work) && dnn_stride(work) == 1;
    return bytes + (copied ? copies_in_floats(work) : 0);
}
