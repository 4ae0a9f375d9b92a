// The Python frames of this thread, where it holds the interpreter.
//
//   find_python();                                    // once, at start
//   frames.python_count = python_frames(table, frames.python);
//
// Everything is found at run time: the sampler links no Python. Allocates only through the interpreter.
#pragma once

#include "lowtide/doctor/sampler/live_table.h"

namespace lowtide::sampler {

void find_python();
int python_frames(LiveTable& table, std::uint32_t* out);
bool is_python_code(const void* address);  // of the interpreter itself

}  // namespace lowtide::sampler
