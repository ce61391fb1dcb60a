# Writes a file's bytes into a C++ source: cmake -DINPUT=… -DOUTPUT=… -DNAME=… -P embed.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................................................)" "\\1\"\n\"" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include <string_view>\nextern const std::string_view ${NAME};\n"
     "using namespace std::string_view_literals;\nconst std::string_view ${NAME} = \"${bytes}\"sv;\n")
