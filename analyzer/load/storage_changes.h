// What gives storages their bytes and takes them, in order, so that a question about one moment is a search and no
// scan: a storage of FSDP2 lives as long as the run and is resized twice a step.
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

/// Built once, const afterwards: any number of threads may read. Most storages have one block for all their life and
/// take no memory here.
class StorageChanges {
 public:
  /// Needs the rows of `data` and its indexes by storage. All rows must stay where they are.
  void build(const TraceData& data);

  /// True if the storage had several blocks or was resized. Of others, only given_after() may be asked.
  [[nodiscard]] bool changed(const TraceData& data, StorageId storage) const;
  /// Bytes of a storage right after the event at `at`, at which it is alive.
  [[nodiscard]] Bytes bytes_at(const TraceData& data, const Storage& storage, Sequence at) const;
  /// The first resize to 0 or free of the last block after `after`.
  [[nodiscard]] Maybe<Gone> first_loss(StorageId storage, Sequence after) const;
  /// The blocks that cover `at`, the latest begun first.
  [[nodiscard]] std::vector<const Block*> blocks_at(StorageId storage, Sequence at) const;

  /// The first gather or wait after `after` that gives the storage; zero if there is none.
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
    Sequence all_ended;  ///< this block and those begun before it; the largest number: not to the end of the trace
  };

  [[nodiscard]] std::span<const BlockOf> blocks_of(StorageId storage) const;
  void add(const TraceData& data, StorageId storage);

  // By storage, then in order.
  Rows<Gone> losses_;
  Rows<Gift> given_;
  Rows<BlockOf> blocks_;
};

}  // namespace dcmt::analyzer
