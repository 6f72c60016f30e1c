// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A tar archive (POSIX ustar) of a few small text files, compressed with zstd.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli::qualify {

struct ArchiveFile {
    std::string name;  // including folders; at most 99 bytes
    std::string text;
};

// Equal files always give equal bytes: the archive has no times and no users.
Result<std::string> tar_of(const std::vector<ArchiveFile> &files);
// Errc::kUnsupported: pmukit was built without zstd.
Result<std::string> zstd_of(const std::string &bytes);

}  // namespace pmukit::cli::qualify
