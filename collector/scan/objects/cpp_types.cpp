#include "collector/scan/objects/cpp_types.h"

#include <cctype>
#include <optional>

#include "trace/base/demangled.h"

namespace dcmt::scan {
namespace {

constexpr std::size_t kLongestCppName = 400;
constexpr int kDeepestCppBases = 8;

// Mangled names in type information.
constexpr std::string_view kNodeClass = "N5torch8autograd4NodeE";
constexpr std::string_view kTensorClass = "N3c1010TensorImplE";
constexpr std::string_view kStorageClass = "N3c1011StorageImplE";
constexpr std::string_view kModuleClass = "N5torch2nn6ModuleE";
constexpr std::string_view kOptimizerClass = "N5torch5optim9OptimizerE";

bool begins_mangled_name(char letter) {
  return letter == 'N' || letter == 'S' || std::isdigit(static_cast<unsigned char>(letter)) != 0;
}

}  // namespace

const CppType* CppTypes::type_of(Mirror& memory, Address object) {
  if (!can_be_object(object)) return nullptr;
  const Address table = memory.word(object);
  if (table == 0 || (table & 7) != 0) return nullptr;
  const auto [found, fresh] = types_.try_emplace(table);
  if (fresh) found->second = read(memory, table);
  return found->second.get();
}

void CppTypes::forget_misses() {
  std::erase_if(types_, [](const auto& entry) { return entry.second == nullptr; });
}

std::unique_ptr<CppType> CppTypes::read(Mirror& memory, Address table) {
  // A virtual table is in a file's data. The two words before it are the offset to the object's top and the type
  // information, whose second word is the mangled name (Itanium C++ ABI).
  const Region* region = memory.region_of(table);
  if (region == nullptr || !region->readable || region->executable || !region->path.starts_with('/')) return nullptr;
  Address information = memory.word(table - 8);
  if (memory.value<std::int64_t>(table - 16) > 0 || information == 0) return nullptr;
  std::string mangled = memory.text(memory.word(information + 8), kLongestCppName);
  if (mangled.starts_with('*')) mangled.erase(0, 1);
  if (mangled.empty() || !begins_mangled_name(mangled[0])) return nullptr;
  std::optional<std::string> name = demangled(mangled);
  if (!name) return nullptr;
  auto type = std::make_unique<CppType>();
  type->name = *std::move(name);
  const std::size_t scope = type->name.find('<') == std::string::npos ? type->name.rfind("::") : std::string::npos;
  type->short_name = scope == std::string::npos ? type->name : type->name.substr(scope + 2);
  // With single inheritance, the base's information is at +16.
  for (int depth = 0; information != 0 && depth < kDeepestCppBases; ++depth) {
    const std::string base = memory.text(memory.word(information + 8), kLongestCppName);
    if (base.empty()) break;
    if (base == kNodeClass) type->kind = Kind::kNode;
    if (base == kTensorClass) type->kind = Kind::kTensor;
    if (base == kStorageClass) type->kind = Kind::kStorage;
    type->is_module |= base == kModuleClass;
    type->is_optimizer |= base == kOptimizerClass;
    information = memory.word(information + 16);
    if (memory.at(information, 16) == nullptr) break;
  }
  if (type->kind == Kind::kNode) {
    const auto saved = layout_.nodes.find(type->short_name);
    if (saved != layout_.nodes.end()) type->saved = &saved->second;
  }
  return type;
}

}  // namespace dcmt::scan
