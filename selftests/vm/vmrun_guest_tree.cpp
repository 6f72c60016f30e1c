// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_guest_tree.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "vmrun_child.hpp"
#include "vmrun_text.hpp"

namespace pmukit::vm {

namespace fs = std::filesystem;

std::string ModuleIndex::name_of(std::string_view path)
{
    path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0 if there is no '/'
    std::string name(path.substr(0, path.find('.')));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

ModuleIndex ModuleIndex::parse(std::string_view modules_dep, std::string_view modules_builtin)
{
    ModuleIndex index;
    for (const std::string &line : lines_of(modules_dep)) {
        size_t colon = line.find(':');
        if (colon == std::string::npos)
            continue;
        std::string path = line.substr(0, colon), name = name_of(path);
        // In a line of modules.dep, the last dependency is the one to load first.
        std::vector<std::string> needs = words_of(std::string_view(line).substr(colon + 1));
        std::reverse(needs.begin(), needs.end());
        for (std::string &need : needs)
            need = name_of(need);
        index.paths_[name] = path;
        index.needs_[name] = std::move(needs);
    }
    for (const std::string &line : lines_of(modules_builtin))
        index.builtin_.insert(name_of(line));
    return index;
}

Result<void> ModuleIndex::add(const std::string &name, std::vector<std::string> &order,
                              std::set<std::string> &seen) const
{
    if (builtin_.contains(name) || !seen.insert(name).second)
        return {};
    auto path = paths_.find(name);
    if (path == paths_.end())
        return Error{Errc::kNotFound, fmt::format("the guest kernel has no module '{}'", name)};
    for (const std::string &need : needs_.at(name))
        if (auto added = add(need, order, seen); !added)
            return added;
    order.push_back(path->second);
    return {};
}

Result<std::vector<std::string>> ModuleIndex::load_order(
    const std::vector<std::string> &names) const
{
    std::vector<std::string> order;
    std::set<std::string> seen;
    for (const std::string &name : names)
        if (auto added = add(name, order, seen); !added)
            return added.error();
    return order;
}

Result<GuestTree> open_guest_tree(const fs::path &root)
{
    auto text = read_file(root / "guest.env");
    if (!text)
        return Error{Errc::kEnvironment,
                     fmt::format("no guest in {}: run 'make setup'", root.string())};
    auto settings = parse_settings(*text);
    if (!settings)
        return settings.error();
    for (const char *name : {"KVER", "ARCH", "IMAGE"})
        if (!settings->contains(name))
            return Error{Errc::kDamaged,
                         fmt::format("{}/guest.env has no {}", root.string(), name)};

    GuestTree tree;
    tree.root = root;
    tree.version = settings->at("KVER");
    tree.arch = settings->at("ARCH");
    tree.image = root / settings->at("IMAGE");
    tree.modules = root / "usr/lib/modules" / tree.version;
    tree.busybox = root / "usr/bin/busybox";
    auto dep = read_file(tree.modules / "modules.dep");
    if (!dep)
        return dep.error();
    auto builtin = read_file(tree.modules / "modules.builtin");
    if (!builtin)
        return builtin.error();
    tree.index = ModuleIndex::parse(*dep, *builtin);
    return tree;
}

Result<std::string> stock_module_bytes(const fs::path &file, const fs::path &unpacked)
{
    if (file.extension() == ".ko")
        return read_file(file);
    if (file.extension() != ".xz")
        return Error{Errc::kUnsupported,
                     fmt::format("{}: only .ko and .ko.xz are known", file.string())};

    fs::path kept = unpacked / file.stem();
    std::error_code missing;
    auto kept_time = fs::last_write_time(kept, missing);
    if (!missing && kept_time >= fs::last_write_time(file))
        return read_file(kept);

    fs::create_directories(unpacked);
    fs::path fresh = kept;
    fresh += fmt::format(".{}", ::getpid());
    auto code = run_to_end({{"xz", "-dc", file.string()}, fresh});
    if (!code)
        return code.error();
    if (*code != 0)
        return Error{Errc::kEnvironment, fmt::format("xz cannot unpack {}", file.string())};
    fs::rename(fresh, kept);
    return read_file(kept);
}

}  // namespace pmukit::vm
