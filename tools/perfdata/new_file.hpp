// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A file that gets its name only when it is whole: until then it is NAME.part-PID, and it goes away
// with its object, unless it is kept, while an older file of that name stays. Or what is there
// already and no file (/dev/null, a FIFO), or a descriptor: bytes just go into it. Small writes are
// gathered. Everything is done in the open directory of destination.hpp.
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
#include "perfdata/destination.hpp"

namespace pmukit::perfdata {

// What the unfinished file of a name is called, beside it.
std::string part_of(const std::string &name);

// The name, and the one until then. What lies there is removed unless the name was given or it is
// kept.
class NewName {
public:
    // A path that is a link: the file it leads to, or would lead to.
    static Result<NewName> of(const std::string &path);
    // Of what is open already and has a name elsewhere, if at all.
    static NewName of_descriptor(std::string name);
    NewName(NewName &&other) noexcept;
    NewName &operator=(NewName &&) = delete;
    ~NewName();

    // Something is there that is no file and is written as it is.
    bool is_in_place() const { return part_.empty(); }
    // The path of NAME.part-PID, for messages and for libraries that open it themselves.
    std::string part() const;
    // As it was given: for messages.
    const std::string &path() const { return path_; }
    void show_as(std::string name) { path_ = std::move(name); }
    // A new file of part(), whatever lies there (its name can be guessed: that may be a link to a
    // file of another user), or what is written in place.
    Result<Fd> create() const;
    // Allocates no memory unless it fails.
    Result<void> give();
    // The same, and on the disk with its name.
    Result<void> give_durably();
    uint64_t bytes() const;  // of part()
    // What was part() stays when this goes, under this path. Empty: there is nothing that could.
    std::string keep();

private:
    NewName() = default;

    std::string path_, part_;  // part_: in the folder of to_; empty: nothing to remove
    std::optional<Destination> to_;
};

class NewFile {
public:
    static Result<NewFile> create(const std::string &path);
    // The same, with another name in messages.
    static Result<NewFile> create_shown(const std::string &path, std::string shown);
    // What the unfinished file of this path is called; empty: what is there is written as it is.
    static std::string part_name(const std::string &path);
    static NewFile into(Fd fd, std::string name);
    NewFile(NewFile &&) = default;
    NewFile &operator=(NewFile &&) = delete;
    ~NewFile();

    uint64_t offset() const { return offset_; }  // of the next byte
    Result<void> put(Bytes bytes);
    // What was gathered goes out, for the reader at the other end.
    Result<void> flush();
    // Over what was put before.
    Result<void> patch(uint64_t at, Bytes bytes);
    bool can_patch() const;  // not in a pipe
    // Of the unfinished file; gathered ones are not among them.
    uint64_t bytes_there() const;
    // It will never be whole, but what is there stays, without the bytes from end on. The name
    // under which it does; empty: there is no unfinished file.
    std::string keep(uint64_t end);
    // A power cut after finish() does not lose it. What is put goes to the disk in the background,
    // so that the end does not wait long.
    void make_durable() { durable_ = true; }
    // Once this descriptor can be read, a pipe that takes nothing for a second is an error: it has
    // no reader that goes on. Before any byte; -1: waits for ever.
    void give_up_when(int stop_fd);
    // The file is its user's alone unless this says otherwise.
    Result<void> set_mode(mode_t mode);
    // All is written: nothing can go wrong any more but the naming.
    Result<void> complete();
    // The same, and a file has its name.
    Result<void> finish();

private:
    NewFile(NewName name, Fd fd);
    Result<void> write(Bytes bytes);

    NewName name_;  // without a part: not ours to give
    Fd fd_;         // of a file, until it is complete
    std::vector<std::byte> gathered_;
    uint64_t offset_ = 0;
    bool durable_ = false;
    int stop_fd_ = -1;
};

}  // namespace pmukit::perfdata
