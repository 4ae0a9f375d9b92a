#include "lowtide/memory/for_speed.h"

#include <list>

#include "lowtide/base/fork.h"
#include "lowtide/memory/budget.h"

namespace lowtide {

class AllForSpeed final : public Evictable, public LockedAcrossFork {
 public:
  static AllForSpeed& process() {
    return one_for_process<AllForSpeed>(ForkRank::for_speed, [] {
      auto* made = new AllForSpeed;
      Budget::process().add_evictable(made);
      return made;
    });
  }
  void add(ForSpeed* one) {
    const std::lock_guard lock(mutex_);
    all_.push_back(one);
  }
  void remove(ForSpeed* one) {
    const std::lock_guard lock(mutex_);
    all_.remove(one);
  }
  void unlock_after_fork(bool in_child) {
    // The threads that were using them are not in the child.
    for (ForSpeed* one : all_) {
      if (in_child) one->used_ = false;
    }
    mutex_.unlock();
  }
  std::uint64_t evict(std::uint64_t bytes) override {
    std::uint64_t freed = 0;
    const std::lock_guard lock(mutex_);
    for (ForSpeed* one : all_) {
      if (freed < bytes) freed += one->ask(bytes - freed);
    }
    return freed;
  }

 private:
  std::list<ForSpeed*> all_;
};

void ForSpeed::prepare() { AllForSpeed::process(); }

ForSpeed::ForSpeed(GiveBack give_back) : give_back_(std::move(give_back)) { AllForSpeed::process().add(this); }
ForSpeed::~ForSpeed() { AllForSpeed::process().remove(this); }

std::uint64_t ForSpeed::ask(std::uint64_t bytes) {
  if (used_.exchange(true)) return 0;
  std::uint64_t freed = 0;
  try {
    freed = give_back_(bytes);
  } catch (...) {  // it is somebody else who needs the bytes: not theirs to hear of
  }
  used_ = false;
  used_.notify_all();
  return freed;
}

ForSpeed::Use::Use(ForSpeed& of) : of_(of) {
  while (of_.used_.exchange(true)) of_.used_.wait(true);
}

ForSpeed::Use::~Use() {
  of_.used_ = false;
  of_.used_.notify_all();
}

}  // namespace lowtide
