// An object that is loaded and unloaded while its process is recorded.
#include <atomic>
#include <thread>
#include <vector>

#include "collector/include/dcmt/marks.h"
#include "tensors.h"

namespace {

std::atomic<bool> g_stop{false};
std::vector<std::thread> g_threads;

/// Releases of a parameter that stays alive: each has a census at the next operator.
void release_again_and_again(int number) {
  const dcmt_marks* const marks = dcmt_get_marks_table();
  while (!g_stop) {
    const HeldTensor parameter;
    if (marks != nullptr) {
      marks->gather(0, number, parameter.address(), nullptr);
      marks->release_begin(0, number, 1);
      marks->release_end(0, number);
    }
    make_tensors(1);
  }
}

}  // namespace

extern "C" {

/// Blocks of a size that nothing else has.
__attribute__((visibility("default"))) int extension_make(int count) {
  make_blocks(count, 123'456);
  return count;
}

/// Threads that are not registered with Python, until extension_stop().
__attribute__((visibility("default"))) void extension_start(int threads) {
  for (int i = 0; i < threads; ++i) g_threads.emplace_back(release_again_and_again, i);
}

__attribute__((visibility("default"))) void extension_stop() {
  g_stop = true;
  for (std::thread& thread : g_threads) thread.join();
  g_threads.clear();
}
}
