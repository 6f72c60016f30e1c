// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "topology/cxl_sysfs.hpp"

#include <unistd.h>

#include <array>
#include <climits>

#include "base/file.hpp"
#include "base/number.hpp"
#include "topology/attribute.hpp"
#include "topology/interleave.hpp"

namespace pmukit::topology {
namespace {

constexpr uint64_t kNoAddress = UINT64_MAX;  // the value that Linux shows if no address is assigned

struct DecoderName {
    uint32_t port = 0, decoder = 0;
};

// Parses the name of a decoder, decoder<port>.<decoder>.
std::optional<DecoderName> parse_decoder_name(std::string_view name)
{
    const size_t dot = name.find('.');
    if (dot == name.npos)
        return std::nullopt;
    auto port = number_after("decoder", name.substr(0, dot));
    auto decoder = number_after("", name.substr(dot + 1));
    if (!port || !decoder)
        return std::nullopt;
    return DecoderName{*port, *decoder};
}

bool wraps(uint64_t start, uint64_t bytes)
{
    return bytes == 0 || start > UINT64_MAX - (bytes - 1);
}

// Reads the attributes of one device. The object stores the first error, so that the functions
// below need no error handling.
class Attributes {
public:
    explicit Attributes(std::string dir) : dir_(std::move(dir)) {}

    std::string path(const char *name) const { return joined(dir_, name); }
    bool failed() const { return error_.has_value(); }
    const Error &error() const { return *error_; }

    uint64_t number(const char *name) { return keep(read_number(path(name)), uint64_t{0}); }
    std::string text(const char *name) { return keep(read_attribute(path(name)), std::string()); }
    std::optional<uint64_t> number_if_any(const char *name)
    {
        return keep(read_optional_number(path(name)), std::optional<uint64_t>());
    }
    std::optional<std::string> text_if_any(const char *name)
    {
        return keep(read_optional_attribute(path(name)), std::optional<std::string>());
    }
    // Reads an attribute that only root may read. If the caller may not read it, it counts as
    // absent.
    std::optional<uint64_t> number_if_allowed(const char *name)
    {
        Result<std::optional<uint64_t>> number = read_optional_number(path(name));
        if (!number && number.error().code == Errc::kDenied)
            return std::nullopt;
        return keep(std::move(number), std::optional<uint64_t>());
    }
    void refuse(const char *name, std::string_view value, std::string_view how)
    {
        if (!error_)
            error_ = wrong_value(path(name), value, how);
    }

private:
    template <typename T>
    T keep(Result<T> result, T otherwise)
    {
        if (result)
            return std::move(*result);
        if (!error_)
            error_ = result.error();
        return otherwise;
    }

