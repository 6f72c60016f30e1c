// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/testing/corpus_file.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"

namespace pmukit::perfdata::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPacked = ".zst", kData = ".data", kText = ".text", kScript = ".script";
constexpr size_t kMostBytes = size_t{16} << 20;  // limit for one decompressed file

std::vector<std::byte> unpack(const fs::path &path)
{
    Result<MappedFile> file = MappedFile::open(path);
    if (!file)
        return {};
    const Bytes packed = file->bytes();
    const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
    EXPECT_LE(size, kMostBytes) << path;
    if (size > kMostBytes)
        return {};
    std::vector<std::byte> bytes(size);
    EXPECT_EQ(ZSTD_decompress(bytes.data(), size, packed.data(), packed.size()), size) << path;
    return bytes;
}

std::string without(std::string name, std::string_view ending)
{
    if (name.ends_with(ending))
        name.resize(name.size() - ending.size());
    return name;
}

std::vector<fs::path> sorted(const fs::path &folder)
{
    std::vector<fs::path> paths;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder))
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

void read_words(Recording &recording, const fs::path &path)
{
    const std::vector<std::byte> bytes = unpack(path);
    std::string_view words(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    if (words.starts_with("== perf ")) {
        recording.mark = words.substr(0, words.find('\n'));
        words.remove_prefix(recording.mark.size() + 1);
    }
    constexpr std::string_view kHeader = "== header ==\n";
    const size_t header = words.rfind(kHeader);
    ASSERT_NE(header, std::string_view::npos) << path;
    recording.records = words.substr(0, header);
    recording.header = words.substr(header + kHeader.size());
}

Recording read_recording(const fs::path &path, const std::string &folder)
{
    Recording recording;
    const std::string stem = without(without(path.filename(), kPacked), kData);
    recording.name = folder + "/" + stem;
    if (fs::is_directory(path)) {
        for (const fs::path &part : sorted(path)) {
            std::string name = without(part.filename(), kPacked);
            recording.parts.push_back({name, unpack(part), name != "data"});
        }
    } else {
        recording.parts.push_back({"", unpack(path), false});
    }
    const auto beside = [&](std::string_view ending) {
        return path.parent_path() / (stem + std::string(ending) + std::string(kPacked));
    };
    read_words(recording, beside(kText));
    const std::vector<std::byte> script = unpack(beside(kScript));
    recording.script.assign(reinterpret_cast<const char *>(script.data()), script.size());
    return recording;
}

}  // namespace

std::string Recording::unpacked(const TestFolder &folder) const
{
    const std::string whole = "unpacked.data";
    folder.remove(whole);
    for (const RecordedFile &part : parts)
        folder.put(part.name.empty() ? whole : whole + "/" + part.name, part.bytes);
    return folder.path(whole);
}

std::vector<std::string> corpus_folders()
{
    std::vector<std::string> folders;
    for (const fs::path &path : sorted(CORPUS_FOLDER))
        folders.push_back(path.filename());
    return folders;
}

std::vector<Recording> recordings_of(const std::string &folder)
{
    std::vector<Recording> recordings;
    for (const fs::path &path : sorted(fs::path(CORPUS_FOLDER) / folder))
        if (without(path.filename(), kPacked).ends_with(kData))
            recordings.push_back(read_recording(path, folder));
    return recordings;
}

}  // namespace pmukit::perfdata::testing
