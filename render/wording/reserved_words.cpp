#include "render/wording/reserved_words.h"

#include <fmt/format.h>

#include "render/wording/words.h"

namespace dcmt::wording {
namespace {

std::string stream_text(std::int64_t stream) {
  return stream == 0 ? "the default stream" : fmt::format("stream {}", stream);
}

/// As torch prints the id of a pool.
std::string pool_id(std::int64_t pool) {
  return pool < 0 ? fmt::format("({}, 0)", -pool) : fmt::format("(0, {})", pool);
}

}  // namespace

std::string reserved_text(const analyzer::ReservedRow& row, std::optional<std::int64_t> stream) {
  using Kind = analyzer::ReservedKind;
  const std::string segments = counted(row.segments, "segment");
  switch (row.kind) {
    case Kind::kRequested:
      return "in blocks, as requested";
    case Kind::kRounding:
      return "in blocks, by rounding";
    case Kind::kWaiting:
      return "in freed blocks that another stream still uses";
    case Kind::kKept:
      return fmt::format("free in {}, which living blocks keep", segments);
    case Kind::kOtherStream:
      return fmt::format("free in {} of {}: {} cannot use it", segments, stream_text(row.stream.value_or(0)),
                         stream_text(stream.value_or(0)));
    case Kind::kPrivatePool:
      return fmt::format("free in {} of the private pool {} of a graph or MemPool", segments,
                         pool_id(row.pool.value_or(0)));
    case Kind::kReleasable:
      return fmt::format("free in {}, empty_cache() gives it back", segments);
  }
  return {};
}

}  // namespace dcmt::wording
