// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A file that gets its name only when it is complete. Until then it is called NAME.part-PID, an
// older file NAME is not changed, and the destructor removes NAME.part-PID unless keep() was
// called. An existing special file (/dev/null, a FIFO) or a descriptor is written in place instead.
// Small writes are buffered. All operations use the open directory of destination.hpp. This header
// is not installed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "perfdata/output/destination.hpp"

namespace pmukit::perfdata {

// The end of the message if an output that needs a file is a FIFO.
constexpr const char *kNeedsFile = ": a recording is not written front to back; name a file";

// Name of the unfinished file, in the same directory.
__attribute__((visibility("hidden"))) std::string part_of(const std::string &name);

// The final and the temporary name. The destructor removes the temporary file unless it was renamed
// or kept.
class __attribute__((visibility("hidden"))) NewName {
public:
    // If the path is a link, uses the file that it leads to, or would lead to.
    static Result<NewName> of(const std::string &path);
    // For an open descriptor; `name` is only for messages.
    static NewName of_descriptor(std::string name);
    NewName(NewName &&other) noexcept;
    NewName &operator=(NewName &&) = delete;
    ~NewName();

    // True if the target is an existing special file or a descriptor, which is written in place.
    bool is_in_place() const { return part_.empty(); }
    // The path of NAME.part-PID, for messages and for libraries that open it themselves.
    std::string part() const;
    // The path as given, for messages.
    const std::string &path() const { return path_; }
    void show_as(std::string name) { path_ = std::move(name); }
    // Creates part(), and first removes whatever has that name: another user can guess the name and
    // may have created a link to some other file. If is_in_place(), opens the target instead.
    Result<Fd> create() const;
    // Renames part() to the final name. Allocates no memory unless it fails.
    Result<void> give();
    // Like give(), and syncs the file's directory.
    Result<void> give_durably();
    uint64_t bytes() const;  // size of part()
    // Keeps part() after destruction, and returns its path. Empty: there is no such file.
    std::string keep();

private:
    NewName() = default;

    std::string path_, part_;  // part_: in the directory of to_; empty: nothing to remove
    std::optional<Destination> to_;
};

class __attribute__((visibility("hidden"))) NewFile {
public:
    static Result<NewFile> create(const std::string &path);
    // Like create(), with another name in messages.
    static Result<NewFile> create_shown(const std::string &path, std::string shown);
    // Path of the unfinished file for this path; empty: the target is written in place.
    static std::string part_name(const std::string &path);
    static NewFile into(Fd fd, std::string name);
    NewFile(NewFile &&) = default;
    NewFile &operator=(NewFile &&) = delete;
    ~NewFile();

    uint64_t offset() const { return offset_; }  // offset of the next byte
    Result<void> put(Bytes bytes);
    // Writes the buffered bytes, so that the reader of a pipe gets them.
    Result<void> flush();
    // Overwrites bytes that were written before.
    Result<void> patch(uint64_t at, Bytes bytes);
    bool can_patch() const;  // false for a pipe
    // Size of the unfinished file, without buffered bytes.
    uint64_t bytes_there() const;
    // Keeps the incomplete file, truncated to `end` bytes. Returns its path; empty: there is no
    // unfinished file.
    std::string keep(uint64_t end);
    // After finish(), the file survives a power failure. Data is written to the disk in the
    // background, so that finish() takes less time.
    void make_durable() { durable_ = true; }
    // Once this descriptor is readable, a pipe that accepts no data for a second is an error: its
    // reader has stopped. Call before the first write; -1: the writer waits forever.
    void give_up_when(int stop_fd);
    // Without this call, only the owner can access the file.
    Result<void> set_mode(mode_t mode);
    // Writes everything: afterwards only the renaming can fail.
    Result<void> complete();
    // Calls complete(), then gives a file its name.
    Result<void> finish();

private:
    NewFile(NewName name, Fd fd);
    Result<void> write(Bytes bytes);

    NewName name_;
    Fd fd_;  // complete() closes it, unless it is written in place
    std::vector<std::byte> gathered_;
    uint64_t offset_ = 0;
    bool durable_ = false;
    int stop_fd_ = -1;
};

}  // namespace pmukit::perfdata
