// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// "did you mean": the known word nearest to an unknown one.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit {

// Returns how many letters must be added, dropped, changed or swapped with a neighbor to turn one
// word into the other.
inline size_t edit_distance(std::string_view a, std::string_view b)
{
    std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

// Returns "; did you mean NAME?", or an empty text if no known word is similar. In a similar word,
// up to a third of the letters may be wrong. A prefix of three or more letters is similar, too.
inline std::string did_you_mean(std::string_view word, const std::vector<std::string> &known)
{
    constexpr size_t kLeastBegin = 3;
    const std::string *best = nullptr;
    size_t best_distance = word.size() / 3 + 1;
    for (const std::string &name : known) {
        const bool begun = word.size() >= kLeastBegin && name.starts_with(word);
        const size_t distance = begun ? 1 : edit_distance(word, name);
        if (distance < best_distance) {
            best = &name;
            best_distance = distance;
        }
    }
    return best ? "; did you mean " + *best + "?" : std::string();
}

}  // namespace pmukit
