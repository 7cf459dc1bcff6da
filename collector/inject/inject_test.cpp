// Tests the preloaded entry points without the agent: which calls it gets when a program loads libraries and requests
// symbols.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "collector/agent/thread_state.h"

namespace {
int g_ways_made = 0;
int g_starts = 0;
}  // namespace

namespace dcmt::agent {

constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec"))) = {};
void note_objects_changed() noexcept {}
void start_if_torch_is_here() noexcept { ++g_starts; }
bool standby_begins_here() noexcept { return false; }
void begin_standby() noexcept {}
void make_way_for_cupti_user() noexcept { ++g_ways_made; }

}  // namespace dcmt::agent

namespace {

void* load(int more) { return dlopen("libm.so.6", RTLD_LAZY | more); }

TEST(Inject, WhoAsksForCuptiIsGivenWayToEvenIfItLoadsNothing) {
  ASSERT_NE(load(0), nullptr);
  dlsym(RTLD_DEFAULT, "PyInit_x");  // Python does this after it has loaded an extension
  g_ways_made = 0;
  void* there = load(RTLD_NOLOAD);
  ASSERT_NE(there, nullptr);
  dlsym(there, "cuptiSubscribe");
  EXPECT_EQ(g_ways_made, 1);
  dlsym(there, "cuptiSubscribe_v2");
  EXPECT_EQ(g_ways_made, 2);
  dlsym(there, "cos");
  EXPECT_EQ(g_ways_made, 2);
}

TEST(Inject, RecordingStartsWhereAnExtensionWasLoadedOnly) {
  ASSERT_NE(load(0), nullptr);
  g_starts = 0;
  dlsym(RTLD_DEFAULT, "PyInit_x");
  EXPECT_EQ(g_starts, 1);
  dlsym(RTLD_DEFAULT, "PyInit_x");
  EXPECT_EQ(g_starts, 1);
  ASSERT_NE(load(RTLD_NOLOAD), nullptr);
  dlsym(RTLD_DEFAULT, "PyInit_x");
  EXPECT_EQ(g_starts, 1);
}

TEST(Inject, WhatDlsymFindsIsWhatItFinds) {
  using Cosine = double (*)(double);
  auto* const cosine = reinterpret_cast<Cosine>(dlsym(load(0), "cos"));
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_EQ(dlsym(load(0), "no_such_function"), nullptr);
}

}  // namespace
