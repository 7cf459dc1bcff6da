#include "trace/base/shell_words.h"

#include <gtest/gtest.h>

namespace dcmt {
namespace {

TEST(ShellWords, AShellReadsQuotesAsTheyAre) {
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(in_quotes("it's"), "'it'\\''s'");
  EXPECT_EQ(in_quotes(""), "''");
}

TEST(ShellWords, WhatAShellReadsAsItIsHasNoQuotes) {
  EXPECT_EQ(shell_word("out/rank0.dcmt"), "out/rank0.dcmt");
  EXPECT_EQ(shell_word("my runs/rank0.dcmt"), "'my runs/rank0.dcmt'");
  EXPECT_EQ(shell_word("läufe/rank0.dcmt"), "läufe/rank0.dcmt");
  EXPECT_EQ(shell_word("a\rb"), "'a\rb'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_words({"python", "-c", "print(1)", ""}), "python -c 'print(1)' ''");
}

}  // namespace
}  // namespace dcmt
