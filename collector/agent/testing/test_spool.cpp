#include "collector/agent/testing/test_spool.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <utility>

#include "collector/agent/gate.h"
#include "collector/agent/seen.h"
#include "collector/agent/spool_writer.h"

namespace dcmt::agent {

spool::SpoolReader& test_spool() {
  static auto* const the_spool = [] {
    std::string folder = "/dev/shm/dcmt-test-XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    EXPECT_TRUE(make_gate());
    EXPECT_TRUE(make_seen_table());
    EXPECT_EQ(open_spool({folder.c_str(), 8, Detail::kFull, -1, -1}), nullptr);
    EXPECT_EQ(show_spool(folder.c_str()), nullptr);
    auto opened = spool::SpoolReader::open(folder + "/" + spool_name());
    EXPECT_TRUE(opened.ok());
    std::filesystem::remove_all(folder);
    open_gate();
    return new spool::SpoolReader(std::move(*opened));
  }();
  return *the_spool;
}

}  // namespace dcmt::agent
