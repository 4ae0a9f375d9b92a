// What a file or a set of files holds as tokens: how many, of which dtype, in how many documents and windows.
//
//   auto tokens = add_token_options(verb);                  // --tokens, --eot, --block
//   if (holds_tokens("wiki.idx")) describe_tokens("wiki.idx", *raw, *tokens, session.options, json, fields);
//
// Not thread-safe. Blocks for the disk; with --tokens it reads every token, within the budget, and can be interrupted.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lowtide/cli/input.h"
#include "lowtide/cli/json.h"
#include "lowtide/cli/session.h"
#include "lowtide/cli/terminal.h"
#include "lowtide/loader/tokens/token_stream.h"

namespace lowtide::cli {

struct TokenOptions {
  bool scan = false;  // --tokens
  std::optional<std::uint64_t> eot, block;
};
std::shared_ptr<TokenOptions> add_token_options(CLI::App* verb);

// Whether the content says so: llm.c, LITPKDS, or either file or the prefix of a Megatron pair.
bool holds_tokens(const std::string& path);
// Throws UsageError where what was asked for needs tokens, and the file does not say that it holds any.
void refuse_without_tokens(const TokenOptions& options);

TokenStream describe_tokens(const std::string& path, const RawOptions& raw, const TokenOptions& options,
                            const SharedOptions& shared, Json& json, Fields& fields);

}  // namespace lowtide::cli
