/// Names in a given order, which are found by their start. A search costs O(log n), and the first one a sort.
struct OrderedNames {
    private let names: [String]
    /// The positions in `names`, sorted by name; nil before the first search.
    private var sorted: [Int]?

    init(_ names: [String]) { self.names = names }

    /// The names that start with `prefix`, in their order.
    mutating func names(startingWith prefix: String) -> [String] {
        let positions = sorted ?? names.indices.sorted { names[$0].utf8.lexicographicallyPrecedes(names[$1].utf8) }
        sorted = positions
        var (low, high) = (0, positions.count)
        while low < high {
            let middle = low + (high - low) / 2
            if names[positions[middle]].utf8.lexicographicallyPrecedes(prefix.utf8) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        let found = positions[low...].prefix { names[$0].beginsWithBytes(of: prefix) }
        return found.sorted().map { names[$0] }
    }
}
