// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parquet with Apache Arrow's C++ library, in Hive partitions: OUT/host=H/driver=D/date=DAY/, with
// one file per recording, so that a query over OUT covers a whole fleet. A recording that is
// exported again replaces its old files. Files are moved to their folders when all are complete.
#include "export/writer.hpp"

#ifdef PMUKIT_PARQUET

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/core.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "export/folder.hpp"
#include "export/text.hpp"

namespace pmukit::exporter {
namespace {

namespace fs = std::filesystem;

// Number of rows of a row group. The rows of a group are held in memory as columns until the group
// is written, and a query engine skips or reads a whole group at once.
constexpr int64_t kRowGroupRows = 65536;

// Returns true for the column host. It is not in the file, because query engines make this column
// from the name of the folder.
bool is_in_path(size_t column)
{
    return column == kHost;
}

// Query engines also make a column "driver" from the folder driver=D. So the column "driver" of the
// file needs another name.
std::string field_name(const Column &column)
{
    return std::string(column.name) + (column.name == "driver" ? "_" : "");
}

bool is_string(Kind kind)
{
    return is_text(kind) || kind == Kind::kBdf;
}

// Returns the value of a partition as Hive writes it: special characters are escaped, and an empty
// value has a special name.
std::string folder_name(std::string_view value)
{
    if (value.empty())
        return "__HIVE_DEFAULT_PARTITION__";
    std::string name;
    for (const char c : value)
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ||
            (c == '.' && !name.empty()))
            name += c;
        else
            name += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    return name;
}

std::shared_ptr<arrow::Schema> schema_of(const Table &table)
{
    arrow::FieldVector fields;
    for (size_t i = 0; i < table.columns.size(); i++) {
        const Column &column = table.columns[i];
        if (!is_in_path(i))
            fields.push_back(arrow::field(
                field_name(column), is_string(column.kind) ? arrow::utf8() : arrow::uint64()));
    }
    const auto about = arrow::key_value_metadata({{"pmukit.schema", std::to_string(kSchemaVersion)},
                                                  {"pmukit.table", std::string(table.name)}});
    return arrow::schema(fields, about);
}

// The file for one table of one host.
class HostFile {
public:
    static arrow::Result<std::unique_ptr<HostFile>> create(const Table &table,
                                                           const std::string &path);
    arrow::Status add(Values row);
    arrow::Status finish()
    {
        ARROW_RETURN_NOT_OK(write_group());
        ARROW_RETURN_NOT_OK(writer_->Close());
        return file_->Close();
    }

private:
    explicit HostFile(const Table &table) : table_(table), schema_(schema_of(table)) {}
    arrow::Status append(arrow::ArrayBuilder &builder, Kind kind, const Value &value);
    arrow::Status write_group();

    const Table &table_;
    std::shared_ptr<arrow::Schema> schema_;
    std::shared_ptr<arrow::io::FileOutputStream> file_;
    std::unique_ptr<parquet::arrow::FileWriter> writer_;
    std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
    int64_t rows_ = 0;
};

arrow::Result<std::unique_ptr<HostFile>> HostFile::create(const Table &table,
                                                          const std::string &path)
{
    std::unique_ptr<HostFile> made(new HostFile(table));
    ARROW_ASSIGN_OR_RAISE(made->file_, arrow::io::FileOutputStream::Open(path));
    const auto properties = parquet::WriterProperties::Builder()
                                .compression(parquet::Compression::ZSTD)
                                ->max_row_group_length(kRowGroupRows)
                                ->build();
    ARROW_ASSIGN_OR_RAISE(
        made->writer_, parquet::arrow::FileWriter::Open(
                           *made->schema_, arrow::default_memory_pool(), made->file_, properties));
    for (const auto &field : made->schema_->fields()) {
        std::unique_ptr<arrow::ArrayBuilder> builder;
        ARROW_RETURN_NOT_OK(
            arrow::MakeBuilder(arrow::default_memory_pool(), field->type(), &builder));
        made->builders_.push_back(std::move(builder));
    }
    return made;
}

arrow::Status HostFile::append(arrow::ArrayBuilder &builder, Kind kind, const Value &value)
{
    if (!value.known)
        return builder.AppendNull();
    if (!is_string(kind))
        return static_cast<arrow::UInt64Builder &>(builder).Append(value.number());
    auto &texts = static_cast<arrow::StringBuilder &>(builder);
    if (kind == Kind::kWord)
        return texts.Append(value.text());
    if (kind == Kind::kBdf) {
        char bdf[kBdfBytes];
        put_bdf(bdf, value.number());
        return texts.Append(std::string_view(bdf, sizeof bdf));
    }
    // Strings in Parquet must be UTF-8.
    const std::string_view text = value.text();
    std::string valid(kMostUtf8 * text.size(), '\0');
    valid.resize(static_cast<size_t>(put_utf8(valid.data(), text) - valid.data()));
    return texts.Append(valid);
}

arrow::Status HostFile::add(Values row)
{
    for (size_t i = 0, field = 0; i < row.size(); i++)
        if (!is_in_path(i))
            ARROW_RETURN_NOT_OK(append(*builders_[field++], table_.columns[i].kind, row[i]));
    return ++rows_ == kRowGroupRows ? write_group() : arrow::Status::OK();
}

arrow::Status HostFile::write_group()
{
    if (rows_ == 0)
        return arrow::Status::OK();
    arrow::ArrayVector columns;
    for (const auto &builder : builders_) {
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> column, builder->Finish());
        columns.push_back(std::move(column));
    }
    const auto group = arrow::RecordBatch::Make(schema_, rows_, columns);
    rows_ = 0;
    ARROW_RETURN_NOT_OK(writer_->NewBufferedRowGroup());
    return writer_->WriteRecordBatch(*group);
}

