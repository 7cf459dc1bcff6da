#include "collector/python/exit.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/python/interpreter.h"
#include "collector/python/text.h"
#include "trace/base/memory_error.h"

namespace dcmt::python_provider {
namespace {

/// The innermost call of a traceback, as "train.py:4 load"; empty if there is none.
void describe_place(PyObject* traceback, char* out, std::size_t size) noexcept {
  if (traceback == nullptr || !PyTraceBack_Check(traceback)) return;
  auto* last = reinterpret_cast<PyTracebackObject*>(traceback);
  while (last->tb_next != nullptr) last = last->tb_next;
  PyCodeObject* const code = PyFrame_GetCode(last->tb_frame);
  const Text file(code->co_filename);
  const Text function(code->co_qualname);
  const char* const slash = strrchr(file.data(), '/');
  snprintf(out, size, " at %s:%d %s", slash != nullptr ? slash + 1 : file.data(), PyFrame_GetLineNumber(last->tb_frame),
           function.data());
  Py_DECREF(code);
}

constexpr double kMiB = 1 << 20;

/// "; limited to 5,859 MiB (ulimit -v)" if the process has such a limit.
void describe_limit(int which, const char* option, char* out, std::size_t size) noexcept {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(which), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  snprintf(out, size, "; the process is limited to %.0f MiB (ulimit %s)", static_cast<double>(limit.rlim_cur) / kMiB,
           option);
}

double resident_mib() noexcept {
  long pages = 0;
  if (FILE* const file = fopen("/proc/self/statm", "re"); file != nullptr) {
    if (fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    fclose(file);
  }
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / kMiB;
}

/// A MemoryError ended the program: Python has printed it, and keeps it with its traceback.
void note_memory_error() noexcept {
  PyObject* const error = PySys_GetObject("last_value");
  if (error == nullptr || PyErr_GivenExceptionMatches(error, PyExc_MemoryError) == 0) return;
  char place[256] = "";
  char limits[2][80] = {"", ""};
  describe_place(PySys_GetObject("last_traceback"), place, sizeof place);
  describe_limit(RLIMIT_AS, "-v", limits[0], sizeof limits[0]);
  describe_limit(RLIMIT_DATA, "-d", limits[1], sizeof limits[1]);
  PyObject* const said = PyObject_Str(error);
  if (said == nullptr) PyErr_Clear();
  char text[768];
  snprintf(text, sizeof text, "%s%s%s%s%s%s; %.0f MiB were resident at the end", kMemoryErrorNote.data(), place,
           said != nullptr && PyUnicode_GET_LENGTH(said) != 0 ? ": " : "", said != nullptr ? Text(said).data() : "",
           limits[0], limits[1], resident_mib());
  Py_XDECREF(said);
  agent::diagnose(wire::DiagnosticCode::kNote, text);
}

/// Lets those threads run that have waited for the GIL meanwhile, until they wait for something of their own again.
/// Once Python finalizes, each thread that acquires the GIL is ended; that is fatal where it does so below a C++
/// function that must not throw, as the one that ends a tensor. Without our wait it would rarely be at such a place.
void let_others_run() noexcept {
  PyThreadState* const first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  if (first == nullptr || PyThreadState_Next(first) == nullptr) return;
  constexpr double kSeconds = 0.01;
  PyObject* const time = PyImport_ImportModule("time");
  PyObject* const slept = time != nullptr ? PyObject_CallMethod(time, "sleep", "d", kSeconds) : nullptr;
  Py_XDECREF(slept);
  Py_XDECREF(time);
  PyErr_Clear();
}

/// The GIL is kept while it waits for the reading: objects do not change while they are read.
PyObject* at_exit(PyObject*, PyObject*) noexcept {
  if (agent::recording()) {
    const agent::Inside inside;
    note_memory_error();
  }
  agent::await_last_reading();
  let_others_run();
  Py_RETURN_NONE;
}

constinit PyMethodDef g_at_exit{"dc_memtrace_exit", at_exit, METH_NOARGS, nullptr};
/// Not possible yet: to be tried again when Python runs.
constinit std::atomic<bool> g_is_due{false};

int watch_pending(void*) noexcept {
  watch_exit();
  return 0;
}

}  // namespace

void code_runs() noexcept {
  // Not here: the caller may be anywhere in C.
  if (g_is_due.load(std::memory_order_relaxed) && g_is_due.exchange(false)) Py_AddPendingCall(watch_pending, nullptr);
}

void watch_exit() noexcept {
  static constinit bool watched = false;
  if (watched) return;
  PyThreadState* const thread = dcmt_py_thread();
  if (thread == nullptr || dcmt_py_holds_gil(thread) == 0 || PyErr_Occurred() != nullptr) {
    g_is_due.store(true);
    return;
  }
  // The handler that is registered first is called last: the program's own handlers have run by then.
  PyObject* const atexit = PyImport_ImportModule("atexit");
  PyObject* const function = atexit != nullptr ? PyCFunction_New(&g_at_exit, nullptr) : nullptr;
  PyObject* const done = function != nullptr ? PyObject_CallMethod(atexit, "register", "O", function) : nullptr;
  watched = done != nullptr;
  Py_XDECREF(done);
  Py_XDECREF(function);
  Py_XDECREF(atexit);
  PyErr_Clear();
}

}  // namespace dcmt::python_provider
