#include "collector/scan/graph/roots.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

#include "collector/scan/graph/frame_chain.h"
#include "collector/scan/process/interpreters.h"
#include "trace/base/code_path.h"

namespace dcmt::scan {
namespace {

// Costs of a path that begins here: lower is more readable.
constexpr std::uint8_t kMainModule = 0, kOutermostFrame = 2, kException = 2, kThreadState = 3, kTopModule = 3,
                       kSubModule = 4, kBuiltins = 4, kAllModules = 8;
/// An inner frame has a shorter life, so a path through it becomes stale sooner: each level costs one more, up to this
/// limit.
constexpr std::size_t kDeepestFrame = 12;

constexpr std::string_view kImportSystem = "<frozen importlib";

constexpr int kMostHandled = 100;
/// Readings of the roots if `sys.modules` was changing: a running program always has `__main__`.
constexpr int kMoreReadings = 2;
constexpr int kGenerations = 3;
constexpr Address kCollectorHead = 16, kCollectorFlags = 3;

class NamedRoots {
 public:
  /// @param own  if set, only its modules are added; nullptr: all modules, and objects of the interpreter
  NamedRoots(Mirror& memory, ProcessTypes& types, PythonText& text, OwnModules* own)
      : memory_(memory), types_(types), layout_(types.python), text_(text), own_(own) {}

  void add_interpreter(Address interpreter) {
    each_thread(memory_, layout_, interpreter, [this](Address thread) { add_thread(thread); });
    add_modules(memory_.word(interpreter + layout_.interpreter_modules));
    if (own_ != nullptr) return;
    add({memory_.word(interpreter + layout_.interpreter_sysdict), Kind::kDict, 0, "sys.__dict__"}, kThreadState);
    add({memory_.word(interpreter + layout_.interpreter_builtins), Kind::kDict, 0, "builtins.__dict__"}, kBuiltins);
  }

  [[nodiscard]] std::vector<NamedRoot> roots() && { return std::move(roots_); }

 private:
  void add(Root root, std::uint8_t cost) { roots_.push_back({std::move(root), cost}); }

  void add_object(Address object, const std::string& name, std::uint8_t cost) {
    const PythonType* type = types_.python_types.type_of(memory_, object);
    if (type != nullptr && !type->leaf) add({object, type->kind, 0, name}, cost);
  }

  void add_thread(Address thread) {
    const std::vector<Address> frames = frames_of(thread, memory_, types_);
    for (std::size_t depth = 0; depth < frames.size(); ++depth) {
      const Address outer_first = frames[frames.size() - 1 - depth];
      add({outer_first, Kind::kFrame, code_of_frame(memory_, layout_, outer_first), text_.frame_function(outer_first)},
          static_cast<std::uint8_t>(kOutermostFrame + std::min(depth, kDeepestFrame)));
    }
    const auto id = memory_.word(thread + layout_.thread_native_id);
    add_object(memory_.word(thread + layout_.thread_dict), fmt::format("thread {}'s dict", id), kThreadState);
    add_object(memory_.word(thread + layout_.thread_context), fmt::format("thread {}'s context", id), kThreadState);
    add_object(memory_.word(thread + layout_.thread_exception), fmt::format("exception raised in thread {}", id),
               kException);
    Address handled = memory_.word(thread + layout_.thread_exc_info);
    for (int i = 0; handled != 0 && i < kMostHandled; ++i, handled = memory_.word(handled + 8)) {
      add_object(memory_.word(handled), fmt::format("exception handled in thread {}", id), kException);
    }
  }

  void add_modules(Address modules) {
    const DictKeys table = read_dict_keys(memory_, layout_, memory_.word(modules + layout_.dict_keys));
    const auto each_module = [&](auto visit) {
      for (std::uint64_t i = 0; table.ok && i < table.count; ++i) {
        const Address entry = table.entries + i * table.entry_size() + table.key_offset();
        visit(memory_.word(entry + 8), memory_.word(entry));
      }
    };
    if (own_ != nullptr) {
      // The names of thousands of modules are read only once, so the next census must not read them ahead.
      Mirror once(memory_.source());
      PythonText once_text(once, types_);
      std::vector<OwnModules::Module> all;
      each_module([&](Address module, Address name) { all.push_back({module, name}); });
      own_->add(all, once, once_text);
    }
    each_module([this](Address module, Address name_object) {
      if (own_ != nullptr && !own_->contains(module)) return;
      const std::string name = text_.text(name_object);
      const std::uint8_t cost = name == kMainModuleName               ? kMainModule
                                : name.find('.') == std::string::npos ? kTopModule
                                                                      : kSubModule;
      add_object(module, name, cost);
    });
    if (own_ == nullptr) add({modules, Kind::kDict, 0, "sys.modules"}, kAllModules);
  }

