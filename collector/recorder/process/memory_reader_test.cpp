#include "collector/recorder/process/memory_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <vector>

namespace dcmt::recorder {
namespace {

TEST(MemoryReader, TheRecorderMayGrowWithTheNumberOfItsProcesses) {
  const auto reader_of_everything = [] {
    return std::make_unique<MemoryReader>(getpid(), scan::LayoutFolders{}, scan::Scope::kAll);
  };
  const auto first = reader_of_everything();
  ASSERT_TRUE(first->fits());
  // What the recorder keeps of two ranks: with it, a reading passes the limit of one.
  const std::vector<char> kept((std::size_t{256} << 20) - first->needs() + 1, 1);
  EXPECT_FALSE(first->fits());
  {
    const auto second = reader_of_everything();
    EXPECT_TRUE(first->fits());
    EXPECT_TRUE(second->fits());
  }
  EXPECT_FALSE(first->fits()) << "the other process has ended";
}

TEST(MemoryReader, RanksThatHaveEndedAreReadAtTheSameTimeIfThereIsMemoryForIt) {
  MemoryReader first(getpid(), {}, scan::Scope::kAll);
  MemoryReader second(getpid(), {}, scan::Scope::kAll);
  first.start({});
  EXPECT_FALSE(second.may_start());
  EXPECT_TRUE(second.may_start(Program::kHasEnded));
  {
    // There is room for one of them.
    const std::vector<char> kept((std::size_t{1024} << 20) - second.needs() - second.needs() / 2, 1);
    EXPECT_FALSE(second.fits()) << "not while the program runs";
    EXPECT_TRUE(second.fits(Program::kHasEnded));
    first.receive(true);
    EXPECT_TRUE(second.may_start(Program::kHasEnded));
    first.start({});
    EXPECT_FALSE(second.may_start(Program::kHasEnded));
    first.receive(true);
  }
  EXPECT_TRUE(second.may_start());
}

}  // namespace
}  // namespace dcmt::recorder
