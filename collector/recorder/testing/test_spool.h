// A hand-made spool file, as an agent leaves it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "collector/recorder/testing/test_stream.h"
#include "trace/spool/layout.h"

namespace dcmt::recorder::testing {

/// Mapped as long as it lives, so that a reader sees later additions.
class TestSpool {
 public:
  static constexpr std::uint32_t kChunks = 3;

  TestSpool(const std::string& path, std::uint32_t pid, std::uint64_t process_start) : path_(path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(spool::file_bytes(kChunks))) != 0) std::abort();
    base_ = static_cast<char*>(mmap(nullptr, spool::file_bytes(kChunks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    if (base_ == MAP_FAILED) std::abort();
    std::memcpy(header().magic, spool::kMagic, sizeof spool::kMagic);
    header().wire_version = wire::kWireVersion;
    header().chunk_count = kChunks;
    header().chunk_bytes = spool::kChunkBytes;
    header().tsc_hz = 1'000'000'000;
    header().pid = pid;
    header().process_start = process_start;
    header().rank = header().world_size = -1;
    header().next_seq.store(1);
  }
  ~TestSpool() { munmap(base_, spool::file_bytes(kChunks)); }
  TestSpool(const TestSpool&) = delete;
  TestSpool& operator=(const TestSpool&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  spool::Header& header() { return *reinterpret_cast<spool::Header*>(base_); }

  /// Publishes a record in a chunk, which belongs to the record's thread.
  void publish(std::uint32_t chunk, const TestRecord& record) {
    auto& descriptor = reinterpret_cast<spool::ChunkDescriptor*>(base_ + spool::kHeaderBytes)[chunk];
    descriptor.thread = record.thread;
    descriptor.state.store(static_cast<std::uint32_t>(spool::ChunkState::kOpen));
    const std::uint32_t used = descriptor.committed.load();
    const std::size_t bytes = record.words.size() * sizeof(std::uint64_t);
    std::memcpy(base_ + spool::chunks_offset(kChunks) + chunk * spool::kChunkBytes + used, record.words.data(), bytes);
    descriptor.committed.store(used + static_cast<std::uint32_t>(bytes));
    header().next_seq.store(
        std::max(header().next_seq.load(), record.header().seq + wire::sequences_of(record.header().type)));
  }

 private:
  std::string path_;
  char* base_ = nullptr;
};

}  // namespace dcmt::recorder::testing
