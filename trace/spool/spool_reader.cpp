#include "trace/spool/spool_reader.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "trace/base/printable.h"
#include "trace/sql/limits.h"

namespace dcmt::spool {
namespace {

constexpr std::uint32_t kMostThreads = std::numeric_limits<std::int32_t>::max();  ///< in a trace, thread numbers are
                                                                                  ///< limited to this
/// The sequences of nine years at a million records a second. A larger sequence, or a larger gap, is damage.
constexpr auto kMostSequence = static_cast<std::uint64_t>(kLargestCount) - 4;
constexpr auto kMostNs = static_cast<std::uint64_t>(kLargest);  ///< more is damage

std::string text_of(const char* field, std::size_t capacity) {
  const void* end = std::memchr(field, 0, capacity);
  return printable(
      {field, end != nullptr ? static_cast<std::size_t>(static_cast<const char*>(end) - field) : capacity});
}

/// The agent publishes memory as a link to one of its own descriptors. Other links are not followed.
bool is_link_to_memory(const std::string& path) {
  std::array<char, 64> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  if (length <= 0 || static_cast<std::size_t>(length) == target.size()) return false;
  long pid = 0;
  int fd = 0;
  int end = 0;
  return std::sscanf(target.data(), "/proc/%ld/fd/%d%n", &pid, &fd, &end) == 2 && end == length;
}

Error bad(const std::string& path, const std::string& why) { return {ErrorCode::kBadInput, path + ": " + why}; }

}  // namespace

const wire::RecordHeader& SpoolReader::Batch::head() const {
  return *reinterpret_cast<const wire::RecordHeader*>(&words[position]);
}

Expected<SpoolReader> SpoolReader::open(const std::string& path, Purpose purpose) {
  const int access = (purpose == Purpose::kDrain ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC;
  const bool is_memory = is_link_to_memory(path);
  const Descriptor fd(::open(path.c_str(), is_memory ? access : access | O_NOFOLLOW));
  if (fd.get() < 0) return bad(path, std::string("cannot be opened: ") + std::strerror(errno));
  return is_memory ? open_memory(path, fd.get(), purpose) : open_descriptor(path, fd.get(), purpose);
}

Expected<SpoolReader> SpoolReader::open_memory(const std::string& path, int fd, Purpose purpose) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return bad(path, "is a link to what is no spool's memory");
  Expected<SpoolReader> reader = open_descriptor(path, fd, purpose);
  if (reader.ok()) reader->memory_ = Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return reader;
}

Expected<SpoolReader> SpoolReader::open_descriptor(const std::string& path, int fd, Purpose purpose) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || static_cast<std::size_t>(status.st_size) < kHeaderBytes) {
    return bad(path, "is too short for a spool; what it held is gone");
  }
  SpoolReader reader;
  // A file larger than the largest spool is not a spool. How much of the file counts follows from its header.
  const auto bytes = std::min(static_cast<std::size_t>(status.st_size), file_bytes(kMaxChunks));
  reader.mapping_ = GuardedMapping::map(fd, bytes, purpose == Purpose::kDrain ? Sharing::kShared : Sharing::kPrivate);
  if (reader.mapping_.base() == nullptr) return bad(path, std::string("cannot be mapped: ") + std::strerror(errno));
  reader.purpose_ = purpose;

  Header& header = reader.header();
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return bad(path, "is not a spool of dc-memtrace");
  if (header.wire_version != wire::kWireVersion) {
    return bad(path, "spool version " + std::to_string(header.wire_version) + ", this build reads " +
                         std::to_string(wire::kWireVersion) + ". Use the dc-memtrace that recorded it.");
  }
  const std::uint32_t declared = header.chunk_count;
  if (declared == 0 || declared > kMaxChunks || header.chunk_bytes != kChunkBytes || bytes < chunks_offset(declared)) {
    return bad(path, "is cut short: its table of chunks is missing");
  }
  // A truncated file still has the whole chunks before the cut.
  const std::size_t whole = (bytes - chunks_offset(declared)) / kChunkBytes;
  reader.chunk_count_ = static_cast<std::uint32_t>(std::min<std::size_t>(declared, whole));
  reader.declared_count_ = declared;
  reader.damaged_ = declared - reader.chunk_count_;
  reader.chunks_.resize(reader.chunk_count_);
  reader.facts_ = {.pid = header.pid,
                   .parent_pid = header.parent_pid,
                   .rank = header.rank,
                   .world_size = header.world_size,
                   .detail = detail_of(header.detail).value_or(Detail::kLifetimes),
                   .tsc_hz = header.tsc_hz,
                   .start_tsc = header.start_tsc,
                   .start_monotonic_ns = std::min(header.start_monotonic_ns, kMostNs),
                   .start_real_ns = std::min(header.start_real_ns, kMostNs),
                   .first_seq = std::clamp<std::uint64_t>(header.first_seq, 1, kRoomForPast),
                   .process_start = header.process_start};
  reader.next_sequence_ = reader.facts_.first_seq;
  if (purpose == Purpose::kDrain) header.taken_over.store(1, std::memory_order_release);
  return reader;
}

