#include "collector/scan/objects/cpp_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/scan/objects/python_objects.h"
#include "collector/scan/testing/address_of.h"
#include "collector/scan/testing/own_memory.h"

namespace c10 {
/// What looks like a tensor to the decoders.
struct TensorImpl {
  virtual ~TensorImpl() = default;
  std::array<char, 192> rest{};
};
}  // namespace c10

namespace dcmt::scan {
namespace {

using Tensor = c10::TensorImpl*;
using Found = std::pair<std::string, const void*>;
using All = std::vector<Found>;

struct Sample {
  int step = 0;
  Tensor out = nullptr;
};

constexpr ShapeIndex kTensorShape = 1, kSampleShape = 2;

/// Decodes containers of this process.
class CppObjectsTest : public ::testing::Test {
 protected:
  CppObjectsTest() {
    shapes_.resize(3);
    shapes_[kTensorShape] = {.form = ShapeForm::kObject, .bytes = sizeof(Tensor)};
    shapes_[kSampleShape] = {.form = ShapeForm::kClass,
                             .name = "Sample",
                             .bytes = sizeof(Sample),
                             .members = {{offsetof(Sample, out), kTensorShape, ".out"}}};
  }

  /// What an object of this shape refers to.
  [[nodiscard]] std::vector<Found> found_in(const void* object, CppShape shape) {
    shapes_.push_back(std::move(shape));
    const Kind kind = shapes_.back().is_container() ? Kind::kCppContainer : Kind::kCppClass;
    types_.typed.begin(std::make_shared<const CppShapes>(made_));
    types_.typed.add(address_of(object), kind, static_cast<ShapeIndex>(shapes_.size() - 1));
    OwnMemory memory;
    PythonObjects objects(memory.mirror(), types_);
    std::vector<Reference> references;
    objects.decode(address_of(object), kind, references);
    std::vector<Found> found;
    for (const Reference& each : references) {
      const std::string label =
          each.label == Label::kItem ? "[" + std::to_string(each.index) + "]" : types_.names.text(each.index);
      found.emplace_back(label, reinterpret_cast<const void*>(each.target));
    }
    return found;
  }
  [[nodiscard]] static CppShape of_tensors(ShapeForm form) {
    return {.form = form, .element = kTensorShape, .stride = sizeof(Tensor)};
  }

