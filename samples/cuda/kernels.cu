/*
 * kernels.cu - the operations of train_step that no library has. Compiled when the program starts,
 * by NVRTC; tests/gpu compiles the same text as C, with a loop for the threads.
 *
 * One thread for each number unless said otherwise. Matrices are rows one behind the other.
 */
#ifdef __CUDACC_RTC__
#define KERNEL extern "C" __global__ void
#define INDEX ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x)
#define ADD(to, value) atomicAdd((to), (value))
#endif

typedef unsigned long long number;

/* to[i][j] = table[which[i]][j] */
KERNEL gather(number rows, number columns, const float *table, const int *which, float *to)
{
    number i = INDEX;
    if (i < rows * columns)
        to[i] = table[(number)which[i / columns] * columns + i % columns];
}

/* table[which[i]][j] += from[i][j]: rows may be named twice */
KERNEL scatter_add(number rows, number columns, float *table, const int *which, const float *from)
{
    number i = INDEX;
    if (i < rows * columns)
        ADD(&table[(number)which[i / columns] * columns + i % columns], from[i]);
}

/* to[i][j] += bias[j] */
KERNEL add_bias(number rows, number columns, float *to, const float *bias)
{
    number i = INDEX;
    if (i < rows * columns)
        to[i] += bias[i % columns];
}

/* The cross entropy of row i: one thread for each row. */
KERNEL pick_loss(number rows, number columns, const float *log_probability, const int *target,
                 float *loss)
{
    number i = INDEX;
    if (i < rows)
        loss[i] = -log_probability[i * columns + (number)target[i]];
}

/* Its gradient by the log-probabilities. */
KERNEL pick_gradient(number rows, number columns, const int *target, float scale, float *gradient)
{
    number i = INDEX;
    if (i < rows * columns)
        gradient[i] = i % columns == (number)target[i / columns] ? -scale : 0.0f;
}

/* left1 and left2 are 1 - beta to the power of the step. */
KERNEL adam(number count, float *weight, const float *gradient, float *first, float *second,
            float rate, float beta1, float beta2, float epsilon, float left1, float left2)
{
    number i = INDEX;
    if (i < count) {
        float g = gradient[i];
        first[i] = beta1 * first[i] + (1.0f - beta1) * g;
        second[i] = beta2 * second[i] + (1.0f - beta2) * g * g;
        weight[i] -= rate * (first[i] / left1) / (sqrtf(second[i] / left2) + epsilon);
    }
}
