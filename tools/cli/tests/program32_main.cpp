// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A program for 32-bit x86 without any library, as hosts need not have 32-bit ones. It is built
// with frame pointers.

namespace {

volatile unsigned sum;

[[gnu::noinline]] unsigned spin32(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        sum = sum + i * i;
    return sum;
}

[[gnu::noinline]] unsigned middle32(unsigned turns)
{
    return spin32(turns) + 1;
}

[[noreturn]] void leave(int status)
{
    for (;;)
        asm volatile("int $0x80" : : "a"(1), "b"(status));
}

}  // namespace

extern "C" [[noreturn]] void _start()
{
    unsigned all = 0;
    for (int i = 0; i < 200; i++)
        all += middle32(200000);
    leave(all == 0);
}
