// Work on streams of GPUs, what orders it, and the blocks that it uses.
#pragma once

#include <string_view>

#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/stream_numbers.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class StreamBook {
 public:
  StreamBook(Journal& journal, Dictionary& dictionary, StreamNumbers& streams, Lifetimes& lifetimes)
      : journal_(journal), dictionary_(dictionary), streams_(streams), lifetimes_(lifetimes) {}

  /// @param bytes  of a whole StreamCallRecord with its addresses
  Status call(std::string_view bytes);

 private:
  Journal& journal_;
  Dictionary& dictionary_;
  StreamNumbers& streams_;
  Lifetimes& lifetimes_;
};

}  // namespace dcmt::recorder
