// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Limits how many bytes of memory a recording can make us keep; base/limits.hpp has the limits.
// Several containers can share one budget. take() fails when it is used up; the caller then reports
// what it leaves out.
#pragma once

#include <cstddef>
#include <vector>

namespace pmukit {

class Budget {
public:
    explicit Budget(size_t bytes) : left_(bytes) {}
    // False: there are not as many; none are taken.
    bool take(size_t bytes)
    {
        const bool fits = bytes <= left_;
        left_ -= fits ? bytes : 0;
        return fits;
    }
    // What take() gave, and is kept no more.
    void give_back(size_t bytes) { left_ += bytes; }
    size_t left() const { return left_; }

private:
    size_t left_;
};

// Reserves space for one more element of a vector, which grows by a quarter. The budget pays for
// the capacity. each_bytes: of an element, with what will be kept with it. False: the budget has
// fewer.
template <typename T>
bool has_room(std::vector<T> &in, Budget &left, size_t each_bytes = sizeof(T))
{
    if (in.size() < in.capacity())
        return true;
    const size_t more = in.size() / 4 + 2;
    if (!left.take(more * each_bytes))
        return false;
    in.reserve(in.size() + more);
    return true;
}

// What a node of a map or hash table takes beside its value, in glibc and libstdc++.
constexpr size_t kNodeBytes = 48;

}  // namespace pmukit
