// Work that needs Python's GIL, when the recording starts on a thread of ours.
#pragma once

namespace dcmt::agent {

/// Has Python's main thread call `start` between two of its instructions, with the GIL and with its frames, and inside
/// our guard. Waits for that half a second; what has not begun then begins whenever that thread gets there, unless
/// drop_main_thread_work() came first. One at a time.
void start_on_main_thread(void (*start)()) noexcept;

/// What has not begun never will.
void drop_main_thread_work() noexcept;

}  // namespace dcmt::agent
