internal import Commands

/// The nodes of a flow by name and by the start of their names. Adding one costs O(log n) on average, also where nodes
/// are added and looked for by turns.
struct FlowNodeIndex {
    /// Whether each node may fail.
    private var nodes: [String: Bool] = [:]
    /// The names in sorted runs, each more than twice as long as the next, so that there are at most log n.
    private var runs: [[String]] = []

    var count: Int { nodes.count }
    var names: some Sequence<String> { nodes.keys }

    /// Whether the node may fail; nil where there is none of that name.
    func mayFail(_ name: String) -> Bool? { nodes[name] }

    /// - Returns: false for a name that is there already.
    mutating func insert(_ name: String, mayFail: Bool) -> Bool {
        guard nodes.updateValue(mayFail, forKey: name) == nil else { return false }
        var run = [name]
        while let last = runs.last, last.count <= run.count * 2 {
            run = Self.merged(last, run)
            runs.removeLast()
        }
        runs.append(run)
        return true
    }

    /// The names that start with `prefix`, in no order. All names are ASCII.
    /// - Parameter maxCount: the search ends with one more.
    func names(startingWith prefix: String, maxCount: Int) -> [String] {
        var names: [String] = []
        for run in runs {
            var (low, high) = (0, run.count)
            while low < high {
                let middle = low + (high - low) / 2
                if run[middle] < prefix { low = middle + 1 } else { high = middle }
            }
            while low < run.count, run[low].hasPrefix(prefix) {
                names.append(run[low])
                if names.count > maxCount { return names }
                low += 1
            }
        }
        return names
    }

    private static func merged(_ left: [String], _ right: [String]) -> [String] {
        var names: [String] = []
        names.reserveCapacity(left.count + right.count)
        var (l, r) = (0, 0)
        while l < left.count, r < right.count {
            if left[l] < right[r] {
                names.append(left[l])
                l += 1
            } else {
                names.append(right[r])
                r += 1
            }
        }
        names.append(contentsOf: left[l...])
        names.append(contentsOf: right[r...])
        return names
    }
}
