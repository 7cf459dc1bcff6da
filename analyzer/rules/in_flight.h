// A block of a GPU that was handed out again while a stream may still have used it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/run_point.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer {

/// An event in the life of one of the two blocks.
struct InFlightEvent {
  RunPoint at;
  std::string site;
  std::vector<FrameText> stack;
  std::optional<std::string_view> by;    ///< operator
  std::optional<std::string_view> name;  ///< kernel, or function that copies
  std::optional<std::int32_t> stream;

  static constexpr std::string_view kShape = "in_flight_event";
  static void describe(auto&& field) {
    field("at", &InFlightEvent::at, "");
    field("site", &InFlightEvent::site, "the innermost frame of user or generated code");
    field("stack", &InFlightEvent::stack, "innermost first; empty if unknown");
    field("operator", &InFlightEvent::by, "the outermost plain one");
    field("name", &InFlightEvent::name, "of a use: the kernel, or the function that copies or fills");
    field("stream", &InFlightEvent::stream, "of a use or an allocation; 0: the default stream");
  }
};

/// The first case, and how many there are with the same places.
struct ReusedInFlight {
  std::int64_t times = 0, blocks = 0;
  std::string_view missing;
  BlockId block, next_block;
  Bytes bytes;
  InFlightEvent allocated, used, freed, allocated_again, used_again;

  static constexpr std::string_view kShape = "in_flight";
  static void describe(auto&& field) {
    field("times", &ReusedInFlight::times, "pairs of a freed block and one that got bytes of it");
    field("blocks", &ReusedInFlight::blocks, "that were freed, in these pairs");
    field("missing", &ReusedInFlight::missing,
          "\"record_stream\": of the freed block, or its own stream waits for the other one before the free; "
          "\"wait_stream\": the stream that uses the memory next waits for the one it was allocated for");
    field("block", &ReusedInFlight::block, "of the first pair, as all that follows");
    field("next_block", &ReusedInFlight::next_block, "the one that got its bytes");
    field("bytes", &ReusedInFlight::bytes, "of the freed block");
    field("allocated", &ReusedInFlight::allocated, "");
    field("used", &ReusedInFlight::used, "the last use on that stream");
    field("freed", &ReusedInFlight::freed, "");
    field("allocated_again", &ReusedInFlight::allocated_again, "");
    field("used_again", &ReusedInFlight::used_again, "the first use that may come too early");
  }

  StackId born, misused;  ///< of the block that was used on another stream, and of that use

  [[nodiscard]] bool lacks_record_stream() const { return missing == kRecordStream; }

  static constexpr std::string_view kRecordStream = "record_stream";
  static constexpr std::string_view kWaitStream = "wait_stream";
};

}  // namespace dcmt::analyzer
