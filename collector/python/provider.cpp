// The agent calls the entry point of this file to start the provider: it registers only if its checks pass.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "collector/agent/provider.h"
#include "collector/python/codes.h"
#include "collector/python/exit.h"
#include "collector/python/function_table.h"
#include "collector/python/functions.h"
#include "collector/python/interpreter.h"
#include "collector/python/locals.h"
#include "collector/python/stacks.h"

namespace dcmt::python_provider {
namespace {

constinit const agent::PythonProvider kProvider{sizeof(agent::PythonProvider),
                                                capture_stack,
                                                describe_stack,
                                                innermost_frame,
                                                visit_locals,
                                                prepare_visit,
                                                function_here,
                                                births_by_functions,
                                                runs_at,
                                                unwatch_codes};

/// `version` is Py_GetVersion().
bool free_threaded(const char* version) noexcept { return std::strstr(version, "free-threading") != nullptr; }

/// True if the running Python has the version whose layouts were compiled in, and a GIL like that version.
bool same_version(const char* version) noexcept {
  if (free_threaded(version)) return false;
  char wanted[16];
  const int length = snprintf(wanted, sizeof wanted, "%d.%d.", PY_MAJOR_VERSION, PY_MINOR_VERSION);
  return std::strncmp(version, wanted, static_cast<std::size_t>(length)) == 0;
}

/// Compares the stack walk with CPython's answer for the caller's innermost frame. CPython's answer needs the GIL; a
/// thread without the GIL or without frames compares nothing.
bool walk_agrees() noexcept {
  PyThreadState* const thread = dcmt_py_thread();
  if (thread != PyGILState_GetThisThreadState()) return false;
  if (thread == nullptr || dcmt_py_holds_gil(thread) == 0) return true;
  PyFrameObject* const frame = PyThreadState_GetFrame(thread);
  dcmt_py_position position{};
  int more = 0;
  const PyObject* first_local = nullptr;
  const unsigned count = dcmt_py_positions(thread, &position, 1, &more, nullptr, &first_local);
  if (frame == nullptr) return count == 0;
  PyCodeObject* const code = PyFrame_GetCode(frame);
  const bool same = count == 1 && code == position.code &&
                    PyFrame_GetLineNumber(frame) == PyCode_Addr2Line(position.code, dcmt_py_offset(&position));
  Py_DECREF(code);
  Py_DECREF(frame);
  return same;
}

void start() noexcept {
  const char* const version = Py_GetVersion();
  char text[256];
  if (!same_version(version)) {
    snprintf(text, sizeof text, "Python stacks and variables are off: built for CPython %d.%d, this is %.*s%s",
             PY_MAJOR_VERSION, PY_MINOR_VERSION, static_cast<int>(std::strcspn(version, " ")), version,
             free_threaded(version) ? ", free-threaded (not supported)" : "");
    agent::diagnose(wire::DiagnosticCode::kProviderOff, text);
    return;
  }
  if (dcmt_py_difference difference; dcmt_py_differs(&difference) != 0) {
    snprintf(text, sizeof text,
             "Python stacks and variables are off: in this CPython %.*s, %s is at byte %llu, and at byte %llu in the "
             "headers that the provider was built with",
             static_cast<int>(std::strcspn(version, " ")), version, difference.member,
             static_cast<unsigned long long>(difference.stated), static_cast<unsigned long long>(difference.compiled));
    agent::diagnose(wire::DiagnosticCode::kProviderOff, text);
    return;
  }
  if (!walk_agrees()) {
    agent::diagnose(wire::DiagnosticCode::kProviderOff,
                    "Python stacks and variables are off: frames of this CPython are not laid out as its headers say");
    return;
  }
  if (!watch_codes()) {
    agent::diagnose(wire::DiagnosticCode::kNote, "no memory for the table of code objects: stacks cost more");
  }
  load_functions();
  watch_exit();
  const auto length = std::strcspn(version, " ");
  snprintf(text, sizeof text, "%.*s", static_cast<int>(length), version);
  agent::set_python_version(text);
  agent::register_python_provider(&kProvider);
}

}  // namespace
}  // namespace dcmt::python_provider

/// Called once by the agent after it has loaded this object, inside its guard.
extern "C" DCMT_AGENT_API void dcmt_provider_start() { dcmt::python_provider::start(); }
