// Decides whether all references to an object were found, so that none of the found words is stale.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "collector/scan/native/references.h"

namespace dcmt::scan {

/// A word keeps an object if it is in a variable, or in an object that is not free and is not spare memory of a
/// container (References). If a control block of std::shared_ptrs deletes an object, or a std::vector has its memory,
/// these alone keep it. If tensors have as many references to a storage as it counts, no other word keeps it. What one
/// object of a class is proved to own with a member, the others own with theirs: if an object counts just these, words
/// that are in no variable and no proved object do not keep it. A word is a reference if such words lead to it from a
/// variable. The objects must not change meanwhile. Not thread-safe.
class Proof {
 public:
  using Object = std::uint32_t;  ///< index
  /// `objects` must outlive this object.
  /// @param root_of  the name of the variable at an address; empty: a variable that keeps nothing
  Proof(const std::vector<NativeObject>& objects, References references, std::function<std::string(Address)> root_of);

  /// The references to an object, as defined above.
  [[nodiscard]] std::span<const NativeObject::Pointer* const> references_to(Object object) const {
    return references_[object];
  }

  /// True if all words that keep the object are references, if their number equals the object's count, and if one of
  /// them is in a variable, or in an object for which the same holds. Such ways lead to variables that do hold it;
  /// there may be others. If an object has no count, all references to it must lead to one object with a count, or to
  /// one variable.
  [[nodiscard]] bool proves(Object object);

 private:
  enum class State : std::uint8_t { kUnknown, kUnderWay, kProved, kNot };

  using Words = std::vector<const NativeObject::Pointer*>;
  using Member = References::Member;

  [[nodiscard]] Words words_that_keep(Object object);
  /// Sets references_ from words_.
  void follow();
  [[nodiscard]] std::optional<Member> member_with(const NativeObject::Pointer& word);
  [[nodiscard]] std::set<Member> owning_members();
  /// The words of members that own the object, if these are all that it counts and the others may be stale; else none.
  [[nodiscard]] Words words_of_owners(Object object, const std::set<Member>& owning);
  void add_sources(Object object, std::set<Object>& passed, std::set<Object>& counted, std::set<std::string>& roots);

  const std::vector<NativeObject>& objects_;
  References check_;
  std::function<std::string(Address)> root_of_;
  std::vector<Words> words_;       ///< that keep each object
  std::vector<Words> references_;  ///< those of them to which variables lead
  std::vector<State> states_;
};

}  // namespace dcmt::scan
