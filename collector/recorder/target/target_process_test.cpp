#include "collector/recorder/target/target_process.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace dcmt::recorder {
namespace {

/// A child that sleeps until the test ends.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Waits until it is in this state.
  [[nodiscard]] TargetProcess in(char state) const {
    TargetProcess target;
    for (int i = 0; i < 30'000 && target.state != state; ++i) {
      target = *inspect_process(pid_);
      usleep(2'000);
    }
    EXPECT_EQ(target.state, state);
    return target;
  }

 private:
  pid_t pid_;
};

std::string elf(unsigned char size, Elf64_Half machine, std::initializer_list<Elf64_Word> parts) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = size;
  header.e_machine = machine;
  header.e_phoff = sizeof header;
  header.e_phnum = static_cast<Elf64_Half>(parts.size());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  for (const Elf64_Word type : parts) {
    Elf64_Phdr part{};
    part.p_type = type;
    bytes.append(reinterpret_cast<const char*>(&part), sizeof part);
  }
  return bytes;
}

TEST(TargetProcess, WhatItsFileIs) {
  EXPECT_EQ(executable_of(elf(ELFCLASS64, EM_X86_64, {PT_LOAD, PT_INTERP})), Executable::kDynamic);
  EXPECT_EQ(executable_of(elf(ELFCLASS64, EM_X86_64, {PT_LOAD})), Executable::kStatic);
  EXPECT_EQ(executable_of(elf(ELFCLASS64, EM_AARCH64, {PT_INTERP})), Executable::kOtherArchitecture);
  EXPECT_EQ(executable_of(elf(ELFCLASS32, EM_386, {})), Executable::kOtherArchitecture);
  EXPECT_EQ(executable_of(elf(ELFCLASS32, EM_386, {}).substr(0, 52)), Executable::kOtherArchitecture);
  EXPECT_EQ(executable_of(""), Executable::kUnreadable);
  EXPECT_EQ(executable_of("#!/bin/sh\n" + std::string(100, ' ')), Executable::kUnreadable);
  // Its headers are elsewhere in the file.
  EXPECT_EQ(executable_of(elf(ELFCLASS64, EM_X86_64, {PT_LOAD, PT_LOAD}).substr(0, 130)), Executable::kUnreadable);
}

TEST(TargetProcess, ThisOne) {
  const Expected<TargetProcess> target = inspect_process(getpid());
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->user, geteuid());
  EXPECT_EQ(target->executable, Executable::kDynamic);
  EXPECT_FALSE(target->has_torch || target->in_standby || target->recorded_run || target->exits);
  EXPECT_FALSE(obstacle_of(*target));
  EXPECT_NE(why_not_in_standby(*target).what.find("is not in standby, and has not imported torch"), std::string::npos);
}

TEST(TargetProcess, OneThatIsNot) {
  pid_t gone = 0;
  {
    const Child child;
    gone = child.pid();
  }
  const Expected<TargetProcess> target = inspect_process(gone);
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().message, "process " + std::to_string(gone) + " does not exist");
}

TEST(TargetProcess, OneThatIsStopped) {
  const Child child;
  EXPECT_FALSE(obstacle_of(child.in('S')));
  kill(child.pid(), SIGSTOP);
  const auto obstacle = obstacle_of(child.in('T'));
  ASSERT_TRUE(obstacle);
  EXPECT_NE(obstacle->what.find(" is stopped"), std::string::npos);
  EXPECT_EQ(obstacle->remedy, "let it go on: kill -CONT " + std::to_string(child.pid()));
}

TEST(TargetProcess, OneThatIsTraced) {
  const Child child;
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr), 0);
  EXPECT_FALSE(obstacle_of(child.in('S')));  // it runs again
  ptrace(PTRACE_INTERRUPT, child.pid(), nullptr, nullptr);
  waitpid(child.pid(), nullptr, __WALL);
  const auto obstacle = obstacle_of(child.in('t'));
  ASSERT_TRUE(obstacle);
  EXPECT_NE(obstacle->what.find("is stopped by its tracer, process " + std::to_string(getpid())), std::string::npos);
}

TEST(TargetProcess, OneThatHasEnded) {
  const Child child;
  kill(child.pid(), SIGKILL);
  const auto obstacle = obstacle_of(child.in('Z'));
  ASSERT_TRUE(obstacle);
  EXPECT_NE(obstacle->what.find("has ended"), std::string::npos);
}

TEST(TargetProcess, OneOfAnotherUser) {
  TargetProcess target = *inspect_process(getpid());
  target.user = geteuid() + 1;
  if (geteuid() == 0) {
    EXPECT_FALSE(obstacle_of(target));
  } else {
    EXPECT_TRUE(obstacle_of(target));
  }
}

TEST(TargetProcess, WhyNobodyListens) {
  TargetProcess target = *inspect_process(getpid());
  target.executable = Executable::kStatic;
  EXPECT_NE(why_not_in_standby(target).what.find("static program"), std::string::npos);
  target.executable = Executable::kOtherArchitecture;
  EXPECT_NE(why_not_in_standby(target).what.find("another architecture"), std::string::npos);
  target = *inspect_process(getpid());
  target.recorded_run = true;
  EXPECT_NE(why_not_in_standby(target).what.find("recorded already, by dc-memtrace run"), std::string::npos);
}

}  // namespace
}  // namespace dcmt::recorder
