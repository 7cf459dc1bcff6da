// Places that allocate, each a function of its own: what is alive of each is estimated on its own, so one run tests a
// sample's interval as often as there are places. kept() has the bytes of a place as it counts them itself.
#include <stdlib.h>

#include <random>
#include <utility>
#include <vector>

#define CALLED extern "C" __attribute__((noinline, visibility("default")))

namespace {

/// Of one allocation; 0: of all sizes from 16 B to 64 KiB.
constexpr long kSizes[] = {24, 48, 200, 1'000, 5'000, 20'000, 150'000, 0};

struct Place {
  long kept = 0;
  std::vector<std::pair<void*, long>> pieces;
};
Place g_places[250];
std::mt19937_64 g_random;

long size_for(int number) {
  const long size = kSizes[number % std::size(kSizes)];
  return size != 0 ? size : 16l << g_random() % 13;
}

/// Every second place of a size frees half of its pieces, any of them.
void add(int number, long size, void* memory) {
  Place& place = g_places[number];
  place.pieces.emplace_back(memory, size);
  place.kept += size;
  if (number / std::size(kSizes) % 2 == 0 || g_random() % 2 == 0) return;
  std::swap(place.pieces[g_random() % place.pieces.size()], place.pieces.back());
  free(place.pieces.back().first);
  place.kept -= place.pieces.back().second;
  place.pieces.pop_back();
}

}  // namespace

CALLED void seed(long number) { g_random.seed(static_cast<unsigned long>(number)); }
CALLED long kept(int number) { return g_places[number].kept; }

// Asks for about so many bytes.
#define PLACE(number)                                       \
  CALLED void place_##number(long bytes) {                  \
    while (bytes > 0) {                                     \
      const long size = size_for(number);                   \
      bytes -= size;                                        \
      add(number, size, malloc(static_cast<size_t>(size))); \
    }                                                       \
  }
#define FIVE(a, b, c, d, e) PLACE(a) PLACE(b) PLACE(c) PLACE(d) PLACE(e)
#define TEN(tens)                                   \
  FIVE(tens##0, tens##1, tens##2, tens##3, tens##4) \
  FIVE(tens##5, tens##6, tens##7, tens##8, tens##9)
#define SIX_TENS(a, b, c, d, e, f) TEN(a) TEN(b) TEN(c) TEN(d) TEN(e) TEN(f)
SIX_TENS(1, 2, 3, 4, 5, 6)
SIX_TENS(7, 8, 9, 10, 11, 12)
SIX_TENS(13, 14, 15, 16, 17, 18)
SIX_TENS(19, 20, 21, 22, 23, 24)
