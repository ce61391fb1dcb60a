#pragma once

#include <cstddef>
#include <cstdint>

/// The edge core as a host calls it; abi.cpp tells how.
extern "C" {

/// On wasm32 eight little-endian 32-bit words.
struct EdgeResult {
  std::size_t action;  ///< An EdgeAction.
  /// Answer: the HTTP status. ReadBody: the most bytes to read. Forward: 1 for the caller's headers too.
  std::size_t status_or_limit;
  const char* head;
  std::size_t head_size;
  const char* body;
  std::size_t body_size;
  const char* note;
  std::size_t note_size;
};

enum EdgeAction : std::size_t {
  kEdgeAnswer = 0,
  kEdgeReadBody = 1,
  kEdgeForward = 2,
  kEdgeAsk = 3,
  kEdgePage = 4,
};

char* edge_input(std::size_t size);
const EdgeResult* edge_decide(std::size_t head_size, std::int32_t body_size);
const EdgeResult* edge_outcome(std::size_t head_size, std::size_t outcome_size);
}
