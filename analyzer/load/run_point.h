// A point of the run.
#pragma once

#include <string_view>

#include "trace/base/typed_id.h"

namespace dcmt::analyzer {

struct RunPoint {
  Sequence seq;
  TimeNs ns;

  static constexpr std::string_view kShape = "moment";
  static void describe(auto&& field) {
    field("seq", &RunPoint::seq, "");
    field("ns", &RunPoint::ns, "");
  }
};

}  // namespace dcmt::analyzer
