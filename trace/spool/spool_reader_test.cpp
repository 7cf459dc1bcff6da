// Reads spools that the test writes: cut anywhere, damaged, out of order, with gaps.
#include "trace/spool/spool_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
/// One test expects its process to die of SIGBUS. A sanitizer would catch the signal and exit.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "handle_sigbus=0"; }
#endif

namespace dcmt::spool {
namespace {

constexpr std::uint32_t kChunks = 4;

class SpoolReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/dcmt-spool-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    bytes_.assign(file_bytes(kChunks), 0);
    SetUpHeader();
  }
  void SetUpHeader() {
    std::memcpy(header().magic, kMagic, sizeof kMagic);
    header().wire_version = wire::kWireVersion;
    header().chunk_count = kChunks;
    header().chunk_bytes = kChunkBytes;
    header().next_seq.store(1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Header& header() { return *reinterpret_cast<Header*>(bytes_.data()); }
  ChunkDescriptor& descriptor(std::uint32_t i) {
    return reinterpret_cast<ChunkDescriptor*>(bytes_.data() + kHeaderBytes)[i];
  }

  /// Appends a record of `words` 8-byte units to a chunk.
  void add(std::uint32_t chunk, std::uint32_t thread, std::uint64_t seq, std::uint16_t words = 3,
           wire::RecordType type = wire::RecordType::kBlockFree) {
    ChunkDescriptor& d = descriptor(chunk);
    d.thread = thread;
    if (d.state.load() == 0) d.state.store(static_cast<std::uint32_t>(ChunkState::kOpen));
    const std::uint32_t used = d.committed.load();
    char* place = bytes_.data() + chunks_offset(kChunks) + chunk * kChunkBytes + used;
    const wire::RecordHeader record{type, words, 0, seq, 0};
    std::memcpy(place, &record, sizeof record);
    d.committed.store(used + 24);
    header().next_seq.store(std::max(header().next_seq.load(), seq + 1));
  }

  std::string write(std::size_t size) {
    std::string path = folder_ + "/1.spool";
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes_.data(), static_cast<std::streamsize>(size));
    return path;
  }
  std::string write() { return write(bytes_.size()); }

  static std::vector<std::uint64_t> drain(SpoolReader& reader) {
    std::vector<std::uint64_t> seqs;
    reader.read();
    for (SequencedRecord r = reader.next(); r.header != nullptr; r = reader.next()) seqs.push_back(r.header->seq);
    return seqs;
  }

  std::string folder_;
  std::vector<char> bytes_;
};

TEST_F(SpoolReaderTest, MergesThreadsBySequence) {
  add(2, 0, 1);
  add(0, 1, 2);
  add(2, 0, 3);
  add(1, 1, 4);  // thread 1 has continued in another chunk
  Expected<SpoolReader> reader = SpoolReader::open(write());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST_F(SpoolReaderTest, OfThreadsThatHaveEndedNothingIsKept) {
  add(0, 7, 1);
  Expected<SpoolReader> reader = SpoolReader::open(write());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->threads(), 0u);
  reader->read();
  EXPECT_EQ(reader->threads(), 1u);
  while (reader->next().header != nullptr) {
  }
  reader->give_back();
  EXPECT_EQ(reader->threads(), 0u);
}

TEST_F(SpoolReaderTest, ARecordThatStandsForThreeLeavesNoGap) {
  constexpr auto kThree = wire::RecordType::kBlockAllocInNode;
  ASSERT_EQ(wire::sequences_of(kThree), 3u);
  add(0, 0, 1);
  add(0, 0, 2, 3, kThree);
  add(1, 1, 5);
  add(0, 0, 6, 3, kThree);
  add(0, 0, 8);  // a sequence that the record before stands for: impossible
  Expected<SpoolReader> reader = SpoolReader::open(write());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{1, 2, 5, 6}));
  EXPECT_EQ(reader->next_sequence(), 9u);
  EXPECT_EQ(reader->waiting(), 0u);
}

TEST_F(SpoolReaderTest, WaitsAtAGapAndSkipsItOnlyWhenAsked) {
  add(0, 0, 1);
  add(0, 0, 4);
  add(1, 1, 5);
  Expected<SpoolReader> reader = SpoolReader::open(write());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(reader->next_sequence(), 2u);
  EXPECT_EQ(reader->waiting(), 4u);
  reader->skip_gap();
  EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(reader->waiting(), 0u);
}

