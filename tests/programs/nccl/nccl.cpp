// An NCCL for tests of the executor: ranks are threads of one process, memory is the host's. It has of nccl.h what the
// executor calls, and it does less on trust: what the ranks of a communicator do not do alike is an error on all of
// them, so is waiting for one that does not come. Every call of a rank is logged; a test can make any of them fail.
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

enum Result { kSuccess = 0, kSystemError = 2, kInternalError = 3, kInvalidUsage = 5, kRemoteError = 6 };
enum Operation { kSum = 0, kAvg = 4 };
enum Dtype { kInt32 = 2, kInt64 = 4, kFloat32 = 7, kBFloat16 = 9 };

constexpr std::chrono::seconds kLongestWait{20};

struct UniqueId {
  char bytes[128];
};

struct BFloat16 {
  BFloat16() = default;
  explicit BFloat16(float value) {  // to the nearest, of two the even one
    std::uint32_t all;
    std::memcpy(&all, &value, sizeof all);
    bits = static_cast<std::uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16);
  }
  explicit operator float() const {
    const std::uint32_t all = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &all, sizeof value);
    return value;
  }
  std::uint16_t bits;
};
BFloat16 operator+(BFloat16 left, BFloat16 right) { return BFloat16(float(left) + float(right)); }
BFloat16 operator/(BFloat16 left, BFloat16 right) { return BFloat16(float(left) / float(right)); }

/// One collective of one rank.
struct Call {
  bool gathers;
  const void* from;
  void* into;
  std::size_t each;
  int dtype;
  int operation;
};

std::string name_of(int dtype) {
  switch (dtype) {
    case kInt32:
      return "int32";
    case kInt64:
      return "int64";
    case kFloat32:
      return "float32";
    case kBFloat16:
      return "bfloat16";
    default:
      return "dtype " + std::to_string(dtype);
  }
}

std::string text_of(const Call& call) {
  const std::string what = std::to_string(call.each) + " " + name_of(call.dtype);
  if (call.gathers) return "gather " + what;
  return "reduce " + what + (call.operation == kSum ? " sum" : call.operation == kAvg ? " mean" : " ?");
}

template <typename T>
void copy_parts(const std::vector<Call>& ranks) {
  for (const Call& to : ranks) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      std::memcpy(static_cast<T*>(to.into) + rank * to.each, ranks[rank].from, to.each * sizeof(T));
    }
  }
}

/// Adds in the order of the ranks.
template <typename T>
void add_parts(const std::vector<Call>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Call& to = ranks[rank];
    for (std::size_t i = 0; i < to.each; ++i) {
      T sum = static_cast<const T*>(ranks[0].from)[rank * to.each + i];
      for (std::size_t other = 1; other < ranks.size(); ++other) {
        sum = sum + static_cast<const T*>(ranks[other].from)[rank * to.each + i];
      }
      if (to.operation == kAvg) sum = sum / T(static_cast<float>(ranks.size()));
      static_cast<T*>(to.into)[i] = sum;
    }
  }
}

template <typename T>
void work_as(const std::vector<Call>& ranks) {
  ranks[0].gathers ? copy_parts<T>(ranks) : add_parts<T>(ranks);
}

bool work(const std::vector<Call>& ranks) {
  switch (ranks[0].dtype) {
    case kInt32:
      work_as<std::int32_t>(ranks);
      return true;
    case kInt64:
      work_as<std::int64_t>(ranks);
      return true;
    case kFloat32:
      work_as<float>(ranks);
      return true;
    case kBFloat16:
      work_as<BFloat16>(ranks);
      return true;
    default:
      return false;
  }
}

/// The ranks that joined with one id.
class World {
 public:
  explicit World(int size) : groups_(static_cast<std::size_t>(size)) {}

  /// Waits until all have come; false if they do not.
  bool join() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++joined_;
    changed_.notify_all();
    return changed_.wait_for(lock, kLongestWait, [&] { return joined_ == groups_.size(); });
  }

  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    gone_ = "a rank has left";
    changed_.notify_all();
  }

  /// Waits for the groups of the others; the last to come does the work of all. Empty, or what is wrong.
  std::string meet(int rank, const std::vector<Call>& group) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!gone_.empty()) return gone_;
    groups_[static_cast<std::size_t>(rank)] = &group;
    const std::uint64_t round = round_;
    if (++come_ == groups_.size()) {
      outcome_ = work_of_all();
      come_ = 0;
      ++round_;
      changed_.notify_all();
    } else if (!changed_.wait_for(lock, kLongestWait, [&] { return round_ != round || !gone_.empty(); })) {
      gone_ = "not all ranks have come";
    }
    return round_ == round ? gone_ : outcome_;
  }

 private:
  std::string work_of_all() const {
    for (std::size_t i = 0; i < groups_[0]->size(); ++i) {
      std::vector<Call> ranks;
      for (const std::vector<Call>* group : groups_) {
        if (group->size() != groups_[0]->size() || text_of((*group)[i]) != text_of((*groups_[0])[i])) {
          return "the ranks do different things";
        }
        ranks.push_back((*group)[i]);
      }
      if (!work(ranks)) return "this dtype is unknown";
    }
    return {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const std::vector<Call>*> groups_;  ///< on the stacks of threads that wait
  std::size_t joined_ = 0;
  std::size_t come_ = 0;
  std::uint64_t round_ = 0;
  std::string outcome_;  ///< of the last round; empty: it succeeded
  std::string gone_;     ///< why there are no more rounds; empty: there are
};

struct Notes {
  std::mutex mutex;
  std::uint64_t ids = 0;
  std::map<std::string, std::weak_ptr<World>> worlds;
  std::map<int, std::string> calls;                    ///< by rank, one a line
  std::map<std::pair<int, std::string>, int> to_fail;  ///< by rank and function: the result of the next call
} g_notes;

}  // namespace

