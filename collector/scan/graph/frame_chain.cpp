#include "collector/scan/graph/frame_chain.h"

#include <utility>

#include "collector/scan/objects/python_objects.h"

namespace dcmt::scan {
namespace {

constexpr std::size_t kMostFrames = 5000;
constexpr int kReadings = 4;

struct Chain {
  std::vector<Address> frames;
  bool is_whole = false;  ///< it reaches the outermost frame
};

/// True for the frame of a coroutine or a generator. One that runs has a caller: without one, it was suspended while
/// the chain was read.
bool is_of_generator(Address frame, Mirror& memory, ProcessTypes& types) {
  const PythonType* type = types.python_types.type_of(memory, frame - types.python.generator_frame);
  return type != nullptr && type->kind == Kind::kGenerator;
}

Chain read_chain(Address thread, Mirror& memory, ProcessTypes& types) {
  const PythonLayout& layout = types.python;
  // Up to 3.12, a thread points to a structure on its C stack, which is gone when the C function returns.
  const Address holder = layout.thread_cframe < 0 ? thread : memory.word_now(thread + layout.thread_cframe);
  const Address innermost = memory.word_now(holder + layout.thread_frame);
  Chain chain;
  Address frame = innermost, outermost = 0;
  for (std::size_t read = 0; frame != 0 && read < kMostFrames; ++read) {
    memory.forget({frame, frame + static_cast<Address>(layout.frame_previous) + sizeof(Address)});
    if (memory.at(frame + layout.frame_previous, sizeof(Address)) == nullptr) return chain;
    const PythonType* code = types.python_types.type_of(memory, code_of_frame(memory, layout, frame));
    // Otherwise it is an entry frame of the interpreter.
    if (code != nullptr && code->kind == Kind::kCode) chain.frames.push_back(frame);
    outermost = std::exchange(frame, memory.word(frame + layout.frame_previous));
  }
  chain.is_whole = innermost == 0 || (!chain.frames.empty() && !is_of_generator(outermost, memory, types));
  return chain;
}

}  // namespace

std::vector<Address> frames_of(Address thread, Mirror& memory, ProcessTypes& types) {
  std::vector<Address> longest;
  for (int reading = 0; reading < kReadings; ++reading) {
    Chain chain = read_chain(thread, memory, types);
    if (chain.is_whole) return std::move(chain.frames);
    if (chain.frames.size() > longest.size()) longest = std::move(chain.frames);
  }
  return longest;
}

}  // namespace dcmt::scan
