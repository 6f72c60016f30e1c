// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A trace in the Common Trace Format, written by libbabeltrace2: one event class per table, one
// stream per table, PMU and CPU. After the first kMostStreams streams, further rows of a table
// share one more stream. CTF 1.8 has no absent fields: an unknown value is 0 or empty, and its bit
// in the field `known` (bit 0: the first column) is clear.
//
// Babeltrace's sink pulls messages from a message iterator, which is in this file. Rows are
// collected until there is a batch of them. Then the graph runs until the iterator has no more
// messages.
#include "export/writer.hpp"

#ifdef PMUKIT_BABELTRACE

#include <babeltrace2/babeltrace.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/file.hpp"
#include "export/folder.hpp"
#include "export/text.hpp"

namespace pmukit::exporter {
namespace {

constexpr size_t kBatchRows = 1024, kBatchTextBytes = size_t{1} << 20;
// The number of streams is limited, because each stream is an open file, and the sink compares the
// name of a new stream with those of all others.
constexpr size_t kMostStreams = 1024;
constexpr uint64_t kNanosecondsHz = 1000000000;

// References to objects of libbabeltrace2
template <typename T, void (*put)(const T *)>
struct Put {
    void operator()(const T *object) const { put(object); }
};
using Graph = std::unique_ptr<const bt_graph, Put<bt_graph, bt_graph_put_ref>>;
using TraceClass = std::unique_ptr<bt_trace_class, Put<bt_trace_class, bt_trace_class_put_ref>>;
using Trace = std::unique_ptr<bt_trace, Put<bt_trace, bt_trace_put_ref>>;
using ClockClass = std::unique_ptr<bt_clock_class, Put<bt_clock_class, bt_clock_class_put_ref>>;
using StreamClass = std::unique_ptr<bt_stream_class, Put<bt_stream_class, bt_stream_class_put_ref>>;
using EventClass = std::unique_ptr<bt_event_class, Put<bt_event_class, bt_event_class_put_ref>>;
using FieldClass = std::unique_ptr<bt_field_class, Put<bt_field_class, bt_field_class_put_ref>>;
using StreamRef = std::unique_ptr<bt_stream, Put<bt_stream, bt_stream_put_ref>>;
using Plugin = std::unique_ptr<const bt_plugin, Put<bt_plugin, bt_plugin_put_ref>>;
using Map = std::unique_ptr<bt_value, Put<bt_value, bt_value_put_ref>>;

class Ctf final : public Writer {
public:
    explicit Ctf(Folder folder) : folder_(std::move(folder)) {}
    // Leaves the objects of an export that did not finish: the end of a graph, trace or stream
    // makes the sink write to its packets, also to one that it could not map (babeltrace 2.0.4,
    // fs-sink-stream.c).
    ~Ctf() override
    {
        [[maybe_unused]] static const bt_graph *left;
        if (!graph_)
            return;
        left = graph_.release();
        (void)trace_.release();
        for (OneStream &one : streams_)
            (void)one.stream.release();
    }
    Result<void> open();

    void rows(const Table &table, Values common, Values rest) override;
    const Result<void> &state() const override { return state_; }
    Result<void> finish() override;

private:
    // A row that waits for the next batch, with copies of its texts.
    struct Waiting {
        const Table *table;
        size_t stream;
        uint64_t time_ns;
        std::vector<uint64_t> numbers;
        std::vector<std::string> texts;
        uint64_t known;
    };
    struct TableClasses {
        StreamClass stream;
        EventClass event;
    };
    using StreamKey = std::tuple<const Table *, std::string, std::string, uint64_t>;
    struct OneStream {
        StreamRef stream;
        // Time of the last event. Times in a stream must not decrease.
        uint64_t last_ns = 0;
        bool begun = false;
    };

    static bt_component_class_initialize_method_status initialize(
        bt_self_component_source *component, bt_self_component_source_configuration *,
        const bt_value *, void *self);
    static bt_message_iterator_class_next_method_status next(bt_self_message_iterator *iterator,
                                                             bt_message_array_const messages,
                                                             uint64_t capacity, uint64_t *count);
    bool make_classes(bt_self_component *component);
    bool make_event_class(const Table &table, TableClasses &classes);
    bool connect();
    size_t stream_of(const Table &table, Values origin);
    void add(const Table &table, size_t stream, Values row);
    const bt_message *message_of(bt_self_message_iterator *iterator);
    const bt_message *event_of(bt_self_message_iterator *iterator, const Waiting &row);
    void pump();
    Result<void> move_trace();
    void fail(const char *what);
    // Exceptions must not pass through the library. Runs a callback of it, and returns `failed` if
    // memory is used up. throw_again() then throws after the library has returned.
    template <typename Status, typename Callback>
    Status guarded(Status failed, Callback callback)
    {
        try {
            return callback();
        } catch (const std::bad_alloc &) {
            no_memory_ = true;
            return failed;
        }
    }
    void throw_again() const
    {
        if (no_memory_)
            throw std::bad_alloc();
    }
    // The sink opens an existing folder and follows links in it. So it gets a name in the output
    // folder, to which no other user can write.
    std::string trace_folder() const { return folder_.part() + "/trace"; }

