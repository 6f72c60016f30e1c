// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/aux_file.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "base/file.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"

namespace pmukit::perfdata {

struct __attribute__((visibility("hidden"))) AuxFile::State {
    State(MappedFile file, Reader reader) : file_(std::move(file)), reader_(std::move(reader)) {}

    bool read_index();
    std::optional<AuxBuffer> buffer_at(uint64_t offset, uint64_t bytes) const;
    Result<void> walk();

    MappedFile file_;
    Reader reader_;
    std::vector<AuxBuffer> buffers_;
    bool from_index_ = false;
};

AuxFile::AuxFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AuxFile::AuxFile(AuxFile &&) noexcept = default;
AuxFile &AuxFile::operator=(AuxFile &&) noexcept = default;
AuxFile::~AuxFile() = default;

const Reader &AuxFile::reader() const
{
    return state_->reader_;
}

const std::vector<AuxBuffer> &AuxFile::buffers() const
{
    return state_->buffers_;
}

bool AuxFile::from_index() const
{
    return state_->from_index_;
}

Result<AuxFile> AuxFile::open(const std::string &path)
{
    Result<MappedFile> file = MappedFile::open(path);
    if (!file)
        return file.error();
    Result<Reader> reader = Reader::open(file->bytes());
    if (!reader)
        return reader.error();
    auto state = std::make_unique<State>(std::move(*file), std::move(*reader));
    state->from_index_ = state->read_index();
    if (state->from_index_)
        return AuxFile(std::move(state));
    state->buffers_.clear();
    if (Result<void> walked = state->walk(); !walked)
        return walked.error();
    return AuxFile(std::move(state));
}

// Each entry must match the file, and must not begin before the end of the previous entry; every
// writer writes such an index. Otherwise the whole index is invalid. Without this order, the index
// of a small file could name a buffer a million times.
bool AuxFile::State::read_index()
{
    std::optional<Bytes> content = reader_.feature(kFeatAuxtrace);
    auto index = content ? parse_auxtrace_index(*content, reader_.order()) : std::nullopt;
    if (!index)
        return false;
    uint64_t end = 0;  // end of the previous entry
    for (const AuxtraceIndexEntry &entry : *index) {
        std::optional<AuxBuffer> buffer = buffer_at(entry.offset, entry.bytes);
        if (!buffer || entry.offset < end)
            return false;
        end = entry.offset + entry.bytes;
        buffers_.push_back(*buffer);
    }
    return true;
}

std::optional<AuxBuffer> AuxFile::State::buffer_at(uint64_t offset, uint64_t bytes) const
{
    const Bytes file = file_.bytes();
    constexpr uint64_t kLeast = kRecordHeaderBytes + kAuxtraceBodyBytes;
    if (offset > file.size() || bytes > file.size() - offset || bytes < kLeast)
        return std::nullopt;
    const Bytes record = file.subspan(offset, bytes);
    const std::endian order = reader_.order();
    const size_t size = load<uint16_t>(record.data() + 6, order);
    if (load<uint32_t>(record.data(), order) != kAuxtrace || size < kLeast || size > bytes)
        return std::nullopt;
    std::optional<AuxtraceRecord> trace = parse_auxtrace(record.subspan(kRecordHeaderBytes), order);
    if (!trace || trace->size != bytes - size)
        return std::nullopt;
    return AuxBuffer{offset, offset + size, trace->size, *trace};
}

Result<void> AuxFile::State::walk()
{
    for (Record record;;) {
        if (!reader_.next(record)) {
            if (reader_.error())
                return *reader_.error();
            return {};
        }
        file_.forget_before(record.offset);
        if (record.type != kAuxtrace)
            continue;
        const uint64_t size = kRecordHeaderBytes + record.body.size();
        std::optional<AuxBuffer> buffer = buffer_at(record.offset, size + record.payload_bytes);
        if (buffer)
            buffers_.push_back(*buffer);
    }
}

Bytes AuxFile::data(size_t buffer) const
{
    const AuxBuffer &wanted = state_->buffers_[buffer];
    return state_->file_.bytes().subspan(wanted.data_offset, wanted.bytes);
}

void AuxFile::for_each_buffer(unsigned threads,
                              const std::function<void(size_t, Bytes)> &visit) const
{
    if (threads == 0)
        threads = std::max(1U, std::thread::hardware_concurrency());
    threads = static_cast<unsigned>(std::min<size_t>(threads, buffers().size()));
    std::atomic<size_t> next = 0;
    auto work = [this, &next, &visit]() noexcept {
        for (size_t i = next++; i < buffers().size(); i = next++) {
            visit(i, data(i));
            state_->file_.forget(buffers()[i].data_offset, buffers()[i].bytes);
        }
    };
    std::vector<std::thread> helpers;
    helpers.reserve(threads);
    try {
        for (unsigned i = 1; i < threads; i++)
            helpers.emplace_back(work);
    } catch (const std::exception &) {
        // The system has no more threads or memory: the existing threads do all the work.
    }
    work();
    for (std::thread &helper : helpers)
        helper.join();
}

}  // namespace pmukit::perfdata
