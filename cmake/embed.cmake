# Writes OUT: the texts of bench.h and runtime.c (protocol.h put in place of its #include) as C arrays.
# cmake -DSOURCE=<root> -DOUT=<file> -P embed.cmake
function(text_to_bytes text ret)
  string(HEX "${text}" hex)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  set(${ret} "${bytes}0" PARENT_SCOPE)
endfunction()

file(READ ${SOURCE}/src/bench/protocol.h protocol)
file(READ ${SOURCE}/src/bench/runtime.c runtime)
file(READ ${SOURCE}/include/assay/bench.h bench)
string(FIND "${runtime}" "#include \"protocol.h\"\n" at)
if(at EQUAL -1)
  message(FATAL_ERROR "src/bench/runtime.c no longer includes protocol.h")
endif()
string(REPLACE "#include \"protocol.h\"\n" "${protocol}" runtime "${runtime}")
text_to_bytes("${runtime}" runtime_bytes)
text_to_bytes("${bench}" bench_bytes)
file(WRITE ${OUT} "/* Made by cmake/embed.cmake. */\n#include \"port/embedded.h\"\n\n"
  "const char embedded_runtime_c[] = {\n${runtime_bytes}};\n\nconst char embedded_bench_h[] = {\n${bench_bytes}};\n")
