// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit-model: runs one device model as a vfio-user server, for a QEMU guest to attach to.
#include <fmt/format.h>
#include <link.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <string>

#include "cli/pmukit_model_cxl_hmu.hpp"
#include "cli/pmukit_model_exit.hpp"

namespace pmukit::cli {
namespace {

// The GNU build id that the linker gave this very program, so that a test can tell which one runs.
int find_build_id(dl_phdr_info *object, size_t, void *out)
{
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE)
            continue;
        const char *at = reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr);
        const char *const end = at + segment.p_memsz;
        while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char *name = at + sizeof note;
            const char *description = name + (note.n_namesz + 3u) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                std::memcmp(name, "GNU", 4) == 0) {
                for (unsigned byte = 0; byte < note.n_descsz; byte++)
                    *static_cast<std::string *>(out) +=
                        fmt::format("{:02x}", static_cast<unsigned char>(description[byte]));
            }
            at = description + (note.n_descsz + 3u) / 4 * 4;
        }
    }
    return 1;  // the program itself comes first; its libraries do not matter
}

std::string version()
{
    std::string id;
    dl_iterate_phdr(find_build_id, &id);
    return "pmukit-model build " + (id.empty() ? "unknown" : id);
}

void list_faults()
{
    for (const models::cxl_hmu::Fault &fault : models::cxl_hmu::faults())
        fmt::print("cxl_hmu  {:<28} {}\n", fault.name, fault.effect);
}

int run(int argc, char **argv)
{
    CLI::App app("Device models for pmukit, as vfio-user servers", "pmukit-model");
    app.set_version_flag("--version", version());
    bool wants_faults = false;
    app.add_flag("--list-faults", wants_faults, "name the ways in which a model can be broken");
    app.require_subcommand(0, 1);
    CxlHmuCommand cxl_hmu(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success &success) {
        return app.exit(success);
    } catch (const CLI::ParseError &error) {
        return give_up({Errc::kUsage, error.what()});
    }
    if (wants_faults) {
        list_faults();
        return kExitGood;
    }
    if (cxl_hmu.chosen())
        return cxl_hmu.run();
    return give_up({Errc::kUsage, "which model? pmukit-model --help names them"});
}

}  // namespace
}  // namespace pmukit::cli

int main(int argc, char **argv)
{
    return pmukit::cli::run(argc, argv);
}
