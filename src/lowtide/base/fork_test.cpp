#include "lowtide/base/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace lowtide {
namespace {

// Forks `count` times; each child must end by itself.
template <class Work>
void fork_often(int count, Work in_child) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      in_child();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "the child was ended by signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(Fork, AChildFindsNestedLocksFreeAndWhatIsBehindThemWhole) {
  ForkMutex outer(ForkRank::loader), inner(ForkRank::budget);
  int first = 0, second = 0;
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    while (!stop) {
      const std::lock_guard outer_lock(outer);
      ++first;
      const std::lock_guard inner_lock(inner);
      ++second;
    }
  });
  fork_often(200, [&] {
    const std::lock_guard outer_lock(outer);
    const std::lock_guard inner_lock(inner);
    if (first != second) _exit(1);
  });
  stop = true;
  thread.join();
}

TEST(Fork, ObjectsThatComeAndGoUnderALockDoNotHoldUpAFork) {
  ForkMutex outer(ForkRank::stream);
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    while (!stop) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      const std::lock_guard outer_lock(outer);
      const auto low = std::make_unique<ForkMutex>(ForkRank::loader);
      const auto high = std::make_unique<ForkMutex>(ForkRank::prefetch);
      const std::lock_guard high_lock(*high);
      std::this_thread::yield();
    }
  });
  fork_often(20, [&] { const std::lock_guard outer_lock(outer); });
  stop = true;
  thread.join();
}

TEST(Fork, WhatWasMadeInTheParentIsNotHereInTheChild) {
  const MadeHere made;
  EXPECT_TRUE(made.here());
  fork_often(1, [&] {
    if (made.here() || !MadeHere().here()) _exit(1);
  });
  EXPECT_TRUE(made.here());
}

struct Forgetful {
  bool try_lock_for_fork() { return mutex.try_lock(); }
  void unlock_after_fork(bool in_child) {
    child = in_child;
    mutex.unlock();
  }
  std::mutex mutex;
  bool child = false, forgot = false;
};

TEST(Fork, AChildForgetsWhenAllLocksAreFree) {
  Forgetful object;
  ForkEntry::Hooks hooks = fork_hooks<Forgetful>();
  hooks.forget = [](void* pointer) {
    auto* forgetful = static_cast<Forgetful*>(pointer);
    const std::lock_guard lock(forgetful->mutex);
    forgetful->forgot = forgetful->child;
  };
  const ForkEntry entry(ForkRank::prefetch, &object, hooks);
  fork_often(1, [&] {
    if (!object.forgot) _exit(1);
  });
  EXPECT_FALSE(object.forgot);
}

}  // namespace
}  // namespace lowtide
