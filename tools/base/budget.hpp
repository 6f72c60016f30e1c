// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Limits how much memory a recording can make the program use; base/limits.hpp lists the limits.
// Several containers can share one budget. take() fails when the budget is used up; the caller then
// reports the data that it drops.
#pragma once

#include <cstddef>
#include <vector>

namespace pmukit {

class Budget {
public:
    explicit Budget(size_t bytes) : left_(bytes) {}
    // Reserves bytes. Returns false, and reserves nothing, if fewer bytes are left.
    bool take(size_t bytes)
    {
        const bool fits = bytes <= left_;
        left_ -= fits ? bytes : 0;
        return fits;
    }
    // Returns bytes of an earlier take() to the budget.
    void give_back(size_t bytes) { left_ += bytes; }
    size_t left() const { return left_; }

private:
    size_t left_;
};

// Reserves space for one more element of a vector. A full vector grows by a quarter, and the budget
// is charged for the added capacity. `each_bytes` is the size of an element, including memory that
// the element will own. Returns false if the budget has too little left.
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

// Overhead of a map or hash table node in addition to its value, in glibc and libstdc++.
constexpr size_t kNodeBytes = 48;

}  // namespace pmukit
