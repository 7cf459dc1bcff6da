#include "collector/scan/native/proof.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "collector/scan/testing/address_of.h"
#include "collector/scan/testing/own_memory.h"

// Classes with the names and the counts of torch's.
namespace c10 {
struct StorageImpl {
  virtual ~StorageImpl() = default;
  std::uint64_t count = 1;
};
struct TensorImpl {
  virtual ~TensorImpl() = default;
  std::uint64_t count = 1;
  StorageImpl* storage = nullptr;
  void* python = nullptr;
};
}  // namespace c10

namespace dcmt::scan {
namespace {

struct Linked {
  std::shared_ptr<Linked> next;
  Linked* plain = nullptr;
};

/// Objects of this process. Object 0 is the one to prove.
class ProofTest : public ::testing::Test {
 protected:
  using Object = Proof::Object;

  Object add(const void* piece) {
    objects_.push_back({{address_of(piece), address_of(piece) + malloc_usable_size(const_cast<void*>(piece))}, {}});
    return static_cast<Object>(objects_.size() - 1);
  }
  Object add_shared(const std::shared_ptr<Linked>& pointer) {
    return add(reinterpret_cast<const void*>(control_of(pointer)));  // NOLINT(performance-no-int-to-ptr)
  }
  static Address control_of(const std::shared_ptr<Linked>& pointer) {
    return reinterpret_cast<const Address*>(&pointer)[1];
  }
  void keep_by_root(Object object, const void* place, const std::string& root) {
    objects_[object].pointers.push_back({address_of(place), true, 0});
    roots_[address_of(place)] = root;
  }
  void keep_by(Object holder, Object object, const void* place) {
    objects_[object].pointers.push_back({address_of(place), false, holder});
  }
  bool proves() {
    OwnMemory memory;
    Proof proof(objects_, References(memory.mirror(), types_, heap_), [this](Address place) { return roots_[place]; });
    return proof.proves(0);
  }

  static const void* second_word(const std::shared_ptr<Linked>& pointer) {
    return reinterpret_cast<const Address*>(&pointer) + 1;
  }

  TorchLayout layout_;
  CppTypes types_{layout_};
  std::vector<NativeObject> objects_;
  std::map<Address, std::string> roots_;
  HeapChunks heap_;
};

TEST_F(ProofTest, AsManyReferencesAsAreCountedProve) {
  const auto first = std::make_shared<Linked>();
  const std::shared_ptr<Linked> second = first;
  const Object held = add_shared(first);
  keep_by_root(held, second_word(first), "first");
  EXPECT_FALSE(proves()) << "it counts one more";
  keep_by_root(held, second_word(second), "second");
  EXPECT_TRUE(proves()) << "two variables that are both true";
}

/// Two objects of a class with a member each: object 0 belongs to the second one's, and a stale word leads to it, too.
class OwningMember : public ProofTest {
 protected:
  struct Owner {
    std::shared_ptr<Linked> owned = std::make_shared<Linked>();
  };

  void SetUp() override {
    const Object owned = add_shared(second_->owned);
    const Object owner = add_owner(second_, "second");
    keep_by(owner, owned, second_word(second_->owned));
    stale_ = add(stale_words_.get());
    (*stale_words_)[1] = control_of(second_->owned);
    keep_by(stale_, owned, &(*stale_words_)[1]);
  }
  Object add_owner(const std::shared_ptr<Owner>& owner, const std::string& root) {
    const Object object = add(reinterpret_cast<const void*>(reinterpret_cast<const Address*>(&owner)[1]));  // NOLINT
    keep_by_root(object, reinterpret_cast<const Address*>(&owner) + 1, root);
    return object;
  }
  void add_first() {
    const Object owned = add_shared(first_->owned);
    keep_by(add_owner(first_, "first"), owned, second_word(first_->owned));
  }

