// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Generates a loop in anonymous memory and runs it TURNS times, as a just-in-time compiler does.
// shared: in memory that child processes would share.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// uint64_t loop(uint64_t turns): decrements turns to 0.
constexpr uint32_t kLoop[] = {
#if defined(__x86_64__)
    0x48f88948, 0xfb75c8ff, 0xc3  // mov %rdi,%rax; 1: dec %rax; jne 1b; ret
#elif defined(__aarch64__)
    0xf1000400, 0x54ffffe1, 0xd65f03c0  // 1: subs x0, x0, #1; b.ne 1b; ret
#endif
};

}  // namespace

int main(int argc, char **argv)
{
    const int turns = argc > 1 ? std::atoi(argv[1]) : 1;
    const bool is_shared = argc > 2 && std::strcmp(argv[2], "shared") == 0;
    void *code = ::mmap(nullptr, sizeof kLoop, PROT_READ | PROT_WRITE | PROT_EXEC,
                        (is_shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return 1;
    std::memcpy(code, kLoop, sizeof kLoop);
    __builtin___clear_cache(static_cast<char *>(code), static_cast<char *>(code) + sizeof kLoop);
    const auto loop = reinterpret_cast<uint64_t (*)(uint64_t)>(code);
    uint64_t sum = 0;
    for (int i = 0; i < turns; i++)
        sum += loop(1000000);
    return std::printf("%llu\n", static_cast<unsigned long long>(sum)) < 0;
}
