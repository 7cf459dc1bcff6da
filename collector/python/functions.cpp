#include "collector/python/functions.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "collector/agent/environment.h"
#include "collector/python/codes.h"
#include "collector/python/interpreter.h"
#include "collector/python/text.h"
#include "trace/base/path_end.h"

namespace dcmt::python_provider {
namespace {

constexpr std::size_t kMaxRows = agent::kMaxTableFunctions;
constexpr std::size_t kMaxText = agent::kMaxTableBytes + 1;
/// How many frames outward the function is searched: it may call helpers and comprehensions.
constexpr unsigned kMaxDepth = 6;

/// A row of the table; its texts are in g_text. Attributes: empty if there is none.
struct Row {
  const char* file;      ///< end of the file's path
  const char* function;  ///< qualified name
  agent::FunctionRole role;
  agent::FunctionEvent event;
  std::int64_t graph;
  const char* mechanism;
  const char* key;      ///< attribute of the tensor: the parameter's number
  const char* persist;  ///< attribute of the tensor: true if it is kept permanently
  const char* owner;    ///< the function's variable ...
  const char* name;     ///< ... and its attribute that is the parameter's name
};

constinit char g_text[kMaxText] = {};
constinit Row g_rows[kMaxRows] = {};
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
  Row row{};
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

std::string_view view(const Text& text) noexcept { return {text.data(), text.size()}; }

/// The value of a variable of the frame, borrowed; nullptr if there is none.
PyObject* variable(const dcmt_py_frame& frame, const char* name) noexcept {
  for (std::int32_t i = 0; i < frame.locals; ++i) {
    if (view(Text(PyTuple_GET_ITEM(frame.code->co_localsplusnames, i))) != name) continue;
    PyObject* const value = frame.slots[i];
    const bool cell = dcmt_py_slot_kind(frame.code, i) != DCMT_PY_LOCAL && value != nullptr && PyCell_Check(value);
    return cell ? PyCell_GET(value) : value;
  }
  return nullptr;
}

/// Reads the attributes of the parameter that the row names. The caller holds the GIL.
void read_attributes(const Row& row, const dcmt_py_frame& frame, PyObject* tensor, agent::FunctionCall& call) noexcept {
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

std::uint32_t function_row(const PyCodeObject* code) noexcept {
  if (g_row_count == 0) return 0;
  const Text function(code->co_qualname);
  const Text file(code->co_filename);
  for (std::size_t i = 0; i < g_row_count; ++i) {
    if (view(function) != g_rows[i].function || !ends_with_path(view(file), g_rows[i].file)) continue;
    if (g_rows[i].event == agent::FunctionEvent::kBirth) g_births.store(true, std::memory_order_relaxed);
    return static_cast<std::uint32_t>(i + 1);
  }
  return 0;
}

agent::FunctionCall function_here(agent::FunctionEvent event, const void* object) noexcept {
  agent::FunctionCall call;
  PyThreadState* const thread = g_row_count != 0 ? dcmt_py_thread() : nullptr;
  if (thread == nullptr) return call;
  dcmt_py_frame frame;
  int more = dcmt_py_first_frame(thread, &frame);
  for (unsigned depth = 0; more != 0 && depth < kMaxDepth; ++depth, more = dcmt_py_next_frame(&frame, &frame)) {
    const std::uint32_t number = identify(frame.code).function;
    if (number == 0 || g_rows[number - 1].event != event) continue;
    const Row& row = g_rows[number - 1];
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

bool births_by_functions() noexcept { return g_births.load(std::memory_order_relaxed); }

}  // namespace dcmt::python_provider
