#include "analyzer/rules/said_twice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dcmt::analyzer {
namespace {

/// How many findings stay: storages of a list that grow, and memory outside of torch that something holds.
std::size_t left_of(const std::string& holder) {
  std::vector<Finding> findings(2);
  findings[0].number = 1;
  findings[0].growth.emplace().holder = "main: rows";
  findings[1].number = 2;
  findings[1].outside.emplace().holder = holder;
  drop_said_twice(TraceData(), findings);
  EXPECT_TRUE(findings.front().growth) << "what has storages says more";
  return findings.size();
}

TEST(SaidTwice, WhatOneHolderHasInsideAndOutsideOfTorchIsOneFinding) {
  EXPECT_EQ(left_of("main: rows"), 1u);
  EXPECT_EQ(left_of("main: others"), 2u);
}

}  // namespace
}  // namespace dcmt::analyzer
