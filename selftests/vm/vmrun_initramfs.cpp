// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_initramfs.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "vmrun_cpio.hpp"
#include "vmrun_text.hpp"

namespace pmukit::vm {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kModuleFolder = "lib/vmrun";

// Modules for the shared folders. The guest loads them first, so that the folders are mounted even
// if another module fails to load.
const std::vector<std::string> kEarlyModules = {"virtio_pci", "9pnet_virtio", "9p"};

Result<fs::path> find_module(const fs::path &folder, std::string_view name)
{
    std::string file = fmt::format("{}.ko", name);
    std::error_code none;
    if (name.find('/') != name.npos && fs::exists(folder / file, none))
        return folder / file;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder, none))
        if (entry.path().filename() == file)
            return entry.path();
    return Error{Errc::kEnvironment,
                 fmt::format("no {} below {}: run 'make modules'", file, folder.string())};
}

std::string_view base_name(std::string_view path)
{
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0 if there is no '/'
}

Result<void> add_host_file(CpioWriter &cpio, const fs::path &from, const std::string &to)
{
    auto content = read_file(from);
    if (!content)
        return Error{Errc::kEnvironment, content.error().message};
    cpio.file(to, *content, true);
    return {};
}

// Adds the stock modules to the archive and returns their paths in the guest, one per line.
Result<std::string> add_stock_modules(CpioWriter &cpio, const GuestTree &tree,
                                      const InitramfsSpec &spec,
                                      const std::vector<std::string> &order)
{
    std::string list;
    for (const std::string &path : order) {
        auto bytes =
            stock_module_bytes(tree.modules / path, spec.build / "vm" / spec.kernel / "modules");
        if (!bytes)
            return bytes.error();
        std::string to = fmt::format("{}/{}.ko", kModuleFolder, ModuleIndex::name_of(path));
        cpio.file(to, *bytes, false);
        list += "/" + to + "\n";
    }
    return list;
}

// Lists of the modules to load first, to load next, and to unload at the end.
struct ModuleLists {
    std::string early, rest, unload;
};

Result<ModuleLists> add_modules(CpioWriter &cpio, const GuestTree &tree, const InitramfsSpec &spec)
{
    std::vector<std::string> wanted = kEarlyModules;
    auto early = tree.index.load_order(wanted);
    if (!early)
        return early.error();
    if (spec.driver)
        for (std::string_view name : spec.driver->stock_modules)
            if (std::find(spec.lacks.begin(), spec.lacks.end(), name) == spec.lacks.end())
                wanted.emplace_back(name);
    auto all = tree.index.load_order(wanted);  // begins with the early modules
    if (!all)
        return all.error();

    ModuleLists lists;
    auto added = add_stock_modules(cpio, tree, spec, *early);
    if (!added)
        return added.error();
    lists.early = *added;
    auto rest = add_stock_modules(cpio, tree, spec,
                                  {all->begin() + static_cast<long>(early->size()), all->end()});
    if (!rest)
        return rest.error();
    lists.rest = *rest;
    if (!spec.driver)
        return lists;
    for (std::string_view module : spec.driver->modules) {
        const std::string_view path = module.substr(0, module.find(' '));
        const std::string_view name = base_name(path);
        auto file = find_module(spec.build / "modules" / spec.kernel, path);
        if (!file)
            return file.error();
        std::string to = fmt::format("{}/{}.ko", kModuleFolder, name);
        if (auto put = add_host_file(cpio, *file, to); !put)
            return put.error();
        lists.rest += fmt::format("/{}{}\n", to, module.substr(path.size()));
        lists.unload = fmt::format("{}\n{}", name, lists.unload);
    }
    return lists;
}

// Adds all files below `folder`: libraries that the guest's programs need. If the programs are
// static, the folder may be missing.
Result<void> add_libraries(CpioWriter &cpio, const fs::path &folder)
{
    std::error_code none;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder, none))
        if (entry.is_regular_file())
            if (auto put = add_host_file(cpio, entry.path(),
                                         entry.path().lexically_relative(folder).string());
                !put)
                return put;
    return {};
}

Result<void> add_driver_files(CpioWriter &cpio, const GuestTree &tree, const InitramfsSpec &spec)
{
    if (!spec.driver)
        return {};
    if (auto put = add_libraries(cpio, spec.build / "guest" / tree.arch / "libraries"); !put)
        return put;
    for (std::string_view program : spec.driver->programs)
        if (auto put = add_host_file(cpio, spec.build / "guest" / tree.arch / program,
                                     fmt::format("usr/bin/{}", base_name(program)));
            !put)
            return Error{Errc::kEnvironment, put.error().message + ": run 'make guest'"};
    for (std::string_view file : spec.driver->firmware)
        if (auto put = add_host_file(cpio, spec.build / "modules" / spec.kernel / "firmware" / file,
                                     fmt::format("lib/firmware/{}", file));
            !put)
            return Error{Errc::kEnvironment, put.error().message + ": run 'make modules'"};
    for (std::string_view file : spec.driver->files)
        if (auto put =
                add_host_file(cpio, spec.selftests.parent_path() / file,
                              fmt::format("selftests/{}/{}", spec.driver->name, base_name(file)));
            !put)
            return put;
    return {};
}

}  // namespace

Result<std::string> make_initramfs(const GuestTree &tree, const InitramfsSpec &spec)
{
    CpioWriter cpio;
    for (const char *folder :
         {"dev", "proc", "sys", "tmp", "root", "out", "stock", "usr/bin", "etc/vmrun"})
        cpio.folder(folder);
    cpio.character_device("dev/console", 5, 1);  // for init's stdin and stdout before devtmpfs
    if (auto put = add_host_file(cpio, tree.busybox, "bin/busybox"); !put)
        return put.error();
    cpio.link("bin/sh", "busybox");
    if (auto put = add_host_file(cpio, spec.selftests / "vm/init", "init"); !put)
        return put.error();

    auto lists = add_modules(cpio, tree, spec);
    if (!lists)
        return lists.error();
    if (auto put = add_driver_files(cpio, tree, spec); !put)
        return put.error();
    std::string steps;
    for (const Step &step : spec.steps)
        steps += fmt::format("{} {} {}\n", step.limit_seconds, step.name, step.command);
    cpio.file("etc/vmrun/settings", fmt::format("mode={}\n", shell_quote(spec.mode)), false);
    cpio.file("etc/vmrun/modules.early", lists->early, false);
    cpio.file("etc/vmrun/modules", lists->rest, false);
    cpio.file("etc/vmrun/unload", lists->unload, false);
    cpio.file("etc/vmrun/steps", steps, false);
    cpio.file("etc/vmrun/banner", spec.banner, false);
    return cpio.finish();
}

}  // namespace pmukit::vm
