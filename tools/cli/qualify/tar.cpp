// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// ustar: POSIX.1-2017, pax, "ustar Interchange Format".
#include "cli/qualify/tar.hpp"

#include <cstring>
#ifdef PMUKIT_ZSTD
#include <zstd.h>
#endif

#include "cli/qualify/check.hpp"

namespace pmukit::cli::qualify {
namespace {

constexpr size_t kBlock = 512;

struct Header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
        magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
static_assert(sizeof(Header) == kBlock);

// Writes a number as octal digits, with a terminating 0 byte.
template <size_t kSize>
void put_octal(char (&field)[kSize], uint64_t value)
{
    for (size_t i = kSize - 1; i-- > 0; value >>= 3)
        field[i] = static_cast<char>('0' + (value & 7));
}

Header header_of(const ArchiveFile &file)
{
    Header header{};
    std::memcpy(header.name, file.name.data(), file.name.size());
    put_octal(header.mode, 0644);
    put_octal(header.uid, 0);
    put_octal(header.gid, 0);
    put_octal(header.size, file.text.size());
    put_octal(header.mtime, 0);
    header.type = '0';
    std::memcpy(header.magic, "ustar", 6);
    std::memcpy(header.version, "00", 2);
    std::memset(header.checksum, ' ', sizeof header.checksum);
    uint64_t sum = 0;
    for (size_t i = 0; i < kBlock; i++)
        sum += reinterpret_cast<const unsigned char *>(&header)[i];
    put_octal(header.checksum, sum);
    return header;
}

}  // namespace

Result<std::string> tar_of(const std::vector<ArchiveFile> &files)
{
    std::string bytes;
    for (const ArchiveFile &file : files) {
        if (file.name.empty() || file.name.size() >= sizeof Header::name)
            return Error{Errc::kUnsupported,
                         text_of("'{}': a name in an archive has 1 to 99 bytes", file.name)};
        const Header header = header_of(file);
        bytes.append(reinterpret_cast<const char *>(&header), kBlock);
        bytes += file.text;
        bytes.resize((bytes.size() + kBlock - 1) / kBlock * kBlock);
    }
    bytes.resize(bytes.size() + 2 * kBlock);  // end of the archive
    return bytes;
}

#ifdef PMUKIT_ZSTD
Result<std::string> zstd_of(const std::string &bytes)
{
    std::string packed(ZSTD_compressBound(bytes.size()), '\0');
    const size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(),
                                      ZSTD_CLEVEL_DEFAULT);
    if (ZSTD_isError(size))
        return Error{Errc::kIo, text_of("zstd: {}", ZSTD_getErrorName(size))};
    packed.resize(size);
    return packed;
}
#else
Result<std::string> zstd_of(const std::string &)
{
    return Error{Errc::kUnsupported, "--bundle: this program was built without zstd"};
}
#endif

}  // namespace pmukit::cli::qualify
