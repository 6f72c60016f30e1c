// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads the defined parts of a PCI function's configuration space: its header, the capability
// headers and whole DVSECs. Some devices fail on reads of undefined registers (Linux:
// pci_read_config() in drivers/pci/pci-sysfs.c), so the rest is not read and is returned as 0.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"

namespace pmukit {

class PciConfigReader {
public:
    // `file` is the path of the file "config" in the sysfs directory of the function, or of a copy.
    static Result<std::string> read(const std::string &file)
    {
        const Result<Fd> fd = open_for_reading(file);
        if (!fd)
            return fd.error();
        struct stat info = {};
        if (::fstat(fd->get(), &info) != 0)
            return system_error(file, errno);
        PciConfigReader reader(fd->get(), static_cast<size_t>(std::clamp<off_t>(
                                              info.st_size, kHeaderBytes, kMostBytes)));
        if (!reader.take(0, kHeaderBytes))
            return read_small_file(file);  // the file is shorter than a header
        // An unprivileged user can read only the header.
        if (!reader.take_capabilities() || !reader.take_extended())
            reader.space_.resize(kHeaderBytes);
        return std::move(reader.space_);
    }

private:
    static constexpr size_t kHeaderBytes = 64, kExtended = 0x100, kMostBytes = 4096;
    static constexpr size_t kStatus = 0x06, kFirstCapability = 0x34;
    static constexpr uint16_t kHasCapabilities = 0x10, kDvsec = 0x23;
    static constexpr size_t kDvsecHeaderBytes = 16;
    static constexpr int kMostCapabilities = 960;  // the most that fit into configuration space

    PciConfigReader(int fd, size_t bytes) : fd_(fd), space_(bytes, '\0') {}

    bool take(size_t at, size_t bytes)
    {
        if (at > space_.size() || bytes > space_.size() - at)
            return false;
        return ::pread(fd_, space_.data() + at, bytes, static_cast<off_t>(at)) ==
               static_cast<ssize_t>(bytes);
    }

    template <typename T>
    T at(size_t offset) const
    {
        return load_le<T>(as_bytes(space_).data() + offset);
    }

    bool take_capabilities()
    {
        size_t next = at<uint16_t>(kStatus) & kHasCapabilities ? at<uint8_t>(kFirstCapability) : 0;
        for (int left = kMostCapabilities; next >= kHeaderBytes && left; left--) {
            next &= ~size_t{3};
            if (!take(next, 4))
                return false;
            next = at<uint8_t>(next + 1);
        }
        return true;
    }

    bool take_extended()
    {
        size_t next = space_.size() > kExtended ? kExtended : 0;
        for (int left = kMostCapabilities; next >= kExtended && left; left--) {
            if (!take(next, 4))
                return false;
            const auto header = at<uint32_t>(next);
            if (header == 0 || header == ~0u)
                break;
            if ((header & 0xffff) == kDvsec)
                take_dvsec(next);
            next = header >> 20 & ~3u;
        }
        return true;
    }

    // Reads a DVSEC whole. If its length extends past configuration space, reads only its header,
    // and its other bytes stay 0.
    void take_dvsec(size_t from)
    {
        if (take(from, kDvsecHeaderBytes))
            take(from, at<uint32_t>(from + 4) >> 20);
    }

    int fd_;
    std::string space_;
};

}  // namespace pmukit