  Mirror& memory_;
  ProcessTypes& types_;
  const PythonLayout& layout_;
  PythonText& text_;
  OwnModules* own_;
  std::vector<NamedRoot> roots_;
};

std::vector<NamedRoot> read_roots(Mirror& memory, ProcessTypes& types, PythonText& text, Address runtime,
                                  OwnModules* own) {
  NamedRoots roots(memory, types, text, own);
  each_interpreter(memory, types.python, runtime, [&](Address interpreter) { roots.add_interpreter(interpreter); });
  return std::move(roots).roots();
}

/// True if the innermost import of a thread runs code of a library. A program may train inside an import of its own.
bool imports_library(Address thread, Mirror& memory, ProcessTypes& types, PythonText& text) {
  std::string inner;  // file of the frame that this one has called
  for (const Address frame : frames_of(thread, memory, types)) {
    const Address code = code_of_frame(memory, types.python, frame);
    std::string file = text.text(memory.word(code + types.python.code_filename));
    if (file.starts_with(kImportSystem)) {
      return inner.empty() || is_library_file(inner) || is_package_file(inner);
    }
    inner = std::move(file);
  }
  return false;
}

bool has_main(const std::vector<NamedRoot>& roots) {
  return std::ranges::any_of(roots, [](const NamedRoot& each) { return each.root.name == kMainModuleName; });
}

}  // namespace

std::vector<NamedRoot> named_roots(Mirror& memory, ProcessTypes& types, PythonText& text, Address runtime,
                                   OwnModules* own) {
  std::vector<NamedRoot> roots = read_roots(memory, types, text, runtime, own);
  for (int more = kMoreReadings; more > 0 && !roots.empty() && !has_main(roots); --more) {
    Mirror fresh(memory.source());
    PythonText fresh_text(fresh, types);
    roots = read_roots(fresh, types, fresh_text, runtime, own);
  }
  return roots;
}

bool is_importing(Mirror& memory, ProcessTypes& types, Address runtime) {
  PythonText text(memory, types);
  bool importing = false;
  each_interpreter(memory, types.python, runtime, [&](Address interpreter) {
    each_thread(memory, types.python, interpreter,
                [&](Address thread) { importing = importing || imports_library(thread, memory, types, text); });
  });
  return importing;
}

bool collector_is_off(Mirror& memory, const ProcessTypes& types, Address runtime) {
  bool off = false;
  each_interpreter(memory, types.python, runtime, [&](Address interpreter) {
    off |= memory.value<int>(interpreter + types.python.interpreter_gc + types.python.gc_enabled) == 0;
  });
  return off;
}

CollectedObjects add_collected_objects(Graph& graph, Mirror& memory, ProcessTypes& types, Address runtime) {
  const PythonLayout& layout = types.python;
  CollectedObjects collected;
  each_interpreter(memory, layout, runtime, [&](Address interpreter) {
    const Address collector = interpreter + layout.interpreter_gc;
    collected.collecting |= memory.value<int>(collector + layout.gc_collecting) != 0;
    for (int list = 0; list <= kGenerations; ++list) {
      const Address head = list == kGenerations ? collector + layout.gc_permanent
                                                : collector + layout.gc_generations + list * layout.gc_generation_size;
      Address link = memory.word(head) & ~kCollectorFlags;
      // A list that is changing can form a circle without its head. Then the walk returns to a link that it passed at a
      // power of two of steps.
      Address passed = 0;
      for (std::size_t step = 0; link != 0 && link != head && link != passed; ++step) {
        if (std::has_single_bit(step)) passed = link;
        const Address object = link + kCollectorHead;
        const PythonType* type = types.python_types.type_of(memory, object);
        if (type == nullptr) break;  // the list was changing
        if (!type->leaf && type->kind != Kind::kCode && graph.add_unrooted(object, type->kind) && list == kGenerations)
          collected.frozen.insert(object);
        link = memory.word(link) & ~kCollectorFlags;
      }
    }
  });
  return collected;
}

}  // namespace dcmt::scan
