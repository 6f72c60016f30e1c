// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The compiled part of {fmt}, built once for all components: Debian has it only as a shared
// library, which static guest programs and an installed libpmukit should not need.
#include <fmt/format-inl.h>

// The headers of {fmt} expect these instantiations in the library.
FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
#if FMT_VERSION < 110000  // since version 11, vformat_to() is not a template
template FMT_API void vformat_to(buffer<char> &, basic_string_view<char>,
                                 basic_format_args<format_context>, locale_ref);
#endif
}  // namespace detail
FMT_END_NAMESPACE
