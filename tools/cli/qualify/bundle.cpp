// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/qualify/bundle.hpp"

#include "base/file.hpp"
#include "cli/qualify/pci.hpp"
#include "cli/qualify/tar.hpp"
#include "cli/version.hpp"
#include "console/output.hpp"

namespace pmukit::cli::qualify {
namespace {

std::string versions_of(const Machine &machine, bool full)
{
    const Host &host = machine.host();
    std::string text;
    append(text, "pmukit {}\n", kVersion);
    for (const char *name : {"osrelease", "version"})
        append(text, "{} {}\n", name, host.text(text_of("proc/sys/kernel/{}", name)).value_or("?"));
    if (full)
        append(text, "hostname {}\n", host.text("proc/sys/kernel/hostname").value_or("?"));
    for (const char *name :
         {"pmukit_common", "cache_qos", "cache_qos_sim", "cxl_hmu", "hisi_ptt", "imc", "imc_engine",
          "uncore_pmon", "intel_uncore", "intel_vsec", "cxl_pci"})
        if (host.has_module(name))
            append(text, "module {} version {} srcversion {}\n", name,
                   host.text(text_of("sys/module/{}/version", name)).value_or("-"),
                   host.text(text_of("sys/module/{}/srcversion", name)).value_or("-"));
    return text;
}

std::string topology_of(const Machine &machine)
{
    const Host &host = machine.host();
    std::string text;
    for (unsigned cpu : machine.cpus()) {
        const std::string folder = text_of("sys/devices/system/cpu/cpu{}", cpu);
        append(text, "cpu {} package {} core {} l3 {}", cpu,
               host.text(folder + "/topology/physical_package_id").value_or("-"),
               host.text(folder + "/topology/core_id").value_or("-"),
               host.text(folder + "/cache/index3/id").value_or("-"));
        for (const std::string &name : host.names(folder))
            if (name.starts_with("node"))
                append(text, " {}", name);
        text += '\n';
    }
    for (const PciFunction &function : pci_functions(host)) {
        append(text, "pci {} {:04x}:{:04x} class {:06x} driver {} node {}", function.name,
               function.vendor, function.device, function.class_code,
               function.driver.empty() ? "none" : function.driver,
               host.text(function.path + "/numa_node").value_or("-"));
        for (size_t bar = 0; bar < function.bars.size(); bar++)
            if (function.bars[bar].bytes)
                append(text, " bar{} {:#x}{}", bar, function.bars[bar].bytes,
                       function.bars[bar].prefetchable ? " prefetchable" : "");
        text += '\n';
    }
    for (const std::string &name : host.names("sys/bus/event_source/devices"))
        append(text, "pmu {}\n", name);
    return text;
}

// CPUID leaves of the first CPU, in the format of `cpuid -r`. Leaf 3 is left out: it may be a
// serial number.
std::string cpuid_of(const Machine &machine)
{
    const unsigned cpu = machine.cpus().front();
    std::string text;
    if (!machine.cpuid(cpu, 0))
        return text;
    append(text, "CPU {}:\n", cpu);
    const auto add = [&](uint32_t leaf, uint32_t subleaf) {
        const CpuidLeaf found = machine.cpuid(cpu, leaf, subleaf).value_or(CpuidLeaf{});
        if (found.eax | found.ebx | found.ecx | found.edx)
            append(text,
                   "   {:#010x} {:#04x}: eax={:#010x} ebx={:#010x} ecx={:#010x} edx={:#010x}\n",
                   leaf, subleaf, found.eax, found.ebx, found.ecx, found.edx);
    };
    for (uint32_t leaf = 0; leaf <= 0x23; leaf++)
        for (uint32_t subleaf = 0; leaf != 3 && subleaf < (leaf == 4 || leaf >= 7 ? 4u : 1u);
             subleaf++)
            add(leaf, subleaf);
    for (uint32_t leaf = 0x80000000; leaf <= 0x80000022; leaf++)
        add(leaf, 0);
    return text;
}

}  // namespace

Result<void> write_bundle(const std::string &path, const Machine &machine, std::string_view driver,
                          const std::vector<DeviceReport> &reports, const std::string &report,
                          bool full)
{
    const std::string folder = text_of("pmukit-qualify-{}/", driver);
    std::vector<ArchiveFile> files = {{folder + "report.json", report},
                                      {folder + "versions", versions_of(machine, full)},
                                      {folder + "topology", topology_of(machine)},
                                      {folder + "cpuid", cpuid_of(machine)}};
    for (size_t i = 0; i < reports.size(); i++)
        files.push_back({text_of("{}device{}", folder, i),
                         text_of("device {}\n{}", reports[i].device, reports[i].facts)});
    if (full)
        files.push_back({folder + "iomem", machine.host().text("proc/iomem").value_or("") + "\n"});
    const Result<std::string> archive = tar_of(files);
    if (!archive)
        return archive.error();
    const Result<std::string> packed = zstd_of(*archive);
    if (!packed)
        return packed.error();
    return write_new_file(path, as_bytes(*packed));
}

}  // namespace pmukit::cli::qualify