TEST_F(SpoolReaderTest, SequencesThatADamagedSpoolHasTwiceAreHandedOutOnce) {
  for (const std::uint64_t seq : {1, 2, 5}) add(0, 0, seq);
  for (const std::uint64_t seq : {1, 2, 3, 5, 9}) add(1, 1, seq);
  Expected<SpoolReader> reader = SpoolReader::open(write());
  ASSERT_TRUE(reader.ok());
  std::vector<std::uint64_t> all;
  for (int rounds = 0; rounds < 10; ++rounds) {
    for (const std::uint64_t seq : drain(*reader)) all.push_back(seq);
    reader->skip_gap();
  }
  EXPECT_EQ(all, (std::vector<std::uint64_t>{1, 2, 3, 5, 9}));
  EXPECT_EQ(reader->waiting(), 0u);
}

TEST_F(SpoolReaderTest, ContinuesAfterWhatIsKnown) {
  for (std::uint64_t seq = 1; seq <= 6; ++seq)
    add(static_cast<std::uint32_t>(seq % 2), static_cast<std::uint32_t>(seq % 2), seq);
  Expected<SpoolReader> reader = SpoolReader::open(write());
  ASSERT_TRUE(reader.ok());
  reader->skip_to(4);
  EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{5, 6}));
}

TEST_F(SpoolReaderTest, GivesBackOnlyFullChunksThatWereHandedOut) {
  add(0, 0, 1);
  descriptor(0).state.store(static_cast<std::uint32_t>(ChunkState::kFull));
  add(1, 0, 2);
  Expected<SpoolReader> reader = SpoolReader::open(write());
  ASSERT_TRUE(reader.ok());
  reader->read();
  reader->give_back();
  EXPECT_DOUBLE_EQ(reader->used(), 0.5) << "nothing was handed out yet";
  drain(*reader);
  reader->give_back();
  EXPECT_DOUBLE_EQ(reader->used(), 0.25) << "the open chunk stays its thread's";
}

TEST_F(SpoolReaderTest, CutAtEveryPlaceNeverCrashesAndKeepsWhatIsWhole) {
  for (std::uint64_t seq = 1; seq <= 40; ++seq)
    add(static_cast<std::uint32_t>(seq % kChunks), static_cast<std::uint32_t>(seq % kChunks), seq);
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= chunks_offset(kChunks) + 1024; size += 1) sizes.push_back(size);
  for (std::size_t chunk = 1; chunk <= kChunks; ++chunk) {
    for (const std::size_t around : {-1, 0, 1}) sizes.push_back(chunks_offset(kChunks) + chunk * kChunkBytes + around);
  }
  const std::string path = write();
  for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) {
    if (*it > bytes_.size()) continue;
    std::filesystem::resize_file(path, *it);
    Expected<SpoolReader> reader = SpoolReader::open(path);
    if (*it < chunks_offset(kChunks)) {
      ASSERT_FALSE(reader.ok()) << *it;
      EXPECT_EQ(reader.error().code, ErrorCode::kBadInput);
      EXPECT_EQ(reader.error().message.find('\n'), std::string::npos);
      continue;
    }
    ASSERT_TRUE(reader.ok()) << *it;
    const std::size_t whole = (*it - chunks_offset(kChunks)) / kChunkBytes;
    std::size_t found = 0;
    for (;;) {
      found += drain(*reader).size();
      if (reader->waiting() == 0) break;
      reader->skip_gap();
    }
    EXPECT_EQ(found, whole * 10) << *it;
  }
}

TEST_F(SpoolReaderTest, AHeaderChangedAfterOpenMovesNoChunk) {
  add(0, 0, 1);
  const std::string path = write();
  Expected<SpoolReader> reader = SpoolReader::open(path);
  ASSERT_TRUE(reader.ok());
  const std::uint32_t wrong = kMaxChunks;
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(offsetof(Header, chunk_count));
  file.write(reinterpret_cast<const char*>(&wrong), sizeof wrong);
  file.close();
  EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{1}));
}

TEST_F(SpoolReaderTest, DamagedLengthsEndAChunkOnly) {
  add(0, 0, 1);
  add(0, 0, 2, 0);  // a length of zero
  add(1, 1, 3);
  add(1, 1, 4, 60000);  // beyond the end of the chunk
  Expected<SpoolReader> reader = SpoolReader::open(write());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{1}));
  reader->skip_gap();
  EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(reader->damaged_chunks(), 2u);
}

