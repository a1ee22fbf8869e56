# What `cmake --install` puts where. The workload runtime is inside the program, so nothing has to be found at run time.
include(GNUInstallDirs)
install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_BINARY_DIR}/assay.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/assay.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME assay)
install(FILES include/assay/bench.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/GLOSSARY.md docs/METHODOLOGY.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
