// What took the bytes of a storage, and when.
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
  kResize,      ///< the storage was resized to nothing
  kStorageEnd,  ///< its last reference went
  kBlockFree,   ///< its block was freed under it
};

[[nodiscard]] std::string_view name_of(GoneBy gone_by);

/// The row that took them. It must outlive this.
class Gone {
 public:
  constexpr Gone() = default;                                ///< by nothing: nothing may be asked of it
  explicit Gone(const Resize& resize) : row_(&resize) {}     ///< to 0
  explicit Gone(const Storage& storage) : row_(&storage) {}  ///< that ended
  explicit Gone(const Block& block) : row_(&block) {}        ///< that was freed

  [[nodiscard]] GoneBy by() const { return static_cast<GoneBy>(row_.index()); }
  [[nodiscard]] StorageId storage() const;
  [[nodiscard]] Sequence seq() const;
  [[nodiscard]] TimeNs ns() const;
  [[nodiscard]] const Actor& actor() const;
  /// Operators begun on the actor's thread by then, where known.
  [[nodiscard]] Maybe<std::int64_t> ordinal() const;

  friend constexpr bool operator==(const Gone&, const Gone&) = default;

 private:
  /// In the order of GoneBy.
  std::variant<const Resize*, const Storage*, const Block*> row_;
};

template <>
inline constexpr Gone kAbsent<Gone>{};

}  // namespace dcmt::analyzer
