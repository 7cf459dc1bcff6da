#include "tests/fuzz/spool_image.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "trace/spool/layout.h"

namespace dcmt::fuzz {
namespace {

using recorder::testing::TestRecord;
using recorder::testing::TestStream;
using wire::MarkKind;
using wire::RecordType;

/// Words of CPython 3.11: assignments to locals 0 and 1, a delete, a return.
std::string instructions(Random& random) {
  std::string code = {char(151), 0, 100, 1, 125, 0, 124, 0, 125, 1, 126, 0, 83, 0};
  if (random.chance(50)) code[random.below(code.size())] = static_cast<char>(random.bits());
  return code;
}

void define(TestStream& s, Random& random) {
  s.code(0xC0, "/job/model.py", "forward");
  s.code(0xC1, "/job/generated.py", "call");
  s.stack(0x51, {{0xC0, 4, 12}, {0xC1, 8, 40}});
  s.source_line("/job/generated.py", 3, "  File \"/job/model.py\", line 41, in forward\n    x = f(x)");
  s.body(0xC1, wire::CodeBodyPart::kInstructions, instructions(random), 8);
  s.body(0xC1, wire::CodeBodyPart::kLineTable, std::string("\x80\x00\xd8\x08\x09", 5));
  s.body(0xC1, wire::CodeBodyPart::kExceptionTable, "");
  s.body(0xC1, wire::CodeBodyPart::kLocalNames, std::string("buf4\0buf5\0", 10));
}

/// A parameter that is gathered, released, found held, and read.
void cycle(TestStream& s, std::int64_t key, std::uint64_t census) {
  const std::uint64_t tensor = 0xA000 + static_cast<std::uint64_t>(key) * 16;
  const std::uint64_t storage = 0xB000 + static_cast<std::uint64_t>(key) * 16;
  const std::uint64_t block = 0xD000 + static_cast<std::uint64_t>(key) * 0x10000;
  s.op_begin("zero::gather", 1);
  s.alloc(block, 4096);
  s.birth(tensor, storage, block, 4096, 0x51);
  s.birth(tensor + 8, storage, block, 4096, 0x51);
  s.op_end(1);
  s.key(RecordType::kGather, key, storage, 4096, 0, tensor);
  s.key(RecordType::kWait, key, storage, 4096, 0, tensor);
  s.key(RecordType::kReleaseBegin, key, storage, 4096, wire::kKeyFinal);
  s.repoint(tensor, storage, storage + 0x100000);
  s.last_touch(key, storage, "_Z4usesPf", 3, 1000);
  s.key(RecordType::kRelease, key, storage, 4096, wire::kKeyFinal);
  s.key(RecordType::kReleaseSettled, key, storage, 4096, wire::kKeyFinal);
  s.census(RecordType::kCensusBegin, census, storage, 1, static_cast<std::uint32_t>(wire::CensusTrigger::kRelease), 0,
           key);
  s.census_tensor(census, tensor + 8, 1, 0xE000, 2);
  s.census_local(census, 0xE000, 0xC1, 1, 8, 3, "buf5");
  s.census_local(census, 0xE000, 0xC1, 0, 8, 3, "", wire::LocalKind::kEvalStack);
  s.census(RecordType::kCensusEnd, census, storage, 1, 0, 0, key);
  s.read(key, storage, tensor + 8, 4096);
  s.kernel_read(key, storage, "_ZN2at6native4fillIfEEvPT_");
  s.launches(true, static_cast<std::uint64_t>(key) * 100, 3, 1);
  s.resize(storage, 4096, 0, 0);
  s.tensor(RecordType::kTensorRelease, tensor + 8, storage);
  s.death(tensor + 8, storage);
  s.death(tensor, storage + 0x100000);
  s.storage_end(RecordType::kStorageRelease, storage, 0x51);
  s.storage_death(storage, 0x51);
  s.free(block);
}

/// Blocks of two streams, freed while others still use them.
void streams(TestStream& s) {
  s.reserved(1 << 27, true);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t address = 0x70000000 + i * 0x2000000;
    s.cuda_alloc(address, 0x2000000, 0x51);
    if (i % 2 == 1) s.block_request(address, 0x5555);
    s.cuda_free(address, true);
    if (i < 3) s.cuda_free_done(address);
  }
  s.reserved(1 << 28, true);
}

void declare(TestStream& s) {
  for (const std::uint64_t bytes : {512u, 4096u, 0u, 64u}) s.small_blocks(bytes);
  wire::LostRecord lost{};
  lost.count = 3;
  lost.since_tsc = 1000;
  s.add(RecordType::kLost, static_cast<std::uint32_t>(wire::LossReason::kNoRoom), lost);
  wire::OperatorAliasRecord alias{};
  alias.name = s.text("my::wait");
  alias.schema = s.text("my::wait(Tensor(a) t) -> Tensor(a)");
  alias.declared = alias.observed = 1;
  s.add(RecordType::kOperatorAlias, 0, alias);
  wire::DiagnosticRecord diagnostic{};
  diagnostic.text = s.text("a note");
  s.add(RecordType::kDiagnostic, static_cast<std::uint32_t>(wire::DiagnosticCode::kNote), diagnostic);
}

/// A 4- or 8-byte number at an aligned place, or a byte anywhere.
void overwrite(char* bytes, std::size_t size, Random& random) {
  const std::uint64_t value = random.interesting();
  const std::size_t width = random.chance(40) ? 1 : random.chance(50) ? 4 : 8;
  if (size < 8) return;
  const std::size_t at = random.below(size - 7) / width * width;
  std::memcpy(bytes + at, &value, width);
}

/// A stretch of the file in which a change is likely to matter.
void overwrite_somewhere(char* image, std::size_t bytes, Random& random) {
  const std::size_t descriptors = spool::kHeaderBytes;
  std::size_t from = 0;
  std::size_t size = bytes;
  const std::uint64_t where = random.below(100);
  if (where < 10) {
    size = sizeof(spool::Header);
  } else if (where < 25) {
    from = descriptors;
    size = 8 * sizeof(spool::ChunkDescriptor);
  } else if (where < 90) {
    // The first records of a chunk: images are short, chunks are not full.
    const std::size_t first = spool::chunks_offset(1);
    from = first + random.below(8) * spool::kChunkBytes;
    size = 4096;
  }
  if (from >= bytes) return;
  overwrite(image + from, std::min(size, bytes - from), random);
}

}  // namespace

