#include "collector/python/locals.h"

#include <algorithm>
#include <cstddef>

#include "collector/python/bodies.h"
#include "collector/python/codes.h"
#include "collector/python/hash.h"
#include "collector/python/interpreter.h"
#include "collector/python/stacks.h"
#include "collector/python/text.h"

namespace dcmt::python_provider {
namespace {

constexpr std::uint64_t kPreparedSeed = 0x7072657061726564;

/// Prevents Python from running on other threads while their frames are inspected, if that is possible without waiting:
/// the caller holds the GIL, or no thread holds it and none can acquire it meanwhile. The caller does not acquire it
/// either: since 3.12 that can wait, and it ends the thread when Python finalizes.
class Stillness {
 public:
  Stillness(PyThreadState* thread, const PyInterpreterState* interpreter) noexcept
      : main_(interpreter == PyInterpreterState_Main()),
        have_gil_(dcmt_py_holds_gil(thread) != 0),
        frozen_(!have_gil_ && main_ && dcmt_py_freeze() != 0) {}  // freezes the main interpreter's GIL
  ~Stillness() {
    if (frozen_) dcmt_py_thaw();
  }
  Stillness(const Stillness&) = delete;
  Stillness& operator=(const Stillness&) = delete;
  /// True if objects of the main interpreter can be read.
  [[nodiscard]] bool of_main() const noexcept { return main_ && *this; }
  explicit operator bool() const noexcept { return have_gil_ || frozen_; }

 private:
  const bool main_;
  const bool have_gil_;
  const bool frozen_;
};

struct Hit {
  dcmt_py_frame frame;
  PyObject* cell;  ///< the cell that refers to the object; nullptr for plain variables
  std::uint64_t object;
  wire::LocalKind kind;
  std::int32_t index;
  std::uint32_t depth;
  std::uint32_t tid;
};

class Visit {
 public:
  /// @param lines  whether source lines can be read
  Visit(std::uint64_t census, const std::uint64_t* objects, std::uint32_t count, bool lines) noexcept
      : census_(census), objects_(objects), count_(count), lines_(lines) {
    for (std::uint32_t i = 0; i < count; ++i) {
      lowest_ = std::min(lowest_, objects[i]);
      highest_ = std::max(highest_, objects[i]);
    }
  }

  void inspect(const PyThreadState* thread, std::uint32_t tid) noexcept {
    dcmt_py_frame frame;
    std::uint32_t depth = 0;
    for (int more = dcmt_py_first_frame(thread, &frame); more != 0;
         more = dcmt_py_next_frame(&frame, &frame), ++depth) {
      ++reach_.frames;
      for (std::int32_t i = 0; i < frame.locals; ++i) inspect_variable(frame, i, depth, tid);
      for (std::int32_t i = frame.locals; i < frame.stack_top; ++i) {
        PyObject* const operand = dcmt_py_object(&frame, i);
        if (wanted(operand)) add(frame, operand, nullptr, wire::LocalKind::kEvalStack, i - frame.locals, depth, tid);
      }
    }
  }

  /// Writes the hits. Call it while the GIL is still held or kept free. A cell that several frames share is counted
  /// once, under the name of the function that owns it unless that one is met after more than kHits others.
  void publish() noexcept {
    for (std::size_t i = 0; i < hits_; ++i) {
      publish(found_[i]);
      if (found_[i].cell != nullptr && cells_ < kHits) published_[cells_++] = found_[i].cell;
    }
    hits_ = 0;
  }

  [[nodiscard]] agent::LocalsReach& reach() noexcept { return reach_; }

 private:
  static constexpr std::size_t kHits = 128;

  [[nodiscard]] bool wanted(const PyObject* object) const noexcept {
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object));
    if (address < lowest_ || address > highest_) return false;
    return std::find(objects_, objects_ + count_, address) != objects_ + count_;
  }

  void inspect_variable(const dcmt_py_frame& frame, std::int32_t index, std::uint32_t depth,
                        std::uint32_t tid) noexcept {
    PyObject* const value = dcmt_py_object(&frame, index);
    if (value == nullptr) return;
    const dcmt_py_slot slot = dcmt_py_slot_kind(frame.code, index);
    if (slot != DCMT_PY_LOCAL && Py_IS_TYPE(value, &PyCell_Type)) {
      PyObject* const content = PyCell_GET(value);
      if (content == nullptr || !wanted(content)) return;
      add(frame, content, value, slot == DCMT_PY_CELL ? wire::LocalKind::kCell : wire::LocalKind::kFree, index, depth,
          tid);
    } else if (wanted(value)) {
      add(frame, value, nullptr, wire::LocalKind::kLocal, index, depth, tid);
    }
  }

