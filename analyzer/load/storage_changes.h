// What gives storages their bytes and takes them, in order, so that a question about one moment is a search and no
// scan: a storage of FSDP2 lives as long as the run and is resized twice a step.
#pragma once

#include <algorithm>
#include <ranges>
#include <span>
#include <vector>

#include "analyzer/load/huge_pages.h"
#include "trace/base/typed_id.h"

namespace dcmt::analyzer {

struct Block;
struct Mark;
struct Storage;
class TraceData;

/// From `seq` on, a storage that lives has `bytes`.
struct StorageLevel {
  StorageId storage;
  Sequence seq;
  Bytes bytes;
};

/// A moment at which a storage lost all of its bytes: by a resize to 0, or by the free of its last block.
struct StorageLoss {
  StorageId storage;
  Sequence seq;
  const Mark* resize = nullptr;
  const Block* freed = nullptr;
};

/// Built once, const afterwards: any number of threads may read. Most storages have one block for all their life and
/// take no memory here.
class StorageChanges {
 public:
  /// Needs the rows of `data` and its indexes by storage, which must stay where they are.
  void build(const TraceData& data);

  /// True if the storage had several blocks or was resized. Else it has no levels and no losses.
  [[nodiscard]] bool changed(StorageId storage) const { return !of(levels_, storage).empty(); }
  /// In order of sequence.
  [[nodiscard]] std::span<const StorageLevel> levels(StorageId storage) const { return of(levels_, storage); }
  [[nodiscard]] std::span<const StorageLoss> losses(StorageId storage) const { return of(losses_, storage); }
  /// The first gather or wait after `after` that gives the storage; zero if there is none.
  [[nodiscard]] Sequence given_after(StorageId storage, Sequence after) const;
  /// The blocks of a storage that changed which cover `at`, the latest begun first.
  [[nodiscard]] std::vector<const Block*> blocks_at(StorageId storage, Sequence at) const;

 private:
  template <class Row>
  using Rows = std::vector<Row, HugePages<Row>>;
  struct Gift {
    StorageId storage;
    Sequence seq;
  };
  struct BlockOf {
    StorageId storage;
    const Block* block = nullptr;
    Sequence all_ended;  ///< this block and those begun before it; the largest number: not to the end of the trace
  };

  template <class Row>
  static std::span<const Row> of(const Rows<Row>& rows, StorageId storage) {
    const auto found = std::ranges::equal_range(rows, storage, {}, &Row::storage);
    return {found.begin(), found.end()};
  }

  void add(const TraceData& data, const Storage& storage);

  Rows<StorageLevel> levels_;
  Rows<StorageLoss> losses_;
  Rows<Gift> given_;
  Rows<BlockOf> blocks_;
};

}  // namespace dcmt::analyzer
