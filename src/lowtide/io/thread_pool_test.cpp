#include "lowtide/io/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <new>
#include <thread>

namespace {

// Allocations of this thread that still succeed before all of them fail; negative: nothing fails.
thread_local std::int64_t allocations_left = -1;

bool fails() {
  if (allocations_left < 0) return false;
  if (allocations_left == 0) return true;
  --allocations_left;
  return false;
}

}  // namespace

// For the whole of this test program; not inlined, or gcc takes free() for the wrong half of a pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* memory = fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace lowtide::io {
namespace {

// Jobs are taken in order: what was added before has begun, if it will, when this returns.
void let_pool_catch_up() {
  for (int i = 0; i < 32; ++i) {
    std::promise<void> done;
    ThreadPool::process().add([&] { done.set_value(); });
    done.get_future().wait();
  }
}

TEST(ThreadPool, SharedWorkIsDoneWithWhatHelpersThereIsMemoryFor) {
  ThreadPool::process();
  std::atomic<int> begun{0};
  std::atomic<int> running{0};
  const std::function<void()> part = [&] {
    ++running;
    ++begun;
    std::this_thread::yield();
    --running;
  };
  bool enough = false;
  for (std::int64_t allowed = 0; !enough; ++allowed) {
    ASSERT_LT(allowed, 1000);
    begun = 0;
    bool thrown = false;
    allocations_left = allowed;
    try {
      ThreadPool::process().share(3, part);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    enough = allocations_left > 0;
    allocations_left = -1;
    EXPECT_EQ(running, 0) << allowed << " allocations";
    const int begun_at_return = begun;
    let_pool_catch_up();
    EXPECT_EQ(begun, begun_at_return) << "a helper outlived share(), " << allowed << " allocations";
    EXPECT_EQ(begun_at_return > 0, !thrown) << allowed << " allocations";
  }
}

TEST(ThreadPool, SharedWorkRunsOnOtherThreadsToo) {
  std::atomic<int> here{0};
  std::promise<void> helped;
  ThreadPool::process().share(1, [&, caller = std::this_thread::get_id(), waited = helped.get_future().share()] {
    if (std::this_thread::get_id() == caller) {
      ++here;
      waited.wait();
    } else {
      helped.set_value();
    }
  });
  EXPECT_EQ(here, 1);
}

}  // namespace
}  // namespace lowtide::io
