# Texts of the device units as C arrays: the files of a unit one after the other, without their #include lines, since the
# whole unit is one text. Included by mpi-eval/CMakeLists.txt (defines the rules) and run as a script (makes one unit).
if(CMAKE_SCRIPT_MODE_FILE)
  string(REPLACE "," ";" FILES "${FILES}")
  set(text "")
  foreach(file ${FILES})
    file(READ ${ROOT}/${file} part)
    string(REGEX REPLACE "#include[^\n]*\n" "\n" part "${part}")
    string(APPEND text "#line 1 \"${file}\"\n${part}")
  endforeach()
  if(text MATCHES "[^\t\n -~]")
    message(FATAL_ERROR "${NAME}: a text of the device holds a character that is not plain ASCII")
  endif()
  file(WRITE ${OUT}.txt "${text}")
  file(READ ${OUT}.txt hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  file(WRITE ${OUT} "#include \"mpi-eval/backend/cuda/kernels/text.h\"\n\nconst char ${NAME}[] = {\n${hex}0};\n")
  return()
endif()

set(device mpi-eval/backend/cuda/kernels)
set(shared ${device}/prelude.h base/random.h core/task/dtype.h core/task/dtype_value.h core/task/init_value.h ${device}/cipher.h
           ${device}/params.h ${device}/known_answer.h ${device}/grid.cuh)
set(support_unit ${shared} ${device}/contents.cu ${device}/inspect.cu ${device}/local_wipe.cuh ${device}/caches.cu ${device}/expected.cu
                 ${device}/fingerprint.h ${device}/fingerprint.cu ${device}/known_answer.cu ${device}/agreement.cu)
set(wide_frames_unit ${shared} ${device}/local_wipe.cuh ${device}/wide_frames.cu)
set(tiles_unit ${device}/tile.cuh)
set(calibration_unit ${shared} ${device}/calibrate.cu ${device}/tensor.cu)
foreach(unit support calibration wide_frames tiles)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/device_${unit}.c)
  list(TRANSFORM ${unit}_unit PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE depends)
  string(REPLACE ";" "," files "${${unit}_unit}")
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${out} -DNAME=atoll_device_${unit}_text "-DFILES=${files}"
            -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
    DEPENDS ${depends} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake VERBATIM)
  target_sources(atoll_eval PRIVATE ${out})
endforeach()
