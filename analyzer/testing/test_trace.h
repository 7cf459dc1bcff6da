// Builds small traces event by event, in the form that a recorder writes. Only for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::testing {

struct FrameOf {
  std::string file, function;
  std::int64_t line;
};
using StackOf = std::vector<FrameOf>;  ///< innermost first

/// A variable that a census finds.
struct LocalOf {
  std::string name, function, file, assignment;
  std::int64_t line = 0;
  std::optional<std::int64_t> delete_line, return_line;
  std::string model_file, model_text;
  std::int64_t model_line = 0;
  std::int64_t object = 0x7000;
  bool unproven = false;
};

/// The result of a scan for a storage.
struct HeldOf {
  std::vector<std::string> containers = {};
  std::string path = {};      ///< empty: no owner was found
  bool otherwise = false;     ///< something else leads to the storage, or may
  std::string type = "list";  ///< of the containers
  bool confirmed = true;      ///< of the path
  std::string role = {};      ///< "parameter"; empty: none
  std::int64_t small = 0;     ///< bytes that the first container also holds in storages without rows
};

/// A request that an allocator cannot satisfy.
struct OomOf {
  std::int64_t requested = 0;
  std::optional<std::int64_t> allocated = {}, reserved = {}, free = {}, total = {};
};

/// How a release is declared.
struct ReleaseOf {
  std::int64_t declared = 1, remaining = 0;
  std::string flags = "final";
  std::string op = "zero3::release_param";
};

/// Every call makes one event of one thread. Sequence numbers increase by one, the clock by a microsecond unless
/// it is set.
class TestTrace {
 public:
  using Handle = std::size_t;  ///< of a storage with its block

  TestTrace();
  ~TestTrace();
  TestTrace(const TestTrace&) = delete;
  TestTrace& operator=(const TestTrace&) = delete;

  StackOf stack;            ///< of all events from here on
  std::int64_t thread = 1;  ///< of all events from here on; 1 or 2
  std::int64_t graph = 0;   ///< of all gathers and releases from here on
  /// Counts of the whole run.
  std::vector<KeySumRow> key_sums;
  /// A key that functions gather. An empty name is unknown.
  struct ParameterOf {
    std::int64_t graph, key;
    std::string name, mechanism;
  };
  std::vector<ParameterOf> parameters;
  std::map<std::string, std::string> meta_texts{{"state", "finished"}, {"exit", "exit 0"},
                                                {"detail", "full"},    {"torch", "2.11.0"},
                                                {"python", "3.11.2"},  {"command", "python train.py"}};
  std::map<std::string, std::int64_t> meta_integers{{"pid", 4711}, {"rank", 0}, {"world_size", 2}};
  std::optional<std::int64_t> gpu;     ///< of all blocks from here on; nullopt: the CPU's
  std::optional<std::int64_t> stream;  ///< of all blocks from here on; nullopt: not known
  std::string module;                  ///< of all blocks from here on; empty: none

  /// Nanoseconds of an event.
  std::function<std::int64_t(std::int64_t seq)> clock = [](std::int64_t seq) { return seq * 1000; };

