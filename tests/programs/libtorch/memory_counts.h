// Counts CPU allocations by torch's own profiler, as training_report.py does for the Python programs.
#pragma once

#include <cstdint>

/// What the profiler saw. Peak and rest are above what was allocated when it began.
struct MemoryCounts {
  std::int64_t allocations = 0;
  std::int64_t frees = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t left_bytes = 0;
};

/// Begins counting; in a recorded process also a phase named "profiled". One at a time, begin and end on one thread.
void begin_memory_counts();
MemoryCounts end_memory_counts();
