// The recorder's end of a spool. It copies complete records out of the spool, returns them in the order of their
// sequence, and frees chunks.
//
// It trusts no byte of the spool: it copies data out of the shared mapping before it parses and checks the copy. A file
// that is truncated meanwhile, or that lies on a failing disk, is reported as a damaged spool; it causes no signal.
// Thread-safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "trace/base/descriptor.h"
#include "trace/base/detail.h"
#include "trace/base/status.h"
#include "trace/spool/guarded_mapping.h"
#include "trace/spool/layout.h"
#include "trace/wire/records.h"

namespace dcmt::spool {

/// The process as the header describes it; copied once, at open().
struct ProcessFacts {
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  Detail detail = Detail::kLifetimes;
  std::uint64_t tsc_hz = 0;
  std::uint64_t start_tsc = 0;
  std::uint64_t start_monotonic_ns = 0;
  std::uint64_t start_real_ns = 0;
  std::uint64_t first_seq = 1;      ///< of the first record
  std::uint64_t process_start = 0;  ///< clock ticks since boot; distinguishes the process from a later one with the
                                    ///< same pid
};

/// A record in sequence, valid until the next call of next().
struct SequencedRecord {
  const wire::RecordHeader* header = nullptr;
  std::uint32_t thread = 0;
};

enum class Purpose {
  kDrain,    ///< an agent still writes the spool: the reader frees chunks for it. One reader per spool
  kInspect,  ///< the file stays unchanged, and may be on read-only media. Any number of readers
};

class SpoolReader {
 public:
  /// Opens a spool's file, or the memory that an agent publishes as a link to its own descriptor. Fails with kBadInput
  /// and one line if the spool is missing, truncated, foreign, or of another version.
  static Expected<SpoolReader> open(const std::string& path, Purpose purpose = Purpose::kDrain);
  /// Opens a spool in memory by its descriptor. The caller keeps the descriptor. `path` is for messages.
  static Expected<SpoolReader> open_memory(const std::string& path, int fd, Purpose purpose);

  [[nodiscard]] const ProcessFacts& facts() const { return facts_; }
  /// The descriptor of a spool without a file; -1 if the spool is a file.
  [[nodiscard]] int memory() const { return memory_.get(); }
  [[nodiscard]] AgentState state() const;
  [[nodiscard]] std::string torch_version() const;
  [[nodiscard]] std::string python_version() const;
  /// Why the agent refused.
  [[nodiscard]] std::string message() const;
  /// Records that the agent has lost so far because no chunk was free.
  [[nodiscard]] std::uint64_t lost() const;
  /// Forked children that allocated tensor memory, so far.
  [[nodiscard]] std::uint32_t forked_children() const;
  /// What the process has asked for, or the answer that it got. kNone if the header has an invalid value.
  [[nodiscard]] AskedReading asked_reading() const;
  /// Answers the process, whether it waits already or not: kUnderWay, kDone or kNotRead.
  void answer(AskedReading answer);
  /// The waits of the program for readings at points of its work, so far.
  struct Holds {
    std::uint32_t count = 0;
    std::uint64_t all_ns = 0, longest_ns = 0;
  };
  [[nodiscard]] Holds holds() const;
  /// Addresses, in the process, of its tables of sizes of small blocks; 0: none.
  struct SmallBlockTables {
    std::uint64_t cpu_blocks = 0, gpu_regions = 0;
  };
  [[nodiscard]] SmallBlockTables small_block_tables() const;
  /// Asks the process to track a class of sizes from now on (trace/base/followed_bytes.h). `size_class` is below
  /// kSizeClasses.
  void follow_size_class(std::size_t size_class);
  /// The process's request for the bytes of torch's CPU allocator. `before`: count every record before this sequence;
  /// 0: no request is open. `new_peaks`: how often the process has restarted its peak.
  struct CpuQuestion {
    std::uint64_t before = 0, new_peaks = 0;
  };
  [[nodiscard]] CpuQuestion cpu_question() const;
  /// Publishes the bytes. `answered`: the request that this answers; 0: none.
  void publish_cpu_memory(std::uint64_t allocated, std::uint64_t peak, std::uint64_t highest, bool complete,
                          std::uint64_t answered);
  /// Sequences that the agent has assigned so far.
  [[nodiscard]] std::uint64_t last_assigned_sequence() const;
  /// Threads with state in this reader: their records wait for next(), or next() returned the last ones after the
  /// latest give_back().
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }
  /// Share of chunks in use, 0 to 1.
  [[nodiscard]] double used() const;
  /// Chunks so far that could not be read completely.
  [[nodiscard]] std::uint64_t damaged_chunks() const { return damaged_; }
  [[nodiscard]] std::uint32_t chunks() const { return declared_count_; }
  /// Sequences that threads acquired at the end of the spool without a readable record. Counted only if chunks are
  /// damaged; 0 if the header's count cannot be right.
  [[nodiscard]] std::uint64_t missing_at_end() const;

  /// Skips records up to `seq`: an earlier recorder committed them.
  void skip_to(std::uint64_t seq) { next_sequence_ = seq + 1; }

  /// Copies the records published since the last call. Returns their number.
  std::size_t read();

  /// The next record in sequence; header is nullptr if read() has not copied it yet.
  SequencedRecord next();

  /// After next() returned nothing: the lowest sequence that was copied and waits behind a gap; 0 if there is none. The
  /// gap is [next_sequence(), waiting()).
  [[nodiscard]] std::uint64_t waiting() const;
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }
  /// Skips the missing sequences before waiting().
  void skip_gap();

  /// Frees the chunks whose records next() has all returned. Call it after the records are durable.
  void give_back();

 private:
  /// A chunk: how many bytes were copied, and how many batches next() has not finished.
  struct Chunk {
    std::uint32_t copied = 0;   ///< bytes
    std::uint32_t batches = 0;  ///< copied, and not completely returned by next()
    bool damaged = false;
  };
  /// Records copied from a chunk by one read(): ascending sequences of one thread.
  struct Batch {
    std::vector<std::uint64_t> words;
    std::size_t position = 0;
    std::uint32_t chunk = 0;
    [[nodiscard]] const wire::RecordHeader& head() const;
    [[nodiscard]] bool done() const { return position == words.size(); }
  };

  SpoolReader() = default;
  static Expected<SpoolReader> open_descriptor(const std::string& path, int fd, Purpose purpose);
  void note_damage(std::uint32_t chunk);
  void note_cut();
  std::size_t read_chunk(std::uint32_t index);
  void drop_front(std::deque<Batch>& queue);
  ChunkDescriptor& descriptor(std::uint32_t index) const;
  Header& header() const { return *reinterpret_cast<Header*>(mapping_.base()); }

  GuardedMapping mapping_;
  Descriptor memory_;
  Purpose purpose_ = Purpose::kDrain;
  std::uint32_t chunk_count_ = 0;     ///< whole chunks that the file has
  std::uint32_t declared_count_ = 0;  ///< by the header at open(); the positions of the chunks follow from it
  ProcessFacts facts_;
  std::vector<Chunk> chunks_;
  std::map<std::uint32_t, std::deque<Batch>> threads_;  ///< each in ascending sequence
  std::uint32_t current_thread_ = 0;                    ///< thread of the latest record; likely the next one's
  bool advance_ = false;                                ///< next() has returned the head of current_thread_
  std::uint64_t next_sequence_ = 1;
  std::uint64_t damaged_ = 0;
};

}  // namespace dcmt::spool
