// The Python dict literal inside a .npy header: the few literals NumPy accepts there, nothing evaluated.
//
//   dict   := '{' [ pair { ',' pair } [ ',' ] ] '}' blank*         each key once, in any order
//   pair   := 'descr' ':' string | 'fortran_order' ':' (True | False) | 'shape' ':' tuple
//   tuple  := '(' ')' | '(' int ',' [ int { ',' int } [ ',' ] ] ')'
//   int    := 0 | [1-9][0-9]* , then 'L' if Python 2 wrote it
//   string := '…' | "…" without backslashes
//
//   Dict dict = read_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", {.path = "x.npy"});
//
// Thread-safe: pure. One pass, no recursion; the only allocation is the shape, at most max_ndim extents.
#pragma once

#include <string_view>

#include "lowtide/formats/layout.h"

namespace lowtide::npy {

struct Dict {
  std::string_view descr;  // within the text read
  bool fortran_order = false;
  Shape shape;  // no extent is negative
};

struct ReadOptions {
  std::string_view path;     // for messages
  bool allow_longs = false;  // 10L: versions 1 and 2
};

// Throws FormatError for what is not the grammar above, UnsupportedError for a structured or subarray descr.
Dict read_dict(std::string_view text, const ReadOptions& options);

}  // namespace lowtide::npy
