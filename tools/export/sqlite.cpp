// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// An SQLite database. The rows of a table are in NAME_rows, which has a stream number instead of
// the columns from source to cpu; the view NAME has all columns of the schema. The table schema_
// describes the columns; PRAGMA user_version is the schema version. SQLite integers are signed, so
// numbers above 2^63 - 1 are stored as the negative number with the same bits.
#include "export/writer.hpp"

#ifdef PMUKIT_SQLITE

#include <fmt/core.h>
#include <sqlite3.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/file.hpp"
#include "export/text.hpp"
#include "perfdata/output/new_file.hpp"

namespace pmukit::exporter {
namespace {

// Number of columns that a stream number replaces.
constexpr size_t kStreamColumns = kCpu + 1;

struct Close {
    void operator()(sqlite3 *database) const { sqlite3_close(database); }
    void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

const char *type_of(Kind kind)
{
    return kind == Kind::kNumber || kind == Kind::kAddress ? "INTEGER" : "TEXT";
}

// Returns the definitions of columns.
std::string columns_of(std::span<const Column> columns)
{
    std::string text;
    for (const Column &column : columns)
        text +=
            fmt::format("{}\"{}\" {}", text.empty() ? "" : ", ", column.name, type_of(column.kind));
    return text;
}

std::string quoted(std::string_view text)
{
    std::string to(1, '\'');
    for (const char c : text)
        to.append(c == '\'' ? 2 : 1, c);
    return to + "'";
}

// Resolves the symbolic links in the path of the folder. This is needed because
// SQLITE_OPEN_NOFOLLOW refuses symbolic links anywhere in the path.
std::string without_links(const std::string &path)
{
    std::error_code failure;
    const std::filesystem::path name = std::filesystem::absolute(path, failure);
    const std::filesystem::path folder = std::filesystem::canonical(name.parent_path(), failure);
    return failure ? path : (folder / name.filename()).string();
}

class Sqlite final : public Writer {
public:
    explicit Sqlite(perfdata::NewName file) : file_(std::move(file)) {}
    Result<void> open();

    void rows(const Table &table, Values common, Values rest) override;
    const Result<void> &state() const override { return state_; }
    Result<void> finish() override;

private:
    struct Insert {
        Statement statement;
        // Text of the BDF of each column.
        std::vector<std::array<char, kBdfBytes>> bdfs;
    };
    Error error() const;
    void run(const std::string &sql);
    Statement prepare(const std::string &sql);
    void step(sqlite3_stmt *statement);
    void bind(Insert &insert, const Table &table, size_t column, const Value &value);
    void make_table(const Table &table);
    Insert *insert_of(const Table &table);
    uint64_t stream_of(Values origin);