    std::string dir_;
    std::optional<Error> error_;
};

void check_range(Attributes &from, const char *name, uint64_t start, uint64_t bytes)
{
    if (wraps(start, bytes))
        from.refuse(name, std::to_string(bytes), "bytes are none, or end beyond 64 bits");
}

void check_interleave(Attributes &from, uint64_t ways)
{
    if (!is_ways(ways))
        from.refuse("interleave_ways", std::to_string(ways), "is not 1, 2, 3, 4, 6, 8, 12 or 16");
}

// Reads the NUMA node. Linux shows -1 if it does not know the node.
std::optional<uint32_t> read_numa_node(Attributes &from)
{
    std::optional<std::string> text = from.text_if_any("numa_node");
    if (!text || *text == "-1")
        return std::nullopt;
    std::optional<uint32_t> node = number_after("", *text);
    if (!node)
        from.refuse("numa_node", *text, "is not a node");
    return node;
}

Memdev read_memdev(Attributes &from, const std::string &name)
{
    Memdev memdev;
    memdev.name = name;
    memdev.numa_node = read_numa_node(from);
    memdev.serial = from.number_if_any("serial");
    memdev.ram_bytes = from.number_if_any("ram/size");
    return memdev;
}

// Returns the name of the memdev of an endpoint, from the link `uport`. In a saved copy, uport may
// be a folder, whose device number identifies the memdev, or a file that contains the name.
Result<std::string> memdev_of_endpoint(const std::string &devices, uint32_t port,
                                       const std::vector<std::string> &names)
{
    const std::string uport = devices + "/endpoint" + std::to_string(port) + "/uport";
    char target[PATH_MAX];
    if (const ssize_t size = ::readlink(uport.c_str(), target, sizeof target); size > 0) {
        std::string_view to(target, static_cast<size_t>(size));
        return std::string(to.substr(to.rfind('/') + 1));  // without a '/', npos + 1 is 0
    }
    if (!is_folder(uport)) {
        Result<std::optional<std::string>> text = read_optional_attribute(uport);
        if (!text)
            return text.error();
        if (*text && !number_after("mem", **text))
            return wrong_value(uport, **text, "is not the name of a memdev");
        return text->value_or("");
    }
    Result<std::string> number = read_attribute(uport + "/dev");
    if (!number)
        return number.error();
    for (const std::string &name : names) {
        if (!number_after("mem", name))
            continue;
        Result<std::optional<std::string>> own =
            read_optional_attribute(joined(joined(devices, name), "dev"));
        if (own && *own == *number)
            return name;
    }
    return std::string();
}

EndpointDecoder read_endpoint(Attributes &from, const std::string &name, uint64_t dpa_bytes)
{
    EndpointDecoder endpoint;
    endpoint.name = name;
    endpoint.dpa = from.number("dpa_resource");
    endpoint.dpa_bytes = dpa_bytes;
    endpoint.mode = from.text_if_any("mode").value_or("");
    endpoint.region = from.text_if_any("region").value_or("");
    endpoint.start = from.number_if_allowed("start");
    endpoint.bytes = from.number_if_any("size");
    check_range(from, "dpa_size", endpoint.dpa, endpoint.dpa_bytes);
    if (!endpoint.region.empty() && !number_after("region", endpoint.region))
        from.refuse("region", endpoint.region, "is not the name of a region");
    return endpoint;
}

std::vector<std::string> read_targets(Attributes &from, uint64_t ways)
{
    std::vector<std::string> targets;
    for (uint64_t i = 0; i < ways; i++) {
        const std::string name = "target" + std::to_string(i);
        targets.push_back(from.text(name.c_str()));
        if (!targets.back().empty() && !parse_decoder_name(targets.back()))
            from.refuse(name.c_str(), targets.back(), "is not the name of a decoder");
    }
    return targets;
}

Region read_region(Attributes &from, const std::string &name, uint64_t start)
{
    Region region;
    region.name = name;
    region.start = start;
    region.bytes = from.number("size");
    region.ways = from.number("interleave_ways");
    region.granularity = from.number("interleave_granularity");
    region.mode = from.text_if_any("mode").value_or("");
    region.committed = from.number_if_any("commit").value_or(1) != 0;
    region.cache_bytes = from.number_if_any("extended_linear_cache_size").value_or(0);
    check_range(from, "size", region.start, region.bytes);
    check_interleave(from, region.ways);
    if (region.cache_bytes >= region.bytes)
        from.refuse("extended_linear_cache_size", std::to_string(region.cache_bytes),
                    "leaves nothing of the region");
    if (!from.failed())
        region.targets = read_targets(from, region.ways);
    return region;
}

std::vector<uint64_t> read_target_list(Attributes &from)
{
    std::vector<uint64_t> targets;
    const std::string text = from.text_if_any("target_list").value_or("");
    for (std::string_view part : split(text, ',')) {
        Result<uint64_t> id = parse_u64(part);
        if (!id)
            from.refuse("target_list", text, "is not a list of numbers");
        else
            targets.push_back(*id);
    }
    return targets;
}

RootDecoder read_root(Attributes &from, const std::string &name)
{
    RootDecoder root;
    root.name = name;
    root.start = from.number("start");
    root.bytes = from.number("size");
    root.ways = from.number("interleave_ways");
    root.granularity = from.number("interleave_granularity");
    root.targets = read_target_list(from);
    check_range(from, "size", root.start, root.bytes);
    check_interleave(from, root.ways);
    return root;
}

class Reader {
public:
    Reader(std::string devices, std::vector<std::string> names)
        : devices_(std::move(devices)), names_(std::move(names))
    {
    }

