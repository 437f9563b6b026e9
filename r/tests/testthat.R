library(testthat)
library(pyapsp)

test_check("pyapsp")
