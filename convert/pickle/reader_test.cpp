#include "convert/pickle/reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace dcmt::convert {
namespace {

using std::string_literals::operator""s;

std::string error_of(const std::string& bytes) {
  const Expected<PickleData> data = read_pickle(bytes, "x.pickle");
  return data.ok() ? "read" : data.error().message;
}

// Written by Python: pickle.dumps({"a": [1, -2, 2**40, True, None, 1.5], "b": (b"x", "é")}, 4).
TEST(PickleReader, ReadsWhatPythonWrote) {
  const unsigned char written[] = {0x80, 0x04, 0x95, 0x36, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7d, 0x94,
                                   0x28, 0x8c, 0x01, 0x61, 0x94, 0x5d, 0x94, 0x28, 0x4b, 0x01, 0x4a, 0xfe, 0xff,
                                   0xff, 0xff, 0x8a, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x88, 0x4e, 0x47,
                                   0x3f, 0xf8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x65, 0x8c, 0x01, 0x62, 0x94,
                                   0x43, 0x01, 0x78, 0x94, 0x8c, 0x02, 0xc3, 0xa9, 0x94, 0x86, 0x94, 0x75, 0x2e};
  const std::string bytes(std::begin(written), std::end(written));
  const Expected<PickleData> read = read_pickle(bytes, "x");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const PickleData& data = *read;
  const auto list = data.find(data.root(), "a");
  ASSERT_TRUE(list);
  const auto items = data.items(*list);
  ASSERT_EQ(items.size(), 6U);
  EXPECT_EQ(data.integer(items[0]), 1);
  EXPECT_EQ(data.integer(items[1]), -2);
  EXPECT_EQ(data.integer(items[2]), std::int64_t{1} << 40);
  EXPECT_EQ(data.integer(items[3]), 1);
  EXPECT_TRUE(data.is(items[4], ValueKind::kNone));
  EXPECT_DOUBLE_EQ(data[items[5]].real, 1.5);
  const auto pair = data.items(*data.find(data.root(), "b"));
  ASSERT_EQ(pair.size(), 2U);
  EXPECT_TRUE(data.is(pair[0], ValueKind::kBytes));
  EXPECT_EQ(data.text(pair[1]), "\xc3\xa9");
}

TEST(PickleReader, NumbersHaveTheirSigns) {
  const auto number = [](const std::string& body) {
    const auto read = read_pickle("\x80\x02"s + body + ".", "x");
    return read.ok() ? read->integer(read->root()) : std::nullopt;
  };
  EXPECT_EQ(number("\x8a\0"s), 0);
  EXPECT_EQ(number("\x8a\x01\xff"s), -1);
  EXPECT_EQ(number("\x8a\x02\xff\0"s), 255);
  EXPECT_EQ(number("\x8a\x08\0\0\0\0\0\0\0\x80"s), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(number("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0"s), std::nullopt);  // 2**64 - 1
  EXPECT_EQ(number("\x8b\x01\0\0\0\x80"s), -128);
}

TEST(PickleReader, WhatMayRunCodeIsRefusedByName) {
  EXPECT_EQ(
      error_of("\x80\x02"s
               "cos\nsystem\n."),
      "x.pickle: refused, nothing was run: opcode GLOBAL at byte 2 is not plain data, and torch's snapshots are. Do "
      "not unpickle this file.");
  for (const auto& [body, name] : {std::pair("\x8c\x02os\x8c\x06system\x93."s, "STACK_GLOBAL"),
                                   {"()R."s, "REDUCE"},
                                   {"}}b."s, "BUILD"},
                                   {"(ios\nsystem\n."s, "INST"},
                                   {"(o."s, "OBJ"},
                                   {"))\x81."s, "NEWOBJ"},
                                   {"P1\n."s, "PERSID"},
                                   {"K\1Q."s, "BINPERSID"},
                                   {"\x82\1."s, "EXT1"},
                                   {"\x8f."s, "EMPTY_SET"},
                                   {"\x96\0\0\0\0\0\0\0\0."s, "BYTEARRAY8"},
                                   {"\x97."s, "NEXT_BUFFER"}}) {
    EXPECT_NE(error_of("\x80\x04"s + body).find("opcode "s + name + " at byte"), std::string::npos) << name;
  }
}

TEST(PickleReader, EachPrefixIsCutShortOrNoPickle) {
  const std::string whole = "\x80\x04\x95\x0c\0\0\0\0\0\0\0}\x94\x8c\x03key\x94J\1\2\3\4s."s;
  ASSERT_EQ(error_of(whole), "read");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(error_of(whole.substr(0, size)), "read") << size;
  EXPECT_EQ(error_of("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                     "abc."s),
            "x.pickle: damaged: the pickle was cut short, or it has a wrong length at byte 2.");
}

TEST(PickleReader, WhatMakesNoSenseIsDamaged) {
  for (const std::string& body : {"."s, "e."s, "(e."s, "]a."s, "K\1K\1a."s, "h\1."s, "}K\1s."s, "}(K\1u."s, "(K\1d."s,
                                  "N0N1."s, "\x87."s, "NN."s, "N(."s,
                                  "(N2\x85"
                                  "0."s,
                                  "\xff."s, "]r\xff\xff\xff\xff."s}) {
    EXPECT_NE(error_of("\x80\x02"s + body).find("makes no sense"), std::string::npos) << body;
  }
}

TEST(PickleReader, SharedListsCostWhatTheyAre) {
  // Each list contains the previous one twice: 2^60 elements if copied.
  std::string body = "\x80\x04]\x94"s;
  for (char i = 0; i < 60; ++i) body += "]\x94(h"s + i + "h"s + i + "e"s;
  const auto read = read_pickle(body + ".", "x");
  EXPECT_FALSE(read.ok());  // the lists are left on the stack
  std::string nested = "\x80\x04]\x94"s;
  for (char i = 0; i < 60; ++i) nested += "0]\x94(h"s + i + "h"s + i + "e"s;
  const auto shared = read_pickle(nested + ".", "x");
  ASSERT_TRUE(shared.ok()) << shared.error().message;
  EXPECT_EQ(shared->items(shared->root()).size(), 2U);
}

TEST(PickleReader, MemoryIsBounded) {
  EXPECT_EQ(error_of("\x80\x02"s + std::string(4 << 20, ']')),
            "x.pickle: needs more memory than a pickle of its size explains. torch's snapshots are made by "
            "torch.cuda.memory._dump_snapshot(FILE).");
  EXPECT_NE(error_of("\x80\x02"s + std::string(1000, '(')).find("nested too deeply"), std::string::npos);
}

TEST(PickleReader, AListMayHoldItself) {
  const auto read = read_pickle("\x80\x04]\x94h\0a."s, "x");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->items(read->root())[0], read->root());
}

}  // namespace
}  // namespace dcmt::convert
