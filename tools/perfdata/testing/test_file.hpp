// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Builds perf.data files for tests, one line per record, in either byte order and layout.
#pragma once

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "perfdata/format.hpp"

namespace pmukit::perfdata::testing {

class FileBuilder {
public:
    explicit FileBuilder(std::endian order = std::endian::little) : order_(order) {}

    FileBuilder &event(uint32_t type, uint64_t sample_type, std::vector<uint64_t> ids)
    {
        std::vector<std::byte> attr(128);
        store<uint32_t>(attr.data() + kAttrType, type, order_);
        store<uint32_t>(attr.data() + kAttrSize, 128, order_);
        store<uint64_t>(attr.data() + kAttrSampleType, sample_type, order_);
        uint64_t id_all = uint64_t{1} << (order_ == std::endian::little ? 18 : 63 - 18);
        store<uint64_t>(attr.data() + kAttrFlags, id_all, order_);
        events_.emplace_back(std::move(attr), std::move(ids));
        return *this;
    }
    // Sets a 64-bit field (perfdata::kAttr*) of the last event.
    FileBuilder &set(size_t field, uint64_t value)
    {
        store<uint64_t>(events_.back().first.data() + field, value, order_);
        return *this;
    }
    FileBuilder &pmu(uint32_t type, std::string name)
    {
        pmus_.emplace_back(type, std::move(name));
        return *this;
    }
    // The version of the program that recorded.
    FileBuilder &version(std::string text)
    {
        version_ = std::move(text);
        return *this;
    }
    // Adds a record of any type. Its size is that of the words, unless `size` is given.
    FileBuilder &record(uint32_t type, const std::vector<uint64_t> &words, int size = -1)
    {
        last_record_at_ = data_.size();
        header(data_, type, size >= 0 ? static_cast<size_t>(size) : 8 + words.size() * 8);
        for (uint64_t word : words)
            put<uint64_t>(data_, word);
        return *this;
    }
    // Sets the misc field of the last record().
    FileBuilder &misc(uint16_t value)
    {
        store<uint16_t>(data_.data() + last_record_at_ + 4, value, order_);
        return *this;
    }
    // A sample with sample_type IDENTIFIER | CPU | RAW.
    FileBuilder &raw_sample(uint64_t id, uint32_t cpu, const std::vector<std::byte> &raw)
    {
        header(data_, PERF_RECORD_SAMPLE, 8 + 16 + 4 + raw.size());
        put<uint64_t>(data_, id);
        put<uint32_t>(data_, cpu);
        put<uint32_t>(data_, 0);
        put<uint32_t>(data_, static_cast<uint32_t>(raw.size()));
        data_.insert(data_.end(), raw.begin(), raw.end());
        return *this;
    }
    // An AUX record with the trailer of sample_type IDENTIFIER | CPU.
    FileBuilder &aux(uint64_t id, uint32_t cpu, uint64_t offset, uint64_t size, uint64_t flags = 0)
    {
        header(data_, PERF_RECORD_AUX, 8 + 24 + 16);
        for (uint64_t word : {offset, size, flags})
            put<uint64_t>(data_, word);
        put<uint32_t>(data_, cpu);
        put<uint32_t>(data_, 0);
        put<uint64_t>(data_, id);
        return *this;
    }
    FileBuilder &auxtrace(uint64_t reference, uint32_t cpu, uint64_t offset,
                          const std::vector<std::byte> &payload, uint32_t index = 0,
                          uint32_t tid = UINT32_MAX)
    {
        header(data_, kAuxtrace, 48);
        for (uint64_t word : {uint64_t{payload.size()}, offset, reference})
            put<uint64_t>(data_, word);
        for (uint32_t word : {index, tid, cpu, 0U})
            put<uint32_t>(data_, word);
        data_.insert(data_.end(), payload.begin(), payload.end());
        return *this;
    }

    // Adds a COMPRESSED or a COMPRESSED2 record. COMPRESSED2 begins with the exact size of the
    // data, and the data is padded.
    FileBuilder &packed(uint32_t type, const std::vector<std::byte> &content)
    {
        const bool second = type == kCompressed2;
        const size_t padding = second ? (8 - content.size() % 8) % 8 : 0;
        header(data_, type, 8 + (second ? 8 : 0) + content.size() + padding);
        if (second)
            put<uint64_t>(data_, content.size());
        append(data_, content);
        data_.resize(data_.size() + padding);
        return *this;
    }

