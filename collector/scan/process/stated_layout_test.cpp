#include "collector/scan/process/stated_layout.h"

#include <gtest/gtest.h>

#include <cstring>

#include "collector/scan/testing/changing_process.h"

namespace dcmt::scan {
namespace {

constexpr std::int64_t kPython314 = 0x30E;
constexpr Address kRuntime = 0x100000;
constexpr std::uint64_t kVersion = 0x030E02F0;  // 3.14.2

class StatedLayoutTest : public ::testing::Test {
 protected:
  StatedLayoutTest() {
    std::uint64_t cookie = 0;
    std::memcpy(&cookie, "xdebugpy", sizeof cookie);
    process_.set(kRuntime, cookie);
    process_.set(kRuntime + 8, kVersion);
    for (const StatedValue& value : layout_.stated) {
      process_.set(kRuntime + static_cast<Address>(value.where), static_cast<std::uint64_t>(layout_.*value.member));
    }
  }
  std::string failure() {
    Mirror memory(process_);
    const Status status = check_stated_layout(memory, layout_, kRuntime);
    return status.ok() ? "" : status.error().message;
  }

  PythonLayout layout_ = *python_layout(kPython314);
  testing::ChangingProcess process_{kRuntime, 4096};
};

TEST_F(StatedLayoutTest, WhatAgreesIsRead) { EXPECT_EQ(failure(), ""); }

TEST_F(StatedLayoutTest, EachValueThatDiffersIsNamed) {
  ASSERT_GT(layout_.stated.size(), 30U);
  for (const StatedValue& value : layout_.stated) {
    const auto where = kRuntime + static_cast<Address>(value.where);
    const auto compiled = static_cast<std::uint64_t>(layout_.*value.member);
    process_.set(where, compiled + 8);
    EXPECT_NE(failure().find("cannot inspect CPython 3.14.2: its " + std::string(value.name) + " is "),
              std::string::npos)
        << failure();
    process_.set(where, compiled);
  }
  EXPECT_EQ(failure(), "");
}

TEST_F(StatedLayoutTest, AFreeThreadedInterpreterIsNamed) {
  process_.set(kRuntime + 16, 1);
  EXPECT_NE(failure().find("free-threaded"), std::string::npos);
}

TEST_F(StatedLayoutTest, WithoutTheCookieNothingIsRead) {
  process_.set(kRuntime, 0);
  EXPECT_EQ(failure(), "cannot inspect CPython 3.14: it does not state its layout");
}

TEST_F(StatedLayoutTest, VersionsThatStateNothingAreReadAsCompiled) {
  layout_ = *python_layout(0x30C);
  process_.set(kRuntime, 0);
  EXPECT_EQ(failure(), "");
}

}  // namespace
}  // namespace dcmt::scan
