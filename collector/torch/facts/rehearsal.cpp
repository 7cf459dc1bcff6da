#include "collector/torch/facts/rehearsal.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <torch/version.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <iterator>
#include <span>

#include "collector/agent/provider.h"
#include "collector/agent/remedy.h"
#include "collector/elf/elf_patch.h"
#include "collector/elf/witness.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/facts/symbols.h"

namespace dcmt::torch_provider {
namespace {

/// The purpose of a hook.
enum class Event : std::uint8_t {
  kTensorBorn,
  kTensorEnds,
  kTensorReleased,
  kTensorCopied,
  kTensorCopiedMoving,
  kTensorMoved,
  kTensorSet,
  kMetadataCopied,
  kStorageEnds,
  kStorageReleased,
  kFunctionalEnds,
  kFunctionalReleased,
  kStorageMade,
  kStorageResized,
  kBlockBegins,
  kBlockEnds,
  kCount,
};
constexpr auto kEvents = static_cast<std::size_t>(Event::kCount);
using Events = std::bitset<kEvents>;

struct Fact {
  Event event;
  const char* name;
  bool needed;  ///< nothing can be recorded without it
};
constexpr std::array<Fact, kEvents> kFacts = {{
    {Event::kTensorBorn, "births of tensors", true},
    {Event::kTensorEnds, "ends of tensors", true},
    {Event::kTensorReleased, "ends of tensors that are referred to weakly", true},
    {Event::kTensorCopied, "copies of tensors", true},
    {Event::kTensorCopiedMoving, "copies of tensors with a version", true},
    {Event::kTensorMoved, "tensors that get another's storage", true},
    {Event::kTensorSet, "tensors that are set to a storage", true},
    {Event::kMetadataCopied, "copies of sparse tensors", false},
    {Event::kStorageEnds, "ends of storages", true},
    {Event::kStorageReleased, "ends of storages that are referred to weakly", true},
    {Event::kFunctionalEnds, "ends of functional storages", false},
    {Event::kFunctionalReleased, "ends of functional storages that are referred to weakly", false},
    {Event::kStorageMade, "storages that are made before their tensor", false},
    {Event::kStorageResized, "storages that are resized", true},
    {Event::kBlockBegins, "blocks of the CPU", true},
    {Event::kBlockEnds, "ends of blocks of the CPU", true},
}};

struct ImportedFunction {
  Event event;
  const char* symbol;
  const char* only_object;
};
constexpr ImportedFunction kImported[] = {
    {Event::kTensorBorn, kConstruct4, "libc10.so"},
    {Event::kTensorBorn, kConstructViewC1, nullptr},
    {Event::kTensorBorn, kConstructViewC2, nullptr},
    {Event::kTensorEnds, kDestroyD1, nullptr},
    {Event::kTensorEnds, kDestroyD2, nullptr},
    {Event::kTensorSet, kSetCpu, nullptr},
    {Event::kMetadataCopied, kCopyMetadata, "libtorch_cpu.so"},
    {Event::kMetadataCopied, kCopyMetadataMove, "libtorch_cpu.so"},
    {Event::kStorageMade, kMakeStorage, nullptr},
    {Event::kStorageResized, kResizeCpu, nullptr},
    {Event::kBlockBegins, kAllocCpu, nullptr},
    {Event::kBlockEnds, kFreeCpu, nullptr},
};

struct VirtualFunction {
  Event event;
  const char* library;
  const char* table;
  std::size_t slot;
};
constexpr VirtualFunction kVirtual[] = {
    {Event::kTensorReleased, "libc10.so", kTensorTable, layout::kTensorSlotRelease},
    {Event::kTensorCopied, "libc10.so", kTensorTable, layout::kTensorSlotDetach},
    {Event::kTensorCopiedMoving, "libc10.so", kTensorTable, layout::kTensorSlotDetachMove},
    {Event::kTensorMoved, "libc10.so", kTensorTable, layout::kTensorSlotCopyFrom},
    {Event::kStorageEnds, "libc10.so", kStorageTable, layout::kStorageSlotDelete},
    {Event::kStorageReleased, "libc10.so", kStorageTable, layout::kStorageSlotRelease},
    {Event::kFunctionalEnds, "libtorch_cpu.so", kFunctionalTable, layout::kStorageSlotDelete},
    {Event::kFunctionalReleased, "libtorch_cpu.so", kFunctionalTable, layout::kStorageSlotRelease},
};
constexpr std::size_t kSlots = std::size(kImported) + std::size(kVirtual);
static_assert(kSlots <= elf::kWitnesses);

constexpr Event event_of(std::size_t number) noexcept {
  return number < std::size(kImported) ? kImported[number].event : kVirtual[number - std::size(kImported)].event;
}

/// Puts witnesses into the slots as long as it lives.
class Witnesses {
 public:
  Witnesses() {
    std::size_t number = 0;
    std::array<elf::ImportPatch, std::size(kImported)> patches{};
    std::size_t count = 0;
    for (const ImportedFunction& function : kImported) {
      void* real = nullptr;
      void* library = elf::loaded_library("libc10.so");
      if (!elf::find(library, function.symbol, real)) {
        library = elf::loaded_library("libtorch_cpu.so");
        elf::find(library, function.symbol, real);
      }
      void* const stands_in = elf::witness(number++, real);
      if (real != nullptr) patches[count++] = {function.symbol, stands_in, function.only_object};
    }
    const std::span<const elf::ImportPatch> groups[] = {{patches.data(), count}};
    elf::patch_imports(groups);
    for (const VirtualFunction& function : kVirtual) {
      void* library = elf::loaded_library(function.library);
      auto** table = static_cast<void**>(elf::symbol_in_use(library, function.table));
      const std::size_t slot = function.slot + (is_moved_for_test(function.event) ? 1 : 0);
      void* const stands_in = elf::witness(number++, table != nullptr ? table[slot] : nullptr);
      if (table != nullptr) elf::patch_slot(table, slot, stands_in);
    }
  }
  ~Witnesses() { elf::undo(); }
  Witnesses(const Witnesses&) = delete;
  Witnesses& operator=(const Witnesses&) = delete;

