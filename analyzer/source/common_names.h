// Chains of objects, each of which refers to the one before: `head = Link(value, head)`.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace dcmt::analyzer {

/// Between the reference from one object of a chain to the next and what follows: "main: head.before….value".
inline constexpr std::string_view kMoreLinks = "…";

/// "main: head.before….value" for "main: head.before.before.value"; nullopt if no reference, or series of at most
/// three, is repeated at once.
[[nodiscard]] std::optional<std::string> without_links(std::string_view path);

/// Gives what a program keeps alike one name: the objects of a chain, and attributes with numbers in their names,
/// "main: net.cache_[*]" for "main: net.cache_0" and "main: net.cache_1".
class CommonNames {
 public:
  void add(std::string_view path);
  /// Call after the last path.
  void complete();
  /// The name that the path has in common with others that were added; else the path.
  [[nodiscard]] std::string of(std::string_view path) const;

 private:
  [[nodiscard]] std::string chain_of(std::string_view path) const;

  std::set<std::string, std::less<>> paths_;
  std::map<std::string, std::string, std::less<>> shorter_;       ///< chains by paths with no link, and with one
  std::map<std::string, std::set<std::string>> without_numbers_;  ///< chains and paths
};

}  // namespace dcmt::analyzer