    // Returns only the records, as in the further files of a directory.
    const std::vector<std::byte> &records() const { return data_; }

    uint64_t data_offset() const
    {
        return kFileHeaderBytes + ids() * 8 + events_.size() * (128 + kSectionBytes);
    }

    std::vector<std::byte> file() const
    {
        std::vector<std::byte> out;
        for (uint64_t word :
             {kMagic, uint64_t{kFileHeaderBytes}, uint64_t{128 + kSectionBytes},
              kFileHeaderBytes + ids() * 8, uint64_t{events_.size() * (128 + kSectionBytes)},
              data_offset(), uint64_t{data_.size()}, uint64_t{0}, uint64_t{0}})
            put<uint64_t>(out, word);
        for (uint64_t word :
             {uint64_t{1} << kFeatPmuMappings | uint64_t{!version_.empty()} << kFeatVersion,
              uint64_t{0}, uint64_t{0}, uint64_t{0}})
            put<uint64_t>(out, word);
        for (const auto &[attr, ids] : events_)
            for (uint64_t id : ids)
                put<uint64_t>(out, id);
        uint64_t at = kFileHeaderBytes;
        for (const auto &[attr, ids] : events_) {
            out.insert(out.end(), attr.begin(), attr.end());
            put<uint64_t>(out, at);
            put<uint64_t>(out, ids.size() * 8);
            at += ids.size() * 8;
        }
        out.insert(out.end(), data_.begin(), data_.end());
        std::vector<std::byte> version, mappings = pmu_mappings();
        if (!version_.empty()) {
            put<uint32_t>(version, static_cast<uint32_t>(version_.size() + 1));
            append(version, as_bytes(version_));
            version.push_back({});
            put<uint64_t>(out, out.size() + 2 * kSectionBytes);
            put<uint64_t>(out, version.size());
        }
        put<uint64_t>(out, out.size() + kSectionBytes + version.size());
        put<uint64_t>(out, mappings.size());
        append(out, version);
        append(out, mappings);
        return out;
    }

    std::vector<std::byte> pipe() const
    {
        std::vector<std::byte> out;
        put<uint64_t>(out, kMagic);
        put<uint64_t>(out, kPipeHeaderBytes);
        for (const auto &[attr, ids] : events_) {
            header(out, kHeaderAttr, 8 + attr.size() + ids.size() * 8);
            out.insert(out.end(), attr.begin(), attr.end());
            for (uint64_t id : ids)
                put<uint64_t>(out, id);
        }
        std::vector<std::byte> mappings = pmu_mappings();
        header(out, kHeaderFeature, 16 + mappings.size());
        put<uint64_t>(out, kFeatPmuMappings);
        out.insert(out.end(), mappings.begin(), mappings.end());
        header(out, kHeaderFeature, 16);
        put<uint64_t>(out, 31);  // end marker of some versions of perf; a feature in others
        out.insert(out.end(), data_.begin(), data_.end());
        return out;
    }

private:
    template <std::unsigned_integral T>
    void put(std::vector<std::byte> &out, T value) const
    {
        out.resize(out.size() + sizeof value);
        store(out.data() + out.size() - sizeof value, value, order_);
    }
    void header(std::vector<std::byte> &out, uint32_t type, size_t size) const
    {
        put<uint32_t>(out, type);
        put<uint16_t>(out, 0);
        put<uint16_t>(out, static_cast<uint16_t>(size));
    }
    uint64_t ids() const
    {
        uint64_t count = 0;
        for (const auto &[attr, ids] : events_)
            count += ids.size();
        return count;
    }
    std::vector<std::byte> pmu_mappings() const
    {
        std::vector<std::byte> out;
        put<uint32_t>(out, static_cast<uint32_t>(pmus_.size()));
        for (const auto &[type, name] : pmus_) {
            put<uint32_t>(out, type);
            put<uint32_t>(out, 64);
            size_t at = out.size();
            out.resize(at + 64);
            for (size_t i = 0; i < name.size(); i++)
                out[at + i] = static_cast<std::byte>(name[i]);
        }
        return out;
    }

    std::endian order_;
    std::vector<std::pair<std::vector<std::byte>, std::vector<uint64_t>>> events_;
    std::vector<std::pair<uint32_t, std::string>> pmus_;
    std::vector<std::byte> data_;
    size_t last_record_at_ = 0;
    std::string version_;
};

inline std::vector<std::byte> filled(size_t size, int value)
{
    return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

}  // namespace pmukit::perfdata::testing
