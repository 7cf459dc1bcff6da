// The result of `convert --json`: the file that was written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/base/typed_id.h"

namespace dcmt::cli {

struct Converted {
  std::string input, output, to;
  std::optional<std::string> table = {};
  bool redacted = false;
  bool sums_only = false;
  Bytes bytes = {};

  static constexpr std::string_view kShape = "convert";
  static void describe(auto&& field) {
    field("input", &Converted::input, "path");
    field("output", &Converted::output, "path of the file that was written, or of the folder of tables");
    field("to", &Converted::to, "\"snapshot\", \"perfetto\", \"csv\", \"parquet\", \"trace\"");
    field("table", &Converted::table,
          "\"lifetimes\", \"curve\"; null: the format has no tables, or all of them were written");
    field("redacted", &Converted::redacted, "it is a copy without names");
    field("sums_only", &Converted::sums_only,
          "of some steps the trace has sums only, and their blocks are not written");
    field("bytes", &Converted::bytes, "of the file, or of all in the folder");
  }
};

}  // namespace dcmt::cli
