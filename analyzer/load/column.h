// Containers for millions of rows: a table in memory, and an index of its rows by a key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/load/huge_pages.h"

namespace dcmt::analyzer {

/// Rows ordered by id. They lie in chunks, so that no row ever moves, and parts that were read separately are joined
/// without copies.
template <class Row>
class Column {
  using Chunk = std::vector<Row, HugePages<Row>>;  // never empty

 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    using pointer = const Row*;
    using reference = const Row&;

    Iterator() = default;
    Iterator(const Chunk* chunk, const Chunk* end) : chunk_(chunk), end_(end) { enter(); }
    reference operator*() const { return *row_; }
    pointer operator->() const { return row_; }
    Iterator& operator++() {
      if (++row_ == chunk_->data() + chunk_->size()) {
        ++chunk_;
        enter();
      }
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.row_ == b.row_; }

   private:
    void enter() { row_ = chunk_ != end_ ? chunk_->data() : nullptr; }

    const Chunk* chunk_ = nullptr;
    const Chunk* end_ = nullptr;
    const Row* row_ = nullptr;
  };

  void push_back(Row row) {
    if (chunks_.empty() || chunks_.back().size() == chunks_.back().capacity()) {
      const std::size_t rows = chunks_.empty() ? kFewest : std::min(kMost, 4 * chunks_.back().capacity());
      chunks_.emplace_back().reserve(rows);
    }
    chunks_.back().push_back(std::move(row));
    ++size_;
  }
  /// Appends the rows of `next`, whose ids must be larger.
  void append(Column next) {
    std::move(next.chunks_.begin(), next.chunks_.end(), std::back_inserter(chunks_));
    size_ += next.size_;
  }
  [[nodiscard]] Iterator begin() const { return {chunks_.data(), chunks_.data() + chunks_.size()}; }
  [[nodiscard]] Iterator end() const { return {}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Removes parents that lead back to their own row, so that a walk upwards ends. Only a damaged trace has such rows.
  void cut_circles() {
    // If every parent is older than its row, as a recorder writes them, there is no circle.
    if (std::all_of(begin(), end(), [](const Row& row) { return row.parent < row.id; })) return;
    // The walk that reached a row first.
    std::unordered_map<const Row*, std::size_t> walks;
    std::size_t walk = 0;
    for (Chunk& chunk : chunks_) {
      for (Row& start : chunk) {
        ++walk;
        for (Row* row = &start; walks.emplace(row, walk).second;) {
          // Rows are const for other classes only.
          Row* const parent = const_cast<Row*>(find(row->parent));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
          if (parent == nullptr) break;
          if (const auto seen = walks.find(parent); seen != walks.end() && seen->second == walk) row->parent = {};
          row = parent;
        }
      }
    }
  }

  /// nullptr for a zero id, and for an id that has no row.
  template <class Id>
  [[nodiscard]] const Row* find(Id id) const {
    if (!id.valid()) return nullptr;
    const auto next = std::upper_bound(chunks_.begin(), chunks_.end(), id,
                                       [](Id i, const Chunk& chunk) { return i < chunk.front().id; });
    if (next == chunks_.begin()) return nullptr;
    const Chunk& chunk = *std::prev(next);
    // Ids of strings and the like are dense.
    const auto guess = static_cast<std::size_t>(id.value - chunk.front().id.value);
    if (guess < chunk.size() && chunk[guess].id == id) return &chunk[guess];
    const auto at = std::lower_bound(chunk.begin(), chunk.end(), id, [](const Row& r, Id i) { return r.id < i; });
    return at != chunk.end() && at->id == id ? &*at : nullptr;
  }

 private:
  /// Rows of a chunk: few for a small table; for a large one as many as fill whole huge pages.
  static constexpr std::size_t kFewest = 64, kMost = 2 * kHugePage / sizeof(Row);

  std::vector<Chunk> chunks_;
  std::size_t size_ = 0;
};

/// An index of rows by a key; rows of one key are in row order.
template <class KeyType, class Row>
class RowIndex {
 public:
  void reserve(std::size_t rows) { entries_.reserve(rows); }
  void add(KeyType key, const Row* row) { entries_.emplace_back(key, row); }
  void build() {
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(entries_.begin(), entries_.end(), less)) {
      std::stable_sort(entries_.begin(), entries_.end(), less);
    }
  }
  /// Pairs of key and row, in the order of keys.
  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }
  /// A range of `const Row*`.
  [[nodiscard]] auto of(KeyType key) const {
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    const auto [from, to] = std::equal_range(entries_.begin(), entries_.end(), Entry(key, nullptr), less);
    return std::span(from, to) | std::views::values;
  }

 private:
  using Entry = std::pair<KeyType, const Row*>;

  std::vector<Entry, HugePages<Entry>> entries_;
};

}  // namespace dcmt::analyzer
