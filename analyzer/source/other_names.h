// Statements that fill or use a container by another name: of a variable that has it, too, or of a parameter that is
// given it.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/source/holder_path.h"
#include "analyzer/source/user_files.h"

namespace dcmt::analyzer {

/// `rows.append(x)` after `rows = self.samples[key]`.
[[nodiscard]] FoundLines by_other_variables(const UserFile& file, const PathEnd& target);

/// The functions that are given what has the name of the holder's path: `add(league, net)` of "main: league".
class GivenTo {
 public:
  /// `files` must outlive it.
  GivenTo(const UserFiles& files, std::string_view holder);

  /// `members.append(x)` in `def add(members, x)`, which may be called by a function that is given it, too.
  [[nodiscard]] FoundLines statements() const;
  /// `random.choice(members)` in `def partner(members)`.
  [[nodiscard]] FoundLines uses() const;

 private:
  [[nodiscard]] std::vector<PathEnd> parameters_with(const PathEnd& target) const;

  const UserFiles& files_;
  std::vector<PathEnd> parameters_;
};

}  // namespace dcmt::analyzer
