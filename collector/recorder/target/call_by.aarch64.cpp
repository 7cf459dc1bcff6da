// call_by() of borrow_thread.h. It is not called: injection_obstacle() refuses first (arch::kNoEntering).
#include "collector/recorder/target/borrow_thread.h"

namespace dcmt::recorder {

void get_ready_to_borrow() {}

Borrowed call_by(pid_t, pid_t, const EntryCode&, const ThreadCall&, const std::vector<scan::Region>&) {
  return Borrowed::kRefused;
}

}  // namespace dcmt::recorder
