#include "analyzer/load/gone.h"

#include <type_traits>

#include "analyzer/load/trace_rows.h"

namespace dcmt::analyzer {
namespace {

Sequence seq_of(const Resize& resize) { return resize.seq; }
Sequence seq_of(const Storage& storage) { return storage.span.to_seq; }
Sequence seq_of(const Block& block) { return block.span.to_seq; }
TimeNs ns_of(const Resize& resize) { return resize.ns; }
TimeNs ns_of(const Storage& storage) { return storage.span.to_ns; }
TimeNs ns_of(const Block& block) { return block.span.to_ns; }
StorageId storage_of(const Resize& resize) { return resize.storage; }
StorageId storage_of(const Storage& storage) { return storage.id; }
StorageId storage_of(const Block& block) { return block.storage; }
const Actor& actor_of(const Resize& resize) { return resize.by; }
const Actor& actor_of(const Storage& storage) { return storage.end; }
const Actor& actor_of(const Block& block) { return block.end; }

}  // namespace

StorageId Gone::storage() const {
  return std::visit([](const auto* row) { return storage_of(*row); }, row_);
}

Sequence Gone::seq() const {
  return std::visit([](const auto* row) { return seq_of(*row); }, row_);
}

TimeNs Gone::ns() const {
  return std::visit([](const auto* row) { return ns_of(*row); }, row_);
}

const Actor& Gone::actor() const {
  return std::visit([](const auto* row) -> const Actor& { return actor_of(*row); }, row_);
}

Maybe<std::int64_t> Gone::ordinal() const {
  const auto* const storage = std::get_if<const Storage*>(&row_);
  return storage != nullptr ? (*storage)->end_ordinal : std::nullopt;
}

std::string_view name_of(GoneBy by) {
  switch (by) {
    case GoneBy::kResize:
      return "resize";
    case GoneBy::kStorageEnd:
      return "storage_end";
    case GoneBy::kBlockFree:
      break;
  }
  return "block_free";
}

}  // namespace dcmt::analyzer
