// Gathers and releases without torch, and the records that they publish.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "collector/agent/hot_path.h"
#include "collector/agent/testing/test_spool.h"
#include "collector/torch/keys/release_keys.h"
#include "collector/torch/testing/without_torch.h"

namespace dcmt::torch_provider {

inline constexpr std::uint64_t kBytes = 1 << 20;

/// The records of the keys of one graph.
struct Published {
  int gathers = 0, releases = 0, final = 0, not_settled = 0, settled = 0, dead = 0, without_bytes = 0, other_bytes = 0,
      diagnostics = 0;
};

class ReleaseKeysFixture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    agent::test_spool();
    static const bool made = make_release_keys();
    ASSERT_TRUE(made);
  }
  void SetUp() override {
    static std::int64_t last_graph = 1000;
    graph_ = ++last_graph;
    g_censuses = 0;
    drain();
    published_ = {};
    records_.clear();
    others_.clear();
    touches_.clear();
    reads_.clear();
    fences_.clear();
  }

  void drain() {
    while (agent::test_spool().read() != 0) {
      for (auto record = agent::test_spool().next(); record.header != nullptr; record = agent::test_spool().next()) {
        count(*record.header);
      }
      agent::test_spool().give_back();
    }
  }

  void count(const wire::RecordHeader& header) {
    using wire::RecordType;
    published_.diagnostics += header.type == RecordType::kDiagnostic ? 1 : 0;
    if (header.type == RecordType::kLastTouch) {
      touches_.push_back(reinterpret_cast<const wire::LastTouchRecord&>(header));
    }
    if (header.type == RecordType::kRead) reads_.push_back(reinterpret_cast<const wire::ReadRecord&>(header));
    if (header.type == RecordType::kFence) fences_.push_back(reinterpret_cast<const wire::FenceRecord&>(header));
    if (header.type == RecordType::kReleaseBegin || header.type == RecordType::kWait) {
      others_.push_back(reinterpret_cast<const wire::KeyRecord&>(header));
    }
    const bool of_key = header.type == RecordType::kGather || header.type == RecordType::kRelease ||
                        header.type == RecordType::kReleaseSettled || header.type == RecordType::kPersist;
    if (!of_key) return;
    const auto& key = reinterpret_cast<const wire::KeyRecord&>(header);
    if (key.graph != graph_) return;
    if (records_.size() < 16) records_.push_back(key);
    published_.gathers += header.type == RecordType::kGather ? 1 : 0;
    published_.releases += header.type == RecordType::kRelease ? 1 : 0;
    published_.settled += header.type == RecordType::kReleaseSettled ? 1 : 0;
    published_.final += (header.aux & wire::kKeyFinal) != 0 ? 1 : 0;
    published_.not_settled += (header.aux & wire::kKeyNotSettled) != 0 ? 1 : 0;
    published_.dead += (header.aux & wire::kKeyStorageDead) != 0 ? 1 : 0;
    published_.without_bytes += key.bytes == 0 ? 1 : 0;
    published_.other_bytes += key.bytes != 0 && key.bytes != kBytes ? 1 : 0;
  }

  /// Calls `each` for all keys, and drains the spool at intervals.
  void for_keys(int keys, const std::function<void(KeyName, int)>& each) {
    for (int i = 0; i < keys; ++i) {
      {
        const agent::Inside inside;
        each({graph_, i}, i);
      }
      if (i % 200 == 199) drain();
    }
    drain();
  }

  static void release(KeyName key) {
    key_release_begins(key, 1, 0, 0);
    key_release_ends(key, 1, 0, 0);
  }

  std::int64_t graph_ = 0;
  Published published_;
  std::vector<wire::KeyRecord> records_;  ///< the first records
  std::vector<wire::KeyRecord> others_;   ///< records of waits and of release begins
  std::vector<wire::LastTouchRecord> touches_;
  std::vector<wire::ReadRecord> reads_;
  std::vector<wire::FenceRecord> fences_;
};

}  // namespace dcmt::torch_provider
