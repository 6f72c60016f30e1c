// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// JSON lines: an object a row, all tables in one stream. Numbers are numbers, addresses and BDFs
// strings; what is not known is left out.
#include <map>
#include <vector>

#include "export/text.hpp"
#include "export/text_file.hpp"
#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

constexpr size_t kMostKey = 24;    // ,"traffic_class":"
constexpr size_t kMostPlain = 24;  // with a closing quote
constexpr size_t kLineEnd = 2;

// ,"name": and the quote before a value that is a string. Copied whole, whatever is used of it.
struct Key {
    explicit Key(const Column &column)
        : quoted(column.kind != Kind::kNumber), is_text(column.kind == Kind::kText)
    {
        char *at = put_text(text, ",\"");
        at = put_text(put_text(at, column.name), quoted ? "\":\"" : "\":");
        bytes = static_cast<size_t>(at - text);
    }
    char text[kMostKey]{};
    size_t bytes;
    bool quoted, is_text;
};

class Jsonl final : public Writer {
public:
    explicit Jsonl(TextFile file) : file_(std::move(file)) {}

    void rows(const Table &table, Values common, Values rest) override;
    const Result<void> &state() const override { return file_.state(); }
    Result<void> finish() override { return file_.finish(); }

private:
    using Keys = std::span<const Key>;
    const std::vector<Key> &keys_of(const Table &table);
    static size_t most_bytes(Keys keys, const Value *values);
    static char *put_fields(char *at, const Table &table, size_t first, Keys keys,
                            const Value *values);

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

size_t Jsonl::most_bytes(Keys keys, const Value *values)
{
    size_t most = keys.size() * (kMostKey + kMostPlain) + kLineEnd;
    for (size_t i = 0; i < keys.size(); i++)
        most += keys[i].is_text ? kMostEscaped * size_t{values[i].bytes} : 0;
    return most;
}

// first: the column of keys[0].
char *Jsonl::put_fields(char *at, const Table &table, size_t first, Keys keys, const Value *values)
{
    for (size_t i = 0; i < keys.size(); i++) {
        const Key &key = keys[i];
        const Value &value = values[i];
        if (!value.known)
            continue;
        std::memcpy(at, key.text, kMostKey);
        at += key.bytes;
        at = key.is_text ? put_json_escaped(at, value.text())
                         : put_plain(at, table.columns[first + i].kind, value);
        if (key.quoted)
            *at++ = '"';
    }
    return at;
}

void Jsonl::rows(const Table &table, Values common, Values rest)
{
    const Keys keys = keys_of(table);
    const Keys first = keys.first(common.size()), others = keys.subspan(common.size());
    prefix_ = "{\"table\":\"" + std::string(table.name) + "\"";
    const size_t begun = prefix_.size();
    prefix_.resize(begun + most_bytes(first, common.data()));
    prefix_.resize(static_cast<size_t>(
        put_fields(prefix_.data() + begun, table, 0, first, common.data()) - prefix_.data()));
    for (size_t row = 0; row < rest.size() && file_.state(); row += others.size()) {
        const Value *values = rest.data() + row;
        char *at = file_.room(prefix_.size() + most_bytes(others, values));
        at = put_fields(put_text(at, prefix_), table, common.size(), others, values);
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
