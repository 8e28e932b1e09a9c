// The part of the program that is C++: objects that live before and after main, in threads, and
// phases that end by an exception.
#include "moments.h"

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" void moments_of_cxx();

namespace
{

class Phase
{
  public:
    explicit Phase(const char *name) : name_(name)
    {
        tidemark_phase_begin(name_);
    }
    ~Phase()
    {
        tidemark_phase_end(name_);
    }
    Phase(const Phase &) = delete;
    Phase &operator=(const Phase &) = delete;

  private:
    const char *name_;
};

struct Object {
    const char *name;
    explicit Object(const char *called) : name(called)
    {
        moment(name, 1);
    }
    ~Object()
    {
        moment(name, 2);
    }
};

Object before_main("static object");
thread_local Object of_thread("thread_local object");

const char *touch()
{
    return of_thread.name;
}

void fail(int depth)
{
    Phase phase("throws");
    if (depth == 0)
        throw std::runtime_error("on purpose");
    fail(depth - 1);
}

} // namespace

extern "C" void moments_of_cxx()
{
    static Object local("local static object");
    try {
        fail(5);
    } catch (const std::exception &) {
        moment("caught", 6);
    }
    std::vector<std::thread> threads;
    for (long i = 0; i < 4; i++)
        threads.emplace_back([i] {
            Phase phase("lambda");
            if (touch())
                moment("in a lambda", i);
        });
    for (std::thread &thread : threads)
        thread.join();
    tidemark_tag(tidemark_heap_open(TIDEMARK_DEVICE_OTHER, 0, "moments"), nullptr, 0,
                 TIDEMARK_PARAMETER, "none");
}
