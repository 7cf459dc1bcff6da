#include "collector/python/exit.h"

#include "collector/agent/provider.h"
#include "collector/python/interpreter.h"

namespace dcmt::python_provider {
namespace {

/// The GIL is kept while it waits. This provider never acquires the GIL, and objects do not change while they are read.
PyObject* at_exit(PyObject*, PyObject*) noexcept {
  agent::await_last_reading();
  Py_RETURN_NONE;
}

constinit PyMethodDef g_at_exit{"dc_memtrace_exit", at_exit, METH_NOARGS, nullptr};

}  // namespace

void watch_exit() noexcept {
  static constinit bool watched = false;
  PyThreadState* const thread = dcmt_py_thread();
  if (watched || thread == nullptr || dcmt_py_holds_gil(thread) == 0 || PyErr_Occurred() != nullptr) return;
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
