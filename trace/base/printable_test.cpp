#include "trace/base/printable.h"

#include <gtest/gtest.h>

namespace dcmt {
namespace {

TEST(Printable, PlainTextStays) {
  for (const char* text : {"", "model.py:41 forward(self)", "größe · 梯度 🙂", "a\\b"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
  }
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("\x1b]0;title\x07\x1b[2J"), "\\x1b]0;title\\x07\\x1b[2J");
  EXPECT_EQ(printable("gather\nNo finding.\r\tx\x7f"), "gather\\x0aNo finding.\\x0d\\x09x\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xC2\x9B"), "\\xc2\\x9b") << "one byte for ESC [ in the second control set";
}

TEST(Printable, WhatReordersOrHidesTextIsEscaped) {
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b"),
            "a\\xe2\\x80\\xaeb");
  EXPECT_EQ(printable("a\xE2\x80\x8B"
                      "b"),
            "a\\xe2\\x80\\x8bb");
  EXPECT_EQ(printable("\xE2\x80\xA8"), "\\xe2\\x80\\xa8");
  EXPECT_EQ(printable("\xE2\x81\xA6"), "\\xe2\\x81\\xa6");
}

TEST(Printable, WhatIsNoUtf8IsEscapedByteByByte) {
  EXPECT_EQ(printable("\xFF\xC3("), "\\xff\\xc3(");
  EXPECT_EQ(printable("\xE6\xA2"), "\\xe6\\xa2") << "cut within a character";
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf") << "a longer form than needed";
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last code point";
}

TEST(Printable, LinesAreKeptWhereAsked) {
  EXPECT_EQ(printable_lines("def f():\n\treturn \x1b[1m\r\n"), "def f():\n\treturn \\x1b[1m\\x0d\n");
}

}  // namespace
}  // namespace dcmt
