// Computes the places of fields and virtual functions in the torch in use, from its headers. The build compiles it to
// assembler text, from which provider_layout.py reads the constants; it is never linked. It reads private members, too:
// -fno-access-control.
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <cstddef>

using c10::StorageImpl;
using c10::TensorImpl;
using torch::autograd::DifferentiableViewMeta;
using torch::autograd::Engine;
using torch::autograd::ViewInfo;
using Slot = c10::impl::PyObjectSlot;
using Version = c10::VariableVersion;
template <class Reference>
using Detach = c10::intrusive_ptr<TensorImpl> (TensorImpl::*)(Reference, bool) const;

#define CONSTANT(NAME, VALUE)                        \
  extern "C" const unsigned long dcmt_layout_##NAME; \
  const unsigned long dcmt_layout_##NAME = VALUE;

// A pointer to a virtual member is one more than the function's distance in bytes in the table (Itanium C++ ABI).
#define FUNCTION(NAME, TYPE, MEMBER)        \
  extern "C" const TYPE dcmt_layout_##NAME; \
  const TYPE dcmt_layout_##NAME = MEMBER;

// A derived class has no standard layout, and offsetof is defined only for that; GCC and Clang support it for all
// classes without a virtual base.
CONSTANT(kCount, __builtin_offsetof(c10::intrusive_ptr_target, combined_refcount_))
CONSTANT(kTensorStorage, __builtin_offsetof(TensorImpl, storage_))
CONSTANT(kTensorAutograd, __builtin_offsetof(TensorImpl, autograd_meta_))
CONSTANT(kTensorPyObject, __builtin_offsetof(TensorImpl, pyobj_slot_) + __builtin_offsetof(Slot, pyobj_))
CONSTANT(kTensorOffset, __builtin_offsetof(TensorImpl, storage_offset_))
CONSTANT(kTensorElements, __builtin_offsetof(TensorImpl, numel_))
CONSTANT(kTensorDtype, __builtin_offsetof(TensorImpl, data_type_))
CONSTANT(kStorageData, __builtin_offsetof(StorageImpl, data_ptr_))
CONSTANT(kStorageDevice, __builtin_offsetof(StorageImpl, data_ptr_) + __builtin_offsetof(c10::DataPtr, device_))
CONSTANT(kStorageBytes, __builtin_offsetof(StorageImpl, size_bytes_))
CONSTANT(kStoragePyObject, __builtin_offsetof(StorageImpl, pyobj_slot_) + __builtin_offsetof(Slot, pyobj_))
// backward_info_ is an optional: its value, then a flag.
CONSTANT(kViewBase, __builtin_offsetof(DifferentiableViewMeta, backward_info_) + __builtin_offsetof(ViewInfo, base_))
CONSTANT(kViewHasBase, __builtin_offsetof(DifferentiableViewMeta, backward_info_) + sizeof(ViewInfo))
// An at::Tensor, which is one pointer to its TensorImpl.
CONSTANT(kVariableTensor, __builtin_offsetof(THPVariable, cdata))

using Release = void (TensorImpl::*)();
using ReleaseStorage = void (StorageImpl::*)();
using CopyFrom = void (TensorImpl::*)(const c10::intrusive_ptr<TensorImpl>&);
using Execute = decltype(&Engine::execute);
FUNCTION(kTensorSlotRelease, Release, &TensorImpl::release_resources)
FUNCTION(kTensorSlotDetach, Detach<const Version&>, &TensorImpl::shallow_copy_and_detach)
FUNCTION(kTensorSlotDetachMove, Detach<Version&&>, &TensorImpl::shallow_copy_and_detach)
FUNCTION(kTensorSlotCopyFrom, CopyFrom, &TensorImpl::shallow_copy_from)
FUNCTION(kStorageSlotRelease, ReleaseStorage, &StorageImpl::release_resources)
FUNCTION(kEngineSlotExecute, Execute, &Engine::execute)