  std::array<c10::TensorImpl, 3> tensors_;
  const Tensor a_ = &tensors_[0], b_ = &tensors_[1], c_ = &tensors_[2];
  CppShapes made_;
  std::vector<CppShape>& shapes_ = made_.all;
  ProcessTypes types_{PythonLayout(), TorchLayout()};
};

TEST_F(CppObjectsTest, EntriesOfAVector) {
  const std::vector<Tensor> vector = {a_, nullptr, c_};
  EXPECT_EQ(found_in(&vector, of_tensors(ShapeForm::kVector)), (All{Found("[0]", a_), Found("[2]", c_)}));
  const std::vector<Tensor> empty;
  EXPECT_EQ(found_in(&empty, of_tensors(ShapeForm::kVector)), All());
}

TEST_F(CppObjectsTest, WhatAVectorHasLostIsNone) {
  std::vector<Tensor> vector = {a_, b_};
  vector.pop_back();
  EXPECT_EQ(found_in(&vector, of_tensors(ShapeForm::kVector)), (All{Found("[0]", a_)}));
}

TEST_F(CppObjectsTest, EntriesOfADequeOfManyBlocks) {
  std::deque<Tensor> deque(200, nullptr);
  for (int i = 0; i < 70; ++i) deque.pop_front();
  deque.front() = a_;
  deque.push_back(b_);
  EXPECT_EQ(found_in(&deque, of_tensors(ShapeForm::kDeque)), (All{Found("[0]", a_), Found("[130]", b_)}));
}

TEST_F(CppObjectsTest, EntriesOfLists) {
  const std::list<Tensor> list = {a_, b_};
  EXPECT_EQ(found_in(&list, of_tensors(ShapeForm::kList)), (All{Found("[0]", a_), Found("[1]", b_)}));
}

TEST_F(CppObjectsTest, EntriesOfMapsHaveTheirKeys) {
  const std::map<int, Tensor> map = {{-7, a_}, {3, b_}, {8, c_}};
  CppShape shape = of_tensors(ShapeForm::kTree);
  shape.key = KeyForm::kSigned;
  shape.key_bytes = sizeof(int);
  shape.value_at = offsetof(decltype(map)::value_type, second);
  EXPECT_EQ(found_in(&map, shape), (All{Found("[-7]", a_), Found("[3]", b_), Found("[8]", c_)}));
  const std::unordered_map<std::string, Tensor> by_name = {{"first", a_},
                                                           {"a name that is too long for the object", b_}};
  shape.form = ShapeForm::kHash;
  shape.key = KeyForm::kText;
  shape.value_at = offsetof(decltype(by_name)::value_type, second);
  std::vector<Found> named = found_in(&by_name, shape);
  std::ranges::sort(named);
  EXPECT_EQ(named, (All{Found("['a name that is too long for the object']", b_), Found("['first']", a_)}));
}

TEST_F(CppObjectsTest, AClassAndWhatItsMembersAre) {
  struct Trainer {
    std::optional<Sample> best;
    std::unique_ptr<Sample> last = std::make_unique<Sample>();
    std::vector<Sample> samples;
  } trainer;
  CppShape optional{.form = ShapeForm::kOptional, .at = sizeof(Sample), .element = kSampleShape};
  CppShape vector{.form = ShapeForm::kVector, .element = kSampleShape, .stride = sizeof(Sample)};
  const auto first = static_cast<ShapeIndex>(shapes_.size());
  shapes_.push_back(optional);
  shapes_.push_back({.form = ShapeForm::kPointer, .element = kSampleShape});
  shapes_.push_back(vector);
  const CppShape shape{.form = ShapeForm::kClass,
                       .members = {{offsetof(Trainer, best), first, ".best"},
                                   {offsetof(Trainer, last), first + 1, ".last"},
                                   {offsetof(Trainer, samples), first + 2, ".samples"}}};
  const Found last(".last", trainer.last.get()), samples(".samples", &trainer.samples);
  EXPECT_EQ(found_in(&trainer, shape), (All{last, samples})) << "an empty optional has nothing";
  trainer.best = Sample{1, a_};
  EXPECT_EQ(found_in(&trainer, shape), (All{Found(".best.out", a_), last, samples}));
  trainer.samples = {{1, a_}, {2, b_}};
  EXPECT_EQ(found_in(&trainer.samples, vector),
            (All{Found("[0]", &trainer.samples[0]), Found("[1]", &trainer.samples[1])}));
}

TEST_F(CppObjectsTest, WhatAFunctionObjectHasCaptured) {
  struct Captured {
    std::shared_ptr<Sample> sample;
    Tensor image;
    long step;
  };
  const auto sample = std::make_shared<Sample>();
  const Captured captured{sample, a_, 1};
  const std::vector<std::function<long()>> functions = {[captured] { return captured.step; }, [] { return 1L; }};
  const auto first = static_cast<ShapeIndex>(shapes_.size());
  shapes_.push_back({.form = ShapeForm::kFunction, .bytes = sizeof functions[0]});
  shapes_.push_back({.form = ShapeForm::kPointer, .element = kSampleShape});
  shapes_.push_back({.form = ShapeForm::kClass,
                     .members = {{offsetof(Captured, sample), first + 1, ".sample"},
                                 {offsetof(Captured, image), kTensorShape, ".image"}}});
  std::array<Address, 4> words{};
  std::memcpy(words.data(), &functions[0], sizeof words);
  made_.functors[words[2]] = first + 2;
  const CppShape shape{.form = ShapeForm::kVector, .element = first, .stride = sizeof functions[0]};
  const std::vector<Found> found = found_in(&functions, shape);
  EXPECT_EQ(found, (All{Found("[0]", reinterpret_cast<const void*>(words[0]))}));
  EXPECT_EQ(found_in(found[0].second, shapes_[first + 2]), (All{Found(".sample", sample.get()), Found(".image", a_)}));
}

TEST_F(CppObjectsTest, DamagedContainersEndTheReading) {
  std::mt19937 random(1);
  for (const ShapeForm form : {ShapeForm::kVector, ShapeForm::kDeque, ShapeForm::kList, ShapeForm::kTree,
                               ShapeForm::kHash, ShapeForm::kFlatHash}) {
    std::list<Tensor> list(20, a_);
    std::map<long, Tensor> map;
    for (long i = 0; i < 20; ++i) map[i] = b_;
    for (int round = 0; round < 50; ++round) {
      // Words of other containers, addresses of nodes that lead to each other, and any numbers.
      std::array<Address, 10> words{};
      for (Address& word : words) {
        const Address any = random();
        const std::array<Address, 6> choices = {
            0, any % 64, any * any, address_of(&list), address_of(&words), address_of(&*map.begin()) - 32};
        word = choices[any % choices.size()];
      }
      CppShape shape = of_tensors(form);
      shape.last_slot_at = 8;
      shape.probes_at = 16;
      (void)found_in(words.data(), shape);
    }
  }
}

}  // namespace
}  // namespace dcmt::scan
