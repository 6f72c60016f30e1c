// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// unwound TURNS: calls, this many times, functions that are inlined, recursive, called by a
// library, and called by the C library. It is built without frame pointers: callers are found
// through call frame information only.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

using Back = uint64_t (*)(uint64_t);
extern "C" uint64_t library_outer(Back back, uint64_t turns);

namespace {

volatile uint64_t sum;

[[gnu::always_inline]] inline void inlined_inner(uint64_t turn)
{
    sum = sum + turn * turn;
}

[[gnu::always_inline]] inline void inlined_outer(uint64_t turns)
{
    for (uint64_t i = 0; i < turns; i++)
        inlined_inner(i);
}

[[gnu::noinline]] uint64_t spin(uint64_t turns)
{
    inlined_outer(turns);
    return sum;
}

[[gnu::noinline]] uint64_t recurse(uint64_t turns, int depth)
{
    return depth ? recurse(turns, depth - 1) + 1 : spin(turns) + 1;
}

[[gnu::noinline]] uint64_t come_back(uint64_t turns)
{
    return recurse(turns, 3) + 1;
}

int compare(const void *a, const void *b)
{
    (void)come_back(200);
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

}  // namespace

int main(int argc, char **argv)
{
    const int turns = argc > 1 ? std::atoi(argv[1]) : 1;
    uint64_t all = 0;
    for (int i = 0; i < turns; i++) {
        all += library_outer(come_back, 2000);
        int numbers[] = {3, 1, 2, 4};
        std::qsort(numbers, 4, sizeof numbers[0], compare);
    }
    return std::printf("%llu\n", static_cast<unsigned long long>(all)) < 0;
}
