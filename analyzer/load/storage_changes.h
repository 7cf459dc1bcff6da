// The events that give storages their bytes or remove them, in order. So a question about one point in time is a search
// and not a scan: a storage of FSDP2 lives as long as the run and is resized twice per step.
#pragma once

#include <span>
#include <vector>

#include "analyzer/load/column.h"
#include "analyzer/load/gone.h"
#include "analyzer/load/huge_pages.h"
#include "trace/base/typed_id.h"

namespace dcmt::analyzer {

struct Block;
struct Mark;
struct Resize;
struct Storage;

/// Built once, const afterwards: any number of threads may read. Most storages have one block for their whole life and
/// need no memory here.
class StorageChanges {
 public:
  /// The parameters are the rows of all storages; those of one storage are consecutive, and `resizes` are in order of
  /// time. No row may move afterwards.
  void build(const RowIndex<StorageId, Block>& blocks, const RowIndex<StorageId, Mark>& marks,
             std::span<const Resize> resizes);

  /// In order of time.
  [[nodiscard]] std::span<const Resize> resizes_of(StorageId storage) const;
  /// True if the storage had several blocks or was resized. For other storages, only given_after() may be called.
  [[nodiscard]] bool changed(StorageId storage) const;
  /// The bytes of a storage right after the event at `at`. The storage must be alive there.
  [[nodiscard]] Bytes bytes_at(const Storage& storage, Sequence at) const;
  /// The first event after `after` that resized the storage to 0 or freed its last block.
  [[nodiscard]] Maybe<Gone> first_loss(StorageId storage, Sequence after) const;
  /// The blocks that are alive at `at`, the youngest first.
  [[nodiscard]] std::vector<const Block*> blocks_at(StorageId storage, Sequence at) const;

  /// The first gather or wait after `after` that gave the storage; zero if there is none.
  [[nodiscard]] Sequence given_after(StorageId storage, Sequence after) const;

 private:
  template <class Row>
  using Rows = std::vector<Row, HugePages<Row>>;
  struct StorageTransfer {
    StorageId storage;
    Sequence seq;
  };
  struct BlockOf {
    const Block* block = nullptr;
    Sequence all_ended;  ///< end of this block and all older ones; the largest number: some block never ends
  };

  [[nodiscard]] std::span<const BlockOf> blocks_of(StorageId storage) const;
  void add(StorageId storage, std::vector<const Block*> blocks);

  // Ordered by storage, then by time.
  Rows<Gone> losses_;
  Rows<StorageTransfer> given_;
  Rows<BlockOf> blocks_;
  std::span<const Resize> resizes_;
};

}  // namespace dcmt::analyzer
