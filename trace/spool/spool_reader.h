// The recorder's end of a spool: takes complete records out, in the order of their sequence, and gives chunks back.
//
// Trusts no byte: everything is copied out of the shared mapping before it is read, and checked afterwards. A file that
// is cut short meanwhile, or lies on a disk that fails, is a damaged spool and no signal. Thread-safety: none.
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

/// What the header says of the process; copied once, at open().
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
  std::uint64_t process_start = 0;  ///< clock ticks since boot: tells the process from a later one with its pid
};

/// A record in sequence, valid until the next call of next().
struct SequencedRecord {
  const wire::RecordHeader* header = nullptr;
  std::uint32_t thread = 0;
};

enum class Purpose {
  kDrain,    ///< of a spool that an agent still writes on: chunks go back to it. One reader per spool
  kInspect,  ///< the file stays as it is, and may be on read-only media. Any number of readers
};

class SpoolReader {
 public:
  /// Opens a spool's file, or the memory that an agent shows by a link to its own descriptor. kBadInput with one line
  /// if that is missing, cut short, foreign, or of another version.
  static Expected<SpoolReader> open(const std::string& path, Purpose purpose = Purpose::kDrain);
  /// The same of memory by a descriptor, which stays the caller's. `path` is for messages.
  static Expected<SpoolReader> open_memory(const std::string& path, int fd, Purpose purpose);

  [[nodiscard]] const ProcessFacts& facts() const { return facts_; }
  /// The descriptor of a spool that is memory without a file; -1 of a file.
  [[nodiscard]] int memory() const { return memory_.get(); }
  [[nodiscard]] AgentState state() const;
  [[nodiscard]] std::string torch_version() const;
  [[nodiscard]] std::string python_version() const;
  /// Why the agent refused.
  [[nodiscard]] std::string message() const;
  /// Records the agent found no room for, so far.
  [[nodiscard]] std::uint64_t lost() const;
  /// Forked children that allocated tensor memory, so far.
  [[nodiscard]] std::uint32_t forked_children() const;
  /// What the process has asked for, or the answer that it has got. kNone for a word that is none.
  [[nodiscard]] AskedReading asked_reading() const;
  /// Answers a process that waits, or will: kUnderWay, kDone or kNotRead.
  void answer(AskedReading answer);
  /// Where the process keeps the sizes of small blocks; its own addresses, 0 for none.
  struct SmallBlockTables {
    std::uint64_t cpu_blocks = 0, gpu_regions = 0;
  };
  [[nodiscard]] SmallBlockTables small_block_tables() const;
  /// Asks the process to follow a class of sizes from now on (trace/base/followed_bytes.h); below kSizeClasses.
  void follow_size_class(std::size_t size_class);
  /// A question of what torch's allocator of the CPU has: the sequence before which every record is to be counted; 0
  /// if none is open. And how often the process has wanted a peak begun anew.
  struct CpuQuestion {
    std::uint64_t before = 0, new_peaks = 0;
  };
  [[nodiscard]] CpuQuestion cpu_question() const;
  /// What it has. `answered`: the question that this is the answer to, 0 if it is none's.
  void publish_cpu_memory(std::uint64_t allocated, std::uint64_t peak, std::uint64_t highest, bool complete,
                          std::uint64_t answered);
  /// Sequences handed out so far.
  [[nodiscard]] std::uint64_t last_taken_sequence() const;
  /// Threads of which something is kept: those with records that next() has not handed out, or not since give_back().
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }
  /// Share of chunks in use, 0 to 1.
  [[nodiscard]] double used() const;
  /// Chunks met so far that could not be read, or not to their end.
  [[nodiscard]] std::uint64_t damaged_chunks() const { return damaged_; }
  [[nodiscard]] std::uint32_t chunks() const { return declared_count_; }
  /// Sequences taken by threads whose records did not come out, at the end of the spool: known only where chunks are
  /// damaged. 0 where the header's count cannot be right.
  [[nodiscard]] std::uint64_t missing_at_end() const;

  /// Records up to `seq` are known already (a recorder before this one committed them).
  void skip_to(std::uint64_t seq) { next_sequence_ = seq + 1; }

  /// Copies what has been published since the last call. Returns the number of new records.
  std::size_t take();

  /// The next record in sequence, if it has been taken; header is nullptr otherwise.
  SequencedRecord next();

  /// After next() had nothing: the lowest sequence that has been taken and waits behind a gap; 0 if there is none. The
  /// gap is [next_sequence(), waiting()).
  [[nodiscard]] std::uint64_t waiting() const;
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }
  /// Gives up on the sequences before waiting().
  void skip_gap();

  /// Frees the chunks whose records have all been handed out by next(). Call after they are durable.
  void give_back();

 private:
  /// What is known of a chunk: how much was taken, and whether all of it has been handed out.
  struct Chunk {
    std::uint32_t taken = 0;    ///< bytes
    std::uint32_t batches = 0;  ///< taken and not handed out completely
    bool damaged = false;
  };
  /// Records taken from one chunk at one time: ascending sequences of one thread.
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
  std::size_t take_chunk(std::uint32_t index);
  void drop_front(std::deque<Batch>& queue);
  ChunkDescriptor& descriptor(std::uint32_t index) const;
  Header& header() const { return *reinterpret_cast<Header*>(mapping_.base()); }

  GuardedMapping mapping_;
  Descriptor memory_;
  Purpose purpose_ = Purpose::kDrain;
  std::uint32_t chunk_count_ = 0;     ///< whole chunks in the file
  std::uint32_t declared_count_ = 0;  ///< as the header said at open(): places the chunks
  ProcessFacts facts_;
  std::vector<Chunk> chunks_;
  std::map<std::uint32_t, std::deque<Batch>> threads_;  ///< each in ascending sequence
  std::uint32_t current_thread_ = 0;                    ///< whose record was handed out last: likely the next one's
  bool advance_ = false;                                ///< the head of current_thread_ has been handed out
  std::uint64_t next_sequence_ = 1;
  std::uint64_t damaged_ = 0;
};

}  // namespace dcmt::spool
