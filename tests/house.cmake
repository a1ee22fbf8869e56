# The rules of the house: the layout, and the scripts.
# They run nothing of the program: under a sanitizer they would only say the same again.
if(NOT ASSAY_SANITIZE)
  add_test(NAME house/layering COMMAND ${CMAKE_SOURCE_DIR}/tests/layering)
  add_test(NAME house/layering-can-fail COMMAND ${CMAKE_SOURCE_DIR}/tests/layering --self-test)
  add_test(NAME house/scripts COMMAND ${CMAKE_SOURCE_DIR}/tests/scripts)
  set_tests_properties(house/scripts PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME house/links COMMAND ${CMAKE_SOURCE_DIR}/tests/links)
endif()
add_test(NAME house/pattern-docs COMMAND ${CMAKE_SOURCE_DIR}/tests/pattern_docs $<TARGET_FILE:assay>)
add_test(NAME new-pattern COMMAND ${CMAKE_SOURCE_DIR}/tests/new_pattern ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
set_tests_properties(new-pattern PROPERTIES TIMEOUT 600 COST 900)
add_test(NAME prove COMMAND ${CMAKE_SOURCE_DIR}/tests/prove $<TARGET_FILE:assay>)
add_test(NAME reports COMMAND ${CMAKE_SOURCE_DIR}/tests/reports $<TARGET_FILE:assay>)
add_test(NAME maps COMMAND ${CMAKE_SOURCE_DIR}/tests/maps $<TARGET_FILE:assay>)
add_test(NAME house/sarif COMMAND ${CMAKE_SOURCE_DIR}/tests/sarif $<TARGET_FILE:assay> $<TARGET_FILE:sarif_test>
  ${CMAKE_BINARY_DIR}/npm)
set_tests_properties(house/sarif PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 400)
# Tests that take time's measure run alone, but for those whose differences no load turns round; the longest one begins first.
set_tests_properties(unit/measure_test cli PROPERTIES RUN_SERIAL TRUE)
set_tests_properties(unit/object_test PROPERTIES COST 1000)
