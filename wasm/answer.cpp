#include "wasm/answer.h"

#include <iterator>
#include <utility>

namespace roombox::edge {

Answer answer(int status, std::string_view content_type, std::string body) {
  return {
      status, {{"Content-Type", std::string(content_type)}, {"Cache-Control", "no-store"}}, std::move(body)};
}

Answer json_answer(int status, std::string body) {
  return answer(status, "application/json", std::move(body));
}

Answer error_answer(const Error& error, Dialect dialect) {
  Answer answer = json_answer(http_status(error.code), render(error, dialect));
  answer.code = name(error.code);
  return answer;
}

Answer error_answer(ErrorCode code, std::string_view message, Dialect dialect) {
  return error_answer(Error{code, std::string(message)}, dialect);
}

void append(Headers& headers, Headers more) {
  headers.insert(headers.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace roombox::edge
