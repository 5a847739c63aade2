# cmake -DOBJECT=FILE -P tests/device_compile_test.cmake
# Checks that the object file holds the device interpreter as GPU machine code, not only its host stub. An empty OBJECT
# means that there was no nvcc: skipped, or failed if HOCKNEY_REQUIRE, a comma list, contains nvcc.

if(NOT OBJECT)
  if(",$ENV{HOCKNEY_REQUIRE}," MATCHES ",nvcc,")
    message(FATAL_ERROR "HOCKNEY_REQUIRE names nvcc, but this build found none")
  endif()
  message("skipped: this build found no nvcc")
  return()
endif()
# The section of a kernel in the machine code that the object carries.
file(STRINGS "${OBJECT}" sections REGEX "^\\.text\\._ZN7hockney13InterpretLane.*NativeElementIfE.*BlockCall")
if(NOT sections)
  message(FATAL_ERROR "${OBJECT} holds no InterpretLane for float32")
endif()
message("${sections}")
