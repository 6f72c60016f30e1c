// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests: a temporary directory, removed with the object.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/bytes.hpp"

namespace pmukit {

class TestFolder {
public:
    TestFolder() : dir_(testing::TempDir() + "pmukit.XXXXXX")
    {
        EXPECT_NE(::mkdtemp(dir_.data()), nullptr) << dir_;
    }
    TestFolder(const TestFolder &) = delete;
    TestFolder &operator=(const TestFolder &) = delete;
    ~TestFolder()
    {
        std::error_code error;
        std::filesystem::remove_all(dir_, error);
        EXPECT_FALSE(error) << dir_ << ": " << error.message();
    }

    const std::string &dir() const { return dir_; }
    std::string path(const std::string &name) const { return dir_ + "/" + name; }
    // Writes a file and creates its parent directories.
    void put(const std::string &name, std::string_view text) const
    {
        std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
        std::ofstream file(path(name), std::ios::binary);
        EXPECT_TRUE(file << text << std::flush) << path(name);
    }
    void put(const std::string &name, Bytes bytes) const
    {
        put(name, std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
    }
    void folder(const std::string &name) const { std::filesystem::create_directories(path(name)); }
    void link(const std::string &name, const std::string &target) const
    {
        std::filesystem::create_symlink(target, path(name));
    }
    void remove(const std::string &name) const { std::filesystem::remove_all(path(name)); }
    // Returns the paths of all files, relative to the folder.
    std::vector<std::string> files() const
    {
        std::vector<std::string> found;
        for (const auto &entry : std::filesystem::recursive_directory_iterator(dir_))
            if (entry.is_regular_file())
                found.push_back(entry.path().lexically_relative(dir_).string());
        return found;
    }

private:
    std::string dir_;
};

}  // namespace pmukit
