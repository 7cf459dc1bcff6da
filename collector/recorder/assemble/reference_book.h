// Reference counts that are watched, and their changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/decode/native_names.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class ReferenceBook {
 public:
  ReferenceBook(Journal& journal, Dictionary& dictionary, Lifetimes& lifetimes)
      : journal_(journal), dictionary_(dictionary), lifetimes_(lifetimes) {}

  /// An earlier recorder was killed: what it has not seen is lost.
  Status resume();
  /// @param bytes  of a whole record
  Status native_stack(std::string_view bytes);
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
  Dictionary& dictionary_;
  Lifetimes& lifetimes_;
  NativeNames names_;
  std::unordered_map<std::uint64_t, Open> open_;     ///< by the address of the count
  std::unordered_map<std::uint64_t, RowId> stacks_;  ///< C++ stacks
};

}  // namespace dcmt::recorder
