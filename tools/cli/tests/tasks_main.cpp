// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests of recordings: tasks that change their name or program, and processes with one PID.
//
//     tasks TURNS                      spends time
//     tasks exec TURNS PROGRAM ARG...  spends time, then executes PROGRAM
//     tasks names TURNS                three threads, which rename themselves five times
//     tasks reuse TURNS PROGRAM...     runs each PROGRAM with the argument TURNS, one after the
//     other,
//                                      then a child that renames itself and a child that does not;
//                                      all of them have the same PID, which must be free
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

volatile uint64_t sum;

[[gnu::noinline]] void spend(int turns)
{
    constexpr int kSteps = 3000;
    for (int turn = 0; turn < turns; turn++)
        for (int i = 0; i < kSteps; i++)
            sum = sum + static_cast<uint64_t>(i);
}

void rename_repeatedly(const std::string &name, int turns)
{
    for (int i = 0; i < 5; i++) {
        ::prctl(PR_SET_NAME, (name + '-' + std::to_string(i)).c_str());
        spend(turns);
    }
}

void rename_threads(int turns)
{
    std::thread first(rename_repeatedly, "first", turns),
        second(rename_repeatedly, "second", turns);
    rename_repeatedly("main", turns);
    first.join();
    second.join();
}

// Forks a child with this PID (0: any) that calls run. Returns the PID, after the child has ended;
// -1: the child failed or has not started.
template <typename Run>
pid_t run_child(pid_t pid, Run run)
{
    clone_args args{};
    args.exit_signal = SIGCHLD;
    args.set_tid = pid ? reinterpret_cast<uintptr_t>(&pid) : 0;
    args.set_tid_size = pid != 0;
    const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
    if (child == 0) {
        run();
        ::_exit(0);
    }
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0 ? child : -1;
}

int reuse_pid(char *turns, char **programs)
{
    pid_t pid = 0;
    for (; *programs && pid >= 0; programs++)
        pid = run_child(pid, [&] {
            ::execl(*programs, *programs, turns, static_cast<char *>(nullptr));
            ::_exit(1);
        });
    if (pid >= 0)
        pid = run_child(pid, [&] { rename_repeatedly("renamed", std::atoi(turns) / 5); });
    if (pid >= 0)
        pid = run_child(pid, [&] { spend(std::atoi(turns)); });
    return pid < 0;
}

}  // namespace

int main(int count, char **words)
{
    const std::string_view mode = count > 1 ? words[1] : "";
    if (count == 2) {
        spend(std::atoi(words[1]));
        return 0;
    }
    if (mode == "exec" && count > 3) {
        spend(std::atoi(words[2]));
        ::execv(words[3], words + 3);
        return 1;
    }
    if (mode == "names") {
        rename_threads(std::atoi(words[2]));
        return 0;
    }
    return mode == "reuse" && count > 3 ? reuse_pid(words[2], words + 3) : 2;
}
