// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests of recordings: tasks that change their names and programs while they use processor
// time, so that the number of samples does not depend on other load of the machine.
//
//     tasks exec PROGRAM...    works, then executes the first program in the same way
//     tasks rename             works under several names, in two threads
//     tasks reuse              children one after another that have the same PID; needs root
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <thread>

namespace {

[[gnu::noinline]] void work()
{
    constexpr int64_t kTime_ns = 20000000, kNsPerSecond = 1000000000;
    const auto now_ns = [] {
        timespec now{};
        ::syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);  // not in the vDSO
        return now.tv_sec * kNsPerSecond + now.tv_nsec;
    };
    for (const int64_t until_ns = now_ns() + kTime_ns; now_ns() < until_ns;)
        for (unsigned i = 0; i < 10000; i++)
            asm volatile("" : "+r"(i));  // keeps the loop from being optimized away
}

void work_as(const char *name)
{
    ::prctl(PR_SET_NAME, name);
    work();
}

int execute(char **programs)
{
    work();
    if (!*programs)
        return 0;
    static char mode[] = "exec";
    // The program, "exec" and the programs behind it.
    char *words[8] = {programs[0], mode};
    for (int i = 2; i < 7 && programs[i - 1]; i++)
        words[i] = programs[i - 1];
    ::execv(words[0], words);
    return 1;
}

int rename_threads()
{
    work();
    std::thread other([] {
        work_as("other");
        work_as("other again");
    });
    work_as("first name");
    work_as("second name");
    other.join();
    return 0;
}

// Starts a child. wanted: its PID; 0: any.
pid_t start(pid_t wanted, const char *name)
{
    clone_args how{};
    how.exit_signal = SIGCHLD;
    if (wanted != 0) {
        how.set_tid = reinterpret_cast<uintptr_t>(&wanted);
        how.set_tid_size = 1;
    }
    const long pid = ::syscall(SYS_clone3, &how, sizeof how);
    if (pid != 0)
        return static_cast<pid_t>(pid);
    if (name)
        work_as(name);
    else
        work();
    ::_exit(0);
}

int reuse_pid()
{
    const pid_t pid = start(0, "child");
    for (const char *name : {"second child", static_cast<const char *>(nullptr), "fourth child"}) {
        if (::waitpid(pid, nullptr, 0) != pid || start(pid, name) != pid)
            return 1;
    }
    return ::waitpid(pid, nullptr, 0) != pid;
}

}  // namespace

int main(int count, char **words)
{
    const std::string_view mode = count > 1 ? words[1] : "";
    if (mode == "exec")
        return execute(words + 2);
    if (mode == "rename")
        return rename_threads();
    if (mode == "reuse")
        return reuse_pid();
    std::fputs("usage: tasks exec PROGRAM... | rename | reuse\n", stderr);
    return 2;
}
