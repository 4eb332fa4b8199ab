# The texts of knowledge/prompts as one C table by name. Included by evolution/CMakeLists.txt (defines the rule) and run as a
# script (writes the table).
if(CMAKE_SCRIPT_MODE_FILE)
  string(REPLACE "," ";" FILES "${FILES}")
  set(arrays "")
  set(rows "")
  set(index 0)
  foreach(file ${FILES})
    file(READ ${ROOT}/${file} text)
    if(text MATCHES "[^\t\n -~]")
      message(FATAL_ERROR "${file}: a prompt text holds a character that is not plain ASCII")
    endif()
    file(READ ${ROOT}/${file} hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(APPEND arrays "static const char text_${index}[] = {\n${hex}0};\n")
    get_filename_component(name ${file} NAME)
    if(NOT file MATCHES "/example/")
      string(REGEX REPLACE "\\.md$" "" name ${name})
    endif()
    if(file MATCHES "/(part|island)/")
      set(name ${CMAKE_MATCH_1}/${name})
    endif()
    string(APPEND rows "    {\"${name}\", text_${index}},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  file(WRITE ${OUT} "#include \"evolution/prompt/prompt_text.h\"\n\n${arrays}\nconst struct atoll_prompt_file atoll_prompt_files[] = {\n${rows}};\nconst size_t atoll_prompt_file_count = ${index};\n")
  return()
endif()

set(prompts knowledge/prompts)
set(prompt_files ${prompts}/role.md ${prompts}/honesty.md ${prompts}/plan.md ${prompts}/answer.md ${prompts}/c.md
                 ${prompts}/cuda.md ${prompts}/hopper.md ${prompts}/triton.md ${prompts}/opencl.md ${prompts}/example/example.md
                 ${prompts}/example/reference.c ${prompts}/example/seeds/example.c ${prompts}/example/seeds/example.cu
                 ${prompts}/example/seeds/example.cl ${prompts}/example/seeds/example.py)
foreach(part writer executor refiner extractor template planner analyser order summarizer distiller)
  list(APPEND prompt_files ${prompts}/part/${part}.md)
endforeach()
foreach(role fusion memory parallelism algorithm numerics)
  list(APPEND prompt_files ${prompts}/island/${role}.md)
endforeach()
list(TRANSFORM prompt_files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE prompt_depends)
string(REPLACE ";" "," prompt_list "${prompt_files}")
set(prompt_table ${CMAKE_CURRENT_BINARY_DIR}/prompt_files.c)
add_custom_command(OUTPUT ${prompt_table}
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${prompt_table} "-DFILES=${prompt_list}"
          -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  DEPENDS ${prompt_depends} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake VERBATIM)
target_sources(atoll_evolution PRIVATE ${prompt_table})
