// Reference counts that are watched, and their changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/recorder/assemble/code_stacks.h"
#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class ReferenceBook {
 public:
  ReferenceBook(Journal& journal, CodeStacks& stacks, Lifetimes& lifetimes)
      : journal_(journal), stacks_(stacks), lifetimes_(lifetimes) {}

  /// An earlier recorder was killed: what it has not seen is lost.
  Status resume();
  Status reference(const wire::ReferenceRecord& record);
  /// Writes the counts that are watched now.
  Status commit();

 private:
  struct Open {
    WatchedCountRow row;
    bool written = false;
  };

  Status begin(const wire::ReferenceRecord& record);
  Status change(Open& open, const wire::ReferenceRecord& record);

  Journal& journal_;
  CodeStacks& stacks_;
  Lifetimes& lifetimes_;
  std::unordered_map<std::uint64_t, Open> open_;  ///< by the address of the count
};

}  // namespace dcmt::recorder
