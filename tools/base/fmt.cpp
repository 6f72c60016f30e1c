// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The formatting library itself, once for all components: Debian has it only as a shared library,
// which neither the static programs of guests nor an installed libpmukit should need.
#include <fmt/format-inl.h>

// Its headers count on these to be in the library.
FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
#if FMT_VERSION < 110000  // later it is no template
template FMT_API void vformat_to(buffer<char> &, basic_string_view<char>,
                                 basic_format_args<format_context>, locale_ref);
#endif
}  // namespace detail
FMT_END_NAMESPACE
