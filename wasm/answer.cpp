#include "wasm/answer.h"

#include <utility>

namespace roombox::edge {

Answer answer(int status, std::string_view content_type, std::string body) {
  return {
      status, {{"Content-Type", std::string(content_type)}, {"Cache-Control", "no-store"}}, std::move(body)};
}

Answer error_answer(const Error& error) {
  return answer(http_status(error.code), "application/json", render(error, Dialect::Rooms));
}

Answer error_answer(ErrorCode code, std::string_view message) {
  return error_answer(Error{code, std::string(message)});
}

}  // namespace roombox::edge
