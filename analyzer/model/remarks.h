// Remarks as sentences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/values.h"
#include "analyzer/rules/remarks.h"

namespace dcmt::model {

struct Remark {
  analyzer::RemarkKind kind = analyzer::RemarkKind::kPool;
  std::int64_t count = 0, parameters = 0, releases = 0;
  Bytes bytes;
  std::optional<std::string> holder;
  std::string text;

  static constexpr std::string_view kShape = "remark";
  static void describe(auto&& field) {
    field("kind", &Remark::kind,
          "\"pool\", \"stays_gathered\", \"uses_left\", \"untracked\", \"first_missed\", \"unknown\", \"kept\", "
          "\"grows\"");
    field("count", &Remark::count,
          "of a pool its buffers, of \"stays_gathered\" gathers, of \"kept\" and \"grows\" storages, else releases");
    field("parameters", &Remark::parameters, "distinct ones; 0 of a pool");
    field("releases", &Remark::releases, "of a pool: those that gave a buffer back to it");
    field("bytes", &Remark::bytes, "kept; 0 where it is of none, or not known");
    field("holder", &Remark::holder, "of \"kept\" the variable or container, as \"main: metric._computed\"; else null");
    field("text", &Remark::text, "one sentence");
  }
};

[[nodiscard]] Remark remark_of(const analyzer::Remark& remark);

}  // namespace dcmt::model
