// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/debuginfod.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/number.hpp"

namespace pmukit::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kAll{20000};
constexpr uint64_t kMostSeconds = 86400;
constexpr int kNoLibrary = 1;  // exit status of the child

// Functions of elfutils/debuginfod.h.
using Begin = void *();
using Find = int(void *client, const unsigned char *build_id, int bytes, char **path);

#ifdef PMUKIT_LIBELF
void *function(const char *name)
{
    void *const library = ::dlopen("libdebuginfod.so.1", RTLD_NOW);
    return library ? ::dlsym(library, name) : nullptr;
}
#else  // the static build for guests cannot load libraries
void *function(const char *)
{
    return nullptr;
}
#endif

// In the child: asks the servers, and writes the path of the file.
[[noreturn]] void ask(Debuginfod::Kind kind, Bytes build_id, int to)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The handlers of the parent remove its unfinished output.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
        ::signal(signal, SIG_DFL);
    auto *const begin = reinterpret_cast<Begin *>(function("debuginfod_begin"));
    auto *const find = reinterpret_cast<Find *>(function(kind == Debuginfod::Kind::kProgram
                                                             ? "debuginfod_find_executable"
                                                             : "debuginfod_find_debuginfo"));
    if (!begin || !find)
        ::_exit(kNoLibrary);
    char *path = nullptr;
    void *const client = begin();
    if (client &&
        find(client, reinterpret_cast<const unsigned char *>(build_id.data()),
             static_cast<int>(build_id.size()), &path) >= 0 &&
        path)
        (void)static_cast<bool>(write_all(to, as_bytes(path), "pipe"));
    ::_exit(0);
}

// Reads until the end of the pipe. nullopt: the time is up.
std::optional<std::string> read_until(int from, Clock::time_point end)
{
    std::string text;
    char chunk[PATH_MAX];
    for (;;) {
        const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
        pollfd waiting{from, POLLIN, 0};
        if (left.count() <= 0)
            return std::nullopt;
        if (::poll(&waiting, 1, static_cast<int>(left.count())) <= 0)
            continue;
        const ssize_t got = ::read(from, chunk, sizeof chunk);
        if (got == 0 || (got < 0 && errno != EINTR))
            return text;
        text.append(chunk, static_cast<size_t>(std::max<ssize_t>(got, 0)));
    }
}

// Returns its exit status.
int ended(pid_t pid)
{
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

std::string_view variable(const char *name)
{
    const char *const value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

Debuginfod::Debuginfod() : is_set_(!variable("DEBUGINFOD_URLS").empty()), all_(kAll)
{
    const Result<uint64_t> seconds = parse_u64(std::string(variable("DEBUGINFOD_TIMEOUT")));
    if (seconds && *seconds != 0)
        all_ = std::chrono::seconds(std::min(*seconds, kMostSeconds));
    left_ = all_;
}

std::optional<std::string> Debuginfod::find(Kind kind, Bytes build_id)
{
    if (!is_set_ || !has_library_ || build_id.empty())
        return std::nullopt;
    const Clock::time_point begin = Clock::now();
    int ends[2];
    if (left_.count() <= 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
        left_out_++;
        return std::nullopt;
    }
    Fd from(ends[0]), to(ends[1]);
    const pid_t pid = ::fork();
    if (pid == 0)
        ask(kind, build_id, to.get());
    to = Fd();
    std::optional<std::string> path;
    if (pid > 0)
        path = read_until(from.get(), begin + left_);
    if (pid > 0 && !path)
        ::kill(pid, SIGKILL);
    left_out_ += !path;
    has_library_ = pid < 0 || ended(pid) != kNoLibrary;
    left_ -= std::chrono::ceil<milliseconds>(Clock::now() - begin);
    return path && !path->empty() ? path : std::nullopt;
}

std::string Debuginfod::trouble() const
{
    if (!has_library_)
        return "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not installed";
    if (left_out_ == 0)
        return {};
    return fmt::format(
        "debuginfod did not answer within {} s: {} files are not used; "
        "DEBUGINFOD_TIMEOUT changes this time",
        all_.count() / 1000, left_out_);
}

}  // namespace pmukit::cli
