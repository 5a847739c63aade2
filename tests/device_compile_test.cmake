# cmake "-DOBJECTS=FILES" -P tests/device_compile_test.cmake
# Checks that the object files hold the device interpreter of every type and operator as GPU machine code, not only its
# host stub. No OBJECTS means that there was no nvcc: skipped, or failed if HOCKNEY_REQUIRE, a comma list, contains nvcc.

if(NOT OBJECTS)
  if(",$ENV{HOCKNEY_REQUIRE}," MATCHES ",nvcc,")
    message(FATAL_ERROR "HOCKNEY_REQUIRE names nvcc, but this build found none")
  endif()
  message("skipped: this build found no nvcc")
  return()
endif()
# The sections of kernels in the machine code that the objects carry; one a kernel, however many architectures.
set(kernels)
foreach(object IN LISTS OBJECTS)
  file(STRINGS "${object}" sections REGEX "^\\.text\\._ZN7hockney14InterpretLanes.*BlockCall")
  list(APPEND kernels ${sections})
endforeach()
list(REMOVE_DUPLICATES kernels)
list(LENGTH kernels count)
if(NOT count EQUAL 60)
  message(FATAL_ERROR "${count} kernels, expected 60: 12 types with 5 operators. ${kernels}")
endif()
message("${count} kernels")
