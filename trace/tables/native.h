// Allocations of the process that are not torch's, by a sample of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

/// A place that calls an allocator of C or C++, or maps memory.
struct NativeSiteRow {
  RowId id = 0;
  std::string_view call;  ///< static text
  RowId stack = 0;

  static constexpr Table kTable{
      .name = "native_site",
      .meaning = "A place that calls an allocator of C or C++, or maps memory: one stack of such calls.",
      .since = 15};
  static constexpr void describe(auto&& column) {
    column(&NativeSiteRow::id, Cell{"id", "id", ""});
    column(&NativeSiteRow::call, Cell{"call", "text", "`malloc` (and what is like it), `realloc`, `new` or `mmap`"});
    column(&NativeSiteRow::stack, OrNull{"stack", "stack", "of Python; NULL: no Python function runs"});
  }
};

/// A frame of C or C++ in the stack of a site.
struct NativeFrameRow {
  RowId site = 0;
  std::int64_t depth = 0;
  RowId object = 0, function = 0;
  std::int64_t offset = 0;
  RowId file = 0;
  std::int64_t line = 0;

  static constexpr Table kTable{.name = "native_frame",
                                .meaning =
                                    "The functions of C and C++ that lead to a site, up to the innermost one of "
                                    "Python.",
                                .since = 15,
                                .key = "site, depth"};
  static constexpr void describe(auto&& column) {
    column(&NativeFrameRow::site, Cell{"site", "native_site", ""});
    column(&NativeFrameRow::depth, Cell{"depth", "number", "0: the one that calls the allocator"});
    column(&NativeFrameRow::object, OrNull{"object", "string", "path of the library or program; NULL: unknown"});
    column(&NativeFrameRow::function, OrNull{"function", "string", "NULL: the object has no name for it"});
    column(&NativeFrameRow::offset, Cell{"offset", "bytes", "of the call in the function, or else in the object"});
    column(&NativeFrameRow::file, OrNull{"file", "string", "of the source; NULL: no debug information"});
    column(&NativeFrameRow::line, OrNull{"line", "number", ""});
  }
};

/// What is alive of a site at one time, as estimated from the sampled allocations.
struct NativeLiveRow {
  RowId reading = 0;
  RowId site = 0;
  Point at;
  std::int64_t bytes = 0, deviation = 0;
  std::int64_t samples = 0, made = 0;
  std::optional<std::int64_t> least = {};

  static constexpr Table kTable{.name = "native_live",
                                .meaning =
                                    "What was alive of such a site at one time: estimated, each sampled allocation "
                                    "stands for as many bytes as its probability was small. A site with no row of a "
                                    "reading had as much as at the reading before.",
                                .since = 15,
                                .key = "reading, site"};
  static constexpr void describe(auto&& column) {
    column(&NativeLiveRow::reading, Cell{"reading", "number", "from 1"});
    column(&NativeLiveRow::site, Cell{"site", "native_site", ""});
    column(&NativeLiveRow::at, At{"", "of the latest record then"});
    column(&NativeLiveRow::bytes, Cell{"bytes", "bytes", "that are alive, an estimate"});
    column(&NativeLiveRow::deviation, Cell{"deviation", "bytes", "standard error of this estimate"});
    column(&NativeLiveRow::samples, Cell{"samples", "number", "of them, sampled allocations that are alive"});
    column(&NativeLiveRow::made, Cell{"made", "bytes", "allocated so far, an estimate"});
    column(&NativeLiveRow::least, Cell{"least", "bytes", "that were alive at any time since the reading before", 18});
  }
};

}  // namespace dcmt
