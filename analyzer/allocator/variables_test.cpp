#include "analyzer/allocator/variables.h"

#include <gtest/gtest.h>

namespace dcmt::analyzer {
namespace {

std::string why(std::string_view variables, std::string_view taken) {
  std::string text;
  for (const IdleSetting& each : unread_variables(variables, taken)) text += each.setting + ": " + each.why + "\n";
  return text;
}

TEST(AllocatorVariables, WhatTorchHasTakenHasAnEffect) {
  EXPECT_EQ(why("PYTORCH_ALLOC_CONF=expandable_segments:True", "expandable_segments:True"), "");
  EXPECT_EQ(why("PYTORCH_CUDA_ALLOC_CONF=a:1, b:2", "a:1,b:2"), "");
  EXPECT_EQ(why("PYTORCH_XPU_ALLOC_CONF=a:1", ""), "") << "another device's";
  EXPECT_EQ(why("", "a:1"), "");
}

TEST(AllocatorVariables, AWrongNameIsNotRead) {
  EXPECT_EQ(why("PYTORCH_CUDA_ALLOCATOR_CONF=a:1", ""),
            "PYTORCH_CUDA_ALLOCATOR_CONF=a:1: torch reads no variable of this name, but PYTORCH_ALLOC_CONF\n");
}

TEST(AllocatorVariables, TheOlderNameComesFirst) {
  EXPECT_EQ(why("PYTORCH_ALLOC_CONF=a:1;PYTORCH_CUDA_ALLOC_CONF=b:2", "b:2"),
            "PYTORCH_ALLOC_CONF=a:1: torch takes only PYTORCH_CUDA_ALLOC_CONF, which is set, too\n");
}

TEST(AllocatorVariables, WhatWasSetTooLateIsNotRead) {
  EXPECT_TRUE(why("PYTORCH_ALLOC_CONF=a:1", "").starts_with("PYTORCH_ALLOC_CONF=a:1: torch has other settings"));
}

}  // namespace
}  // namespace dcmt::analyzer