    Result<CxlDevices> read()
    {
        for (const std::string &name : names_) {
            Result<void> good;
            if (number_after("mem", name))
                good = memdev(name);
            else if (number_after("region", name))
                good = region(name);
            else if (auto decoder_name = parse_decoder_name(name))
                good = decoder(name, decoder_name->port);
            if (good)
                continue;
            // If the caller is not root, every device is denied, so the reason is not a fault of
            // one device.
            if (good.error().code == Errc::kDenied)
                return good.error();
            found_.left_out.push_back({name, good.error()});
        }
        return std::move(found_);
    }

private:
    Attributes attributes(const std::string &name) const
    {
        return Attributes(joined(devices_, name));
    }

    template <typename T>
    static Result<void> add(std::vector<T> &to, T one, const Attributes &from)
    {
        if (from.failed())
            return from.error();
        to.push_back(std::move(one));
        return {};
    }

    Result<void> memdev(const std::string &name)
    {
        Attributes from = attributes(name);
        Memdev one = read_memdev(from, name);
        return add(found_.memdevs, std::move(one), from);
    }

    Result<void> region(const std::string &name)
    {
        Attributes from = attributes(name);
        const uint64_t start = from.number("resource");
        if (from.failed())
            return from.error();
        if (start == kNoAddress)
            return {};  // Linux is still setting up the region
        Region one = read_region(from, name, start);
        return add(found_.regions, std::move(one), from);
    }

    // Reads an endpoint decoder or a root decoder. Decoders of switches and host bridges have
    // neither dpa_size nor cap_ram, and are ignored.
    Result<void> decoder(const std::string &name, uint32_t port)
    {
        Attributes from = attributes(name);
        std::optional<uint64_t> dpa_bytes = from.number_if_any("dpa_size");
        const bool is_root = from.text_if_any("cap_ram").has_value();
        if (from.failed())
            return from.error();
        if (dpa_bytes.value_or(0))
            return endpoint(from, name, port, *dpa_bytes);
        if (!is_root)
            return {};
        RootDecoder one = read_root(from, name);
        return add(found_.roots, std::move(one), from);
    }

    Result<void> endpoint(Attributes &from, const std::string &name, uint32_t port,
                          uint64_t dpa_bytes)
    {
        EndpointDecoder one = read_endpoint(from, name, dpa_bytes);
        Result<std::string> memdev = memdev_of_endpoint(devices_, port, names_);
        if (!memdev)
            return memdev.error();
        one.memdev = *memdev;
        return add(found_.endpoints, std::move(one), from);
    }

    std::string devices_;
    std::vector<std::string> names_;
    CxlDevices found_;
};

}  // namespace

Result<CxlDevices> read_cxl_devices(const std::string &dir)
{
    const std::string below = dir + "/bus/cxl/devices";
    const std::string &devices = is_folder(below) ? below : dir;
    Result<std::vector<std::string>> names = list_folder(devices);
    if (!names)
        return names.error();
    Result<CxlDevices> found = Reader(devices, std::move(*names)).read();
    if (!found || !found->memdevs.empty() || !found->endpoints.empty())
        return found;
    if (!found->left_out.empty())
        return found->left_out.front().why;
    return Error{Errc::kNotFound, devices + ": no CXL memory devices"};
}

}  // namespace pmukit::topology