 private:
  /// For tests: simulates a torch whose virtual functions are one slot before the expected ones.
  static bool is_moved_for_test(Event event) noexcept {
    const char* moved = getenv("DC_MEMTRACE_TEST_MOVED_SLOT");
    return moved != nullptr && strcmp(moved, kFacts[static_cast<std::size_t>(event)].name) == 0;
  }
};

/// Counts calls whose objects are the expected ones.
class Observed {
 public:
  /// @param object  nullptr: any object
  void expect(Event event, const void* object) noexcept {
    for (std::size_t number = 0; number < kSlots; ++number) {
      if (event_of(number) != event) continue;
      const elf::Witnessed call = elf::witnessed(number);
      const bool called = object != nullptr ? call.first == object || call.second == object
                                            : call.first != nullptr || call.second != nullptr;
      if (called) events_.set(static_cast<std::size_t>(event));
    }
  }
  [[nodiscard]] const Events& events() const noexcept { return events_; }

 private:
  Events events_;
};

c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

// Each step lets torch's own libraries call the hooked functions. A virtual call from here would use the offsets of the
// headers, as the slots do.

void lifetimes(Observed& observed) {
  const at::Tensor tensor = at::empty({3, 5}, at::kFloat);
  observed.expect(Event::kTensorBorn, tensor.unsafeGetTensorImpl());
  observed.expect(Event::kBlockBegins, reinterpret_cast<const void*>(storage_of(tensor)->nbytes()));
  const at::Tensor view = tensor.select(0, 1);
  observed.expect(Event::kTensorBorn, view.unsafeGetTensorImpl());
  at::Tensor brief = at::empty({1}, at::kFloat);
  const void* const ended = brief.unsafeGetTensorImpl();
  brief.reset();
  observed.expect(Event::kTensorEnds, ended);

  // The first storage ends when its tensor gets another one.
  at::Tensor moved = at::empty({2}, at::kFloat);
  const void* const left = storage_of(moved);
  const void* const left_data = storage_of(moved)->data();
  moved.set_data(view);
  observed.expect(Event::kTensorMoved, moved.unsafeGetTensorImpl());
  observed.expect(Event::kStorageEnds, left);
  observed.expect(Event::kBlockEnds, left_data);
  moved.set_(at::empty({4}, at::kFloat).storage());
  observed.expect(Event::kTensorSet, nullptr);
  moved.resize_({1024});
  observed.expect(Event::kStorageResized, storage_of(moved));
}

void copies(Observed& observed) {
  const at::Tensor tensor = at::empty({3}, at::kFloat);
  const at::Tensor copy = tensor.tensor_data();
  observed.expect(Event::kTensorCopied, tensor.unsafeGetTensorImpl());
  const at::Tensor variable = tensor.variable_data();
  observed.expect(Event::kTensorCopiedMoving, tensor.unsafeGetTensorImpl());
  const at::Tensor sparse = at::empty({2, 2}, at::TensorOptions().dtype(at::kFloat).layout(at::kSparse));
  const at::Tensor sparse_copy = sparse.tensor_data();
  observed.expect(Event::kMetadataCopied, sparse_copy.unsafeGetTensorImpl());
  const at::Tensor lazy = at::_lazy_clone(tensor);
  observed.expect(Event::kStorageMade, nullptr);
}

/// Objects that have only weak references left. Torch drops the last strong ones: those to a gradient end with its
/// tensor.
void weak_references(Observed& observed) {
  at::Tensor owner = at::empty({1}, at::kFloat);
  at::Tensor gradient = at::empty({1}, at::kFloat);
  owner.mutable_grad() = gradient;
  const c10::weak_intrusive_ptr<c10::TensorImpl> tensor(gradient.getIntrusivePtr());
  const auto storage = gradient.storage().getWeakStorageImpl();
  const void* const tensor_object = gradient.unsafeGetTensorImpl();
  const void* const storage_object = storage_of(gradient);
  gradient.reset();
  owner.reset();
  observed.expect(Event::kTensorReleased, tensor_object);
  observed.expect(Event::kStorageReleased, storage_object);
}

void functional_storages(Observed& observed) {
  at::Tensor tensor = at::functionalization::impl::to_functional_tensor(at::empty({2}, at::kFloat));
  const void* ends = storage_of(tensor);
  tensor.reset();
  observed.expect(Event::kFunctionalEnds, ends);
  tensor = at::functionalization::impl::to_functional_tensor(at::empty({2}, at::kFloat));
  const auto storage = tensor.storage().getWeakStorageImpl();
  const void* const released = storage_of(tensor);
  tensor.reset();
  observed.expect(Event::kFunctionalReleased, released);
}

Events observe() {
  const Witnesses witnesses;
  Observed observed;
  // Another thread can bind a slot that was still unbound and overwrite the witness, so a missing event gets further
  // tries.
  constexpr int kTries = 3;
  for (int tries = 0; tries < kTries && !observed.events().all(); ++tries) {
    elf::forget_witnessed();
    lifetimes(observed);
    copies(observed);
    weak_references(observed);
    functional_storages(observed);
  }
  return observed.events();
}

}  // namespace

Rehearsed rehearse() {
  static char text[512];
  const Events seen = observe();
  const auto was_seen = [&seen](Event event) { return seen.test(static_cast<std::size_t>(event)); };
  for (const Fact& fact : kFacts) {
    if (was_seen(fact.event)) continue;
    if (fact.needed) {
      snprintf(text, sizeof text,
               "this torch %s does not call what is hooked for %s: nothing is recorded in this process. %s",
               TORCH_VERSION, fact.name, agent::kPrepareProvider);
      return {text, false};
    }
    snprintf(text, sizeof text, "this torch %s does not call what is hooked for %s: these are not seen", TORCH_VERSION,
             fact.name);
    agent::diagnose(wire::DiagnosticCode::kProviderOff, text);
  }
  return {nullptr, was_seen(Event::kFunctionalEnds) && was_seen(Event::kFunctionalReleased)};
}

}  // namespace dcmt::torch_provider
