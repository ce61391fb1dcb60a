# Writes a file's bytes into a C++ source: cmake -DINPUT=… -DOUTPUT=… -DNAME=… -P embed.cmake
# As an array, since compilers need take no string literal of more than 64 KiB.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include <string_view>\nextern const std::string_view ${NAME};\n"
     "static constexpr char kBytes[] = {${bytes}};\nconst std::string_view ${NAME}(kBytes, sizeof kBytes);\n")
