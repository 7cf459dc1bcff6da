// What removed the bytes of a storage, and when.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "analyzer/load/maybe.h"
#include "trace/base/typed_id.h"

namespace dcmt::analyzer {

struct Actor;
struct Block;
struct Resize;
struct Storage;

enum class GoneBy {
  kResize,      ///< the storage was resized to 0
  kStorageEnd,  ///< its last reference ended
  kBlockFree,   ///< its block was freed while the storage lived on
};

[[nodiscard]] std::string_view name_of(GoneBy gone_by);

/// The row that removed the bytes. The row must outlive this object.
class Gone {
 public:
  constexpr Gone() = default;                                ///< no row: no member may be called
  explicit Gone(const Resize& resize) : row_(&resize) {}     ///< a resize to 0
  explicit Gone(const Storage& storage) : row_(&storage) {}  ///< a storage that ended
  explicit Gone(const Block& block) : row_(&block) {}        ///< a block that was freed

  [[nodiscard]] GoneBy by() const { return static_cast<GoneBy>(row_.index()); }
  [[nodiscard]] StorageId storage() const;
  [[nodiscard]] Sequence seq() const;
  [[nodiscard]] TimeNs ns() const;
  [[nodiscard]] const Actor& actor() const;
  /// The number of operators that the actor's thread had begun by then, if recorded.
  [[nodiscard]] Maybe<std::int64_t> ordinal() const;

  friend constexpr bool operator==(const Gone&, const Gone&) = default;

 private:
  /// The alternatives are in the order of GoneBy.
  std::variant<const Resize*, const Storage*, const Block*> row_;
};

template <>
inline constexpr Gone kAbsent<Gone>{};

}  // namespace dcmt::analyzer
