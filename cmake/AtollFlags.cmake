# Compiler flags that every target of this project gets. There are no warnings, with gcc and with clang; only where the project
# itself is tested (ATOLL_WERROR) does one end the build: a user's compiler may be newer than ours and know more of them.
add_library(atoll_flags INTERFACE)
target_compile_definitions(atoll_flags INTERFACE _GNU_SOURCE ATOLL_VERSION="${PROJECT_VERSION}")
target_compile_options(atoll_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -Wundef -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wvla -Wno-unused-parameter
  -fno-strict-aliasing -ffp-contract=off -fno-common -fstack-protector-strong)
if(ATOLL_WERROR)
  target_compile_options(atoll_flags INTERFACE -Werror)
endif()
target_include_directories(atoll_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_link_options(atoll_flags INTERFACE -Wl,--as-needed -Wl,-z,relro,-z,now)
if(ATOLL_SANITIZE)
  target_compile_options(atoll_flags INTERFACE -fsanitize=${ATOLL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(atoll_flags INTERFACE -fsanitize=${ATOLL_SANITIZE})
  target_compile_definitions(atoll_flags INTERFACE ATOLL_SANITIZED=1)
endif()
if(ATOLL_FUZZ)
  target_link_options(atoll_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
