// Tests the agent's core without torch: threads that record while a reader drains, forked children, a full spool.
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collector/agent/gate.h"
#include "collector/agent/provider.h"
#include "collector/agent/spool_writer.h"
#include "collector/agent/testing/test_spool.h"
#include "trace/spool/spool_reader.h"

namespace {

using dcmt::agent::begin_record;
using dcmt::agent::commit_record;
using dcmt::agent::Inside;
using dcmt::agent::SharedTime;
using dcmt::agent::test_spool;
using dcmt::spool::SequencedRecord;
using dcmt::spool::SpoolReader;
using dcmt::wire::BlockRecord;
using dcmt::wire::LostRecord;
using dcmt::wire::RecordType;
using dcmt::wire::StringRecord;

bool record_block(std::uint64_t address, std::uint64_t bytes) {
  if (!dcmt::agent::recording()) return false;
  const Inside inside;
  auto* record = static_cast<BlockRecord*>(begin_record(RecordType::kBlockAlloc, sizeof(BlockRecord), 0));
  if (record == nullptr) return false;
  record->address = address;
  record->bytes = bytes;
  record->stack = 0;
  commit_record(record);
  return true;
}

template <class Visit>
std::uint64_t drain(Visit visit) {
  std::uint64_t count = 0;
  while (test_spool().read() != 0) {
    for (SequencedRecord r = test_spool().next(); r.header != nullptr; r = test_spool().next()) {
      visit(r);
      ++count;
    }
    test_spool().give_back();
  }
  return count;
}

TEST(AgentCore, FourThreadsLoseNothingWhileTheReaderKeepsUp) {
  test_spool();
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 50'000;
  std::atomic<int> running{kThreads};
  std::atomic<std::uint64_t> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &running, &refused] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        // This test is not about a full spool: wait for the reader, which no real program does.
        while (!record_block(static_cast<std::uint64_t>(t + 1), i)) {
          refused.fetch_add(1);
          std::this_thread::yield();
        }
      }
      running.fetch_sub(1);
    });
  }
  std::map<std::uint64_t, std::uint64_t> next_of;
  std::uint64_t blocks = 0;
  std::uint64_t last_seq = 0;
  std::uint64_t declared_lost = 0;
  const auto visit = [&](const SequencedRecord& r) {
    ASSERT_TRUE(last_seq == 0 || r.header->seq == last_seq + 1);
    last_seq = r.header->seq;
    if (r.header->type == RecordType::kLost) declared_lost += reinterpret_cast<const LostRecord*>(r.header)->count;
    if (r.header->type != RecordType::kBlockAlloc) return;
    const auto* block = reinterpret_cast<const BlockRecord*>(r.header);
    ASSERT_EQ(block->bytes, next_of[block->address]++) << "records of one thread out of order";
    ++blocks;
  };
  while (running.load() != 0) drain(visit);
  for (auto& thread : threads) thread.join();
  drain(visit);
  EXPECT_EQ(blocks, kThreads * kEach);
  EXPECT_EQ(next_of.size(), kThreads);
  EXPECT_EQ(declared_lost, refused.load());
  EXPECT_EQ(last_seq, test_spool().last_assigned_sequence());
}