    perfdata::NewName file_;
    // Must be destroyed after the statements, so it is declared before them.
    Database database_;
    std::map<const Table *, Insert> inserts_;
    // Key: the first kStreamColumns fields, see stream_of().
    std::map<std::string, uint64_t> streams_;
    std::string key_;
    Result<void> state_;
};

Error Sqlite::error() const
{
    return Error{Errc::kIo, file_.path() + ": " + sqlite3_errmsg(database_.get())};
}

void Sqlite::run(const std::string &sql)
{
    if (state_ &&
        sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        state_ = error();
}

Statement Sqlite::prepare(const std::string &sql)
{
    sqlite3_stmt *statement = nullptr;
    if (state_ &&
        sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
        state_ = error();
    return Statement(statement);
}

void Sqlite::step(sqlite3_stmt *statement)
{
    if (sqlite3_step(statement) != SQLITE_DONE)
        state_ = error();
    sqlite3_reset(statement);
}

// Opens the database without a journal and without synchronous writes: they would protect nothing,
// because the file is new.
Result<void> Sqlite::open()
{
    if (file_.is_in_place())
        return Error{Errc::kUsage, file_.path() + ": a database needs a separate file; name one"};
    // Creates the file first, because SQLite would follow a symbolic link.
    if (Result<Fd> empty = file_.create(); !empty)
        return empty.error();
    sqlite3 *opened = nullptr;
    const int status = sqlite3_open_v2(
        without_links(file_.part()).c_str(), &opened,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(opened);
    if (status != SQLITE_OK)
        return opened ? error() : Error{Errc::kEnvironment, "sqlite: no memory"};
    run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
        "PRAGMA cache_size = -2048;" +
        fmt::format("PRAGMA user_version = {}; PRAGMA application_id = {};", kSchemaVersion,
                    kSqliteApplication) +
        "BEGIN;"
        "CREATE TABLE streams (stream INTEGER PRIMARY KEY, " +
        columns_of(tables().front().columns.first(kStreamColumns)) +
        ");"
        "CREATE TABLE schema_ (table_name TEXT, column_name TEXT, meaning TEXT);");
    for (const Table &table : tables())
        make_table(table);
    return state_;
}

void Sqlite::make_table(const Table &table)
{
    std::string shown;
    for (const Column &column : table.columns) {
        shown += fmt::format("{}\"{}\"", shown.empty() ? "" : ", ", column.name);
        run(fmt::format("INSERT INTO schema_ VALUES ({}, {}, {});", quoted(table.name),
                        quoted(column.name), quoted(column.meaning)));
    }
    run(
        fmt::format("CREATE TABLE {0}_rows (stream INTEGER REFERENCES streams, {1});"
                    "CREATE VIEW {0} AS SELECT {2} FROM {0}_rows JOIN streams USING (stream);",
                    table.name, columns_of(table.columns.subspan(kStreamColumns)), shown));
}

Sqlite::Insert *Sqlite::insert_of(const Table &table)
{
    Insert &insert = inserts_[&table];
    if (!insert.statement) {
        std::string marks = "?";
        for (size_t i = kStreamColumns; i < table.columns.size(); i++)
            marks += ",?";
        insert.statement =
            prepare(fmt::format("INSERT INTO {}_rows VALUES ({})", table.name, marks));
        insert.bdfs.resize(table.columns.size());
    }
    return insert.statement ? &insert : nullptr;
}

uint64_t Sqlite::stream_of(Values origin)
{
    key_.clear();
    for (size_t i = 0; i < kCpu; i++) {
        if (origin[i].known)
            key_ += origin[i].text();
        key_ += origin[i].known ? '\x01' : '\0';
    }
    const uint64_t cpu = origin[kCpu].known ? origin[kCpu].number() : UINT64_MAX;
    key_.append(reinterpret_cast<const char *>(&cpu), sizeof cpu);
    const auto [at, fresh] = streams_.try_emplace(key_, streams_.size() + 1);
    if (!fresh)
        return at->second;
    Statement insert = prepare("INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    if (!insert)
        return at->second;
    sqlite3_bind_int64(insert.get(), 1, static_cast<sqlite3_int64>(at->second));
    for (size_t i = 0; i < kCpu; i++)
        if (origin[i].known)
            sqlite3_bind_text(insert.get(), static_cast<int>(i + 2), origin[i].text().data(),
                              static_cast<int>(origin[i].bytes), SQLITE_STATIC);
    if (origin[kCpu].known)
        sqlite3_bind_int64(insert.get(), kCpu + 2, static_cast<sqlite3_int64>(cpu));
    step(insert.get());
    return at->second;
}

// Binds a value to its parameter. Texts are borrowed until the statement has run.
void Sqlite::bind(Insert &insert, const Table &table, size_t column, const Value &value)
{
    sqlite3_stmt *to = insert.statement.get();
    const int place = static_cast<int>(column - kStreamColumns + 2);
    if (!value.known) {
        sqlite3_bind_null(to, place);
        return;
    }
    switch (table.columns[column].kind) {
        case Kind::kNumber:
        case Kind::kAddress:
            sqlite3_bind_int64(to, place, static_cast<sqlite3_int64>(value.number()));
            break;
        case Kind::kText:
        case Kind::kWord:
            sqlite3_bind_text(to, place, value.text().data(), static_cast<int>(value.bytes),
                              SQLITE_STATIC);
            break;
        case Kind::kBdf:
            put_bdf(insert.bdfs[column].data(), value.number());
            sqlite3_bind_text(to, place, insert.bdfs[column].data(), kBdfBytes, SQLITE_STATIC);
            break;
    }
}

void Sqlite::rows(const Table &table, Values common, Values rest)
{
    Insert *insert = state_ ? insert_of(table) : nullptr;
    if (!insert)
        return;
    sqlite3_bind_int64(insert->statement.get(), 1, static_cast<sqlite3_int64>(stream_of(common)));
    for (size_t i = kStreamColumns; i < common.size(); i++)
        bind(*insert, table, i, common[i]);
    const size_t width = table.columns.size() - common.size();
    for (size_t row = 0; row < rest.size() && state_; row += width) {
        for (size_t i = 0; i < width; i++)
            bind(*insert, table, common.size() + i, rest[row + i]);
        step(insert->statement.get());
    }
}

Result<void> Sqlite::finish()
{
    for (const Table &table : tables())
        for (const Column &column : table.columns)
            if (column.indexed)
                run(fmt::format("CREATE INDEX {0}_by_{1} ON {0}_rows (\"{1}\");", table.name,
                                column.name));
    run("COMMIT;");
    inserts_.clear();
    if (state_ && sqlite3_close(database_.release()) != SQLITE_OK)
        state_ = Error{Errc::kIo, file_.path() + ": cannot be closed"};
    return state_ ? file_.give() : state_;
}

}  // namespace

WriterResult make_sqlite(const Output &output)
{
    Result<perfdata::NewName> name = perfdata::NewName::of(output.path);
    if (!name)
        return name.error();
    auto sqlite = std::make_unique<Sqlite>(std::move(*name));
    if (Result<void> opened = sqlite->open(); !opened)
        return opened.error();
    return WriterResult(std::move(sqlite));
}

}  // namespace pmukit::exporter

#else

namespace pmukit::exporter {

WriterResult make_sqlite(const Output &)
{
    return Error{Errc::kUnsupported, "built without SQLite: needs libsqlite3-dev"};
}

}  // namespace pmukit::exporter

#endif
