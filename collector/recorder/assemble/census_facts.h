// What the records of one census say: the tensors and names that it saw, and its three equations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/sql/trace_writer.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// A record of an unfinished census, with the row that its address had at that time.
struct CensusPiece {
  Point at;
  std::uint32_t thread = 0;
  RowId resolved = 0;
  std::string bytes;
  bool kept = false;  ///< stored in the private state
};

/// A tensor of the sharing set.
struct CensusTensor {
  wire::CensusTensorRecord record;
  RowId row = 0;
  std::uint64_t names = 0;
  std::uint64_t views = 0;  ///< tensors of the set that are views of it and keep it
};

struct CensusLocal {
  wire::CensusLocalRecord record;
  const CensusPiece* piece = nullptr;
};

struct CensusFacts {
  std::vector<CensusTensor> tensors;
  std::vector<CensusLocal> locals;
  /// The tensor of this Python object; 0: none of them.
  [[nodiscard]] RowId tensor_of(std::uint64_t object) const;
};

/// `explained` of `count` references are known.
struct CensusEquation {
  std::string_view subject;
  RowId tensor = 0;
  std::uint64_t count = 0;
  std::uint64_t explained = 0;
};

/// Each tensor and each name counts once. The result refers to `pieces`.
[[nodiscard]] CensusFacts facts_of(std::span<const CensusPiece> pieces);
[[nodiscard]] std::vector<CensusEquation> equations_of(const wire::CensusRecord& begin, const CensusFacts& facts);

}  // namespace dcmt::recorder