  [[nodiscard]] std::int64_t last_seq() const { return seq_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  /// An operator. The events in `inside` happen within it.
  void op(const std::string& name, const std::function<void()>& inside = {}, const std::string& scope = "function");

  /// A new block and the storage on it.
  Handle allocate(std::int64_t bytes);
  /// The last reference ends, and the block with it.
  void drop(Handle handle);
  /// Like drop(), but other streams still use the block.
  void drop_in_use(Handle handle) {
    drop(handle);
    storages_[handle].waits = true;
  }
  /// The other streams are done with the block.
  void done(Handle handle) { storages_[handle].done = event().seq; }
  /// Resizes to 0: the block ends, the storage stays.
  void resize_to_zero(Handle handle);

  void gather(std::int64_t key, Handle handle, const std::string& name = "zero3::allgather_param");
  /// A new storage, made by a gather operator.
  Handle gathered(std::int64_t key, std::int64_t bytes = 64);
  void wait(std::int64_t key, Handle handle);
  void persist(std::int64_t key);
  /// Returns the mark's row id. `inside` happens within the release operator.
  std::int64_t release(std::int64_t key, std::optional<Handle> handle, const ReleaseOf& of = {},
                       const std::function<void()>& inside = {});
  void read(std::int64_t release_mark, std::int64_t key, Handle handle, const std::string& name);
  /// An operator that only writes the storage.
  void overwrite(std::int64_t release_mark, std::int64_t key, Handle handle, const std::string& name) {
    read(release_mark, key, handle, name);
    marks_.back().kind = "write";
  }
  void kernel_read(std::int64_t release_mark, std::int64_t key, Handle handle, const std::string& kernel) {
    read(release_mark, key, handle, kernel);
    marks_.back().flags = "kernel";
  }
  /// What the release left is fenced but for `open` bytes.
  void fence(std::int64_t release_mark, std::int64_t key, Handle handle, std::int64_t open = 0,
             const std::string& flags = {}) {
    read(release_mark, key, handle, {});
    marks_.back().kind = "fence";
    marks_.back().value = open;
    marks_.back().flags = flags;
  }
  /// The program has computed a gradient, or read a number.
  void result(const std::string& name, std::int64_t digest) {
    MarkState mark = new_mark("result", std::nullopt);
    mark.name = name;
    mark.value = digest;
    marks_.push_back(mark);
  }
  void fence_touch(std::int64_t release_mark, std::int64_t key, Handle handle, const std::string& name,
                   const std::string& flags = {}) {
    read(release_mark, key, handle, name);
    marks_.back().kind = "fence_touch";
    marks_.back().flags = flags;
  }
  /// Must be called inside a release.
  void last_touch(std::int64_t key, Handle handle, const std::string& kernel, std::int64_t launches) {
    MarkState mark = new_mark("touch", handle);
    mark.name = kernel;
    mark.key = key;
    mark.value = launches;
    marks_.push_back(mark);
  }
  /// Launches so far, as an agent reports them before a release and when the storage is freed.
  void launches(bool observed, std::int64_t calls, std::int64_t graphs = 0, std::int64_t nccl = 0);
  /// A census of a release: one tensor, one Python object, these variables; `unexplained` more references.
  std::int64_t census(std::int64_t release_mark, Handle handle, const std::vector<LocalOf>& locals,
                      std::int64_t unexplained = 0);

  /// A call to CUDA with a stream, as StreamCallRow has it. It uses these blocks.
  struct StreamCallOf {
    std::string_view kind = "kernel";  ///< static text
    std::int64_t stream = 0;
    std::vector<Handle> uses = {};
    std::string name = {};
    std::int64_t event = 0;
    bool blocks = false;
  };
  void stream_call(StreamCallOf of) { stream_calls_.push_back({event(), std::move(of)}); }
  /// The next block gets the addresses of that one, which has been freed.
  void reuse(Handle handle) { reused_ = handle; }

  void step(std::int64_t number);
  void user_mark(const std::string& name);
  void phase(const std::string& name, const std::function<void()>& inside);
  /// The result of a scan of the memory for a storage. It belongs to the latest reading that has begun; without one, to
  /// a reading in the last step.
  void held(Handle handle, HeldOf of) { held_.push_back({handle, std::move(of), readings_.size()}); }
  void begin_reading() { readings_.push_back(seq_); }
  void diagnostic(const std::string& code, const std::string& text) { diagnostics_.emplace_back(code, text); }
  /// Ends an interval: everything since the one before, with its rows in the trace.
  void kept_interval(std::optional<std::int64_t> step, Kept kept) { end_interval(step, kept); }
  /// An interval of `events` events without rows. Its second event reaches `peak_bytes`.
  void sums_only_interval(std::int64_t step, std::int64_t events, std::int64_t begin_bytes, std::int64_t peak_bytes,
                          std::int64_t end_bytes);

  /// The maxima of torch's allocator in the interval that ended last (without intervals: of the run).
  void allocator_peaks(std::optional<std::int64_t> active, std::int64_t reserved);

  /// Returns the sequence.
  std::int64_t out_of_memory(const OomOf& of);
  /// Lost records, at the begin of the trace.
  /// @param reason  static text
  void loss(std::string_view reason, std::int64_t count) { losses_.push_back(LossRow{0, reason, count, 1, 1, 1000}); }
  /// Lost records, at this point.
  void lose() { losses_.push_back(LossRow{0, "in_flight", 1, seq_ + 1, seq_ + 1, clock(seq_ + 1)}), ++seq_; }

  /// The row ids of the file.
  [[nodiscard]] StorageId storage_id(Handle handle) const { return StorageId(static_cast<std::int64_t>(handle) + 1); }

  /// Writes the trace and returns its path.
  std::string save(const std::string& name = "rank0.dcmt");
  /// @param changes  SQL for contents that no call of this class makes
  analyzer::TraceData load(const std::string& changes = {});

 private:
  void end_interval(std::optional<std::int64_t> step, Kept kept);

  struct Event {
    std::int64_t seq = 0;
    std::int64_t op = 0;
    StackOf stack;
    std::int64_t ordinal = 0;
    std::int64_t thread = 1;
  };
  struct OpRow {
    std::string name, scope;
    std::int64_t parent = 0, ordinal = 0, from = 0, to = 0;
  };
  struct StorageState {
    std::int64_t bytes = 0, bytes_now = 0, done = 0;
    std::optional<std::int64_t> stream, gpu;
    std::int64_t block_address = 0;
    std::string module;
    bool waits = false;
    Event birth, end, block_birth, block_end;
  };
  struct MarkState {
    std::string kind, name, flags, trigger;
    Event at;
    std::int64_t to = 0, parent = 0, cycle = 0, settled_seq = 0, ordinal = 0, graph = 0;
    Handle handle = 0;
    bool has_handle = false;
    std::optional<std::int64_t> key, bytes, bytes_after, settled_bytes, declared, remaining, value;
  };
  struct CensusState {
    std::int64_t mark;
    Handle handle;
    std::vector<LocalOf> locals;
    std::int64_t unexplained;
    std::int64_t seq;
  };

  Event event() { return {++seq_, open_ops_.empty() ? 0 : open_ops_.back(), stack, ordinal_, thread}; }
  MarkState new_mark(const std::string& kind, std::optional<Handle> handle);

  [[nodiscard]] Point point(std::int64_t seq) const { return {seq, clock(seq)}; }
  static std::optional<std::int64_t> known(std::int64_t number) {
    return number != 0 ? std::optional(number) : std::nullopt;
  }

  Status write(const std::string& path);
  Status write_owners(TraceWriter& writer);
  Status write_censuses(TraceWriter& writer);

  std::filesystem::path folder_;
  std::int64_t seq_ = 0, ordinal_ = 0;
  std::vector<OpRow> ops_;
  std::vector<std::int64_t> open_ops_;
  std::vector<StorageState> storages_;
  std::vector<MarkState> marks_;
  std::vector<std::size_t> unsettled_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> cycles_;
  std::vector<CensusState> censuses_;
  std::vector<LaunchesRow> launches_;
  std::vector<std::pair<Event, StreamCallOf>> stream_calls_;
  std::optional<Handle> reused_;
  struct HeldState {
    Handle handle;
    HeldOf of;
    std::size_t readings_begun = 0;
  };
  std::vector<HeldState> held_;
  std::vector<std::int64_t> readings_;  ///< the record before each reading
  std::vector<std::pair<std::string, std::string>> diagnostics_;
  std::vector<LossRow> losses_;
  std::vector<std::pair<OutOfMemoryRow, Event>> ooms_;
  std::vector<IntervalRow> intervals_;
  std::vector<IntervalCurveRow> curves_;
};

/// The trace in a file; the test fails if it cannot be read.
[[nodiscard]] analyzer::TraceData loaded_trace(const std::string& path);

inline constexpr char kGenerated[] = "/tmp/torchinductor_user/xq/cxq7.py";

/// One training step of a compiled graph with `layers` gathered parameters of `bytes` each, prefetched one ahead. With
/// the defect, releases re-point only the registered tensor, and locals of the wrapper hold the storage until its
/// return. With the fix, releases resize the storage to 0.
void add_zero3_graph(TestTrace& trace, std::int64_t layers, std::int64_t bytes, bool fixed);

/// Gathered buffers that are dropped while a side stream still reads them, and a buffer that is allocated on one stream
/// after another.
void add_streams(TestTrace& trace);

}  // namespace dcmt::testing