  void add(const dcmt_py_frame& frame, const PyObject* object, PyObject* cell, wire::LocalKind kind, std::int32_t index,
           std::uint32_t depth, std::uint32_t tid) noexcept {
    const Hit hit{frame, cell, reinterpret_cast<std::uintptr_t>(object), kind, index, depth, tid};
    if (cell != nullptr) {
      for (std::size_t i = 0; i < hits_; ++i) {
        if (found_[i].cell != cell) continue;
        if (kind == wire::LocalKind::kCell) found_[i] = hit;  // one reference; its owner's name is the best
        return;
      }
      if (std::find(published_, published_ + cells_, cell) != published_ + cells_) return;
    }
    if (hits_ == kHits) publish();
    found_[hits_++] = hit;
  }

  void publish(const Hit& hit) noexcept {
    PyCodeObject* const code = hit.frame.code;
    const std::uint64_t id = identify(code).id;
    publish_body(code, id);
    if (lines_) publish_source_lines(code->co_filename);
    const bool named = hit.kind != wire::LocalKind::kEvalStack;
    const std::uint64_t name = named ? Text(PyTuple_GET_ITEM(code->co_localsplusnames, hit.index)).intern() : 0;
    const int line = line_of(code, id, hit.frame.offset);
    void* const room = agent::begin_record(wire::RecordType::kCensusLocal, sizeof(wire::CensusLocalRecord),
                                           static_cast<std::uint32_t>(hit.kind));
    if (room == nullptr) return;
    auto* const record = static_cast<wire::CensusLocalRecord*>(room);
    record->census = census_;
    record->object = hit.object;
    record->code = id;
    record->offset = hit.frame.offset;
    record->line = line;
    record->index = hit.index;
    record->depth = hit.depth;
    record->name = name;
    record->tid = hit.tid;
    agent::commit_record(room);
    ++reach_.found;
  }

  std::uint64_t census_;
  const std::uint64_t* objects_;
  std::uint32_t count_;
  bool lines_;
  std::uint64_t lowest_ = ~std::uint64_t{0};
  std::uint64_t highest_ = 0;
  agent::LocalsReach reach_;
  std::size_t hits_ = 0;
  Hit found_[kHits];
  std::size_t cells_ = 0;
  PyObject* published_[kHits];  ///< cells whose hits have been written
};

}  // namespace

agent::LocalsReach visit_locals(std::uint64_t census, const std::uint64_t* objects, std::uint32_t count,
                                bool other_threads) noexcept {
  if (dcmt_py_runs() == 0) return {};
  PyThreadState* const self = dcmt_py_thread();
  PyInterpreterState* const interpreter = self != nullptr ? self->interp : PyInterpreterState_Main();
  const Stillness still(self, interpreter);
  Visit visit(census, objects, count, still.of_main());
  if (self != nullptr) visit.inspect(self, agent::current_tid());
  if (!still) {
    visit.reach().other_threads_unseen = true;  // another thread holds the GIL, so another thread exists
  } else {
    for (PyThreadState* thread = PyInterpreterState_ThreadHead(interpreter); thread != nullptr;
         thread = PyThreadState_Next(thread)) {
      if (thread == self) continue;
      if (other_threads)
        visit.inspect(thread, static_cast<std::uint32_t>(thread->native_thread_id));
      else
        visit.reach().other_threads_unseen = true;
    }
  }
  visit.publish();
  return visit.reach();
}

void prepare_visit() noexcept {
  std::uint64_t module = 0;
  const std::uint64_t stack = capture_stack(&module);
  if (stack == 0 || !agent::first_sight(as_id(mix(stack, kPreparedSeed)))) return;
  PyThreadState* const self = dcmt_py_thread();
  const Stillness still(self, self->interp);
  if (!still.of_main()) return;
  // The operator may have frames of torch's own between itself and the code that calls it.
  dcmt_py_frame frame;
  for (int more = dcmt_py_first_frame(self, &frame); more != 0; more = dcmt_py_next_frame(&frame, &frame)) {
    if (!publish_source_lines(frame.code->co_filename)) continue;
    publish_body(frame.code, identify(frame.code).id);
    return;
  }
}

}  // namespace dcmt::python_provider
