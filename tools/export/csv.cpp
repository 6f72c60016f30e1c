// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes CSV files as in RFC 4180: lines end with CR LF, and fields with a comma, a quote or a line
// end are quoted. An unknown field is empty; an empty text is "". A text that a spreadsheet would
// take for a formula gets a leading ' because a recorded program can choose such a name, and quotes
// do not prevent formulas.
#include <algorithm>
#include <map>
#include <optional>

#include "export/folder.hpp"
#include "export/text.hpp"
#include "export/text_file.hpp"
#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

// Upper bound in bytes for a field including its comma and quotes, but not the text between the
// quotes.
constexpr size_t kMostPlain = 24;
constexpr size_t kLineEnd = 2;
constexpr size_t kSchemaLineBytes = 64;  // upper bound for names and commas in schema.csv

// True if a spreadsheet may take the text for a formula. Full-width characters count as their
// ASCII forms, and leading white space may be ignored (OWASP, "CSV Injection").
bool begins_formula(std::string_view text)
{
    constexpr std::string_view kBegins[] = {
        "=",  "+",  "-", "@", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0",
        "\t", "\r", "\n"};
    return std::ranges::any_of(kBegins,
                               [text](std::string_view begin) { return text.starts_with(begin); });
}

char *put_quoted(char *at, std::string_view text)
{
    // Faster than find_first_of(), which calls a function for each character.
    const auto is_special = [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; };
    const bool formula = begins_formula(text);
    if (!text.empty() && !formula && std::ranges::none_of(text, is_special))
        return put_text(at, text);
    *at++ = '"';
    if (formula)
        *at++ = '\'';
    for (const char c : text) {
        if (c == '"')
            *at++ = '"';
        *at++ = c;
    }
    *at++ = '"';
    return at;
}

// Upper bound in bytes for a line of `fields` fields. texts: bit mask of the columns that are
// kText.
size_t most_bytes(size_t fields, uint64_t texts, const Value *values)
{
    return kLineEnd + kMostPlain * fields + 2 * text_bytes(texts, values);
}

// Appends each field with a comma after it.
char *put_fields(char *at, std::span<const Column> columns, const Value *values)
{
    for (const Column &column : columns) {
        const Value &value = *values++;
        if (value.known)
            at = column.kind == Kind::kText ? put_quoted(at, value.text())
                                            : put_plain(at, column.kind, value);
        *at++ = ',';
    }
    return at;
}

class Csv final : public Writer {
public:
    static WriterResult make(const Output &output);

    void begin_table(const Table &table) override
    {
        if (folder_ && state_)
            file_of(table);
    }
    void rows(const Table &table, Values common, Values rest) override;
    const Result<void> &state() const override { return state_; }
    Result<void> finish() override;

private:
    TextFile *file_of(const Table &table);
    void open(const Table &table, const std::string &path, const std::string &shown);
    void open_in_folder(const Table &table);
    void write_schema();

    std::optional<Folder> folder_;
    std::map<const Table *, TextFile> files_;
    // Text of the fields that the current rows have in common.
    std::string prefix_;
    Result<void> state_;
};

WriterResult Csv::make(const Output &output)
{
    auto csv = std::make_unique<Csv>();
    if (!output.only && output.path == "-")
        return Error{Errc::kUsage, "csv is one file a table: name a folder by -o, or one --driver"};
    if (output.only) {
        csv->open(*output.only, output.path, output.path);
    } else {
        Result<Folder> folder = Folder::create(output.path);
        if (!folder)
            return folder.error();
        csv->folder_.emplace(std::move(*folder));
        // The file of losses is created in any case: without rows, it shows that nothing was lost.
        csv->open_in_folder(*find_table("losses"));
        csv->write_schema();
    }
    if (!csv->state_)
        return csv->state_.error();
    return WriterResult(std::move(csv));
}

void Csv::open_in_folder(const Table &table)
{
    const std::string name = "/" + std::string(table.name) + ".csv";
    open(table, folder_->part() + name, folder_->path() + name);
}

// Writes the file schema.csv: the meaning of each column.
void Csv::write_schema()
{
    Result<TextFile> file =
        state_ ? TextFile::create(folder_->part() + "/schema.csv", folder_->path() + "/schema.csv")
               : state_.error();
    if (!file) {
        state_ = file.error();
        return;
    }
    file->text("schema,table,column,meaning\r\n");
    for (const Table &table : tables())
        for (const Column &column : table.columns) {
            char *at = file->room(kMostPlain + kSchemaLineBytes + 2 * column.meaning.size());
            at = put_text(put_decimal(at, kSchemaVersion), ",");
            at = put_text(put_text(at, table.name), ",");
            at = put_text(put_text(at, column.name), ",");
            file->wrote(put_text(put_quoted(at, column.meaning), "\r\n"));
        }
    state_ = file->finish();
}

void Csv::open(const Table &table, const std::string &path, const std::string &shown)
{
    Result<TextFile> file = TextFile::create(path, shown);
    if (!file) {
        state_ = file.error();
        return;
    }
    std::string head;
    for (const Column &column : table.columns)
        head += (head.empty() ? "" : ",") + std::string(column.name);
    file->text(head + "\r\n");
    files_.emplace(&table, std::move(*file));
}

// Returns nullptr if the file could not be created; state_ then has the error.
TextFile *Csv::file_of(const Table &table)
{
    const auto known = files_.find(&table);
    if (known != files_.end())
        return &known->second;
    if (folder_)
        open_in_folder(table);
    const auto opened = files_.find(&table);
    return opened == files_.end() ? nullptr : &opened->second;
}

void Csv::rows(const Table &table, Values common, Values rest)
{
    TextFile *file = state_ ? file_of(table) : nullptr;
    if (!file)
        return;
    const auto first = table.columns.first(common.size());
    const auto others = table.columns.subspan(common.size());
    prefix_.resize(most_bytes(first.size(), text_columns(first), common.data()));
    prefix_.resize(
        static_cast<size_t>(put_fields(prefix_.data(), first, common.data()) - prefix_.data()));
    const uint64_t texts = text_columns(others);
    for (size_t row = 0; row < rest.size(); row += others.size()) {
        const Value *values = rest.data() + row;
        char *at = file->room(prefix_.size() + most_bytes(others.size(), texts, values));
        at = put_fields(put_text(at, prefix_), others, values);
        at = put_text(at - 1, "\r\n");  // overwrites the last comma
        file->wrote(at);
    }
    if (!file->state())
        state_ = file->state();
}

Result<void> Csv::finish()
{
    if (!state_)
        return state_;
    for (auto &[table, file] : files_)
        if (Result<void> done = file.finish(); !done)
            return done;
    return folder_ ? folder_->finish() : Result<void>();
}

}  // namespace

WriterResult make_csv(const Output &output)
{
    return Csv::make(output);
}

}  // namespace pmukit::exporter
