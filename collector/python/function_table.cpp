#include "collector/python/function_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "collector/agent/environment.h"
#include "collector/python/text.h"
#include "trace/base/path_end.h"

namespace dcmt::python_provider {
namespace {

constexpr std::size_t kMaxRows = agent::kMaxTableFunctions;
constexpr std::size_t kMaxText = agent::kMaxTableBytes + 1;

constinit char g_text[kMaxText] = {};
constinit FunctionRow g_rows[kMaxRows] = {};
constinit std::size_t g_row_count = 0;
constinit std::atomic<bool> g_births{false};

/// Removes the next field from a zero-terminated line.
char* next_field(char*& at) noexcept {
  char* const field = at;
  char* const tab = std::strchr(at, '\t');
  at = tab != nullptr ? tab + 1 : at + std::strlen(at);
  if (tab != nullptr) *tab = '\0';
  return field;
}

bool is(const char* text, const char* other) noexcept { return std::strcmp(text, other) == 0; }

/// Rows of a mechanism share a number below zero; graphs of operators have none of these.
std::int64_t graph_of(const char* mechanism) noexcept {
  std::int64_t lowest = 0;
  for (std::size_t i = 0; i < g_row_count; ++i) {
    if (is(g_rows[i].mechanism, mechanism)) return g_rows[i].graph;
    if (g_rows[i].graph < lowest) lowest = g_rows[i].graph;
  }
  return lowest - 1;
}

void load_row(char* line) noexcept {
  if (!is(next_field(line), "function") || g_row_count == kMaxRows) return;
  FunctionRow row{};
  row.file = next_field(line);
  row.function = next_field(line);
  row.role = is(next_field(line), "gather") ? agent::FunctionRole::kGather : agent::FunctionRole::kRelease;
  const char* const event = next_field(line);
  row.event = is(event, "move")     ? agent::FunctionEvent::kMove
              : is(event, "resize") ? agent::FunctionEvent::kResize
                                    : agent::FunctionEvent::kBirth;
  row.mechanism = next_field(line);
  row.graph = graph_of(row.mechanism);
  row.key = next_field(line);
  row.persist = next_field(line);
  row.owner = next_field(line);
  row.name = next_field(line);
  g_rows[g_row_count++] = row;
}

}  // namespace

void load_functions() noexcept {
  if (g_row_count != 0) return;  // read in an earlier recording
  const char* const path = agent::operators_path();
  const int file = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  std::size_t size = 0;
  while (size < kMaxText - 1) {
    const ssize_t got = read(file, g_text + size, kMaxText - 1 - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  close(file);
  for (char *line = g_text, *end = nullptr; (end = std::strchr(line, '\n')) != nullptr; line = end + 1) {
    *end = '\0';
    load_row(line);
  }
}

bool has_functions() noexcept { return g_row_count != 0; }

const FunctionRow& row_of(std::uint32_t number) noexcept { return g_rows[number - 1]; }

std::uint32_t function_row(const PyCodeObject* code) noexcept {
  if (g_row_count == 0) return 0;
  const Text function(code->co_qualname);
  const Text file(code->co_filename);
  for (std::size_t i = 0; i < g_row_count; ++i) {
    if (function.view() != g_rows[i].function || !ends_with_path(file.view(), g_rows[i].file)) continue;
    if (g_rows[i].event == agent::FunctionEvent::kBirth) g_births.store(true, std::memory_order_relaxed);
    return static_cast<std::uint32_t>(i + 1);
  }
  return 0;
}

bool births_by_functions() noexcept { return g_births.load(std::memory_order_relaxed); }

}  // namespace dcmt::python_provider