AgentState SpoolReader::state() const {
  const std::uint32_t state = header().state.load(std::memory_order_acquire);
  return state <= static_cast<std::uint32_t>(AgentState::kRefused) ? static_cast<AgentState>(state)
                                                                   : AgentState::kStarting;
}

std::string SpoolReader::torch_version() const { return text_of(header().torch_version, sizeof Header::torch_version); }
std::string SpoolReader::python_version() const {
  return text_of(header().python_version, sizeof Header::python_version);
}
std::string SpoolReader::message() const { return text_of(header().message, sizeof Header::message); }
std::uint64_t SpoolReader::lost() const { return header().lost.load(std::memory_order_relaxed); }

AskedReading SpoolReader::asked_reading() const {
  const std::uint32_t word = header().asked_reading.load(std::memory_order_acquire);
  return word <= static_cast<std::uint32_t>(AskedReading::kHeld) ? static_cast<AskedReading>(word)
                                                                 : AskedReading::kNone;
}

SpoolReader::Holds SpoolReader::holds() const {
  const Header& each = header();
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return {each.holds.load(std::memory_order_relaxed), std::min(each.held_ns.load(std::memory_order_relaxed), kMost),
          std::min(each.longest_hold_ns.load(std::memory_order_relaxed), kMost)};
}

void SpoolReader::answer(AskedReading answer) {
  std::atomic<std::uint32_t>& word = header().asked_reading;
  word.store(static_cast<std::uint32_t>(answer), std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

SpoolReader::SmallBlockTables SpoolReader::small_block_tables() const {
  const SmallSizes& sizes = header().small_sizes;
  return {sizes.cpu_blocks.load(std::memory_order_acquire), sizes.gpu_regions.load(std::memory_order_acquire)};
}

void SpoolReader::follow_size_class(std::size_t size_class) {
  SmallSizes& sizes = header().small_sizes;
  sizes.wanted[size_class / 64].fetch_or(std::uint64_t{1} << size_class % 64, std::memory_order_relaxed);
  sizes.version.fetch_add(1, std::memory_order_release);
}

SpoolReader::CpuQuestion SpoolReader::cpu_question() const {
  const CpuMemory& memory = header().cpu_memory;
  const std::uint64_t asked = memory.asked.load(std::memory_order_acquire);
  if (asked == memory.answered.load(std::memory_order_relaxed)) return {};
  return {asked, memory.new_peaks.load(std::memory_order_relaxed)};
}

void SpoolReader::publish_cpu_memory(std::uint64_t allocated, std::uint64_t peak, std::uint64_t highest, bool complete,
                                     std::uint64_t answered) {
  CpuMemory& memory = header().cpu_memory;
  memory.allocated.store(allocated, std::memory_order_relaxed);
  memory.peak.store(peak, std::memory_order_relaxed);
  memory.highest.store(highest, std::memory_order_relaxed);
  memory.known.store(complete ? 1 : 2, std::memory_order_release);
  if (answered != 0) memory.answered.store(answered, std::memory_order_release);
}

std::uint32_t SpoolReader::forked_children() const { return header().forked_children.load(std::memory_order_relaxed); }
std::uint64_t SpoolReader::last_assigned_sequence() const {
  return header().next_seq.load(std::memory_order_relaxed) - 1;
}

ChunkDescriptor& SpoolReader::descriptor(std::uint32_t index) const {
  return reinterpret_cast<ChunkDescriptor*>(mapping_.base() + kHeaderBytes)[index];
}

double SpoolReader::used() const {
  std::uint32_t busy = 0;
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    busy += descriptor(i).state.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(ChunkState::kFree);
  }
  return chunk_count_ != 0 ? static_cast<double>(busy) / chunk_count_ : 0.0;
}

std::size_t SpoolReader::read() {
  std::size_t records = 0;
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    // A free chunk has no records, unless the state itself is damaged.
    const bool free =
        descriptor(i).state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(ChunkState::kFree);
    if (!free || purpose_ == Purpose::kInspect) records += read_chunk(i);
  }
  note_cut();
  return records;
}

void SpoolReader::note_damage(std::uint32_t chunk) {
  damaged_ += chunks_[chunk].damaged ? 0 : 1;
  chunks_[chunk].damaged = true;
}

/// Counts chunks that the file no longer has as damaged. Only the records that were copied before remain of them.
void SpoolReader::note_cut() {
  const std::size_t intact = mapping_.intact_bytes();
  while (chunk_count_ != 0 && chunks_offset(declared_count_) + std::size_t{chunk_count_} * kChunkBytes > intact) {
    note_damage(--chunk_count_);
  }
}

