pyapsp_graph <- function(edges, source = "source", target = "target", weight, directed = TRUE) {
  if (!is.data.frame(edges)) {
    fail("GraphError", sprintf("a data frame is wanted, not %s", class(edges)[1]))
  }
  if (missing(weight)) weight <- if ("weight" %in% names(edges)) "weight"
  if (!is.null(weight)) weight <- name_of(edges, weight)
  source <- name_of(edges, source)
  target <- name_of(edges, target)
  columns <- vector("list", length(edges)) # Python names all that there are in its errors
  names(columns) <- names(edges)
  for (name in intersect(c(source, target), names(edges))) {
    columns[[name]] <- as_ids(column_of(edges, name))
  }
  for (name in setdiff(intersect(weight, names(edges)), c(source, target))) {
    columns[[name]] <- as_list(column_of(edges, name))
  }
  graph <- ask(python("pyapsp.graph")$from_frame(
    reticulate::py_dict(names(columns), unname(columns)),
    source = source, target = target, weight = weight, directed = directed
  ))
  structure(list(python = graph), class = "pyapsp_graph")
}

print.pyapsp_graph <- function(x, ...) {
  cat(reticulate::py_str(x$python), "\n", sep = "")
  invisible(x)
}

# Return the numbers that Python gives to vertices.
vertices <- function(graph, names) {
  if (length(names) == 0 || !is_plain(names) || anyNA(names)) {
    fail("ParameterError", "the source must be one or more numbers or texts, and not NA")
  }
  builtins <- python("builtins")
  builtins$list(builtins$map(graph$python$vertex, as_ids(names)))
}

check_graph <- function(graph) {
  if (!inherits(graph, "pyapsp_graph")) {
    fail("ParameterError", "the graph must be made by pyapsp_graph()")
  }
}
