#include "collector/recorder/console/oom_lines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

OomFacts full_device() {
  OomFacts facts;
  facts.device = "cuda:0";
  facts.operator_name = "aten::addmm";
  facts.site = "app/model.py:41 forward";
  facts.figures.requested = 512 * kMiB;
  facts.figures.allocated = 70 * kGiB;
  facts.figures.reserved = 70 * kGiB + 100 * kMiB;
  facts.figures.free = 12 * kMiB;
  facts.total = 80 * kGiB;
  facts.alive = 70 * kGiB;
  facts.groups = {{40 * kGiB, 12, "app/model.py:41 forward"}, {30 * kGiB, 1, "app/train.py:7 main"}};
  return facts;
}

OomHolder compiled_wrapper() {
  OomHolder holder;
  holder.bytes = 4 * kGiB;
  holder.storages = 12;
  holder.function = "Runner.call";
  holder.names = {"buf3", "buf5"};
  holder.place = "xq/cxq7.py:96";
  holder.assignment = "buf5 = buf4";
  holder.kept_by_generated_code = true;
  return holder;
}

TEST(OomLines, WhatIsHeldAndItsFix) {
  OomFacts facts = full_device();
  facts.has_releases = true;
  facts.held = 4 * kGiB;
  facts.held_storages = 12;
  facts.holders = {compiled_wrapper()};
  EXPECT_EQ(oom_lines(facts, ", rank 3", "out"),
            "dc-memtrace: out of memory on cuda:0, rank 3: 512.0 MiB asked for by aten::addmm at app/model.py:41 "
            "forward\n"
            "  allocated 70.0 GiB, reserved 70.1 GiB, free 12.0 MiB of the device's 80.0 GiB (by torch and CUDA)\n"
            "    40.0 GiB in 12 blocks from app/model.py:41 forward\n"
            "    30.0 GiB in 1 block from app/train.py:7 main\n"
            "  4.0 GiB of it is released and still held, by 12 storages: with it gone, the request fits\n"
            "     4.0 GiB by Runner.call: buf3, buf5   xq/cxq7.py:96   buf5 = buf4\n"
            "  fix  resize the storage to 0 at the final release\n"
            "  next dc-memtrace show live out --at oom\n");
}

TEST(OomLines, NeverMoreThanTen) {
  OomFacts facts = full_device();
  facts.number = 2;
  facts.figures.reserved = 75 * kGiB;
  for (int i = 0; i < 20; ++i) facts.groups.push_back({kMiB, 1, "somewhere.py:1 f"});
  facts.held = kGiB;
  facts.held_storages = 20;
  for (int i = 0; i < 20; ++i) facts.holders.push_back(compiled_wrapper());
  const std::string text = oom_lines(facts, "", "out");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_NE(text.find("fragmented: 5.0 GiB of the reserved bytes are free but scattered"), std::string::npos) << text;
  EXPECT_NE(text.find("fix "), std::string::npos);
  EXPECT_TRUE(text.ends_with("  next dc-memtrace show live out --at oom#2\n")) << text;
}

TEST(OomLines, WithoutReleasesNothingIsSaidOfThem) {
  OomFacts facts = full_device();
  EXPECT_EQ(oom_lines(facts, "", "out").find("released"), std::string::npos);
  facts.has_releases = true;
  EXPECT_NE(oom_lines(facts, "", "out").find("nothing of it was released and is still held"), std::string::npos);
}

TEST(OomLines, HoldersThatNobodyNamed) {
  OomFacts facts = full_device();
  facts.held = 100 * kMiB;
  facts.held_storages = 1;
  facts.holders = {{100 * kMiB, 1, "", {}, "", "", false}};
  const std::string text = oom_lines(facts, "", "out");
  EXPECT_NE(text.find("  100.0 MiB of it is released and still held, by 1 storage; 400.0 MiB more would have to go for "
                      "the request to fit\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("100.0 MiB by holders that no census has named"), std::string::npos) << text;
}

TEST(OomLines, ALimitOfTheProcess) {
  OomFacts facts = full_device();
  const std::string limit = "a limit of the process keeps it from the rest";
  EXPECT_EQ(oom_lines(facts, "", "out").find(limit), std::string::npos);
  facts.figures.free = 10 * kGiB;
  EXPECT_NE(oom_lines(facts, "", "out").find(limit), std::string::npos);
}

}  // namespace
}  // namespace dcmt::recorder
