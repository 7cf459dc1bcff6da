// Problems that the executor itself noticed at releases, to compare with what a profiler finds from outside.
#pragma once

#include <c10/core/StorageImpl.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace dcmt::zero3 {

enum class EventKind : std::int64_t {
  kResidual = 0,  ///< a final release left bytes that were still alive at the rank's next operator; value: bytes
  kMismatch = 1,  ///< a release declared another count than the first one of its cycle; value: the declared count
  kLost = 2,      ///< a pass ended before all uses were released; value: how many were left
};

struct Event {
  EventKind kind;
  std::int64_t graph;
  std::int64_t id;
  std::int64_t value;
};

class EventLog {
 public:
  void add(Event event) { events_.push_back(event); }

  /// A final release left this storage to other references. settle() checks whether any exist.
  void watch(std::int64_t graph, std::int64_t id, const c10::Storage& storage) {
    watched_.push_back({graph, id, storage.getWeakStorageImpl()});
  }

  /// Called when the rank's next operator begins.
  void settle() {
    for (const Watched& one : watched_) {
      const auto storage = one.storage.lock();
      const auto bytes = storage ? static_cast<std::int64_t>(storage->nbytes()) : 0;
      if (bytes > 0) add({EventKind::kResidual, one.graph, one.id, bytes});
    }
    watched_.clear();
  }

  std::vector<Event> drain() { return std::exchange(events_, {}); }

 private:
  struct Watched {
    std::int64_t graph;
    std::int64_t id;
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  };

  std::vector<Event> events_;
  std::vector<Watched> watched_;
};

}  // namespace dcmt::zero3
