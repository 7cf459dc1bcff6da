#include "analyzer/references/change_stacks.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// What the agent keeps of a C++ stack (collector/agent/cpp_stacks.cpp). A longer one is cut.
constexpr std::size_t kKeptFrames = 48;

/// Functions that every reference goes through, whoever takes it.
bool is_of_every_reference(std::string_view function) {
  constexpr std::array<std::string_view, 5> kBegins = {
      "c10::intrusive_ptr::", "c10::raw::", "std::_Sp_counted_base",
      "pybind11::handle::", "torch::detail::(anonymous namespace)::ConcretePyInterpreterV"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return function.starts_with(begin); });
}

/// Names of CPython, 3.11 to 3.13.
bool calls_python(std::string_view function) {
  return function.starts_with("_PyEval_Vector") || function.starts_with("_PyEvalFramePushAndInit") ||
         function.starts_with("initialize_locals");
}
bool ends_variables(std::string_view function) {
  return function.starts_with("_PyFrame_Clear") || function.starts_with("_PyEvalFrameClearAndPop") ||
         function.starts_with("clear_thread_frame");
}

bool ends_interpreter(std::string_view function) {
  return function.starts_with("Py_FinalizeEx") || function.starts_with("_Py_Finalize") ||
         function.starts_with("finalize_modules") || function.starts_with("_PyGC_CollectNoFail");
}

/// Functions that take a reference for the one who called them.
bool returns_a_reference(std::string_view function) {
  constexpr std::array<std::string_view, 9> kParts = {"THPVariable_Wrap", "subscript", "iter_next",
                                                      "iternext",         "GetAttr",   "GetItem",
                                                      "_getitem",         "list_item", "member_get"};
  return std::ranges::any_of(kParts,
                             [&](std::string_view part) { return function.find(part) != std::string_view::npos; });
}

}  // namespace

const ChangeStack& ChangeStacks::of(const CountChange& change) {
  const auto [entry, is_new] = known_.try_emplace({change.by.stack, change.native});
  ChangeStack& stack = entry->second;
  if (!is_new) return stack;
  for (const Stack* at = data_.stacks.find(change.by.stack); at != nullptr; at = data_.stacks.find(at->parent)) {
    stack.python.push_back(at->frame);
  }
  std::ranges::reverse(stack.python);
  for (const Stack* at = data_.stacks.find(change.native); at != nullptr; at = data_.stacks.find(at->parent)) {
    const Frame* frame = data_.frames.find(at->frame);
    stack.native.push_back(frame != nullptr ? data_.text(frame->function) : std::string_view());
  }
  stack.cut = stack.native.size() >= kKeptFrames;
  std::ranges::reverse(stack.native);
  // The main thread has no frame of Python before and after its program.
  const analyzer::Thread* thread = data_.threads.find(change.by.thread);
  const bool is_main = thread != nullptr && thread->tid == data_.meta_integer(meta::kPid).value_or(0);
  stack.at_exit =
      stack.python.empty() && ((stack.cut && is_main) || std::ranges::any_of(stack.native, ends_interpreter));
  stack.at_return = std::ranges::any_of(stack.native, ends_variables);
  while (stack.native.size() > 1 && is_of_every_reference(stack.native.back())) stack.native.pop_back();
  return stack;
}

HeldAs held_as_taken(Subject subject, const CountChange& change, const ChangeStack& stack) {
  if (change.before == 0) return HeldAs::kResult;
  if (stack.native.empty()) return HeldAs::kValue;
  const bool half = (subject == Subject::kObject && stack.function().ends_with("incref_pyobject")) ||
                    (subject == Subject::kTensor && stack.function().starts_with("THPVariable_Wrap"));
  if (half) return HeldAs::kOtherHalf;
  if (calls_python(stack.function())) return HeldAs::kVariable;
  return returns_a_reference(stack.function()) ? HeldAs::kResult : HeldAs::kElsewhere;
}

HeldAs held_as_given_back(Subject subject, const ChangeStack& stack) {
  if (stack.native.empty()) return HeldAs::kValue;
  const bool half = (subject == Subject::kObject && stack.function().ends_with("decref_pyobject")) ||
                    (subject == Subject::kTensor && stack.function() == "THPVariable_clear");
  if (half) return HeldAs::kOtherHalf;
  return ends_variables(stack.function()) ? HeldAs::kVariable : HeldAs::kElsewhere;
}

bool is_of_dictionary(const ChangeStack& stack) {
  const std::string_view function = stack.function();
  return function.starts_with("PyDict_SetItem") || function.starts_with("insertdict") ||
         function.starts_with("delitem_common") || function.starts_with("PyDict_DelItem");
}

std::size_t frames_between(const ChangeStack& one, const ChangeStack& other) {
  const auto differ = std::ranges::mismatch(one.python, other.python);
  std::size_t alike = static_cast<std::size_t>(differ.in1 - one.python.begin());
  if (differ.in1 == one.python.end() && differ.in2 == other.python.end()) {
    const auto further = std::ranges::mismatch(one.native, other.native);
    alike += static_cast<std::size_t>(further.in1 - one.native.begin());
  }
  return one.python.size() + one.native.size() + other.python.size() + other.native.size() - 2 * alike;
}

bool is_within(const ChangeStack& inner, const ChangeStack& outer) {
  return inner.python.size() >= outer.python.size() &&
         std::equal(outer.python.begin(), outer.python.end(), inner.python.begin());
}

}  // namespace dcmt::analyzer
