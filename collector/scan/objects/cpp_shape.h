// What objects of C++ are made of, as far as it leads to tensors: by the program's own debug information.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/scan/objects/reference.h"

namespace dcmt::scan {

/// Layouts of libstdc++ and of torch.
enum class ShapeForm : std::uint8_t {
  kNothing,  ///< leads to no tensor, or is not known
  kObject,   ///< a counted pointer to a tensor, a storage or an autograd node
  kClass,    ///< members
  kVector,   ///< begin, end and capacity of its elements
  kDeque,
  kList,
  kTree,      ///< std::map, std::set
  kHash,      ///< std::unordered_map, std::unordered_set
  kFlatHash,  ///< ska::flat_hash_map
  kArray,     ///< elements in its own memory
  kPointer,   ///< to an object of the element's shape
  kOptional,  ///< a value, and a flag at `at` that says whether it is there
  kValue,     ///< c10::IValue
  kFunction,  ///< std::function
};

/// A class of torch that such an object must be of: the debug information of a program only has its name.
enum class TorchClass : std::uint8_t { kNone, kModule, kOptimizer };

/// What the key of an entry is.
enum class KeyForm : std::uint8_t { kNone, kText, kSigned, kUnsigned };

using ShapeIndex = std::uint32_t;

struct CppMember {
  Address offset = 0;
  ShapeIndex shape = 0;
  std::string label;  ///< ".history"; empty: the step is not shown
};

struct CppShape {
  ShapeForm form = ShapeForm::kNothing;
  Role role = Role::kNone;     ///< of the tensors that are its entries
  bool is_attributes = false;  ///< its entries are shown as attributes
  bool owns = true;            ///< false: a pointer that keeps nothing alive
  TorchClass is = TorchClass::kNone;
  std::string name = {};  ///< of the class
  std::uint64_t bytes = 0;
  std::vector<CppMember> members = {};
  /// Of a container: where it lies in the object; of kFlatHash, of the pointer to its slots; of kOptional, of the flag.
  Address at = 0;
  ShapeIndex element = 0;    ///< of the value of an entry
  std::uint64_t stride = 0;  ///< bytes of an entry
  Address value_at = 0;      ///< of the value in the entry
  KeyForm key = KeyForm::kNone;
  Address key_at = 0;
  std::uint64_t key_bytes = 0;
  Address last_slot_at = 0, probes_at = 0;  ///< of kFlatHash: members that say how many slots there are

  [[nodiscard]] bool is_container() const { return form >= ShapeForm::kVector && form <= ShapeForm::kArray; }
};

struct CppShapes {
  std::vector<CppShape> all = std::vector<CppShape>(1);  ///< the first one is kNothing
  /// Of what a std::function has, by the address of the function that copies and deletes it.
  std::unordered_map<Address, ShapeIndex> functors;
  ShapeIndex hooks = 0;  ///< of a list of std::function
};

}  // namespace dcmt::scan
