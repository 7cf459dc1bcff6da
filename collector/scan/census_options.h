// What a census reads, and what it looks for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "collector/scan/memory/memory_source.h"
#include "collector/scan/objects/cpp_variable.h"

namespace dcmt::scan {

enum class Scope : std::uint8_t {
  kAll,        ///< every object of the process
  kVariables,  ///< objects that variables of running functions and of the own modules lead to: takes milliseconds.
               ///< Other objects may be held, too, so the census has only objects that were found
};

/// Which C++ holders a census includes.
enum class Native {
  kNo,
  kAll,     ///< for a person to judge: a word of memory may be stale
  kProved,  ///< only those with NativeHolder::proved, of the storages in question
};

/// Storages whose holders are searched for in C++ memory if nothing else leads to this many bytes of them.
struct InQuestion {
  std::vector<Address> storages;  ///< ascending
  std::uint64_t least = 0;        ///< bytes
};

struct CensusOptions {
  Scope scope = Scope::kAll;
  std::uint64_t smallest = 64 * 1024;  ///< bytes; smaller storages are not included
  std::size_t paths = 3;               ///< limit of different holders for each storage
  /// Searches the words of all memory for holders of storages that no Python object leads to. It takes about half as
  /// long as the census without it, and keeps no copy of the memory.
  Native native = Native::kNo;
  InQuestion in_question = {};  ///< for Native::kProved
  /// The program has ended, and waits for a while: a second thread reads its memory for the search of C++ holders.
  bool has_ended = false;
  std::vector<Range> data = {};  ///< known data of storages, which contains no objects
  /// Lists every storage of any size that has data and was alive in two readings, even if no Python object leads to it.
  /// Only with Scope::kAll; fails in a program without Python.
  bool living = false;
  /// Examines this many collections, those with most entries.
  std::size_t collections = 0;
  /// Of a forked child, its parent: computes what the child does not share of these collections, and which of
  /// them it has inherited. 0: not requested.
  pid_t parent = 0;
  /// Reads nothing while a thread imports modules: their functions and classes are no growth, and reading them takes
  /// long.
  bool unless_importing = false;
  /// Computes what would be freed with each object, and names this many. Only with Scope::kAll.
  std::size_t retained = 0;
  std::vector<CppVariable> variables = {};       ///< of the program's own C++ code
  std::shared_ptr<const CppShapes> shapes = {};  ///< of these
  std::vector<Address> modules = {};             ///< addresses of torch.nn.Modules to name
  /// Called once all holders are named: a program that waits for them can go on. May be empty.
  std::function<void()> on_holders = {};
};

}  // namespace dcmt::scan
