"""Small files as people and their programs write them, with the graph that each one means.

What is expected is written from what the file means to who wrote it, not from what the reader does;
where the file does not say, or says something that no graph here can hold, it is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

Arc = tuple[object, object, float]


@dataclass(frozen=True)
class Means:
    """The graph in a file: arcs between labels; each is an edge where it is undirected."""

    arcs: list[Arc]
    directed: bool = True
    n: int | None = None  # None: as many as the arcs mention

    @property
    def all_arcs(self) -> set[Arc]:
        turned = [] if self.directed else [(head, tail, weight) for tail, head, weight in self.arcs]
        return {*self.arcs, *turned}


@dataclass(frozen=True)
class Refused:
    """The error of a file: words of its message, and the line to blame."""

    words: str
    line: int | None = 1


ABC: list[Arc] = [("a", "b", 4), ("b", "c", 2)]
NUM: list[Arc] = [(0, 1, 4), (1, 2, 2)]
HALF: list[Arc] = [(0, 1, 0.5), (1, 2, 1.5)]
ONES: list[Arc] = [(0, 1, 1), (1, 2, 1)]
STREETS: list[Arc] = [("New York", "Boston", 4), ("Boston", "New York", 2)]
UMLAUT: list[Arc] = [("Köln", "Zürich", 4), ("Zürich", "Köln", 2)]
MTX = "%%MatrixMarket matrix "
GEPHI = "Source,Target,Type,Id,Label,timeset,Weight\n"
NEO4J = ":START_ID,:END_ID,:TYPE,weight:float\n"

CASES: dict[str, tuple[str, str | bytes, Means | Refused]] = {
    # pandas
    "pandas": ("a.csv", "source,target,weight\n0,1,4\n1,2,2\n", Means(NUM)),
    "pandas index": ("a.csv", ",source,target,weight\n0,0,1,4\n1,1,2,2\n", Means(NUM)),
    "pandas index twice": (
        "a.csv", "Unnamed: 0,source,target,weight\n0,0,1,4\n1,1,2,2\n", Means(NUM)),
    "pandas reset_index": ("a.csv", "index,source,target\n0,0,1\n1,1,2\n", Means(ONES)),
    "pandas index, no weight": ("a.csv", ",source,target\n0,a,b\n1,b,c\n",
        Means([("a", "b", 1), ("b", "c", 1)])),
    "pandas no header": ("a.csv", "0,1,4\n1,2,2\n", Means(NUM)),
    "pandas index, columns without names": (
        "a.csv", ",0,1,2\n0,5,6,4\n1,6,7,2\n", Refused("not understood: '', '0', '1', '2'")),
    "pandas turned": ("a.csv", "target,source,weight\n1,0,4\n2,1,2\n", Means(NUM)),
    "pandas weight in the middle": ("a.csv", "source,weight,target\n0,4,1\n1,2,2\n", Means(NUM)),
    "pandas weight first": ("a.csv", "weight,target,source\n4,b,a\n2,c,b\n", Means(ABC)),
    "pandas id first": ("a.csv", "id,source,target\n7,0,1\n8,1,2\n", Means(ONES)),
    "pandas weight first, names that are in the header": (
        "a.csv", "weight,target,source\n4,target,a\n2,c,target\n",
        Means([("a", "target", 4), ("target", "c", 2)])),
    "pandas attributes": (
        "a.csv", "source,target,color,weight\n0,1,red,4\n1,2,blue,2\n", Means(NUM)),
    "pandas two weights": (
        "a.csv", "source,target,length,cost\n0,1,4,9\n1,2,2,9\n", Refused("'length', 'cost'")),
    "pandas weight beside a cost": (
        "a.csv", "source,target,cost,weight\n0,1,9,4\n1,2,9,2\n", Means(NUM)),
    "pandas another number": (
        "a.csv", "source,target,capacity\n0,1,4\n1,2,2\n", Refused("is 'capacity' the weight?")),
    "pgRouting": (
        "a.csv",
        "id,source,target,cost,reverse_cost,x1,y1,the_geom\n"
        '1,1,2,4,-1,0.5,1,"LINESTRING(0 0,1 1)"\n2,2,3,2,2.5,0.5,1,\n3,3,1,-1,1,0.5,1,\n'
        "4,3,4,-1,-1,0.5,1,\n",
        Means([(1, 2, 4), (2, 3, 2), (3, 2, 2.5), (1, 3, 1)], n=4)),
    "pgRouting, whole costs": (
        "a.csv", "source,target,cost,reverse_cost\n1,2,4,-1\n2,3,-1,7\n",
        Means([(1, 2, 4), (3, 2, 7)])),
    "pgRouting, a reverse cost that is no number": (
        "a.csv", "source,target,cost,reverse_cost\n1,2,4,-1\n2,3,-1,NULL\n",
        Refused("a weight must be a number, not 'NULL'", 3)),
    "pgRouting, a missing cost": (
        "a.csv", "source,target,reverse_cost\n1,2,4\n2,3,1\n",
        Refused("the column 'reverse_cost' is about the reverse of an arc")),
    "osm2pgrouting": (
        "a.csv",
        "gid,osm_id,tag_id,length,length_m,name,source,target,source_osm,target_osm,cost,"
        "reverse_cost,cost_s,reverse_cost_s,rule,one_way,oneway,maxspeed_forward,"
        "maxspeed_backward,the_geom\n"
        "1,55,101,0.1,90,Main,1,2,7,8,3,-3,9,-9,,1,YES,50,50,01\n"
        "2,56,101,0.1,90,Side,2,3,8,9,2,2,9,9,,2,NO,50,50,01\n",
        Means([(1, 2, 3), (2, 3, 2), (3, 2, 2)])),
    "a weight and its reverse": (
        "a.csv", "source,target,weight,reverse_weight\n1,2,4,5\n2,3,1,1\n",
        Refused("the column 'reverse_weight' is about the reverse of an arc")),
    "a weight and a reverse cost": (
        "a.csv", "source,target,weight,reverse_cost\n1,2,4,5\n2,3,1,1\n",
        Refused("the column 'reverse_cost' is about the reverse of an arc")),
    "a forward and a backward time": (
        "a.csv", "source,target,time_forward,time_backward\n1,2,4,5\n2,3,1,1\n",
        Refused("the column 'time_backward' is about the reverse of an arc")),
    "streets that go both ways, each in one row": (
        "a.csv", "u,v,osmid,oneway,length\n10,11,5,True,4\n11,12,6,False,2\n",
        Refused("by the column 'oneway' this arc goes both ways", 3)),
    "streets that go both ways, with the reverse in a row of its own": (
        "a.csv", "u,v,osmid,oneway,length\n10,11,5,yes,4\n11,12,6,no,2\n12,11,6,no,3\n",
        Means([(10, 11, 4), (11, 12, 2), (12, 11, 3)])),
    "streets against their direction": (
        "a.csv", "u,v,osmid,oneway,length\n10,11,5,-1,4\n11,12,6,yes,2\n",
        Refused("'oneway' must be true or false, not '-1'", 2)),
    "streets that are two-way": (
        "a.csv", "u,v,two_way,length\n10,11,0,4\n11,12,1,2\n",
        Refused("the column 'two_way' is about the reverse of an arc")),
    "edges that are directed or not": (
        "a.csv", "source,target,weight,is_directed\n0,1,4,no\n1,2,2,yes\n",
        Means([*NUM, (1, 0, 4)])),
    "edges that are not directed": (
        "a.csv", "source,target,weight,directed\n0,1,4,0\n1,2,2,0\n", Means(NUM, directed=False)),
    "edges whose direction is missing": (
        "a.csv", "source,target,weight,directed\n0,1,4,1\n1,2,2,\n",
        Refused("Directed or Undirected, not ''", 3)),
    "edges of two types": (
        "a.csv", "source,target,weight,Edge Type\n0,1,4,Undirected\n1,2,2,Directed\n",
        Means([*NUM, (1, 0, 4)])),
    "edges with a type that says another thing": (
        "a.csv", "source,target,weight,Edge Type,directed\n0,1,4,road,1\n1,2,2,rail,1\n",
        Means(NUM)),
    **{
        f"a column {name}": (
            "a.csv", f"source,target,weight,{name}\n0,1,4,1\n1,2,2,1\n",
            Refused(f"the column '{name}' is about the reverse of an arc"))
        for name in ("undirected", "direction", "DIR_TRAVEL", "bidir", "both_directions",
                     "reversible", "edge_direction", "symmetric", "bwd_cost", "cost_ba", "BA_Time")
    },
    "a street that is not one-way, by another name": (
        "a.csv", "u,v,isOneWay,length\n10,11,true,4\n11,12,false,2\n",
        Refused("by the column 'isOneWay' this arc goes both ways", 3)),
    "a comment about the direction": (
        "a.txt", "# directed: no\n0 1 4\n1 2 2\n", Means(NUM, directed=False)),
    "a comment about the type": (
        "a.txt", "# graph type: undirected\n0 1 4\n1 2 2\n", Means(NUM, directed=False)),
    "a comment about directed edges": (
        "a.txt", "# directed: yes\n0 1 4\n1 2 2\n", Means(NUM)),
    "pandas tabs": ("a.tsv", "source\ttarget\tweight\na\tb\t4\nb\tc\t2\n", Means(ABC)),
    "pandas spaces": ("a.txt", "source target weight\na b 4\nb c 2\n", Means(ABC)),
    "pandas spaces, quoted": (
        "a.txt", 'source target weight\n"New York" Boston 4\nBoston "New York" 2\n',
        Means(STREETS)),
    "pandas semicolons": ("a.csv", "source;target;weight\na;b;4\nb;c;2\n", Means(ABC)),
    "pandas a missing weight": (
        "a.csv", "source,target,weight\n0,1,4\n1,2,\n", Refused("number, not ''", 3)),
    "pandas a missing id": (
        "a.csv", "source,target,weight\na,b,4\n,c,2\n", Refused("id is empty", 3)),
    "pandas ids with gaps became floats": (
        "a.csv", "source,target,weight\n0.0,1.0,4\n1.0,2.0,2\n",
        Refused("must be an integer or a name, not '0.0'", 2)),
    "pandas grid nodes": (
        "a.csv", 'source,target,weight\n"(0, 0)","(0, 1)",4\n"(0, 1)","(1, 1)",2\n',
        Means([("(0, 0)", "(0, 1)", 4), ("(0, 1)", "(1, 1)", 2)])),
    "pandas adjacency matrix": (
        "a.csv", ",a,b,c\na,0,4,0\nb,0,0,2\nc,0,0,0\n", Refused("not understood: '', 'a', 'b'")),
    "pandas adjacency matrix of numbers": (
        "a.csv", ",0,1,2\n0,0,4,0\n1,0,0,2\n2,0,0,0\n", Refused("not understood: '', '0'")),
    "pandas of a COO matrix": ("a.csv", "row,col,data\n0,1,4\n1,2,2\n", Means(NUM)),
    "pandas with a column row": (
        "a.csv", "row,source,target,weight\n1,0,1,4\n2,1,2,2\n", Means(NUM)),
    "pandas names of their own": (
        "a.csv", "X,Y\n0,1\n1,2\n", Refused("not understood: 'X', 'Y'. Known are source and")),
    "pandas names of their own above names": (
        "a.csv", "X,Y\nBerlin,Paris\nParis,Rome\n", Refused("occur nowhere else")),
    "pandas names of their own above names and weights": (
        "a.csv", "X,Y,Z\nBerlin,Paris,4\nParis,Rome,2\n", Refused("not understood: 'X', 'Y', 'Z'")),
    "pandas only a header": ("a.csv", "source,target,weight\n", Means([])),
    "pandas integers over NaN": (
        "a.csv", "source,target,weight\n0,1,4.0\n1,2,2.0\n", Means(NUM)),
    "pandas long numbers": (
        "a.csv", "source,target,weight\n0,1,9007199254740993\n1,2,2\n",
        Means([(0, 1, 9007199254740993), (1, 2, 2)])),
    "pandas no arc is inf": (
        "a.csv", "source,target,weight\n0,1,4\n1,2,inf\n", Means([(0, 1, 4)], n=3)),
    # Matrix Market
    "matrix market, blanks before the signs": (
        "a.mtx", "  %%MatrixMarket matrix coordinate integer general\n  % by hand\n \n"
        " 2 2 1\n 1 2 4\n", Means([(1, 2, 4)])),
    "matrix market, one sign": (
        "a.mtx", "%MatrixMarket matrix coordinate integer symmetric\n%\n2 2 1\n2 1 4\n",
        Means([(1, 2, 4)], directed=False)),
    "matrix market called .txt": (
        "a.txt", MTX + "coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n",
        Refused("a Matrix Market file: call it .mtx")),
    "matrix market below a comment": (
        "a.txt", "# from a collection\n %MatrixMarket matrix coordinate pattern symmetric\n"
        "3 3\n2 1\n3 2\n", Refused("a Matrix Market file: call it .mtx", 2)),
    "matrix market below arcs": (
        "a.csv", "1,2\n2,3\n%%MatrixMarket matrix coordinate pattern general\n3,3\n",
        Refused("a Matrix Market file: call it .mtx", 3)),
    # NetworkX
    "networkx weighted": ("a.txt", "0 1 4\n1 2 2\n", Means(NUM)),
    "networkx data=False": ("a.txt", "0 1\n1 2\n", Means(ONES)),
    "networkx default, no attributes": ("a.txt", "0 1 {}\n1 2 {}\n", Means(ONES)),
    "networkx default": (
        "a.txt", "0 1 {'weight': 4}\n1 2 {'weight': 2}\n", Means(NUM)),
    "networkx undirected, numbers of numpy": (
        "a.txt", "# Undirected\na b {'name': 'A {4}', 'weight': np.float64(4.0)}\n"
        "b c {'weight': 2}\n", Means(ABC, directed=False)),
    "networkx infinite weight": (
        "a.txt", "0 1 {'weight': 4}\n1 2 {'weight': inf}\n", Means([(0, 1, 4)], n=3)),
    "networkx names, no weight": (
        "a.txt", "a b {'name': 'x'}\nb c {}\n", Means([("a", "b", 1), ("b", "c", 1)])),
    "networkx another weight": (
        "a.txt", "0 1 {'length': 4}\n1 2 {'length': 2}\n", Refused("the attribute 'length'")),
    "networkx a weight for some": (
        "a.txt", "0 1 {'weight': 4}\n1 2 {}\n", Refused("no attribute 'weight'", 2)),
    "networkx a weight for others": (
        "a.txt", "0 1 {}\n1 2 {'weight': 4}\n", Refused("the first has none", 2)),
    "networkx no attributes for some": (
        "a.txt", "0 1 {}\n1 2\n", Refused("attributes such as {} are expected", 2)),
    "networkx attributes that are no literals": (
        "a.txt", "0 1 {print()}\n", Refused("no attributes as Python writes them")),
    "networkx a weight that is text": (
        "a.txt", "0 1 {'weight': '4'}\n", Refused("must be a number, not '4'")),
    "networkx tabs": (
        "a.txt", "New York\tBoston\t{'weight': 4}\nBoston\tNew York\t{'weight': 2}\n",
        Means(STREETS)),
    "networkx default, semicolons in names": (
        "a.txt", "x;y b {'weight': 4}\nx;y New York {'weight': 2}\n",
        Refused("two ids and attributes", 2)),
    "networkx default, tuples": (
        "a.txt", "(0, 0) (0, 1) {}\n(0, 0) (1, 0) {}\n", Refused("")),
    "networkx tuples": ("a.txt", "(0, 0) (0, 1)\n(0, 0) (1, 0)\n", Refused("")),
    "networkx weighted tuples": ("a.txt", "(0, 0) (0, 1) 4\n(0, 0) (1, 0) 2\n", Refused("")),
    "networkx commas": ("a.txt", "0,1,4\n1,2,2\n", Means(NUM)),
    "networkx commas, attributes": ("a.csv", "0,1,{'weight': 4}\n1,2,{'weight': 2}\n",
        Means(NUM)),
    "networkx adjacency lists": (
        "a.txt", "#/usr/bin/python g.py\n# GMT Mon Nov 23\n# \n0 1 2 3\n1 2\n2 3\n3\n",
        Refused("expected 4 columns, not 2", 5)),
    "networkx multiline adjacency lists": (
        "a.txt", "# GMT Mon Nov 23\n0 2\n1 {}\n2 {}\n1 0\n2 0\n", Refused("not '{}'", 3)),
    "networkx to_pandas_edgelist": (
        "a.csv", "source,target,key,weight\na,b,0,4\nb,c,0,2\n", Means(ABC)),
    "osmnx": (
        "a.csv", "u,v,key,osmid,oneway,length\n10,11,0,[5],True,4\n11,12,0,6,True,2\n",
        Means([(10, 11, 4), (11, 12, 2)])),
    # igraph
    "igraph edgelist": ("a.txt", "0 1\n1 2\n", Means(ONES)),
    "igraph ncol": ("a.txt", "a b 4\nb c 2\n", Means(ABC)),
    "igraph ncol, floats": ("a.txt", "a b 4.000000\nb c 2.000000\n", Means(ABC)),
    "igraph lgl": ("a.txt", "# a\nb 4\n# b\nc 2\n", Refused("numbers after a word", 2)),
    "igraph data frame of R": (
        "a.csv", '"","from","to","weight"\n"1","a","b",4\n"2","b","c",2\n', Means(ABC)),
    "igraph write.table of R": (
        "a.txt", '"from" "to" "weight"\n"1" "a" "b" 4\n"2" "b" "c" 2\n',
        Refused("expected 3 columns, not 4", 2)),
    "igraph write.table of R, no row names": (
        "a.txt", '"from" "to" "weight"\n"New York" "Boston" 4\n"Boston" "New York" 2\n',
        Means(STREETS)),
    "igraph edge data frame": (
        "a.csv", "edge ID,source,target\n0,0,1\n1,1,2\n", Means(ONES)),
    "igraph pajek": (
        "a.txt", '*Vertices 2\n1 "a"\n2 "b"\n*Arcs\n1 2 4\n', Refused("no edge list")),
    "triplets of R": ("a.txt", '"i" "j" "x"\n1 2 4\n2 3 2\n', Refused("is 'x' the weight?")),
    # Neo4j
    "neo4j import": (
        "a.csv", ":START_ID,:END_ID,:TYPE,weight:float\na,b,ROAD,4\nb,c,ROAD,2\n", Means(ABC)),
    "neo4j no type": ("a.csv", ":START_ID,:END_ID,weight:float\na,b,4\nb,c,2\n", Means(ABC)),
    "neo4j type first": (
        "a.csv", ":TYPE,weight:float,:END_ID,:START_ID\nROAD,4,b,a\nROAD,2,c,b\n", Means(ABC)),
    "neo4j groups": (
        "a.csv", ":START_ID(City),:END_ID(City),cost:int\na,b,4\nb,c,2\n", Means(ABC)),
    "neo4j two groups": (
        "a.csv", ":START_ID(Person),:END_ID(Film)\n1,1\n2,1\n", Refused("Film and Person")),
    "flights": ("a.csv", "ORIGIN,DEST,DISTANCE\na,b,4\nb,c,2\n", Means(ABC)),
    "neo4j names and types": (
        "a.csv", "a:START_ID,b:END_ID,since:int,weight:float\na,b,9,4\nb,c,9,2\n", Means(ABC)),
    "neo4j nodes": (
        "a.csv", "id:ID,name,:LABEL\n1,Ann,Person\n2,Bob,Person\n", Refused("not understood")),
    "neo4j export": (
        "a.csv", '"_start","_end","_type","weight"\n"0","1","R","4"\n"1","2","R","2"\n',
        Means(NUM)),
    "neo4j export of everything": (
        "a.csv", "_id,_labels,_start,_end,_type,weight\n0,:A,,,,\n1,:A,,,,\n,,0,1,R,4\n",
        Refused("id is empty", 2)),
    "neo4j empty": ("a.csv", NEO4J, Means([])),
    # Gephi
    "gephi undirected": (
        "a.csv", GEPHI + "a,b,Undirected,0,,,4.0\nb,c,Undirected,1,,,2.0\n",
        Means(ABC, directed=False)),
    "gephi directed": (
        "a.csv", GEPHI + "a,b,Directed,0,,,4.0\nb,c,Directed,1,,,2.0\n", Means(ABC)),
    "gephi mixed": (
        "a.csv", GEPHI + "a,b,Directed,0,,,4.0\nb,c,Undirected,1,,,2.0\n",
        Means([*ABC, ("c", "b", 2)])),
    "gephi a word that is none": (
        "a.csv", GEPHI + "a,b,Directed,0,,,4.0\nb,c,Mutual,1,,,2.0\n",
        Refused("Directed or Undirected, not 'Mutual'", 3)),
    "gephi no weight": (
        "a.csv", "Source;Target;Type;Id;Label\n0;1;Undirected;0;\n1;2;Undirected;1;\n",
        Means(ONES, directed=False)),
    "gephi tabs": (
        "a.tsv", "Source\tTarget\tType\tWeight\na\tb\tundirected\t4\nb\tc\tundirected\t2\n",
        Means(ABC, directed=False)),
    "gephi type that is a kind": (
        "a.csv", "source,target,type,weight\na,b,road,4\nb,c,rail,2\n", Means(ABC)),
    "gephi nodes": ("a.csv", "Id,Label,timeset\n0,a,\n1,b,\n", Refused("not understood: 'Id'")),
    "gephi matrix": (
        "a.csv", ";a;b\na;0;4\nb;2;0\n", Refused("not understood: '', 'a', 'b'")),
    "a column directed": (
        "a.csv", "source,target,weight,directed\na,b,4,False\nb,c,2,False\n",
        Means(ABC, directed=False)),
    # KONECT
    "konect directed": (
        "a.tsv", "% asym posweighted\n% 2 3 3\n0 1 4\n1 2 2\n", Means(NUM)),
    "konect undirected": (
        "a.tsv", "% sym unweighted\n% 2 3 3\n0 1\n1 2\n", Means(ONES, directed=False)),
    "konect times": (
        "a.txt", "% asym unweighted\n0\t1\t1\t1082008561\n1\t2\t1\t1082008562\n", Means(ONES)),
    "konect parallel arcs are counted": (
        "a.txt", "% asym positive\n0 1 3\n1 2 5\n", Means(ONES)),
    "konect signed": (
        "a.txt", "% asym signed\n0 1 1\n1 2 -1\n", Means([(0, 1, 1), (1, 2, -1)])),
    "konect bipartite": ("a.txt", "% bip unweighted\n1 1\n1 2\n", Refused("bipartite")),
    "konect dynamic": ("a.txt", "% asym dynamic\n1 2 1 5\n1 2 -1 9\n", Refused("dynamic")),
    # SNAP
    "snap directed": (
        "a.txt", "# Directed graph (each unordered pair of nodes is saved once): x.txt\n"
        "# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n", Means(ONES)),
    "snap undirected": (
        "a.txt", "# Undirected graph: ../../data/output/x.txt\n# Nodes: 3 Edges: 2\n"
        "# FromNodeId\tToNodeId\n0\t1\n1\t2\n", Means(ONES, directed=False)),
    "snap signs": (
        "a.txt", "# Directed graph: x.txt\n# FromNodeId\tToNodeId\tSign\n0\t1\t1\n1\t2\t-1\n",
        Means([(0, 1, 1), (1, 2, -1)])),
    "snap ratings": (
        "a.csv", "0,1,4,1289241911.72836\n1,2,2,1289241941.53378\n", Means(NUM)),
    "snap ratings, whole seconds": ("a.csv", "0,1,4,1407470400\n1,2,2,1407470401\n", Means(NUM)),
    "snap header": ("a.csv", "node_1,node_2\n0,1\n1,2\n", Means(ONES)),
    "snap another header": ("a.csv", "id_1,id_2\n0,1\n1,2\n", Means(ONES)),
    "snap carriage returns": ("a.txt", "# x\r\n0\t1\r\n1\t2\r\n", Means(ONES)),
    # SuiteSparse, SciPy
    "mtx general": (
        "a.mtx", MTX + "coordinate real general\n% by mmwrite\n3 3 2\n1 2 4e0\n2 3 2\n",
        Means([(1, 2, 4), (2, 3, 2)])),
    "mtx pattern symmetric": (
        "a.mtx", MTX + "coordinate pattern symmetric\n%-----\n4 4 2\n2 1\n3 2\n",
        Means([(1, 2, 1), (2, 3, 1)], directed=False, n=4)),
    "mtx integer symmetric": (
        "a.mtx", MTX + "coordinate integer symmetric\n3 3 2\n2 1 4\n3 2 2\n",
        Means([(1, 2, 4), (2, 3, 2)], directed=False)),
    "mtx skew": (
        "a.mtx", MTX + "coordinate real skew-symmetric\n3 3 1\n2 1 4\n",
        Means([(2, 1, 4), (1, 2, -4)], n=3)),
    "mtx skew with a diagonal": (
        "a.mtx", MTX + "coordinate real skew-symmetric\n3 3 1\n2 2 4\n", Refused("diagonal", 3)),
    "mtx complex": (
        "a.mtx", MTX + "coordinate complex general\n2 2 1\n1 2 4 1\n", Refused("complex")),
    "mtx hermitian": (
        "a.mtx", MTX + "coordinate real hermitian\n2 2 1\n2 1 4\n", Refused("hermitian")),
    "mtx dense": ("a.mtx", MTX + "array integer general\n2 2\n0\n2\n4\n0\n",
        Means([(1, 2, 4), (2, 1, 2)])),
    "mtx not square": (
        "a.mtx", MTX + "coordinate real general\n2 3 1\n1 3 4\n", Refused("square", 2)),
    "mtx called txt": (
        "a.txt", MTX + "coordinate real general\n3 3 2\n1 2 4\n2 3 2\n", Refused("call it .mtx")),
    # DIMACS, METIS
    "dimacs": ("a.gr", "c 9th\np sp 3 2\na 1 2 4\na 2 3 2\n", Means([(1, 2, 4), (2, 3, 2)])),
    "dimacs called txt": ("a.txt", "p sp 3 2\na 1 2 4\na 2 3 2\n", Refused("call it .gr")),
    "dimacs maximum flow": ("a.gr", "p max 3 2\nn 1 s\nn 3 t\na 1 2 4\n", Refused("'p sp")),
    "dimacs colouring": ("a.txt", "c x\np edge 3 2\ne 1 2\ne 2 3\n", Refused("DIMACS", 2)),
    "dimacs with commas": ("a.gr", "p sp 2 1\na 1 2 0,5\n", Refused("decimal point", 2)),
    "metis": ("a.graph", "3 2 001\n2 4\n1 4 3 2\n2 2\n",
        Means([(1, 2, 4), (2, 3, 2)], directed=False)),
    # Excel
    "excel english": ("a.csv", "source,target,weight\r\n0,1,0.5\r\n1,2,1.5\r\n", Means(HALF)),
    "excel english, UTF-8": (
        "a.csv", "\ufeffsource,target,weight\r\nKöln,Zürich,4\r\nZürich,Köln,2\r\n",
        Means(UMLAUT)),
    "excel german": (
        "a.csv", "source;target;weight\r\n0;1;0,5\r\n1;2;1,5\r\n", Refused("decimal point", 2)),
    "excel german, no header": ("a.csv", "0;1;0,5\r\n1;2;1,5\r\n", Refused("decimal point")),
    "excel german, some whole": (
        "a.csv", "source;target;weight\r\n0;1;4\r\n1;2;1,5\r\n", Refused("decimal point", 3)),
    "excel german, all whole": (
        "a.csv", "source;target;weight\r\n0;1;4\r\n1;2;2\r\n", Means(NUM)),
    "excel german names": (
        "a.csv", "Quelle;Ziel;Gewicht\r\n0;1;4\r\n1;2;2\r\n", Refused("'Quelle', 'Ziel'")),
    "excel german, no UTF-8": (
        "a.csv", "source;target;weight\r\nKöln;Zürich;4\r\n".encode("cp1252"),
        Refused("not UTF-8", 2)),
    "excel french, thousands": (
        "a.csv", "source;target;weight\r\na;b;1\u202f234,5\r\n", Refused("must be a number", 2)),
    "excel unicode text": (
        "a.txt", "source\ttarget\r\nKöln\tZürich\r\nZürich\tKöln\r\n".encode("utf-16"),
        Means([(tail, head, 1) for tail, head, _ in UMLAUT])),
    "excel unicode text, weights": (
        "a.txt", "source\ttarget\tweight\r\n0\t1\t0.5\r\n1\t2\t1.5\r\n".encode("utf-16"),
        Means(HALF)),
    "excel unicode text, big end first": (
        "a.txt", b"\xfe\xff" + "0\t1\t4\r\n1\t2\t2\r\n".encode("utf-16-be"), Means(NUM)),
    "excel unicode text, comma": (
        "a.txt", "source\ttarget\tweight\r\n0\t1\t0,5\r\n".encode("utf-16"),
        Refused("decimal point", 2)),
    "UTF-16 without its mark": ("a.txt", "0 1\n1 2\n".encode("utf-16-le"), Refused("zero byte")),
    "UTF-16 cut short": (
        "a.txt", "0 1\n1 2\n".encode("utf-16")[:-1], Refused("damaged UTF-16", None)),
    "excel says its separator": (
        "a.csv", "sep=;\r\nsource;target;weight\r\n0;1;4\r\n1;2;2\r\n", Means(NUM)),
    "excel thousands": (
        "a.csv", 'source,target,weight\r\n0,1,"1,234"\r\n',
        Refused("separators of thousands, write 1234", 2)),
    "excel thousands and decimals": (
        "a.csv", 'source,target,weight\r\n0,1,"1,234,567.5"\r\n',
        Refused("separators of thousands, write 1234567.5", 2)),
    "excel a small number with a comma": (
        "a.csv", 'source,target,weight\r\n0,1,"0,500"\r\n', Refused("decimal point", 2)),
    "excel empty rows": (
        "a.csv", "source,target,weight\r\n0,1,4\r\n,,\r\n", Refused("integer, not ''", 3)),
    "excel empty columns": (
        "a.csv", "source,target,weight,,\r\n0,1,4,,\r\n1,2,2,,\r\n", Means(NUM)),
    "excel a title": (
        "a.csv", "My roads,,\r\nsource,target,weight\r\n0,1,4\r\n", Refused("My roads")),
    # NumPy
    "savetxt": (
        "a.txt", "0.000000000000000000e+00 1.000000000000000000e+00 5.000000000000000000e-01\n",
        Refused("must be an integer or a name")),
    "savetxt, whole": ("a.txt", "0 1 4\n1 2 2\n", Means(NUM)),
    "savetxt, header": ("a.txt", "# target source weight\n1 0 4\n2 1 2\n", Means(NUM)),
    "savetxt, header, commas": ("a.csv", "# target,source,weight\n1,0,4\n2,1,2\n", Means(NUM)),
    "savetxt of a dense matrix": (
        "a.txt", "0.0 4.0 0.0\n0.0 0.0 2.0\n0.0 0.0 0.0\n", Refused("must be an integer")),
    # by hand
    "notes": ("a.txt", "# my graph\n\na b 4\n\nb c 2   # the bridge\n", Means(ABC)),
    "notes, undirected": ("a.txt", "# undirected\na b 4\nb c 2\n", Means(ABC, directed=False)),
    "notes, no weights": ("a.txt", "a b\nb c\n", Means([("a", "b", 1), ("b", "c", 1)])),
    "notes, commas": ("a.txt", "a, b, 4\nb, c, 2\n", Means(ABC)),
    "notes, commas and spaces in names": (
        "a.txt", "New York, Boston, 4\nBoston, New York, 2\n", Means(STREETS)),
    "notes, tabs and spaces in names": (
        "a.txt", "New York\tBoston\t4\nBoston\tNew York\t2\n", Means(STREETS)),
    "notes, decimal comma": ("a.txt", "0 1 0,5\n1 2 1,5\n", Refused("decimal point")),
    "notes, decimal comma, names": ("a.txt", "a b 0,5\nb c 1,5\n", Refused("decimal point")),
    "notes, decimal comma later": ("a.txt", "0 1 4\n1 2 1,5\n", Refused("decimal point", 2)),
    "notes, commas for everything": ("a.csv", "0,1,0,5\n1,2,0,7\n", Refused("fourth column")),
    "notes, commas for everything, zeros": (
        "a.csv", "0,1,3,05\n1,2,2,7\n", Refused("fourth column")),
    "notes, commas for some": (
        "a.csv", "0,1,4\n1,2,1,5\n", Refused("expected 3 columns, not 4", 2)),
    "notes, two separators": ("a.txt", "0 1,5\n1 2,7\n", Refused("may separate")),
    "notes, semicolon in a name": ("a.csv", "x;y,z,4\nz,w,2\n",
        Means([("x;y", "z", 4), ("z", "w", 2)])),
    "notes, a comma in names": (
        "a.tsv", "Smith, J\tDoe, A\nDoe, A\tSmith, J\n",
        Means([("Smith, J", "Doe, A", 1), ("Doe, A", "Smith, J", 1)])),
    "notes, arrows": ("a.txt", "0 -> 1\n1 -> 2\n", Refused("not '->'")),
    "notes, arrows without spaces": ("a.txt", "a->b 4\nb->c 2\n", Refused("numbers after")),
    "notes, an edge and its weight": (
        "a.txt", "a-b 4\nb-c 2\n", Refused("numbers after a word")),
    "notes, a word in front": ("a.txt", "e 0 1\ne 1 2\n", Refused("numbers after a word")),
    "notes, a word in front, weights": (
        "a.txt", "edge 0 1 4\nedge 1 2 2\n", Refused("numbers after a word")),
    "notes, users and things": (
        "a.csv", "ann,10,4\nbob,11,2\n", Means([("ann", "10", 4), ("bob", "11", 2)])),
    "notes, bars": ("a.txt", "0 | 1 | 4\n1 | 2 | 2\n", Refused("not '|'")),
    "notes, a table": (
        "a.txt", "source | target | weight\n-------+--------+-------\na | b | 4\n",
        Refused("expected 5 columns, not 1", 2)),
    "notes, bullets": ("a.txt", "- a b\n- b c\n", Refused("not '-'")),
    "notes, numbered": ("a.txt", "1. a b\n2. b c\n", Refused("not '1.'")),
    "notes, two slashes": ("a.txt", "// roads\n0 1\n1 2\n", Refused("not understood: '//'")),
    "notes, semicolons at the end": ("a.txt", "0 1 4;\n1 2 2;\n", Refused("")),
    "notes, hashtags": ("a.csv", "source,target,weight\n#a,#b,4\nb,#c,2\n",
        Refused("a comment or an arc", 2)),
    "notes, hashtags only": ("a.csv", "#a,#b,4\n#b,#c,2\n", Refused("a comment or an arc")),
    "notes, hashtags quoted": ("a.csv", 'source,target,weight\n"#a","b",4\nb,#c,2\n',
        Means([("#a", "b", 4), ("b", "#c", 2)])),
    "notes, a row left out": ("a.csv", "source,target,weight\n0,1,4\n#1,5,9\n1,2,2\n", Means(NUM)),
    "notes, a header again": ("a.csv", "source,target\na,b\nsource,target\nb,c\n",
        Refused("vertices below")),
    "notes, a sum below": (
        "a.csv", "source,target,weight\na,b,4\nTotal,,4\n", Refused("id is empty", 3)),
    "notes, large ids of R": (
        "a.txt", "1e+05 1 4\n1 99999 2\n", Refused("must be an integer or a name")),
    "notes, vertical bars": (
        "a.csv", "source|target|weight\n0|1|4\n", Refused("'source|target|weight'")),
    "notes, lists of neighbours": ("a.txt", "0: 1 2\n1: 2 0\n", Refused("not '0:'")),
    "notes, lists of neighbours by name": ("a.txt", "ann: bob\nbob: eve\n", Refused("not 'ann:'")),
    "notes, pairs": ("a.txt", "(0, 1)\n(1, 2)\n", Refused("not '(0'")),
    "notes, graphviz": ("a.txt", "digraph {\n0 -> 1;\n}\n", Refused("no edge list")),
    "notes, counts first": ("a.txt", "3 3\n1 2\n2 3\n3 1\n", Refused("number of vertices")),
    "notes, counts first, weights": (
        "a.txt", "3 2\n1 2 4\n2 3 2\n", Refused("expected 2 columns, not 3", 2)),
    "notes, three counts above names": ("a.txt", "u v\nv w\nw u\n", Refused("vertices below")),
    "notes, letters": ("a.txt", "u v 4\nv w 2\n", Means([("u", "v", 4), ("v", "w", 2)])),
    "notes, letters in a header": ("a.txt", "u v w\n0 1 4\n1 2 2\n", Means(NUM)),
    "notes, flow network": ("a.txt", "source a 4\na target 2\n",
        Means([("source", "a", 4), ("a", "target", 2)])),
    "notes, an arc or a header": ("a.txt", "source target 4\na b 2\n", Refused("or an arc")),
    "notes, head and tail": ("a.csv", "head,tail,weight\n1,0,4\n2,1,2\n", Means(NUM)),
    "notes, tail and head": ("a.csv", "Tail, Head, Weight\n0, 1, 4\n1, 2, 2\n", Means(NUM)),
    "notes, triples of knowledge": (
        "a.tsv", "head\trelation\ttail\na\tknows\tb\nb\tknows\tc\n",
        Refused("leaves its head")),
    "notes, two heads": (
        "a.csv", "source,target,target,weight\n0,1,5,4\n", Refused("ends of an arc")),
    "notes, JSON": ("a.txt", '{"edges": [[0, 1]]}\n', Refused("no edge list")),
    "notes, quotes after spaces": (
        "a.csv", 'source, target, weight\n"a", "b", 4\n"b", "c", 2\n', Refused("not '\"b\"'", 2)),
    "notes, words of a text": ("a.txt", "<s> the 4\nthe </s> 2\n",
        Means([("<s>", "the", 4), ("the", "</s>", 2)])),
    "notes, XML": ("a.txt", '<?xml version="1.0"?>\n<graphml/>\n', Refused("no edge list")),
    "excel says a separator that is none": ("a.csv", 'sep="\r\n0;1;4\r\n', Refused("")),
    "notes, units": ("a.txt", "a b 4km\nb c 2km\n", Refused("not '4km'")),
    "notes, weight by name with a unit": (
        "a.csv", "from,to,distance (km)\na,b,4\nb,c,2\n", Means(ABC)),
}  # fmt: skip
