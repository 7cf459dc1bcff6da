#include "convert/snapshot/lifetimes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace dcmt::convert {
namespace {

class History {
 public:
  explicit History(const SnapshotDevice& device) : device_(device) {
    requests_ =
        std::ranges::any_of(device.history, [](const Entry& entry) { return entry.action == Action::kFreeRequested; });
  }

  DeviceLives lives() {
    for (std::size_t i = 0; i < device_.history.size(); ++i) apply(device_.history[i], static_cast<std::int64_t>(i));
    for (const SnapshotBlock& block : device_.blocks) compare(block);
    for (const auto& [address, state] : at_) {
      // A block that waits for a stream may be free by the time segments are listed.
      if (state.block != kNone && !state.confirmed && lives_.blocks[state.block].freed == kNever)
        ++lives_.contradictions;
    }
    for (const BlockLife& block : lives_.blocks) {
      if (block.born != kBefore || block.freed == kBefore) continue;
      ++lives_.from_before;
      lives_.bytes_from_before += block.bytes;
    }
    // Blocks that had been freed come first, so that they never count together with the others.
    std::ranges::stable_sort(lives_.blocks, {},
                             [](const BlockLife& block) { return std::pair(block.born, block.freed != kBefore); });
    return std::move(lives_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct State {
    std::size_t block = kNone;  ///< the block that lives there or waits for a stream
    bool confirmed = false;     ///< the block exists when the snapshot is made
  };

  std::size_t add(const BlockLife& block) {
    lives_.blocks.push_back(block);
    return lives_.blocks.size() - 1;
  }
  static BlockLife life_of(const Entry& entry, std::int64_t born) {
    BlockLife block;
    block.address = entry.address;
    block.bytes = entry.size;
    block.stream = entry.stream;
    block.born = born;
    return block;
  }

  void apply(const Entry& entry, std::int64_t at) {
    if (entry.action != Action::kAlloc && entry.action != Action::kFreeRequested &&
        entry.action != Action::kFreeCompleted)
      return;
    const auto [found, first_sight] = at_.try_emplace(entry.address);
    State& state = found->second;
    if (entry.action == Action::kAlloc) {
      if (state.block != kNone) end(lives_.blocks[state.block], at);
      BlockLife block = life_of(entry, at);
      block.frames = entry.frames;
      state.block = add(block);
      return;
    }
    if (state.block == kNone && !first_sight) {
      ++lives_.contradictions;  // its birth is not in the history, so it is unknown from where to count it
      return;
    }
    if (state.block == kNone) state.block = add(life_of(entry, kBefore));
    BlockLife& block = lives_.blocks[state.block];
    if (entry.action == Action::kFreeRequested) {
      if (block.freed != kNever) return;
      block.freed = at;
      block.free_frames = entry.frames;
      return;
    }
    // If requests are recorded, a missing one came before the history.
    if (block.freed == kNever) block.freed = first_sight && requests_ ? kBefore : at;
    block.done = at;
    state.block = kNone;
  }

  /// Ends a block because another one lives at its address.
  void end(BlockLife& block, std::int64_t at) {
    ++lives_.contradictions;
    if (block.freed == kNever) block.freed = at;
    block.done = at;
  }

  void compare(const SnapshotBlock& there) {
    const auto [found, first_sight] = at_.try_emplace(there.address);
    State& state = found->second;
    if (state.block == kNone) {
      BlockLife block;
      block.address = there.address;
      block.bytes = there.bytes;
      block.stream = there.stream;
      block.born = first_sight ? kBefore : static_cast<std::int64_t>(device_.history.size());
      if (there.state == BlockState::kPendingFree) block.freed = block.born;
      state.block = add(block);
    }
    BlockLife& block = lives_.blocks[state.block];
    if (!block.frames) block.frames = there.frames;
    state.confirmed = true;
  }

  const SnapshotDevice& device_;
  DeviceLives lives_;
  std::unordered_map<std::int64_t, State> at_;
  bool requests_ = false;
};

}  // namespace

DeviceLives lives_of(const SnapshotDevice& device) { return History(device).lives(); }

}  // namespace dcmt::convert