  const std::shared_ptr<Owner> first_ = std::make_shared<Owner>(), second_ = std::make_shared<Owner>();
  const std::unique_ptr<std::array<Address, 4>> stale_words_ = std::make_unique<std::array<Address, 4>>();
  Object stale_ = 0;
};

TEST_F(OwningMember, IsProvedByAnotherObjectOfItsClass) {
  EXPECT_FALSE(proves()) << "either word may be the stale one";
  add_first();
  EXPECT_TRUE(proves());
}

TEST_F(OwningMember, ProvesNothingBesideAWordThatIsUsed) {
  add_first();
  const auto variable = std::make_unique<const void*>(stale_words_.get());
  keep_by_root(stale_, variable.get(), "words");
  EXPECT_FALSE(proves());
}

TEST_F(OwningMember, ProvesNothingIfMoreIsCounted) {
  add_first();
  const std::shared_ptr<Linked> not_found = second_->owned;
  EXPECT_FALSE(proves());
}

TEST_F(ProofTest, AVariableThatKeepsNothingDoesNotCount) {
  const auto only = std::make_shared<Linked>();
  const Object held = add_shared(only);
  keep_by_root(held, second_word(only), "");
  EXPECT_FALSE(proves());
}

TEST_F(ProofTest, AWordWithoutAVariableBehindItDoesNotCount) {
  const auto outer = std::make_shared<Linked>();
  outer->next = std::make_shared<Linked>();
  const Object held = add_shared(outer->next);
  const Object holder = add_shared(outer);
  keep_by(holder, held, second_word(outer->next));
  EXPECT_FALSE(proves());
  keep_by_root(holder, second_word(outer), "outer");
  EXPECT_TRUE(proves());
  const std::shared_ptr<Linked> unseen = outer;
  EXPECT_FALSE(proves()) << "what has it counts a reference that was not found";
}

TEST_F(ProofTest, OneWordMoreThanIsCountedProvesNothingUnlessItIsOfAFreePiece) {
  const auto first = std::make_shared<Linked>();
  const auto left = std::make_unique<std::array<Address, 4>>(std::array<Address, 4>{0, 0, 0, control_of(first)});
  const Object held = add_shared(first);
  keep_by_root(held, second_word(first), "first");
  EXPECT_TRUE(proves());
  const Object stale = add(left.get());
  keep_by(stale, held, &left->at(3));
  EXPECT_FALSE(proves());
  left->at(0) = address_of(left.get()) >> 12;  // as malloc's lists of free chunks end
  EXPECT_TRUE(proves());
}

TEST_F(ProofTest, AStorageThatCountsOnlyItsTensorsHasNoOtherReference) {
  layout_.tensor_storage = 16;
  const auto storage = std::make_unique<c10::StorageImpl>();
  const auto tensor = std::make_unique<c10::TensorImpl>();
  tensor->storage = storage.get();
  const auto left =
      std::make_unique<std::array<Address, 4>>(std::array<Address, 4>{1, 0, 0, address_of(storage.get())});
  const Object held = add(storage.get());
  const Object holder = add(tensor.get());
  keep_by(holder, held, &tensor->storage);
  keep_by_root(holder, &tensor, "tensor");
  EXPECT_TRUE(proves());
  keep_by(add(left.get()), held, &left->at(3));
  EXPECT_TRUE(proves()) << "the word is stale";
  storage->count = 2;
  EXPECT_FALSE(proves()) << "the word may be a reference; no variable leads to it";
}

TEST_F(ProofTest, ThePythonObjectThatATensorKeepsIsNoHolder) {
  layout_.tensor_python = 24;
  layout_.python_tensor_cdata = 16;
  const auto tensor = std::make_unique<c10::TensorImpl>();
  std::array<Address, 3> python{1, 0, address_of(tensor.get())};  // a count, a type, the tensor
  tensor->python = python.data();
  tensor->count = (std::uint64_t{1} << 63) | 2;
  keep_by_root(add(tensor.get()), &tensor, "cache");
  EXPECT_TRUE(proves());
  python[0] = 2;
  EXPECT_FALSE(proves()) << "something else has the Python object";
  python[0] = 1;
  python[2] = 0;
  EXPECT_FALSE(proves()) << "it is another one's";
  python[2] = address_of(tensor.get());
  tensor->count = 2;
  EXPECT_FALSE(proves()) << "the tensor does not keep it";
}

TEST_F(ProofTest, AnObjectOfSharedPointersIsKeptByTheirControlBlockAlone) {
  std::shared_ptr<Linked> owner(std::make_unique<Linked>());  // not beside its control block
  const auto callback =
      std::make_unique<std::array<Address, 4>>(std::array<Address, 4>{1, 0, 0, address_of(owner.get())});
  const Object held = add(owner.get());
  const Object control = add_shared(owner);
  keep_by(control, held, reinterpret_cast<const Address*>(control_of(owner)) + 2);  // NOLINT(performance-no-int-to-ptr)
  keep_by_root(control, second_word(owner), "owner");
  EXPECT_TRUE(proves());
  const Object captures = add(callback.get());
  keep_by(captures, held, &callback->at(3));
  EXPECT_TRUE(proves()) << "nobody leads to the callback, which does not own it";
  keep_by_root(captures, &callback, "callback");
  EXPECT_TRUE(proves());
  const std::shared_ptr<Linked> unseen = owner;
  EXPECT_FALSE(proves()) << "the block counts one more";
}

TEST_F(ProofTest, TheMemoryOfAVectorIsKeptByTheVectorAlone) {
  auto elements = std::make_unique<std::vector<std::shared_ptr<Linked>>>(3, nullptr);
  elements->at(1) = std::make_shared<Linked>();
  const auto left =
      std::make_unique<std::array<Address, 4>>(std::array<Address, 4>{1, 0, address_of(elements->data()), 0});
  const Object held = add_shared(elements->at(1));
  const Object memory = add(elements->data());
  keep_by(memory, held, second_word(elements->at(1)));
  keep_by_root(memory, elements.get(), "elements");
  EXPECT_TRUE(proves());
  keep_by(add(left.get()), memory, &left->at(2));
  EXPECT_TRUE(proves()) << "the word is stale, or a pointer to the first element";
  const auto moved_from = std::make_unique<std::array<Address, 4>>();
  std::memcpy(moved_from->data() + 1, elements.get(), 3 * sizeof(Address));
  keep_by(add(moved_from.get()), memory, &moved_from->at(1));
  EXPECT_FALSE(proves()) << "one of two vectors is stale";
}

TEST_F(ProofTest, WhatAnotherDeleterMayKeepIsNotItsControlBlocksAlone) {
  const auto object = std::make_unique<Linked>();
  const std::shared_ptr<Linked> shared(object.get(), [](Linked*) {});
  const Object held = add(object.get());
  const Object control = add_shared(shared);
  keep_by(control, held,
          reinterpret_cast<const Address*>(control_of(shared)) + 2);  // NOLINT(performance-no-int-to-ptr)
  keep_by_root(control, second_word(shared), "shared");
  keep_by_root(held, &object, "object");
  EXPECT_FALSE(proves());
}

TEST_F(ProofTest, WhatHasNoCountNeedsOneVariable) {
  const auto holder = std::make_unique<Linked>();
  holder->next = std::make_shared<Linked>();
  Linked* const another = holder.get();
  const Object held = add_shared(holder->next);
  const Object plain = add(holder.get());
  keep_by(plain, held, second_word(holder->next));
  keep_by_root(plain, &holder, "holder");
  EXPECT_TRUE(proves());
  keep_by_root(plain, &another, "another");
  EXPECT_FALSE(proves()) << "one of them may be what is left of a reference";
}

TEST_F(ProofTest, OneProvedReferenceIsEnoughIfAllOthersWereFound) {
  const auto outer = std::make_shared<Linked>(), other = std::make_shared<Linked>();
  outer->next = other->next = std::make_shared<Linked>();
  const Object held = add_shared(outer->next);
  const Object of_outer = add_shared(outer), of_other = add_shared(other);
  keep_by(of_outer, held, second_word(outer->next));
  keep_by_root(of_outer, second_word(outer), "outer");
  EXPECT_FALSE(proves()) << "it counts one more";
  keep_by(of_other, held, second_word(other->next));
  EXPECT_FALSE(proves()) << "no variable leads to that one";
  keep_by_root(of_other, second_word(other), "other");
  const std::shared_ptr<Linked> unseen = other;
  EXPECT_TRUE(proves()) << "what else holds the other one does not matter";
}

TEST_F(ProofTest, ACircleWithoutAVariableProvesNothing) {
  const auto first = std::make_shared<Linked>();
  first->next = first;
  const Object held = add_shared(first);
  keep_by(held, held, second_word(first->next));
  EXPECT_FALSE(proves());
  keep_by_root(held, second_word(first), "first");
  EXPECT_TRUE(proves()) << "the variable holds it, whatever else does";
  first->next = nullptr;
}

}  // namespace
}  // namespace dcmt::scan
