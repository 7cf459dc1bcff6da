#include "collector/agent/arena.h"

#include <gtest/gtest.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "collector/agent/provider.h"

namespace {

struct Piece {
  char* at;
  std::size_t bytes;
};

constexpr std::size_t kHugePage = std::size_t{2} << 20;

TEST(Arena, PiecesAreZeroAndApartWhoeverAsks) {
  ASSERT_TRUE(dcmt::agent::make_arena());
  const auto* first = static_cast<char*>(dcmt::agent::arena(1));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % kHugePage, 0u) << "where the pool begins";
  EXPECT_EQ(dcmt::agent::arena(1), first + 64);

  // More memory than the pool has, so that some tables have their own pages; one is larger than a huge page.
  std::vector<std::vector<Piece>> asked(4);
  std::vector<std::thread> threads;
  for (auto& mine : asked) {
    threads.emplace_back([&mine] {
      for (std::size_t i = 1; i <= 400; ++i) {
        const std::size_t bytes = i == 200 ? kHugePage + 1 : i * 37;
        mine.push_back({static_cast<char*>(dcmt::agent::arena(bytes)), bytes});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::vector<Piece> all;
  for (const auto& mine : asked) all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all, {}, &Piece::at);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_NE(all[i].at, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all[i].at) % (all[i].bytes > kHugePage ? kHugePage : 64), 0u);
    EXPECT_TRUE(std::all_of(all[i].at, all[i].at + all[i].bytes, [](char c) { return c == 0; }));
    EXPECT_TRUE(i == 0 || all[i - 1].at + all[i - 1].bytes <= all[i].at);
  }
  for (const Piece& piece : all) memset(piece.at, 0xff, piece.bytes);
}

TEST(Arena, AForkedChildSeesZeros) {
  for (const bool pooled : {false, true}) {
    ASSERT_TRUE(!pooled || dcmt::agent::make_arena());
    for (const std::size_t bytes : {std::size_t{1}, kHugePage}) {
      auto* const piece = static_cast<char*>(dcmt::agent::arena(bytes));
      *piece = 7;
      const pid_t child = fork();
      if (child == 0) _exit(*static_cast<volatile char*>(piece));
      int status = -1;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
      EXPECT_EQ(*piece, 7);
    }
  }
}

}  // namespace
