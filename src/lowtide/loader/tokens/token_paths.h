// The files that paths name: globs expanded, Megatron's pairs found.
//
//   std::vector<std::string> files = token_paths({"shards/*.bin", "wiki"});      // wiki: the prefix of wiki.bin and wiki.idx
//
// Thread-safe. Blocks for the file system; opens nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lowtide {

// A path that exists is itself, whatever characters it has. A glob (*, ?, [) is its matches in the order of their bytes, an unknown
// path that is the prefix of a Megatron pair is its .bin; an .idx whose .bin is in the list too is dropped. Any other path is kept
// for whoever opens it to refuse. Throws IoError (ENOENT) for a glob that matches nothing, std::invalid_argument for ** and no paths.
std::vector<std::string> token_paths(const std::vector<std::string>& paths);

// The other file of a pair: x.idx of x.bin and the reverse; nothing for other names.
std::optional<std::string> index_path(const std::string& bin_path);
std::optional<std::string> bin_path(const std::string& index_path);

}  // namespace lowtide
