# Search a graph with the R package, and write the answers as CSV.
#
# Arguments: the file of an edge list (white space between columns, comments after #, maybe a third
# column of weights), the names of sources separated by commas, the folder of the answers.

library(pyapsp)

arguments <- commandArgs(trailingOnly = TRUE)
edges <- read.table(arguments[1], encoding = "UTF-8")
sources <- type.convert(strsplit(arguments[2], ",")[[1]], as.is = TRUE)

graph <- pyapsp_graph(edges, "V1", "V2", weight = if (ncol(edges) == 3) "V3")
print(graph)
answers <- list(
  bfs = pyapsp_bfs(graph, sources),
  sssp = pyapsp_sssp(graph, sources),
  scc = pyapsp_scc(graph)
)
for (name in names(answers)) {
  cat("\n", name, ": ", nrow(answers[[name]]), " rows\n", sep = "")
  print(head(answers[[name]], 5))
  file <- file.path(arguments[3], paste0(name, ".csv"))
  write.csv(answers[[name]], file, row.names = FALSE, fileEncoding = "UTF-8")
}
cat("\nlevels of the reached:\n")
print(table(answers$bfs$level))
cat("largest component:", max(tabulate(answers$scc$component)), "\n")