TEST_F(SpoolReaderTest, AFileThatIsCutWhileItIsReadIsDamagedAndNoSignal) {
  for (const Purpose purpose : {Purpose::kDrain, Purpose::kInspect}) {
    for (const std::size_t size : {std::size_t{0}, kHeaderBytes, chunks_offset(kChunks) + kChunkBytes}) {
      bytes_.assign(bytes_.size(), 0);
      SetUpHeader();
      for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) add(chunk, chunk, chunk + 1);
      const std::string path = write();
      Expected<SpoolReader> reader = SpoolReader::open(path, purpose);
      ASSERT_TRUE(reader.ok());
      std::filesystem::resize_file(path, size);
      const std::size_t whole = size > chunks_offset(kChunks) ? 1 : 0;
      EXPECT_EQ(drain(*reader).size(), whole);
      EXPECT_EQ(reader->damaged_chunks(), kChunks - whole);
      EXPECT_EQ(reader->missing_at_end(), size < kHeaderBytes ? 0 : kChunks - whole) << "what the header counted";
      reader->give_back();
      EXPECT_EQ(drain(*reader).size(), 0u);
      EXPECT_EQ(reader->damaged_chunks(), kChunks - whole) << "once";
    }
  }
}

TEST_F(SpoolReaderTest, ABusErrorElsewhereIsNotOurs) {
  const std::string path = write();
  EXPECT_EXIT(
      {
        const Expected<SpoolReader> reader = SpoolReader::open(path);
        const int fd = ::open(path.c_str(), O_RDWR);
        auto* other = static_cast<char*>(mmap(nullptr, bytes_.size(), PROT_READ, MAP_SHARED, fd, 0));
        std::filesystem::resize_file(path, 0);
        _exit(other[0]);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(SpoolReaderTest, ToInspectChangesNothingAndNeedsNoPermissionToWrite) {
  add(0, 0, 1);
  descriptor(0).state.store(static_cast<std::uint32_t>(ChunkState::kFull));
  const std::string path = write();
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  const auto content = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string before = content();
  for (int reader_number = 0; reader_number < 2; ++reader_number) {
    Expected<SpoolReader> reader = SpoolReader::open(path, Purpose::kInspect);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{1}));
    drain(*reader);
    reader->give_back();
  }
  EXPECT_EQ(content(), before);
}

TEST_F(SpoolReaderTest, AChunkWhoseStateWasDamagedIsStillInspected) {
  add(0, 0, 1);
  descriptor(0).state.store(static_cast<std::uint32_t>(ChunkState::kFree));
  descriptor(1).committed.store(kChunkBytes + 8);
  Expected<SpoolReader> reader = SpoolReader::open(write(), Purpose::kInspect);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(drain(*reader), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(reader->damaged_chunks(), 1u);
}

TEST_F(SpoolReaderTest, WhatIsNoFileIsRefused) {
  const std::string path = folder_ + "/pipe.spool";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(SpoolReader::open(path, Purpose::kInspect).ok());
}

TEST_F(SpoolReaderTest, RefusesWhatIsNotOurs) {
  header().magic[0] = 'X';
  EXPECT_NE(SpoolReader::open(write()).error().message.find("not a spool"), std::string::npos);
  header().magic[0] = 'D';
  header().wire_version = 99;
  EXPECT_NE(SpoolReader::open(write()).error().message.find("version 99"), std::string::npos);
  EXPECT_FALSE(SpoolReader::open(folder_ + "/none.spool").ok());
}

TEST_F(SpoolReaderTest, AProcessThatHasAskedWaitsUntilItIsLetGo) {
  const std::string path = write();
  Expected<SpoolReader> reader = SpoolReader::open(path);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->asked_reading(), AskedReading::kNone);
  const int fd = open(path.c_str(), O_RDWR);
  auto* shared = static_cast<Header*>(mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  close(fd);
  ASSERT_NE(shared, MAP_FAILED);
  shared->asked_reading.store(static_cast<std::uint32_t>(AskedReading::kRequested));
  EXPECT_EQ(reader->asked_reading(), AskedReading::kRequested);
  reader->answer(AskedReading::kUnderWay);
  EXPECT_EQ(reader->asked_reading(), AskedReading::kUnderWay);
  reader->answer(AskedReading::kDone);
  EXPECT_EQ(shared->asked_reading.load(), static_cast<std::uint32_t>(AskedReading::kDone));
  shared->asked_reading.store(77);
  EXPECT_EQ(reader->asked_reading(), AskedReading::kNone) << "the job may write anything there";
  munmap(shared, kHeaderBytes);
}

}  // namespace
}  // namespace dcmt::spool