TestStream story(Random& random) {
  TestStream s;
  s.named_thread(100, "python");
  s.clock(1000);
  define(s, random);
  s.mark(RecordType::kMarkBegin, MarkKind::kPhase, "forward", 5);
  const std::uint64_t cycles = 1 + random.below(4);
  for (std::uint64_t i = 1; i <= cycles; ++i) {
    cycle(s, static_cast<std::int64_t>(i), i);
    s.thread = 1 + static_cast<std::uint32_t>(i % 2);
    if (i == 1) s.named_thread(101, "autograd");
    s.op("aten::addmm");
    s.op("MulBackward0", wire::OpScope::kBackward);
  }
  s.thread = 1;
  s.mark(RecordType::kMarkEnd, MarkKind::kPhase, "", 5);
  s.key(RecordType::kPersist, 2, 0xB020, 4096, wire::kKeyPersistent);
  s.mark(RecordType::kMarkPoint, MarkKind::kUser, "here");
  streams(s);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "", 0, 1);
  declare(s);
  s.clock(900'000);
  return s;
}

std::uint64_t after(const wire::RecordHeader& header) { return header.seq + wire::sequences_of(header.type); }

TestStream noise(Random& random) {
  constexpr auto kTypes = static_cast<std::uint64_t>(RecordType::kBlockAllocInNode);  // the last one
  static const std::vector<std::uint64_t> kNames = {0xA0, 0xA1, 0xA2, 0xB0, 0xB1, 0xC0, 0xC1, 0xD0, 0xD1, 1, 2, 3};
  TestStream s;
  const std::uint64_t records = 20 + random.below(600);
  for (std::uint64_t i = 0; i < records; ++i) {
    if (random.chance(2)) s.skip(random.chance(90) ? random.below(4) : random.interesting());
    s.thread = static_cast<std::uint32_t>(random.below(3));
    std::vector<std::uint64_t> fields(random.chance(90) ? random.below(14) : random.below(200));
    for (std::uint64_t& field : fields) field = random.chance(80) ? random.pick(kNames) : random.interesting();
    struct Head {
      wire::RecordHeader header;
    };
    const auto aux = static_cast<std::uint32_t>(random.chance(80) ? random.below(5) : random.interesting());
    s.add(static_cast<RecordType>(random.chance(97) ? 1 + random.below(kTypes) : random.bits()), aux, Head{},
          {reinterpret_cast<const char*>(fields.data()), fields.size() * sizeof(std::uint64_t)});
    if (random.chance(3)) s.text("text " + std::to_string(random.below(9)));
  }
  return s;
}

