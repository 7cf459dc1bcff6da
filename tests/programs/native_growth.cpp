// Ways to keep memory of C and C++, and healthy twins of them. Each function has a call from native_growth.py; kept()
// has the bytes that it has asked for and not given back, as it counts them itself.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <map>
#include <string>
#include <vector>

#define KEPT_BY extern "C" __attribute__((noinline, visibility("default")))

namespace {
long g_kept[8];
struct Record {
  Record* next;
  char rest[40];
};
Record* g_records;
std::vector<std::vector<double>> g_rows;
std::vector<std::string> g_lines;
std::map<long, long> g_index;
long g_next;
}  // namespace

KEPT_BY long kept(int kind) { return g_kept[kind]; }

KEPT_BY void keep_records(long count) {
  for (long i = 0; i < count; ++i) {
    auto* record = static_cast<Record*>(malloc(sizeof(Record)));
    memset(record, 1, sizeof *record);
    record->next = g_records;
    g_records = record;
    g_kept[0] += sizeof *record;
  }
}

KEPT_BY void keep_rows(long count) {
  for (long i = 0; i < count; ++i) {
    g_rows.emplace_back(128, 1.0);
    g_kept[1] += 128 * sizeof(double);
  }
}

KEPT_BY void keep_lines(long count) {
  for (long i = 0; i < count; ++i) {
    g_lines.emplace_back(500, 'x');
    g_kept[2] += 501;
  }
}

KEPT_BY void keep_index(long count) {
  for (long i = 0; i < count; ++i) {
    g_index[g_next] = g_next;
    ++g_next;
    g_kept[3] += 48;  // of a node: its header, two numbers
  }
}

KEPT_BY void keep_pages(long count) {
  for (long i = 0; i < count; ++i) {
    void* pages = mmap(nullptr, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 1, 64 << 10);
    g_kept[4] += 64 << 10;
  }
}

// Healthy.

KEPT_BY void use_buffers(long count) {
  for (long i = 0; i < count; ++i) {
    void* volatile buffer = malloc(1000);
    memset(buffer, 1, 1000);
    free(buffer);
    buffer = mmap(nullptr, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(buffer, 64 << 10);
  }
}

KEPT_BY void fill_cache(long count) {
  for (long i = 0; i < count && g_lines.size() < 40'000; ++i) g_lines.emplace_back(500, 'x');
}

KEPT_BY void use_arena(long count) {
  static std::vector<char*> arena;
  for (long i = 0; i < count; ++i) {
    if (arena.size() >= 20'000) {
      for (char* each : arena) free(each);
      arena.clear();
    }
    arena.push_back(static_cast<char*>(malloc(600)));
  }
}

KEPT_BY void use_window(long count) {
  for (long i = 0; i < count; ++i) {
    g_index[g_next] = g_next;
    ++g_next;
    if (g_index.size() > 100'000) g_index.erase(g_index.begin());
  }
}
