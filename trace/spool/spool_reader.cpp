#include "trace/spool/spool_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dcmt::spool {
namespace {

std::string text_of(const char* field, std::size_t capacity) {
  const void* end = std::memchr(field, 0, capacity);
  return {field, end != nullptr ? static_cast<std::size_t>(static_cast<const char*>(end) - field) : capacity};
}

Error bad(const std::string& path, const std::string& why) { return {ErrorCode::kBadInput, path + ": " + why}; }

}  // namespace

const wire::RecordHeader& SpoolReader::Batch::head() const {
  return *reinterpret_cast<const wire::RecordHeader*>(&words[position]);
}

SpoolReader::SpoolReader(SpoolReader&& other) noexcept { *this = std::move(other); }

SpoolReader& SpoolReader::operator=(SpoolReader&& other) noexcept {
  if (this == &other) return *this;
  close();
  base_ = std::exchange(other.base_, nullptr);
  bytes_ = other.bytes_;
  chunk_count_ = other.chunk_count_;
  declared_count_ = other.declared_count_;
  facts_ = other.facts_;
  chunks_ = std::move(other.chunks_);
  threads_ = std::move(other.threads_);
  current_thread_ = other.current_thread_;
  advance_ = other.advance_;
  next_sequence_ = other.next_sequence_;
  damaged_ = other.damaged_;
  return *this;
}

SpoolReader::~SpoolReader() { close(); }

void SpoolReader::close() {
  if (base_ != nullptr) munmap(base_, bytes_);
  base_ = nullptr;
}

Expected<SpoolReader> SpoolReader::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return bad(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status {};
  if (fstat(fd, &status) != 0 || static_cast<std::size_t>(status.st_size) < kHeaderBytes) {
    ::close(fd);
    return bad(path, "is too short for a spool; what it held is gone");
  }
  SpoolReader reader;
  reader.bytes_ = static_cast<std::size_t>(status.st_size);
  void* base = mmap(nullptr, reader.bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (base == MAP_FAILED) return bad(path, std::string("cannot be mapped: ") + std::strerror(errno));
  reader.base_ = static_cast<char*>(base);

  Header& header = reader.header();
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return bad(path, "is not a spool of dc-memtrace");
  if (header.wire_version != wire::kWireVersion) {
    return bad(path, "spool version " + std::to_string(header.wire_version) + ", this build reads " +
                         std::to_string(wire::kWireVersion) + ". Use the dc-memtrace that recorded it.");
  }
  const std::uint32_t declared = header.chunk_count;
  if (declared == 0 || declared > kMaxChunks || header.chunk_bytes != kChunkBytes ||
      reader.bytes_ < chunks_offset(declared)) {
    return bad(path, "is cut short: its table of chunks is missing");
  }
  // A file cut within its chunks still holds the whole ones before the cut.
  const std::size_t whole = (reader.bytes_ - chunks_offset(declared)) / kChunkBytes;
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
                   .start_monotonic_ns = header.start_monotonic_ns,
                   .start_real_ns = header.start_real_ns,
                   .process_start = header.process_start};
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
std::uint32_t SpoolReader::forked_children() const { return header().forked_children.load(std::memory_order_relaxed); }
std::uint64_t SpoolReader::last_taken_sequence() const { return header().next_seq.load(std::memory_order_relaxed) - 1; }

ChunkDescriptor& SpoolReader::descriptor(std::uint32_t index) const {
  return reinterpret_cast<ChunkDescriptor*>(base_ + kHeaderBytes)[index];
}

double SpoolReader::used() const {
  std::uint32_t busy = 0;
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    busy += descriptor(i).state.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(ChunkState::kFree);
  }
  return chunk_count_ != 0 ? static_cast<double>(busy) / chunk_count_ : 0.0;
}

std::size_t SpoolReader::take() {
  std::size_t records = 0;
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    if (descriptor(i).state.load(std::memory_order_acquire) != static_cast<std::uint32_t>(ChunkState::kFree)) {
      records += take_chunk(i);
    }
  }
  return records;
}

std::size_t SpoolReader::take_chunk(std::uint32_t index) {
  Chunk& chunk = chunks_[index];
  const std::uint32_t committed = descriptor(index).committed.load(std::memory_order_acquire);
  if (committed <= chunk.taken || committed > kChunkBytes || committed % 8 != 0) return 0;
  const std::uint32_t thread = descriptor(index).thread;

  Batch batch;
  batch.chunk = index;
  batch.words.resize((committed - chunk.taken) / 8);
  const char* source = base_ + chunks_offset(declared_count_) + std::size_t{index} * kChunkBytes + chunk.taken;
  std::memcpy(batch.words.data(), source, committed - chunk.taken);
  chunk.taken = committed;

  // Only what parses is kept: lengths that add up, and sequences that rise.
  std::size_t records = 0;
  std::size_t position = 0;
  std::uint64_t last = 0;
  while (position + sizeof(wire::RecordHeader) / 8 <= batch.words.size()) {
    const auto& head = *reinterpret_cast<const wire::RecordHeader*>(&batch.words[position]);
    if (head.words < sizeof(wire::RecordHeader) / 8 || position + head.words > batch.words.size() || head.seq <= last ||
        head.seq > wire::kMaxSequence) {
      break;
    }
    last = head.seq + wire::sequences_of(head.type) - 1;
    position += head.words;
    ++records;
  }
  if (position != batch.words.size()) {
    ++damaged_;
    batch.words.resize(position);
  }
  // A recorder before this one may have committed the first ones already.
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
    // Sequences that were given up, or that a damaged spool has twice, come too late.
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
        shared.committed.load(std::memory_order_acquire) != chunk.taken) {
      continue;
    }
    chunk.taken = 0;
    shared.committed.store(0, std::memory_order_relaxed);
    shared.state.store(static_cast<std::uint32_t>(ChunkState::kFree), std::memory_order_release);
    freed = true;
  }
  if (freed) header().given_back.fetch_add(1, std::memory_order_release);
  // Of threads that have ended nothing is kept. One that goes on comes back with its next batch.
  std::erase_if(threads_, [](const auto& thread) { return thread.second.empty(); });
}

}  // namespace dcmt::spool