std::string image_of(const TestStream& stream, Random& random) {
  std::map<std::uint32_t, std::vector<const TestRecord*>> by_thread;
  for (const TestRecord& record : stream.records) by_thread[record.thread].push_back(&record);
  struct Chunk {
    std::uint32_t thread;
    std::string bytes;
  };
  std::vector<Chunk> chunks;
  for (const auto& [thread, records] : by_thread) {
    chunks.push_back({thread, {}});
    for (const TestRecord* record : records) {
      const std::size_t bytes = record->words.size() * 8;
      if (chunks.back().bytes.size() + bytes > spool::kChunkBytes || random.chance(1)) chunks.push_back({thread, {}});
      chunks.back().bytes.append(reinterpret_cast<const char*>(record->words.data()), bytes);
    }
  }
  const auto count = static_cast<std::uint32_t>(chunks.size() + random.below(4));
  std::string image(spool::file_bytes(count), '\0');
  auto& header = *new (image.data()) spool::Header{};
  std::memcpy(header.magic, spool::kMagic, sizeof header.magic);
  header.wire_version = wire::kWireVersion;
  header.chunk_count = count;
  header.chunk_bytes = spool::kChunkBytes;
  header.pid = static_cast<std::uint32_t>(getpid());
  header.tsc_hz = 1'000'000'000;
  header.rank = -1;
  header.world_size = -1;
  header.detail = 2;
  header.next_seq = stream.records.empty() ? 1 : after(stream.records.back().header());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    auto& descriptor = *new (&image[spool::kHeaderBytes + i * sizeof(spool::ChunkDescriptor)]) spool::ChunkDescriptor{};
    descriptor.state =
        static_cast<std::uint32_t>(random.chance(50) ? spool::ChunkState::kFull : spool::ChunkState::kOpen);
    descriptor.thread = chunks[i].thread;
    descriptor.committed = static_cast<std::uint32_t>(chunks[i].bytes.size());
    std::memcpy(&image[spool::chunks_offset(count) + i * spool::kChunkBytes], chunks[i].bytes.data(),
                chunks[i].bytes.size());
  }
  return image;
}

void mutate_in_place(char* image, std::size_t bytes, Random& random) {
  for (std::uint64_t i = 0, changes = 1 + random.below(12); i < changes; ++i) overwrite_somewhere(image, bytes, random);
}

void mutate(std::string& image, Random& random) {
  if (random.chance(90)) mutate_in_place(image.data(), image.size(), random);
  const std::size_t first = spool::chunks_offset(1);
  if (random.chance(10) && image.size() >= first + 2 * spool::kChunkBytes) {
    // One chunk once more, in place of another: sequences that were seen already.
    const std::size_t chunks = (image.size() - first) / spool::kChunkBytes;
    const std::size_t from = first + random.below(chunks) * spool::kChunkBytes;
    const std::size_t to = first + random.below(chunks) * spool::kChunkBytes;
    std::memmove(&image[to], &image[from], spool::kChunkBytes);
  }
  if (random.chance(10)) image.resize(random.below(image.size() + 1));
  if (random.chance(5)) image.append(random.below(100'000), static_cast<char>(random.bits()));
}

}  // namespace dcmt::fuzz
