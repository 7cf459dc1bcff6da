// Whether the references to an object that were found are all that it has, so that none of them is a stale word.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "collector/scan/native/references.h"

namespace dcmt::scan {

/// A word keeps an object if it lies in a variable, or in an object that is not free and not in memory that a container
/// has to spare (References). It is a reference if such words lead to it from a variable. Made for objects that do not
/// change meanwhile. Not thread-safe.
class Proof {
 public:
  using Object = std::uint32_t;  ///< index
  /// `objects` must outlive this object.
  /// @param root_of  the variable in which a place lies; empty: one that keeps nothing
  Proof(const std::vector<NativeObject>& objects, References references, std::function<std::string(Address)> root_of);

  /// The references to an object, as of the class.
  [[nodiscard]] std::span<const NativeObject::Pointer* const> references_to(Object object) const {
    return references_[object];
  }

  /// Whether all words that keep the object are references, as many as it counts, and the same is true of the objects
  /// that have these. Where an object has no count, all references to it have to lead to one object that counts, or to
  /// one variable.
  [[nodiscard]] bool proves(Object object);

 private:
  enum class State : std::uint8_t { kUnknown, kUnderWay, kProved, kNot };

  void add_sources(Object object, std::set<Object>& passed, std::set<Object>& counted, std::set<std::string>& roots);

  const std::vector<NativeObject>& objects_;
  References check_;
  std::function<std::string(Address)> root_of_;
  std::vector<std::vector<const NativeObject::Pointer*>> references_;
  std::vector<std::size_t> words_;  ///< that keep the object
  std::vector<State> states_;
};

}  // namespace dcmt::scan
