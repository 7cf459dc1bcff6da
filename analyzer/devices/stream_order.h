// Which work on the streams of GPUs is known to be over before which other work begins. A stream does its work in
// order; two streams are ordered by events, by the default stream, and by the host: what it has waited for comes before
// all that it gives to any stream afterwards. One vector clock for each stream, and one for the host.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace dcmt::analyzer {

/// Calls are made in the order in which the program made them. Thread-safety: none.
class StreamOrder {
 public:
  /// A piece of work: the how manieth on its stream.
  struct Work {
    std::int32_t stream = 0;
    std::uint64_t number = 0;
  };

  /// CUDA's default stream ("legacy"): it waits for all streams that block, and they wait for it.
  static constexpr std::int32_t kDefaultStream = 0;

  /// A stream gets work. Nothing if the work is captured: it does not run now.
  /// @param blocks  the stream and the default stream wait for each other
  std::optional<Work> work(std::int32_t stream, bool blocks);
  void record(std::int64_t event, std::int32_t stream, bool blocks);
  /// Without effect if the event was never recorded.
  void wait(std::int32_t stream, std::int64_t event, bool blocks);
  void event_done(std::int64_t event);
  void stream_done(std::int32_t stream, bool blocks);
  void all_done();
  void capture_begins(std::int32_t stream);
  /// For all streams that have joined that capture.
  void capture_ends(std::int32_t stream);

  /// True if `earlier` is over before anything begins that the stream would get now.
  [[nodiscard]] bool is_before(const Work& earlier, std::int32_t stream, bool blocks);

 private:
  using Clock = std::vector<std::uint64_t>;  ///< by stream: how much of its work is over

  struct Stream {
    Clock clock;
    bool blocks = false;
    std::uint64_t seen_of_host = 0;
    std::int32_t capture = kNone;  ///< the stream whose capture it has joined
  };
  struct Event {
    Clock clock;
    std::int32_t capture = kNone;
  };
  static constexpr std::int32_t kNone = -1;

  static void join(Clock& into, const Clock& other);
  /// The stream, with all that its next work comes after.
  Stream& next(std::int32_t stream, bool blocks);
  void host_observes(const Clock& clock);

  std::unordered_map<std::int32_t, Stream> streams_;
  std::unordered_map<std::int64_t, Event> events_;
  Clock host_;
  std::uint64_t host_changes_ = 0;
};

}  // namespace dcmt::analyzer