std::size_t SpoolReader::read_chunk(std::uint32_t index) {
  Chunk& chunk = chunks_[index];
  const std::uint32_t committed = descriptor(index).committed.load(std::memory_order_acquire);
  if (committed > kChunkBytes || committed % 8 != 0) note_damage(index);
  if (committed <= chunk.copied || committed > kChunkBytes || committed % 8 != 0) return 0;
  std::uint32_t thread = descriptor(index).thread;
  if (thread > kMostThreads) {
    note_damage(index);
    thread = kMostThreads;
  }

  Batch batch;
  batch.chunk = index;
  batch.words.resize((committed - chunk.copied) / 8);
  const std::size_t offset = chunks_offset(declared_count_) + std::size_t{index} * kChunkBytes;
  std::memcpy(batch.words.data(), mapping_.base() + offset + chunk.copied, committed - chunk.copied);
  if (mapping_.intact_bytes() < offset + committed) return 0;  // note_cut() counts it
  chunk.copied = committed;

  // Keep only records that parse: their lengths add up and their sequences rise.
  std::size_t records = 0;
  std::size_t position = 0;
  std::uint64_t last = 0;
  while (position + sizeof(wire::RecordHeader) / 8 <= batch.words.size()) {
    const auto& head = *reinterpret_cast<const wire::RecordHeader*>(&batch.words[position]);
    if (head.words < sizeof(wire::RecordHeader) / 8 || position + head.words > batch.words.size() || head.seq <= last ||
        head.seq > kMostSequence) {
      break;
    }
    last = head.seq + wire::sequences_of(head.type) - 1;
    position += head.words;
    ++records;
  }
  if (position != batch.words.size()) {
    note_damage(index);
    batch.words.resize(position);
  }
  // An earlier recorder may have committed the first records already.
  while (!batch.done() && batch.head().seq < next_sequence_) {
    batch.position += batch.head().words;
    --records;
  }
  if (batch.done()) return 0;

  ++chunk.batches;
  auto& queue = threads_[thread];
  auto place = queue.end();
  while (place != queue.begin() && std::prev(place)->head().seq > batch.head().seq) --place;
  queue.insert(place, std::move(batch));
  return records;
}

void SpoolReader::drop_front(std::deque<Batch>& queue) {
  Batch& batch = queue.front();
  batch.position += batch.head().words;
  if (!batch.done()) return;
  --chunks_[batch.chunk].batches;
  queue.pop_front();
}

SequencedRecord SpoolReader::next() {
  if (advance_) drop_front(threads_[current_thread_]);
  advance_ = false;
  const auto is_next = [&](std::deque<Batch>& queue) {
    // Drop records that come too late: their sequences were given up, or a damaged spool has them twice.
    while (!queue.empty() && queue.front().head().seq < next_sequence_) drop_front(queue);
    return !queue.empty() && queue.front().head().seq == next_sequence_;
  };
  auto found = threads_.find(current_thread_);
  if (found == threads_.end() || !is_next(found->second)) {
    found = std::find_if(threads_.begin(), threads_.end(), [&](auto& entry) { return is_next(entry.second); });
    if (found == threads_.end()) return {};
  }
  current_thread_ = found->first;
  advance_ = true;
  const wire::RecordHeader& head = found->second.front().head();
  next_sequence_ += wire::sequences_of(head.type);
  return {&head, current_thread_};
}

std::uint64_t SpoolReader::waiting() const {
  std::uint64_t lowest = 0;
  for (const auto& [thread, queue] : threads_) {
    if (queue.empty()) continue;
    const std::uint64_t seq = queue.front().head().seq;
    if (seq >= next_sequence_ && (lowest == 0 || seq < lowest)) lowest = seq;
  }
  return lowest;
}

std::uint64_t SpoolReader::missing_at_end() const {
  constexpr std::uint64_t kMostOfAChunk = 3 * kChunkBytes / sizeof(wire::RecordHeader);  // a record has three sequences
                                                                                         // at most
  const std::uint64_t last = last_assigned_sequence();
  if (last < next_sequence_ || last - next_sequence_ >= damaged_ * kMostOfAChunk) return 0;
  return last - next_sequence_ + 1;
}

void SpoolReader::skip_gap() {
  if (const std::uint64_t lowest = waiting(); lowest != 0) next_sequence_ = lowest;
}

void SpoolReader::give_back() {
  bool freed = false;
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    Chunk& chunk = chunks_[i];
    ChunkDescriptor& shared = descriptor(i);
    if (chunk.batches != 0 ||
        shared.state.load(std::memory_order_acquire) != static_cast<std::uint32_t>(ChunkState::kFull) ||
        shared.committed.load(std::memory_order_acquire) != chunk.copied) {
      continue;
    }
    chunk.copied = 0;
    shared.committed.store(0, std::memory_order_relaxed);
    shared.state.store(static_cast<std::uint32_t>(ChunkState::kFree), std::memory_order_release);
    freed = true;
  }
  if (freed) header().given_back.fetch_add(1, std::memory_order_release);
  // Forget threads that have ended. If a thread continues, its next batch adds it again.
  std::erase_if(threads_, [](const auto& thread) { return thread.second.empty(); });
}

}  // namespace dcmt::spool
