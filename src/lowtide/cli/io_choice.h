// Which IO mode a file gets and why, and whether the others would work on it.
//
//   ModeTrial trial = try_mode("x.npy", io::Mode::threads);
//   trial.file ? … : trial.refusal;               // "io_uring: Operation not permitted"
//
// Not thread-safe: a trial sets LOWTIDE_IO while it opens the file, which is how the library is told a mode.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "lowtide/io/file.h"

namespace lowtide::cli {

inline constexpr std::array all_modes = {io::Mode::uring, io::Mode::threads, io::Mode::dontcache, io::Mode::buffered};

struct ModeTrial {
  std::shared_ptr<io::File> file;  // open in the mode, or none
  std::string refusal;             // why not
};
ModeTrial try_mode(const std::string& path, io::Mode mode);

// "io_uring and O_DIRECT": what a mode is, in a few words.
std::string describe(io::Mode mode);
// Why the library chose what it chose for this file.
std::string reason_for(const io::File& file);

}  // namespace lowtide::cli
