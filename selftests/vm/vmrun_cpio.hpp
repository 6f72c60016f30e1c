// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes an initramfs: a cpio archive in the "newc" format of the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst. All files belong to root, even if
// another user runs vmrun.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace pmukit::vm {

class CpioWriter {
public:
    // Paths are relative ("etc/modules"); missing parent folders are made.
    void folder(std::string_view path);
    void file(std::string_view path, std::string_view content, bool executable);
    void link(std::string_view path, std::string_view target);
    void character_device(std::string_view path, uint32_t major, uint32_t minor);

    // Returns the whole archive, with its trailer. The writer is empty afterwards.
    std::string finish();

private:
    void entry(std::string_view path, uint32_t mode, std::string_view content, uint32_t major,
               uint32_t minor);
    void parents(std::string_view path);

    std::string archive_;
    std::set<std::string, std::less<>> folders_;
    uint32_t inode_ = 0;
};

}  // namespace pmukit::vm