    Folder folder_;
    TraceClass trace_class_;
    ClockClass clock_;
    Trace trace_;
    std::map<const Table *, TableClasses> classes_;
    std::vector<OneStream> streams_;
    std::map<StreamKey, size_t> stream_by_;
    std::vector<Waiting> waiting_;
    size_t waiting_text_bytes_ = 0;
    // Number of rows of waiting_ that were passed to the sink.
    size_t given_ = 0;
    // Number of streams_ for which the end was passed to the sink.
    size_t ended_ = 0;
    bool is_last_ = false, no_memory_ = false;
    std::vector<Value> row_;
    Result<void> state_;
    const bt_component_source *source_ = nullptr;
    Graph graph_;
};

void Ctf::fail(const char *what)
{
    if (state_)
        state_ = Error{Errc::kIo, folder_.path() + ": babeltrace cannot " + what};
    bt_current_thread_clear_error();
}

bool Ctf::make_event_class(const Table &table, TableClasses &classes)
{
    classes.stream.reset(bt_stream_class_create(trace_class_.get()));
    if (!classes.stream ||
        bt_stream_class_set_default_clock_class(classes.stream.get(), clock_.get()) != 0)
        return false;
    classes.event.reset(bt_event_class_create(classes.stream.get()));
    const FieldClass fields(bt_field_class_structure_create(trace_class_.get()));
    if (!classes.event || !fields ||
        bt_event_class_set_name(classes.event.get(), std::string(table.name).c_str()) != 0)
        return false;
    const auto append = [&](std::string_view name, bool text, bool hex) {
        const FieldClass field(text ? bt_field_class_string_create(trace_class_.get())
                                    : bt_field_class_integer_unsigned_create(trace_class_.get()));
        if (field && hex)
            bt_field_class_integer_set_preferred_display_base(
                field.get(), BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
        return field && bt_field_class_structure_append_member(
                            fields.get(), std::string(name).c_str(), field.get()) == 0;
    };
    for (const Column &column : table.columns)
        if (!append(column.name, is_text(column.kind) || column.kind == Kind::kBdf,
                    column.kind == Kind::kAddress))
            return false;
    return append("known", false, true) &&
           bt_event_class_set_payload_field_class(classes.event.get(), fields.get()) == 0;
}

bool Ctf::make_classes(bt_self_component *component)
{
    trace_class_.reset(bt_trace_class_create(component));
    clock_.reset(bt_clock_class_create(component));
    if (!trace_class_ || !clock_)
        return false;
    bt_clock_class_set_frequency(clock_.get(), kNanosecondsHz);
    // A recording uses the clock of the event, which is seldom wall-clock time.
    bt_clock_class_set_origin_is_unix_epoch(clock_.get(), BT_FALSE);
    for (const Table &table : tables())
        if (!make_event_class(table, classes_[&table]))
            return false;
    trace_.reset(bt_trace_create(trace_class_.get()));
    return trace_ && bt_trace_set_name(trace_.get(), "pmukit") == 0;
}

bt_component_class_initialize_method_status Ctf::initialize(
    bt_self_component_source *component, bt_self_component_source_configuration *, const bt_value *,
    void *data)
{
    Ctf &self = *static_cast<Ctf *>(data);
    bt_self_component *base = bt_self_component_source_as_self_component(component);
    bt_self_component_set_data(base, &self);
    const bool made = self.guarded(false, [&] { return self.make_classes(base); });
    const bool good =
        made && bt_self_component_source_add_output_port(component, "out", nullptr, nullptr) == 0;
    return good ? BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK
                : BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
}

bool Ctf::connect()
{
    bt_graph *graph = const_cast<bt_graph *>(graph_.get());
    bt_message_iterator_class *iterators = bt_message_iterator_class_create(next);
    bt_component_class_source *rows =
        iterators ? bt_component_class_source_create("rows", iterators) : nullptr;
    const bool made = rows &&
                      bt_component_class_source_set_initialize_method(rows, initialize) == 0 &&
                      bt_graph_add_source_component_with_initialize_method_data(
                          graph, rows, "rows", nullptr, this, BT_LOGGING_LEVEL_NONE, &source_) == 0;
    bt_component_class_source_put_ref(rows);
    bt_message_iterator_class_put_ref(iterators);
    // Only the plugins of the system: those of the environment or a home folder may be of another
    // user, and their code would run in this process.
    const bt_plugin *found = nullptr;
    if (!made || bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &found) != 0)
        return false;
    const Plugin plugin(found);
    const bt_component_class_sink *to_files =
        bt_plugin_borrow_sink_component_class_by_name_const(found, "fs");
    const Map parameters(bt_value_map_create());
    const bt_component_sink *sink = nullptr;
    const bool added =
        to_files && parameters &&
        bt_value_map_insert_string_entry(parameters.get(), "path", trace_folder().c_str()) == 0 &&
        bt_value_map_insert_bool_entry(parameters.get(), "assume-single-trace", BT_TRUE) == 0 &&
        bt_value_map_insert_bool_entry(parameters.get(), "quiet", BT_TRUE) == 0 &&
        bt_graph_add_sink_component(graph, to_files, "files", parameters.get(),
                                    BT_LOGGING_LEVEL_NONE, &sink) == 0;
    return added &&
           bt_graph_connect_ports(
               graph, bt_component_source_borrow_output_port_by_name_const(source_, "out"),
               bt_component_sink_borrow_input_port_by_name_const(sink, "in"), nullptr) == 0;
}

Result<void> Ctf::open()
{
    const ForUserAlone made;
    graph_.reset(bt_graph_create(0));
    if (!graph_ || !connect())
        fail("set up its ctf plugin");
    throw_again();
    return state_;
}

size_t Ctf::stream_of(const Table &table, Values origin)
{
    const auto text = [&](size_t i) {
        return origin[i].known ? std::string(origin[i].text()) : std::string();
    };
    const uint64_t cpu = origin[kCpu].known ? origin[kCpu].number() : UINT64_MAX;
    StreamKey key{&table, text(kHost), text(kPmu), cpu};
    if (streams_.size() >= kMostStreams && !stream_by_.contains(key))
        key = {&table, "", "", UINT64_MAX};
    const auto [at, fresh] = stream_by_.try_emplace(key, streams_.size());
    if (fresh) {
        OneStream one;
        one.stream.reset(bt_stream_create(classes_[&table].stream.get(), trace_.get()));
        // The sink uses the name of a stream as its file name. If a stream had no name, the sink
        // would try "stream-0" and so on until it finds an unused name.
        const std::string name = std::string(table.name) + '-' + std::to_string(streams_.size());
        if (!one.stream || bt_stream_set_name(one.stream.get(), name.c_str()) != 0)
            fail("make a stream");
        streams_.push_back(std::move(one));
    }
    return at->second;
}

void Ctf::add(const Table &table, size_t stream, Values row)
{
    uint64_t &last_ns = streams_[stream].last_ns;
    last_ns = std::max(last_ns, row[kTime].known ? row[kTime].number() : 0);
    Waiting waiting{&table, stream, last_ns, {}, {}, 0};
    for (size_t i = 0; i < row.size(); i++) {
        waiting.known |= uint64_t{row[i].known} << i;
        const Kind kind = table.columns[i].kind;
        char bdf[8];
        if (is_text(kind))
            waiting.texts.emplace_back(row[i].known ? row[i].text() : std::string_view());
        else if (kind == Kind::kBdf)
            waiting.texts.emplace_back(
                bdf, row[i].known ? static_cast<size_t>(put_bdf(bdf, row[i].number()) - bdf) : 0);
        else
            waiting.numbers.push_back(row[i].known ? row[i].number() : 0);
    }
    for (const std::string &text : waiting.texts)
        waiting_text_bytes_ += text.size();
    waiting_.push_back(std::move(waiting));
}

void Ctf::rows(const Table &table, Values common, Values rest)
{
    const size_t stream = stream_of(table, common);
    row_.resize(table.columns.size());
    std::ranges::copy(common, row_.begin());
    const size_t width = row_.size() - common.size();
    for (size_t at = 0; at < rest.size() && state_; at += width) {
        std::ranges::copy(rest.subspan(at, width),
                          row_.begin() + static_cast<ptrdiff_t>(common.size()));
        add(table, stream, row_);
        if (waiting_.size() == kBatchRows || waiting_text_bytes_ > kBatchTextBytes)
            pump();
    }
}

// Messages for the library

const bt_message *Ctf::event_of(bt_self_message_iterator *iterator, const Waiting &row)
{
    bt_message *message = bt_message_event_create_with_default_clock_snapshot(
        iterator, classes_[row.table].event.get(), streams_[row.stream].stream.get(), row.time_ns);
    if (!message)
        return nullptr;
    bt_field *fields = bt_event_borrow_payload_field(bt_message_event_borrow_event(message));
    size_t numbers = 0, texts = 0;
    uint64_t place = 0;
    for (const Column &column : row.table->columns) {
        bt_field *field = bt_field_structure_borrow_member_field_by_index(fields, place++);
        if (is_text(column.kind) || column.kind == Kind::kBdf)
            bt_field_string_set_value(field, row.texts[texts++].c_str());
        else
            bt_field_integer_unsigned_set_value(field, row.numbers[numbers++]);
    }
    bt_field_integer_unsigned_set_value(
        bt_field_structure_borrow_member_field_by_index(fields, place), row.known);
    return message;
}

// Returns the next message, or nullptr if there is none until more rows are added.
const bt_message *Ctf::message_of(bt_self_message_iterator *iterator)
{
    if (given_ < waiting_.size()) {
        OneStream &stream = streams_[waiting_[given_].stream];
        if (stream.begun)
            return event_of(iterator, waiting_[given_++]);
        stream.begun = true;
        return bt_message_stream_beginning_create(iterator, stream.stream.get());
    }
    if (is_last_ && ended_ < streams_.size())
        return bt_message_stream_end_create(iterator, streams_[ended_++].stream.get());
    return nullptr;
}

bt_message_iterator_class_next_method_status Ctf::next(bt_self_message_iterator *iterator,
                                                       bt_message_array_const messages,
                                                       uint64_t capacity, uint64_t *count)
{
    Ctf &self = *static_cast<Ctf *>(
        bt_self_component_get_data(bt_self_message_iterator_borrow_component(iterator)));
    for (*count = 0; *count < capacity; ++*count) {
        const bt_message *message =
            self.guarded<const bt_message *>(nullptr, [&] { return self.message_of(iterator); });
        if (!message)
            break;
        messages[*count] = message;
    }
    if (self.no_memory_)
        return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_MEMORY_ERROR;
    if (*count)
        return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK;
    return self.is_last_ ? BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END
                         : BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_AGAIN;
}

// Runs the graph until all waiting rows are written.
void Ctf::pump()
{
    const ForUserAlone made;
    bt_graph *graph = const_cast<bt_graph *>(graph_.get());
    bt_graph_run_once_status status = BT_GRAPH_RUN_ONCE_STATUS_OK;
    while (state_ && status == BT_GRAPH_RUN_ONCE_STATUS_OK)
        status = bt_graph_run_once(graph);
    const auto wanted = is_last_ ? BT_GRAPH_RUN_ONCE_STATUS_END : BT_GRAPH_RUN_ONCE_STATUS_AGAIN;
    if (status != wanted)
        fail("write: is the disk full, or memory used up?");
    throw_again();
    waiting_.clear();
    waiting_text_bytes_ = 0;
    given_ = 0;
}

// Moves the files of the trace into the output folder. If there were no rows, the sink has created
// no folder of its trace.
Result<void> Ctf::move_trace()
{
    // Not fs::directory_iterator: its increment() ends the process if memory is used up.
    const std::string from = trace_folder() + '/';
    const std::unique_ptr<DIR, int (*)(DIR *)> trace(::opendir(from.c_str()), ::closedir);
    if (!trace)
        return errno == ENOENT ? Result<void>() : system_error(folder_.path(), errno);
    std::vector<std::string> files;
    while (const dirent *file = ::readdir(trace.get()))
        if (const std::string_view name = file->d_name; name != "." && name != "..")
            files.emplace_back(name);
    for (const std::string &file : files)
        if (::rename((from + file).c_str(), (folder_.part() + '/' + file).c_str()) != 0)
            return system_error(folder_.path(), errno);
    return ::rmdir(from.c_str()) == 0 ? Result<void>() : system_error(folder_.path(), errno);
}

Result<void> Ctf::finish()
{
    is_last_ = true;
    if (state_)
        pump();
    if (!state_)
        return state_;
    const ForUserAlone made;
    // Destroying the graph makes the sink write the metadata.
    graph_.reset();
    state_ = move_trace();
    return state_ ? folder_.finish() : state_;
}

}  // namespace

WriterResult make_ctf(const Output &output)
{
    Result<Folder> folder = Folder::create(output.path);
    if (!folder)
        return folder.error();
    auto ctf = std::make_unique<Ctf>(std::move(*folder));
    if (Result<void> opened = ctf->open(); !opened)
        return opened.error();
    return WriterResult(std::move(ctf));
}

}  // namespace pmukit::exporter

#else

namespace pmukit::exporter {

WriterResult make_ctf(const Output &)
{
    return Error{Errc::kUnsupported, "built without CTF: needs libbabeltrace2-dev"};
}

}  // namespace pmukit::exporter

#endif
