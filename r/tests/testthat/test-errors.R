edges <- data.frame(source = c("a", "b"), target = c("b", "c"), weight = c(1, 2))

test_that("errors of Python are R errors with their message and class", {
  expect_error(pyapsp_graph(edges, source = "from"),
    "no column 'from', but 'source', 'target', 'weight'", class = "GraphError")
  expect_error(pyapsp_graph(edges, weight = "cost"), "no column 'cost'", class = "GraphError")
  expect_error(pyapsp_bfs(pyapsp_graph(edges), "q"), "'q'", class = "ParameterError")
  expect_error(pyapsp_bfs(pyapsp_graph(edges), "a", method = "no"), "bfs-frontier",
    class = "ParameterError")
  cycle <- pyapsp_graph(data.frame(source = 1:2, target = 2:1, weight = -1))
  expect_error(pyapsp_sssp(cycle, 1), "1 -> 2 -> 1", class = "NegativeCycleError")
  expect_error(pyapsp_sssp(cycle, 1), class = "pyapsp_error")
})

test_that("a missing value is an error that names column and row", {
  for (column in c("source", "target", "weight")) {
    for (kind in c("character", "integer", "double")) {
      if (column == "weight" && kind == "character") next
      wrong <- data.frame(source = 1:3, target = 2:4, weight = 1:3)
      if (column != "weight") wrong[1:2] <- lapply(wrong[1:2], `storage.mode<-`, kind)
      storage.mode(wrong[[column]]) <- kind
      wrong[[column]][2] <- NA
      expect_error(pyapsp_graph(wrong), paste0("'", column, "' has no value in row 2"),
        class = "GraphError")
    }
  }
  nan <- transform(edges, weight = c(1, NaN))
  expect_error(pyapsp_graph(nan), "'weight' has no value in row 2", class = "GraphError")
  for (wrong in list(NA, NA_character_, character(), NULL, Sys.Date(), list("a"))) {
    expect_error(pyapsp_bfs(pyapsp_graph(edges), wrong), "not NA", class = "ParameterError")
  }
})

test_that("values of other types are refused", {
  expect_error(pyapsp_graph(data.frame(source = 1.5, target = 2)), "1.5 in row 1",
    class = "GraphError")
  expect_error(pyapsp_graph(data.frame(source = 2^53 + 2, target = 2)), "row 1 ",
    class = "GraphError")
  expect_error(pyapsp_graph(data.frame(source = "a", target = 2)), "all integers or all strings",
    class = "GraphError")
  expect_error(pyapsp_graph(data.frame(source = Sys.Date(), target = 2)), "class Date",
    class = "GraphError")
  expect_error(pyapsp_graph(transform(edges, weight = c("x", "y"))), "no real number: 'x'",
    class = "GraphError")
  expect_error(pyapsp_graph(transform(edges, weight = factor(1:2))), "no real number: '1'",
    class = "GraphError")
  expect_error(pyapsp_graph(list(source = 1, target = 2)), "data frame is wanted, not list",
    class = "GraphError")
})

test_that("columns and graphs are what they are called", {
  twice <- cbind(edges, edges["source"])
  expect_error(pyapsp_graph(twice), "more than one column 'source'", class = "GraphError")
  expect_error(pyapsp_graph(edges, 4), "no column 4, but 3", class = "GraphError")
  expect_error(pyapsp_graph(edges, c("source", "target")), "one name or one position",
    class = "ParameterError")
  expect_error(pyapsp_graph(edges, directed = "no"), "'directed'", class = "ParameterError")
  expect_error(pyapsp_bfs(edges, "a"), "made by pyapsp_graph", class = "ParameterError")
})
