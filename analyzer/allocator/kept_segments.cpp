#include "analyzer/allocator/kept_segments.h"

#include <algorithm>
#include <charconv>

#include "analyzer/load/optional_text.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer {
namespace {

constexpr std::size_t kMostKeeping = 3;

KeepingBlock keeping_block(const TraceData& data, const HolderNames& names, const Block& block, Sequence at) {
  KeepingBlock keeping{block.id, block.bytes, given(block.storage), {}, {}, !block.span.covers(at)};
  keeping.site = describe_site(data, block.birth.stack);
  std::string holder = block.storage.valid() ? names.of(block.storage) : std::string(data.text(block.owner));
  if (!holder.empty() && holder != kNotRead) keeping.holder = std::move(holder);
  return keeping;
}

std::string hexadecimal(std::int64_t address) {
  char text[16];
  const auto [end, error] = std::to_chars(text, text + sizeof text, static_cast<std::uint64_t>(address), 16);
  return "0x" + std::string(text, end);
}

}  // namespace

std::vector<KeptSegment> kept_segments(const TraceData& data, const HolderNames& names, const ReservedAt& reserved,
                                       std::size_t most) {
  std::vector<KeptSegment> segments;
  for (std::size_t i = 0; i < std::min(most, reserved.held.size()); ++i) {
    const HeldSegment& held = reserved.held[i];
    KeptSegment& kept = segments.emplace_back();
    kept.address = hexadecimal(held.address);
    kept.bytes = held.bytes;
    kept.free = held.free;
    kept.largest_free = held.largest_free;
    kept.stream = held.stream;
    kept.pool = held.pool;
    kept.blocks = static_cast<std::int64_t>(held.blocks.size());
    for (std::size_t at = 0; at < std::min(kMostKeeping, held.blocks.size()); ++at) {
      kept.largest.push_back(keeping_block(data, names, *held.blocks[at], reserved.at));
    }
  }
  return segments;
}

}  // namespace dcmt::analyzer
