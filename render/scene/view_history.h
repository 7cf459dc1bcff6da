// The previous views. Moves in quick succession count as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "render/scene/view.h"

namespace dcmt::scene {

class ViewHistory {
 public:
  static constexpr std::size_t kMost = 100;
  static constexpr std::int64_t kOneMoveMs = 500;

  void clear() {
    views_.clear();
    at_ = 0;
  }
  /// Adds the current view. `now_ms`: milliseconds that never decrease.
  void add(const View& view, std::int64_t now_ms) {
    if (!views_.empty() && views_[at_] == view) return;
    const bool same_move = !views_.empty() && at_ > 0 && now_ms - last_ms_ < kOneMoveMs;
    last_ms_ = now_ms;
    if (!views_.empty()) views_.erase(views_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, views_.end());
    if (same_move) {
      views_[at_] = view;
      return;
    }
    views_.push_back(view);
    if (views_.size() > kMost) views_.erase(views_.begin());
    at_ = views_.size() - 1;
  }
  /// nullptr if there is none.
  const View* back() { return at_ > 0 ? &views_[--at_] : nullptr; }
  const View* forward() { return at_ + 1 < views_.size() ? &views_[++at_] : nullptr; }

 private:
  std::vector<View> views_;
  std::size_t at_ = 0;  ///< index of the current view
  std::int64_t last_ms_ = 0;
};

}  // namespace dcmt::scene
