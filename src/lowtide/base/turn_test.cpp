#include "lowtide/base/turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "lowtide/base/interrupt.h"
#include "lowtide/error.h"

namespace lowtide {
namespace {

int status_of_child(int (*work)(Turn&), Turn& turn) {
  const pid_t child = fork();
  if (child == 0) _exit(work(turn));
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Turn, IsOneThreadsAtATime) {
  Turn turn;
  int inside = 0;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const Turn::Held mine = turn.take("counting");
        EXPECT_EQ(++inside, 1);
        ++count;
        --inside;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 8000);
  EXPECT_FALSE(turn.taken());
}

TEST(Turn, IsRefusedToTheThreadThatHasIt) {
  Turn turn;
  const Turn::Held mine = turn.take("writing");
  try {
    const Turn::Held again = turn.take("writing to x.npy");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("writing to x.npy: this thread is in the middle of that"));
  }
}

TEST(Turn, CanBeWaitedForInterruptibly) {
  Turn turn;
  auto mine = std::make_unique<Turn::Held>(turn.take("first"));
  set_interrupt_hook([] { throw CancelledError("interrupted"); });
  std::thread waiter([&] { EXPECT_THROW((void)turn.take("second"), CancelledError); });
  waiter.join();
  set_interrupt_hook(nullptr);
  mine.reset();
  const Turn::Held again = turn.take("third");
}

TEST(Turn, OfAThreadThatTheChildDoesNotHaveIsFreeThere) {
  Turn turn;
  std::atomic<bool> taken{false}, stop{false};
  std::thread holder([&] {
    const Turn::Held mine = turn.take("a long operation");
    taken = true;
    while (!stop) std::this_thread::yield();
  });
  while (!taken) std::this_thread::yield();
  EXPECT_EQ(status_of_child(
                [](Turn& inherited) {
                  alarm(20);
                  if (inherited.taken()) return 1;
                  const Turn::Held mine = inherited.take("the child's");
                  return inherited.taken() ? 0 : 2;
                },
                turn),
            0);
  EXPECT_TRUE(turn.taken());
  stop = true;
  holder.join();
}

TEST(Turn, OfTheThreadThatForksIsItsOwnInTheChild) {
  Turn turn;
  const Turn::Held mine = turn.take("an operation that forks");
  EXPECT_EQ(status_of_child(
                [](Turn& inherited) {
                  alarm(20);
                  try {
                    (void)inherited.take("again");
                  } catch (const Error&) {
                    return 0;
                  }
                  return 1;
                },
                turn),
            0);
}

}  // namespace
}  // namespace lowtide
