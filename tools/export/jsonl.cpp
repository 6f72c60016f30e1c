// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// JSON lines: one object per row, all tables in one stream. Numbers are numbers, addresses and BDFs
// are strings; unknown values are omitted.
#include <map>
#include <vector>

#include "export/text.hpp"
#include "export/text_file.hpp"
#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

constexpr size_t kMostKey = 24;    // bytes of the longest key, ,"traffic_class":"
constexpr size_t kMostPlain = 24;  // bytes of any field except a text, with a closing quote
constexpr size_t kLineEnd = 2;

// The text ,"name": and, for strings, the opening quote. Writers copy the whole array even if only
// `bytes` of it are used, because a copy of constant size is fast.
struct Key {
    explicit Key(const Column &column) : kind(column.kind), quoted(kind != Kind::kNumber)
    {
        char *at = put_text(text, ",\"");
        at = put_text(put_text(at, column.name), quoted ? "\":\"" : "\":");
        bytes = static_cast<uint8_t>(at - text);
    }
    char text[kMostKey]{};
    uint8_t bytes;
    Kind kind;
    bool quoted;
};

// Upper bound in bytes for a line of `fields` fields. texts: bit mask of the columns that are
// kText.
size_t most_bytes(size_t fields, uint64_t texts, const Value *values)
{
    return kLineEnd + fields * (kMostKey + kMostPlain) + kMostEscaped * text_bytes(texts, values);
}

class Jsonl final : public Writer {
public:
    explicit Jsonl(TextFile file) : file_(std::move(file)) {}

    void rows(const Table &table, Values common, Values rest) override;
    const Result<void> &state() const override { return file_.state(); }
    Result<void> finish() override { return file_.finish(); }

private:
    using Keys = std::span<const Key>;
    const std::vector<Key> &keys_of(const Table &table);
    static char *put_fields(char *at, Keys keys, const Value *values);

    TextFile file_;
    std::map<const Table *, std::vector<Key>> keys_;
    std::string prefix_;
};

const std::vector<Key> &Jsonl::keys_of(const Table &table)
{
    std::vector<Key> &keys = keys_[&table];
    if (keys.empty())
        for (const Column &column : table.columns)
            keys.emplace_back(column);
    return keys;
}

char *Jsonl::put_fields(char *at, Keys keys, const Value *values)
{
    for (const Key &key : keys) {
        const Value &value = *values++;
        if (!value.known)
            continue;
        std::memcpy(at, key.text, kMostKey);
        at += key.bytes;
        at = key.kind == Kind::kText ? put_json_escaped(at, value.text())
                                     : put_plain(at, key.kind, value);
        *at = '"';
        at += key.quoted;
    }
    return at;
}

void Jsonl::rows(const Table &table, Values common, Values rest)
{
    const Keys keys = keys_of(table);
    const Keys first = keys.first(common.size()), others = keys.subspan(common.size());
    prefix_ = "{\"table\":\"" + std::string(table.name) + "\"";
    const size_t begun = prefix_.size();
    const auto columns = table.columns.first(common.size());
    prefix_.resize(begun + most_bytes(first.size(), text_columns(columns), common.data()));
    prefix_.resize(static_cast<size_t>(put_fields(prefix_.data() + begun, first, common.data()) -
                                       prefix_.data()));
    const uint64_t texts = text_columns(table.columns.subspan(common.size()));
    for (size_t row = 0; row < rest.size() && file_.state(); row += others.size()) {
        const Value *values = rest.data() + row;
        char *at = file_.room(prefix_.size() + most_bytes(others.size(), texts, values));
        at = put_fields(put_text(at, prefix_), others, values);
        file_.wrote(put_text(at, "}\n"));
    }
}

}  // namespace

WriterResult make_jsonl(const Output &output)
{
    Result<TextFile> file = TextFile::create(output.path);
    if (!file)
        return file.error();
    return WriterResult(std::make_unique<Jsonl>(std::move(*file)));
}

}  // namespace pmukit::exporter
