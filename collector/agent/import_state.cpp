// Finds Python's functions by name: the agent is preloaded into programs without Python, and into all its versions.
#include "collector/agent/import_state.h"

#include <dlfcn.h>

namespace dcmt::agent {
namespace {

struct Object;  ///< PyObject

template <class Function>
Function* find(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// An attribute as a boolean; false if it does not exist. Steals the reference.
bool is_true(Object* object) noexcept {
  if (object == nullptr) return false;
  const bool truth = find<int(Object*)>("PyObject_IsTrue")(object) == 1;
  find<void(Object*)>("Py_DecRef")(object);
  return truth;
}

/// Requires the GIL.
bool is_initializing() noexcept {
  Object* const modules = find<Object*()>("PyImport_GetModuleDict")();
  const auto attribute = find<Object*(Object*, const char*)>("PyObject_GetAttrString");
  Object* const torch =
      modules != nullptr ? find<Object*(Object*, const char*)>("PyDict_GetItemString")(modules, "torch") : nullptr;
  Object* const spec = torch != nullptr ? attribute(torch, "__spec__") : nullptr;
  const bool initializing = spec != nullptr && is_true(attribute(spec, "_initializing"));
  if (spec != nullptr) find<void(Object*)>("Py_DecRef")(spec);
  find<void()>("PyErr_Clear")();
  return initializing;
}

}  // namespace

bool torch_is_being_imported() noexcept {
  const auto is_initialized = find<int()>("Py_IsInitialized");
  const auto ensure = find<int()>("PyGILState_Ensure");
  const auto release = find<void(int)>("PyGILState_Release");
  if (is_initialized == nullptr || ensure == nullptr || release == nullptr || is_initialized() == 0) return false;
  const int state = ensure();
  const bool initializing = is_initializing();
  release(state);
  return initializing;
}

}  // namespace dcmt::agent
