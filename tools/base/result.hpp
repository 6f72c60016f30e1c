// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Library functions return errors as values: a Result<T> holds a T or an Error and must be checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace pmukit {

enum class Errc {
    kUsage,        // usage error (exit code 2)
    kNotFound,     // the named thing does not exist
    kDenied,       // not enough privilege
    kUnsupported,  // valid, but not supported
    kBusy,         // in use by another driver or program
    kTruncated,    // the input ends too early
    kDamaged,      // the input contradicts itself
    kIo,           // the system refused a read or write
    kReaderLeft,   // the output is a pipe that no program reads any more (EPIPE)
    kEnvironment,  // the environment failed, not the tested object (exit code 69)
};

struct Error {
    Errc code;
    std::string message;               // one line, names the thing and the fix
    std::optional<uint64_t> offset{};  // byte offset in the input, if there is one
};

template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }
    // Call only if the Result holds a value.
    T &value() & { return std::get<0>(state_); }
    const T &value() const & { return std::get<0>(state_); }
    T &&value() && { return std::get<0>(std::move(state_)); }
    T &operator*() & { return value(); }
    const T &operator*() const & { return value(); }
    T *operator->() { return &value(); }
    const T *operator->() const { return &value(); }
    const Error &error() const { return std::get<1>(state_); }

private:
    std::variant<T, Error> state_;
};

// A Result without a value: success or an Error.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const { return !error_; }
    const Error &error() const { return *error_; }

private:
    std::optional<Error> error_;
};

}  // namespace pmukit