struct Communicator {
  std::shared_ptr<World> world;
  int rank;
  std::string error;
};

namespace {

thread_local int t_rank = 0;
thread_local int t_depth = 0;
thread_local int t_group_result = kSuccess;
thread_local Communicator* t_communicator = nullptr;
thread_local std::vector<Call> t_group;

/// Logs the call. Returns the failure that the test has set for it, or success.
int called(const char* function, const std::string& text) {
  const std::lock_guard<std::mutex> lock(g_notes.mutex);
  g_notes.calls[t_rank] += text + "\n";
  const auto node = g_notes.to_fail.extract({t_rank, function});
  return node.empty() ? kSuccess : node.mapped();
}

int add(const char* function, Communicator* communicator, const Call& call) {
  int result = called(function, text_of(call));
  if (t_depth == 0) result = kInvalidUsage;  // NCCL would run it at once; the executor has no such call
  if (result != kSuccess) {
    communicator->error = std::string("details of ") + function;
    if (t_group_result == kSuccess) t_group_result = result;
    return result;
  }
  t_communicator = communicator;
  t_group.push_back(call);
  return kSuccess;
}

int end(Communicator* communicator, const char* function, const char* text) {
  const int result = called(function, text);
  communicator->world->leave();
  delete communicator;
  return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int ncclGetUniqueId(UniqueId* id) {
  if (const int result = called("ncclGetUniqueId", "id"); result != kSuccess) return result;
  const std::lock_guard<std::mutex> lock(g_notes.mutex);
  std::memset(id->bytes, 0, sizeof id->bytes);
  ++g_notes.ids;
  std::memcpy(id->bytes + sizeof id->bytes - sizeof g_notes.ids, &g_notes.ids, sizeof g_notes.ids);
  return kSuccess;
}

int ncclCommInitRank(Communicator** communicator, int size, UniqueId id, int rank) {
  t_rank = rank;
  if (const int result = called("ncclCommInitRank", "init " + std::to_string(size)); result != kSuccess) return result;
  std::shared_ptr<World> world;
  {
    const std::lock_guard<std::mutex> lock(g_notes.mutex);
    std::weak_ptr<World>& known = g_notes.worlds[std::string(id.bytes, sizeof id.bytes)];
    world = known.lock();
    if (world == nullptr) known = world = std::make_shared<World>(size);
  }
  if (!world->join()) return kRemoteError;
  *communicator = new Communicator{std::move(world), rank, {}};
  return kSuccess;
}

int ncclCommDestroy(Communicator* communicator) { return end(communicator, "ncclCommDestroy", "destroy"); }
int ncclCommAbort(Communicator* communicator) { return end(communicator, "ncclCommAbort", "abort"); }

int ncclGroupStart() {
  if (const int result = called("ncclGroupStart", "start"); result != kSuccess) return result;
  ++t_depth;
  return kSuccess;
}

int ncclGroupEnd() {
  int result = called("ncclGroupEnd", "end");
  if (t_depth == 0) return kInvalidUsage;
  if (--t_depth > 0) return kSuccess;
  const std::vector<Call> group = std::exchange(t_group, {});
  if (const int failed = std::exchange(t_group_result, kSuccess); failed != kSuccess) result = failed;
  if (result != kSuccess || group.empty()) return result;
  t_communicator->error = t_communicator->world->meet(t_communicator->rank, group);
  return t_communicator->error.empty() ? kSuccess : kInternalError;
}

int ncclAllGather(const void* from, void* into, std::size_t each, int dtype, Communicator* communicator, void*) {
  return add("ncclAllGather", communicator, {true, from, into, each, dtype, kSum});
}

int ncclReduceScatter(const void* from, void* into, std::size_t each, int dtype, int operation,
                      Communicator* communicator, void*) {
  return add("ncclReduceScatter", communicator, {false, from, into, each, dtype, operation});
}

const char* ncclGetErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "no error";
    case kSystemError:
      return "system error";
    case kInternalError:
      return "internal error";
    case kInvalidUsage:
      return "invalid usage";
    case kRemoteError:
      return "remote error";
    default:
      return "another error";
  }
}

const char* ncclGetLastError(Communicator* communicator) { return communicator->error.c_str(); }

// --- for the test ---

/// The next call of `function` by a thread that is this rank has this result, and does nothing else.
void test_fail(int rank, const char* function, int result) {
  const std::lock_guard<std::mutex> lock(g_notes.mutex);
  g_notes.to_fail[{rank, function}] = result;
}

/// The calls of a rank since the last call of this function, one a line. The text is the calling thread's until its
/// next call.
const char* test_drain_calls(int rank) {
  thread_local std::string drained;
  const std::lock_guard<std::mutex> lock(g_notes.mutex);
  drained = std::exchange(g_notes.calls[rank], {});
  return drained.c_str();
}

}  // extern "C"
