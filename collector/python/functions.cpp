#include "collector/python/functions.h"

#include <cstdint>
#include <cstring>

#include "collector/python/codes.h"
#include "collector/python/function_table.h"
#include "collector/python/interpreter.h"
#include "collector/python/text.h"

namespace dcmt::python_provider {
namespace {

/// How many frames outward the function is searched: it may call helpers and comprehensions.
constexpr unsigned kMaxDepth = 6;

/// The value of a variable of the frame, borrowed; nullptr if there is none.
PyObject* variable(const dcmt_py_frame& frame, const char* name) noexcept {
  for (std::int32_t i = 0; i < frame.locals; ++i) {
    if (Text(PyTuple_GET_ITEM(frame.code->co_localsplusnames, i)).view() != name) continue;
    PyObject* const value = dcmt_py_value(&frame, i);
    const bool cell = dcmt_py_slot_kind(frame.code, i) != DCMT_PY_LOCAL && value != nullptr && PyCell_Check(value);
    return cell ? PyCell_GET(value) : value;
  }
  return nullptr;
}

/// Reads the attributes of the parameter that the row names. The caller holds the GIL.
void read_attributes(const FunctionRow& row, const dcmt_py_frame& frame, PyObject* tensor,
                     agent::FunctionCall& call) noexcept {
  if (tensor != nullptr && *row.key != '\0') {
    PyObject* const key = dcmt_py_attribute(tensor, row.key);
    int overflow = 0;
    if (key != nullptr && PyLong_Check(key)) {
      call.number = PyLong_AsLongLongAndOverflow(key, &overflow);
      call.numbered = overflow == 0;
    }
    Py_XDECREF(key);
  }
  if (tensor != nullptr && *row.persist != '\0') {
    PyObject* const persist = dcmt_py_attribute(tensor, row.persist);
    call.persistent = persist == Py_True;
    Py_XDECREF(persist);
  }
  if (*row.owner != '\0') {
    PyObject* const owner = variable(frame, row.owner);
    PyObject* const name = owner != nullptr ? dcmt_py_attribute(owner, row.name) : nullptr;
    if (name != nullptr && PyUnicode_Check(name)) call.name = Text(name).intern();
    Py_XDECREF(name);
  }
}

}  // namespace

agent::FunctionCall function_here(agent::FunctionEvent event, const void* object) noexcept {
  agent::FunctionCall call;
  PyThreadState* const thread = has_functions() ? dcmt_py_thread() : nullptr;
  if (thread == nullptr) return call;
  dcmt_py_frame frame;
  int more = dcmt_py_first_frame(thread, &frame);
  for (unsigned depth = 0; more != 0 && depth < kMaxDepth; ++depth, more = dcmt_py_next_frame(&frame, &frame)) {
    const std::uint32_t number = identify(frame.code).function;
    if (number == 0 || row_of(number).event != event) continue;
    const FunctionRow& row = row_of(number);
    call.role = row.role;
    call.graph = row.graph;
    call.function = Text(frame.code->co_qualname).intern();
    call.mechanism = agent::intern(row.mechanism, std::strlen(row.mechanism));
    // Operators run without the GIL, so a birth has no attributes; a later event of the same parameter has them.
    auto* const tensor = static_cast<PyObject*>(const_cast<void*>(object));
    if (dcmt_py_holds_gil(thread) != 0) read_attributes(row, frame, tensor, call);
    return call;
  }
  return call;
}

}  // namespace dcmt::python_provider