TEST(AgentCore, AFullSpoolDropsCountsAndSaysSo) {
  drain([](const SequencedRecord&) {});
  std::uint64_t written = 0;
  std::uint64_t refused = 0;
  std::thread writer([&] {
    for (int i = 0; i < 40'000; ++i) (record_block(7, 1) ? written : refused)++;
  });
  writer.join();
  ASSERT_GT(refused, 0u);
  std::uint64_t seen = 0;
  drain([&](const SequencedRecord& r) { seen += r.header->type == RecordType::kBlockAlloc; });
  EXPECT_EQ(seen, written);

  // The next record of the same thread would report the loss. The thread has ended, but the spool's counter has the
  // loss.
  EXPECT_GE(test_spool().lost(), refused);
}

TEST(AgentCore, ALossIsDeclaredByTheThreadThatSufferedIt) {
  drain([](const SequencedRecord&) {});
  std::uint64_t refused = 0;
  std::uint64_t declared = 0;
  std::thread writer([&] {
    for (int i = 0; i < 40'000; ++i) refused += !record_block(8, 1);
    drain([](const SequencedRecord&) {});
    EXPECT_TRUE(record_block(9, 1));
  });
  writer.join();
  drain([&](const SequencedRecord& r) {
    if (r.header->type == RecordType::kLost) declared += reinterpret_cast<const LostRecord*>(r.header)->count;
  });
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(declared, refused);
}

// While the recorder is stopped, every record of every thread is dropped. No thread may search all chunks for a free
// one then.
TEST(AgentCore, ADroppedRecordSearchesNothingBeforeTheRecorderHasGivenSomethingBack) {
  const auto no_record = [](const SequencedRecord&) {};
  drain(no_record);
  std::thread([&] {
    while (record_block(1, 1)) {
    }
    // A chunk is free, but given_back does not say so: a search would find it.
    auto* descriptors = reinterpret_cast<dcmt::spool::ChunkDescriptor*>(
        reinterpret_cast<char*>(dcmt::agent::spool_header()) + dcmt::spool::kHeaderBytes);
    auto& state = descriptors[3].state;
    const std::uint32_t full = state.exchange(static_cast<std::uint32_t>(dcmt::spool::ChunkState::kFree));
    EXPECT_FALSE(record_block(1, 1));
    state.store(full);
    drain(no_record);
    EXPECT_TRUE(record_block(1, 1));
  }).join();
  drain(no_record);
}

TEST(AgentCore, TheSpoolNamesTheProcessAndItsStart) {
  EXPECT_EQ(test_spool().facts().pid, static_cast<std::uint32_t>(getpid()));
  std::ifstream file("/proc/self/stat");
  std::string field;
  for (int index = 0; index < 22; ++index) file >> field;  // this program's name has no space
  EXPECT_EQ(std::to_string(test_spool().facts().process_start), field);
  // The name has the counter's value just before the value in the header.
  char* end = nullptr;
  const std::string name = dcmt::agent::spool_name();
  const std::string pid = std::to_string(getpid()) + "-";
  ASSERT_TRUE(name.starts_with(pid)) << name;
  EXPECT_LT(std::strtoull(name.c_str() + pid.size(), &end, 16), test_spool().facts().start_tsc);
  EXPECT_STREQ(end, ".spool");
}

TEST(AgentCore, ARecordOfALaterThreadDestructorLeavesNoChunkOpen) {
  const auto no_record = [](const SequencedRecord&) {};
  drain(no_record);
  // Made after the agent's key, so its destructor runs after the agent's.
  pthread_key_t key = 0;
  ASSERT_EQ(pthread_key_create(&key, [](void*) { EXPECT_TRUE(record_block(3, 3)); }), 0);
  const double before = test_spool().used();
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::thread([key] {
      pthread_setspecific(key, &test_spool());
      EXPECT_TRUE(record_block(2, 2));
    }).join();
  }
  drain(no_record);
  EXPECT_EQ(test_spool().used(), before);
  pthread_key_delete(key);
}

TEST(AgentCore, AForkedChildIsSilent) {
  test_spool();
  ASSERT_TRUE(record_block(1, 1));
  const std::uint64_t before = test_spool().last_assigned_sequence();
  const pid_t child = fork();
  if (child == 0) _exit(record_block(2, 2) || dcmt::agent::recording() ? 1 : 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(test_spool().last_assigned_sequence(), before);
  EXPECT_TRUE(dcmt::agent::recording());
}

TEST(AgentCore, WhatHappensTogetherHasOneTime) {
  test_spool();
  constexpr std::uint64_t kGiven = 17;
  record_block(1, 0);
  {
    const SharedTime outer;
    record_block(2, 0);
    const SharedTime inner;
    record_block(3, 0);
    const SharedTime given(kGiven);
    record_block(4, 0);
  }
  record_block(5, 0);
  std::map<std::uint64_t, std::uint64_t> times;
  drain([&](const SequencedRecord& r) {
    if (r.header->type == RecordType::kBlockAlloc) {
      times[reinterpret_cast<const BlockRecord*>(r.header)->address] = r.header->tsc;
    }
  });
  EXPECT_LE(times.at(1), times.at(2));
  EXPECT_EQ(times.at(2), times.at(3));
  EXPECT_EQ(times.at(4), kGiven);
  EXPECT_LE(times.at(3), times.at(5));
  EXPECT_LT(kGiven, times.at(5));
}

TEST(AgentCore, InsideTheGuardNothingRecords) {
  test_spool();
  const Inside outer;
  EXPECT_TRUE(outer.entered);
  EXPECT_FALSE(dcmt::agent::recording());
  const Inside inner;
  EXPECT_FALSE(inner.entered);
}

TEST(AgentCore, TextIsPublishedOnce) {
  drain([](const SequencedRecord&) {});
  std::set<std::uint64_t> ids;
  {
    const Inside inside;
    for (int i = 0; i < 3; ++i) ids.insert(dcmt::agent::intern("aten::mm", 8));
    ids.insert(dcmt::agent::intern("aten::addmm", 11));
  }
  EXPECT_EQ(ids.size(), 2u);
  std::vector<std::string> texts;
  drain([&](const SequencedRecord& r) {
    if (r.header->type != RecordType::kString) return;
    const auto* text = reinterpret_cast<const StringRecord*>(r.header);
    texts.emplace_back(reinterpret_cast<const char*>(text + 1), text->bytes);
  });
  EXPECT_EQ(texts, (std::vector<std::string>{"aten::mm", "aten::addmm"}));
}

}  // namespace
