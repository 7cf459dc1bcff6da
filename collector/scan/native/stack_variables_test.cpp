#include "collector/scan/native/stack_variables.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "collector/scan/testing/address_of.h"
#include "collector/scan/testing/own_memory.h"

namespace dcmt::scan {
namespace {

class StackVariablesTest : public testing::Test {
 protected:
  /// A variable of `bytes` bytes at a made-up address, of a function that returns to 77.
  CppVariable variable(Address at, std::uint64_t bytes, const char* path, Address returns = 77) const {
    return {{at, at + bytes}, path, "a.cpp:1", false, address_of(&returns_), returns};
  }
  [[nodiscard]] StackVariables taken(std::vector<CppVariable> variables) {
    memory_.emplace();
    return {variables, memory_->mirror()};
  }

  Address returns_ = 77;
  std::optional<OwnMemory> memory_;
};

TEST_F(StackVariablesTest, AnAddressInAVariableIsFound) {
  const StackVariables variables = taken({variable(200, 8, "f: b"), variable(100, 24, "f: a")});
  EXPECT_EQ(variables.at(99), nullptr);
  ASSERT_NE(variables.at(123), nullptr);
  EXPECT_EQ(variables.at(123)->path, "f: a");
  EXPECT_EQ(variables.at(124), nullptr);
  EXPECT_EQ(variables.at(200)->path, "f: b");
}

TEST_F(StackVariablesTest, AFunctionThatReturnsElsewhereHasNone) {
  EXPECT_TRUE(taken({variable(100, 24, "f: a", 78)}).empty());
  EXPECT_TRUE(taken({variable(100, 24, "f: a", 0)}).empty());
}

TEST_F(StackVariablesTest, WhatSharesAnAddressDoesNotCount) {
  const StackVariables variables =
      taken({variable(100, 24, "f: a"), variable(100, 24, "f: a"), variable(200, 64, "f: b"), variable(208, 8, "f: c"),
             variable(216, 8, "f: d"), variable(300, 8, "f: e")});
  EXPECT_NE(variables.at(100), nullptr) << "the same twice";
  EXPECT_EQ(variables.at(200), nullptr);
  EXPECT_EQ(variables.at(208), nullptr);
  EXPECT_EQ(variables.at(216), nullptr);
  EXPECT_NE(variables.at(300), nullptr);
}

}  // namespace
}  // namespace dcmt::scan
