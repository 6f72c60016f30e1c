// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Bytes that what a recording says may make us keep: base/limits.hpp says how many of what. Several
// that keep something share one; who asks is told when there are no more, and says what it leaves
// out.
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

// Room for one more in a vector, which grows by a quarter: what it has room for is what it takes.
// each_bytes: of what is in it, and of what will be kept with it. False: there are not as many.
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
