// How far a program had come at a time: in steps where it counts them, otherwise in seconds.
//
//   Progress progress(timeline);
//   progress.choose(from_s, to_s);
//   progress.at(time_s)              // what growth is judged over
//
// A program that others keep from running stands still by its steps, and seems to have stopped growing by the clock. Steps are
// chosen only where they are spread over the time: fast ones while a program fills its tables, and slow ones later, say nothing.
//
// Thread-safe after choose().
#pragma once

#include <vector>

#include "lowtide/doctor/timeline/timeline.h"

namespace lowtide::doctor {

class Progress {
 public:
  explicit Progress(const Timeline& timeline);
  double steps_until(double time_s) const;  // 0 where nobody counts
  void choose(double from_s, double to_s);
  bool in_steps() const { return in_steps_; }
  double at(double time_s) const { return in_steps_ ? steps_until(time_s) : time_s; }

 private:
  struct Count {
    double time_s = 0, steps = 0;
  };
  std::vector<Count> counts_;  // by time
  bool in_steps_ = false;
};

}  // namespace lowtide::doctor
