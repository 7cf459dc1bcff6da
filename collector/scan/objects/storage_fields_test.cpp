#include "collector/scan/objects/storage_fields.h"

#include <gtest/gtest.h>

#include "collector/scan/testing/changing_process.h"

namespace dcmt::scan {
namespace {

constexpr Address kBegin = 0x10000;
constexpr Address kCode = 0x900000;
constexpr std::size_t kSize = 0x10000;
constexpr Address kStorage = kBegin + 64;
constexpr Address kData = kBegin + 0x1000;

TorchLayout layout() {
  TorchLayout torch;
  torch.storage_data = 16;
  torch.storage_bytes = 48;
  return torch;
}

class StorageFieldsTest : public ::testing::Test {
 protected:
  StorageFieldsTest() {
    Region code;
    code.begin = kCode;
    code.end = kCode + kPageBytes;
    code.readable = code.executable = true;
    process_.map(code);
    write(1, kData, 0x2000);
  }

  void write(std::uint64_t references, Address data, std::uint64_t bytes) {
    process_.set(kStorage + 8, references);
    process_.set(kStorage + 16, data);
    process_.set(kStorage + 24, kCode + 16);
    process_.set(kStorage + 32, data);
    process_.set(kStorage + 48, bytes);
  }

  bool plausible() {
    Mirror memory(process_);
    return is_plausible(storage_fields(kStorage, memory, layout()), memory);
  }

  testing::ChangingProcess process_{kBegin, kSize};
};

TEST_F(StorageFieldsTest, AStorageHasItsFields) {
  Mirror memory(process_);
  const StorageFields fields = storage_fields(kStorage, memory, layout());
  EXPECT_EQ(fields, (StorageFields{kStorage, kData, 0x2000, 1, kCode + 16, kData, true}));
  EXPECT_TRUE(is_plausible(fields, memory));
  EXPECT_TRUE(is_cpu_block(fields));
}

TEST_F(StorageFieldsTest, DataOfTheHostAreMappedAsAWhole) {
  write(1, kData, kSize - 0x1000);
  EXPECT_TRUE(plausible());
  write(1, kData, kSize - 0x1000 + 1);
  EXPECT_FALSE(plausible());
  write(1, kData, std::uint64_t{1} << 62);
  EXPECT_FALSE(plausible()) << "millions of TiB";
  write(1, 0x500000, 1);
  EXPECT_FALSE(plausible());
}

TEST_F(StorageFieldsTest, DataMayLieWhereNothingIsRead) {
  Region shared;  // /dev/shm, as every mapping of /dev
  shared.begin = kCode + 0x100000;
  shared.end = shared.begin + kPageBytes;
  process_.map(shared);
  write(1, shared.begin, kPageBytes);
  EXPECT_TRUE(plausible());
}

TEST_F(StorageFieldsTest, DataOfAGpuNeedNotBeMapped) {
  write(1, 0x500000, 0x2000);
  process_.set(kStorage + 40, 1);
  EXPECT_TRUE(plausible());
  write(1, 0x500000, std::uint64_t{1} << 50);
  process_.set(kStorage + 40, 1);
  EXPECT_FALSE(plausible());
}

TEST_F(StorageFieldsTest, ADeleterIsCodeAndACountIsACount) {
  process_.set(kStorage + 24, 0);
  EXPECT_TRUE(plausible()) << "memory that nobody frees";
  process_.set(kStorage + 24, kData);
  EXPECT_FALSE(plausible());
  write(0, kData, 0x2000);
  EXPECT_FALSE(plausible());
}

TEST_F(StorageFieldsTest, WhatChangedIsAnotherStorage) {
  Mirror memory(process_);
  const StorageFields fields = storage_fields(kStorage, memory, layout());
  write(2, kData, 0x2000);
  EXPECT_TRUE([&] {
    Mirror fresh(process_);
    return still_lives(fields, fresh, layout());
  }()) << "one more reference";
  write(1, kData, 0x1000);
  Mirror fresh(process_);
  EXPECT_FALSE(still_lives(fields, fresh, layout()));
}

}  // namespace
}  // namespace dcmt::scan
