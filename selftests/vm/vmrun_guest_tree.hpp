// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The files of one guest system in the cache: kernel image, stock modules, stock perf, busybox.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::vm {

// Dependencies of modules, read from the files that depmod writes.
class ModuleIndex {
public:
    // modules_dep has lines "path: dependency..."; modules_builtin has one path per line.
    static ModuleIndex parse(std::string_view modules_dep, std::string_view modules_builtin);

    // Returns the files to load for `names`, in load order: dependencies come first, no file occurs
    // twice, and built-in modules are left out. Paths are relative to the modules folder.
    Result<std::vector<std::string>> load_order(const std::vector<std::string> &names) const;

    // Returns the name of a module: "9pnet_virtio" for "kernel/net/9p/9pnet-virtio.ko.xz".
    static std::string name_of(std::string_view path);

private:
    Result<void> add(const std::string &name, std::vector<std::string> &order,
                     std::set<std::string> &seen) const;

    std::map<std::string, std::string> paths_;
    std::map<std::string, std::vector<std::string>> needs_;  // in load order
    std::set<std::string> builtin_;
};

struct GuestTree {
    std::filesystem::path root;
    std::filesystem::path image;
    std::filesystem::path modules;  // .../lib/modules/<version>
    std::filesystem::path busybox;
    std::string version;  // of the kernel
    std::string arch;     // amd64, arm64, ppc64el
    ModuleIndex index;
};

Result<GuestTree> open_guest_tree(const std::filesystem::path &root);

// Returns the content of a stock module, which may be compressed (.ko.xz). The folder `unpacked`
// caches decompressed modules; if the compressed file is newer, it is decompressed again.
Result<std::string> stock_module_bytes(const std::filesystem::path &file,
                                       const std::filesystem::path &unpacked);

}  // namespace pmukit::vm