class Parquet final : public Writer {
public:
    Parquet(const Output &output, Folder staged) : output_(output), staged_(std::move(staged)) {}

    void rows(const Table &table, Values common, Values rest) override;
    const Result<void> &state() const override { return state_; }
    Result<void> finish() override;

private:
    struct Placed {
        std::string folder, staged;  // folder: the final one; staged: the current path
        std::unique_ptr<HostFile> file;
    };
    HostFile *file_of(const Table &table, Values origin);
    void note(const arrow::Status &status);

    Output output_;
    Folder staged_;
    std::map<std::pair<const Table *, std::string>, Placed> files_;
    std::vector<Value> row_;
    Result<void> state_;
};

void Parquet::note(const arrow::Status &status)
{
    if (state_ && !status.ok())
        state_ = Error{Errc::kIo, output_.path + ": " + status.message()};
}

HostFile *Parquet::file_of(const Table &table, Values origin)
{
    const std::string host(origin[kHost].known ? origin[kHost].text() : std::string_view());
    const auto [at, fresh] = files_.try_emplace({&table, host});
    Placed &placed = at->second;
    if (!fresh)
        return placed.file.get();
    placed.folder = fmt::format("{}/host={}/driver={}/date={}", output_.path, folder_name(host),
                                table.name, folder_name(output_.date));
    placed.staged = fmt::format("{}/{}", staged_.part(), files_.size());
    const ForUserAlone made;
    auto created = HostFile::create(table, placed.staged);
    note(created.status());
    if (created.ok())
        placed.file = std::move(*created);
    return placed.file.get();
}

void Parquet::rows(const Table &table, Values common, Values rest)
{
    HostFile *file = state_ ? file_of(table, common) : nullptr;
    if (!file)
        return;
    row_.resize(table.columns.size());
    std::ranges::copy(common, row_.begin());
    const size_t width = row_.size() - common.size();
    for (size_t at = 0; at < rest.size() && state_; at += width) {
        std::ranges::copy(rest.subspan(at, width),
                          row_.begin() + static_cast<ptrdiff_t>(common.size()));
        note(file->add(row_));
    }
}

Result<void> Parquet::finish()
{
    for (auto &[key, placed] : files_)
        if (placed.file)
            note(placed.file->finish());
    if (!state_)
        return state_;
    const ForUserAlone made;
    for (const auto &[key, placed] : files_) {
        const std::string name = placed.folder + "/" + folder_name(output_.name) + ".parquet";
        std::error_code failure;
        fs::create_directories(placed.folder, failure);
        if (!failure)
            fs::rename(placed.staged, name, failure);
        if (failure)
            return system_error(name, failure.value());
    }
    return {};
}

}  // namespace

WriterResult make_parquet(const Output &output)
{
    const ForUserAlone made;
    // Destination::of() refuses a symbolic link that belongs to another user, because it would
    // redirect the directories created here.
    const auto to = perfdata::Destination::of(output.path + kStagedName);
    if (!to && to.error().code != Errc::kNotFound)
        return to.error();
    std::error_code failure;
    fs::create_directories(output.path, failure);
    if (failure)
        return system_error(output.path, failure.value());
    Result<Folder> staged = Folder::create(output.path + kStagedName);
    if (!staged)
        return staged.error();
    return WriterResult(std::make_unique<Parquet>(output, std::move(*staged)));
}

}  // namespace pmukit::exporter

#else

namespace pmukit::exporter {

WriterResult make_parquet(const Output &)
{
    return Error{Errc::kUnsupported,
                 "built without Parquet: needs Apache Arrow's C++ library (libparquet-dev, which "
                 "only Debian sid has); make parquet-check builds with it"};
}

}  // namespace pmukit::exporter

#endif
