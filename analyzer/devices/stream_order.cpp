#include "analyzer/devices/stream_order.h"

#include <algorithm>

namespace dcmt::analyzer {

void StreamOrder::join(Clock& into, const Clock& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

StreamOrder::Stream& StreamOrder::next(std::int32_t number, bool blocks) {
  Stream& stream = streams_[number];
  stream.blocks = blocks || number == kDefaultStream;
  if (stream.seen_of_host != host_changes_) {
    join(stream.clock, host_);
    stream.seen_of_host = host_changes_;
  }
  if (number == kDefaultStream) {
    for (const auto& [other, of_other] : streams_) {
      if (of_other.blocks && other != number) join(stream.clock, of_other.clock);
    }
  } else if (stream.blocks) {
    if (const auto of_default = streams_.find(kDefaultStream); of_default != streams_.end()) {
      join(stream.clock, of_default->second.clock);
    }
  }
  return stream;
}

std::optional<StreamOrder::Work> StreamOrder::work(std::int32_t number, bool blocks) {
  Stream& stream = next(number, blocks);
  if (stream.capture != kNone) return std::nullopt;
  const auto at = static_cast<std::size_t>(number);
  if (stream.clock.size() <= at) stream.clock.resize(at + 1);
  return Work{number, ++stream.clock[at]};
}

void StreamOrder::record(std::int64_t event, std::int32_t number, bool blocks) {
  const Stream& stream = next(number, blocks);
  events_[event] = {stream.clock, stream.capture};
}

void StreamOrder::wait(std::int32_t number, std::int64_t event, bool blocks) {
  Stream& stream = next(number, blocks);
  const auto found = events_.find(event);
  if (found == events_.end()) return;
  if (found->second.capture != kNone) {
    stream.capture = found->second.capture;
  } else {
    join(stream.clock, found->second.clock);
  }
}

void StreamOrder::host_observes(const Clock& clock) {
  join(host_, clock);
  ++host_changes_;
}

void StreamOrder::event_done(std::int64_t event) {
  if (const auto found = events_.find(event); found != events_.end()) host_observes(found->second.clock);
}

void StreamOrder::stream_done(std::int32_t number, bool blocks) { host_observes(next(number, blocks).clock); }

void StreamOrder::all_done() {
  for (const auto& [number, stream] : streams_) join(host_, stream.clock);
  ++host_changes_;
}

void StreamOrder::capture_begins(std::int32_t number) { streams_[number].capture = number; }

void StreamOrder::capture_ends(std::int32_t number) {
  for (auto& [other, stream] : streams_) {
    if (stream.capture == number) stream.capture = kNone;
  }
  // A wait for such an event orders nothing that runs now.
  std::erase_if(events_, [number](const auto& event) { return event.second.capture == number; });
}

bool StreamOrder::is_before(const Work& earlier, std::int32_t number, bool blocks) {
  const Clock& clock = next(number, blocks).clock;
  const auto at = static_cast<std::size_t>(earlier.stream);
  return at < clock.size() && clock[at] >= earlier.number;
}

}  // namespace dcmt::analyzer
