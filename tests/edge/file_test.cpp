#include "wasm/protocol/file.h"

#include <gtest/gtest.h>

namespace roombox {
namespace {

using std::chrono::milliseconds;

constexpr auto kTime = std::chrono::system_clock::time_point(milliseconds(1'700'000'000'123));

std::string listing(Dialect dialect, std::initializer_list<FileEntry> entries) {
  ListingWriter writer("/tmp", dialect);
  std::string text = writer.take();
  for (const FileEntry& entry : entries) {
    writer.add(entry);
    text += writer.take();
  }
  writer.end();
  return text + writer.take();
}

TEST(Listing, IsOfTheDialect) {
  const FileEntry file{"a\n\"", FileType::File, 5, 0644, kTime};
  const FileEntry directory{"d", FileType::Directory, 4096, 01777, kTime};
  EXPECT_EQ(listing(Dialect::Rooms, {file, directory}),
            R"({"path":"/tmp","entries":[{"name":"a\n\"","type":"file","size":5,"mode":"0644",)"
            R"("modifiedAt":"2023-11-14T22:13:20.123Z"},{"name":"d","type":"directory","size":4096,)"
            R"("mode":"1777","modifiedAt":"2023-11-14T22:13:20.123Z"}]})");
  EXPECT_EQ(listing(Dialect::V1, {directory}),
            R"({"object":"list","data":[{"object":"file","path":"/tmp/d","name":"d","type":"directory",)"
            R"("size":4096,"mode":"1777","modified_at":"2023-11-14T22:13:20.123Z"}]})");
  EXPECT_EQ(listing(Dialect::Sdk, {file, directory}),
            R"([{"name":"a\n\"","isDir":false,"path":"/tmp/a\n\"","size":5},)"
            R"({"name":"d","isDir":true,"path":"/tmp/d","size":4096}])");
  EXPECT_EQ(listing(Dialect::Sdk, {}), "[]");
  EXPECT_EQ(listing(Dialect::Rooms, {}), R"({"path":"/tmp","entries":[]})");
}

TEST(Listing, HasANameThatIsNoTextInBase64Too) {
  const FileEntry file{"a\xff", FileType::Symlink, 1, 0777, kTime};
  EXPECT_NE(listing(Dialect::Rooms, {file})
                .find("\"name\":\"a\xEF\xBF\xBD\",\"nameBase64\":\"Yf8=\",\"type\":"
                      "\"symlink\""),
            std::string::npos);
  EXPECT_NE(listing(Dialect::V1, {file}).find(R"("name_base64":"Yf8=")"), std::string::npos);
}

TEST(Made, IsOfTheDialect) {
  EXPECT_EQ(render_made("/a", 3, Dialect::Rooms), R"({"path":"/a","size":3})");
  EXPECT_EQ(render_made("/a", std::nullopt, Dialect::Rooms), R"({"path":"/a"})");
  EXPECT_EQ(render_made("/a", 3, Dialect::V1), R"({"object":"file","path":"/a","size":3})");
  EXPECT_EQ(render_made("/a", std::nullopt, Dialect::V1), R"({"object":"directory","path":"/a"})");
}

}  // namespace
}  // namespace roombox
