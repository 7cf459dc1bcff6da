// The events that give storages their bytes or remove them, in order. So a question about one point in time is a search
// and not a scan: a storage of FSDP2 lives as long as the run and is resized twice per step.
#pragma once

#include <span>
#include <vector>

#include "analyzer/load/gone.h"
#include "analyzer/load/huge_pages.h"
#include "trace/base/typed_id.h"

namespace dcmt::analyzer {

struct Block;
struct Storage;
class TraceData;

/// Built once, const afterwards: any number of threads may read. Most storages have one block for their whole life and
/// need no memory here.
class StorageChanges {
 public:
  /// Needs the rows of `data` and their indexes by storage. No row may move afterwards.
  void build(const TraceData& data);

  /// True if the storage had several blocks or was resized. For other storages, only given_after() may be called.
  [[nodiscard]] bool changed(const TraceData& data, StorageId storage) const;
  /// The bytes of a storage right after the event at `at`. The storage must be alive there.
  [[nodiscard]] Bytes bytes_at(const TraceData& data, const Storage& storage, Sequence at) const;
  /// The first event after `after` that resized the storage to 0 or freed its last block.
  [[nodiscard]] Maybe<Gone> first_loss(StorageId storage, Sequence after) const;
  /// The blocks that are alive at `at`, the youngest first.
  [[nodiscard]] std::vector<const Block*> blocks_at(StorageId storage, Sequence at) const;

  /// The first gather or wait after `after` that gave the storage; zero if there is none.
  [[nodiscard]] Sequence given_after(StorageId storage, Sequence after) const;

 private:
  template <class Row>
  using Rows = std::vector<Row, HugePages<Row>>;
  struct Gift {
    StorageId storage;
    Sequence seq;
  };
  struct BlockOf {
    const Block* block = nullptr;
    Sequence all_ended;  ///< end of this block and all older ones; the largest number: some block never ends
  };

  [[nodiscard]] std::span<const BlockOf> blocks_of(StorageId storage) const;
  void add(const TraceData& data, StorageId storage);

  // Ordered by storage, then by time.
  Rows<Gone> losses_;
  Rows<Gift> given_;
  Rows<BlockOf> blocks_;
};

}  // namespace dcmt::analyzer
