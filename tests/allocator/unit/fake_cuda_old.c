/* fake_cuda_old.c - a library that could be taken for a driver, but has one symbol only. */
extern int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
    return (int)flags;
}
