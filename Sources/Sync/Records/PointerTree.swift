internal import Commands

/// Several JSON Pointers as one tree of names, which a reader descends together with the JSON text. Pure.
struct PointerTree: Sendable {
    /// The number of the root.
    static let root = 0
    /// The number of a value that no pointer leads to.
    static let none = -1

    private struct Node: Sendable {
        var names: [[UInt8]] = []
        /// The index that a name is in an array; nil where it is not one.
        var indices: [Int?] = []
        var children: [Int] = []
        /// The pointers that end here, by their position in the list.
        var ends: [Int] = []

        func child(where isIt: (Int) -> Bool) -> Int {
            for position in children.indices where isIt(position) { return children[position] }
            return PointerTree.none
        }
    }

    private var nodes = [Node()]

    init(_ pointers: [JSONPointer]) {
        for (position, pointer) in pointers.enumerated() {
            var current = Self.root
            for token in pointer.tokens { current = child(of: current, adding: token) }
            nodes[current].ends.append(position)
        }
    }

    private mutating func child(of node: Int, adding token: [UInt8]) -> Int {
        if let known = nodes[node].names.firstIndex(of: token) { return nodes[node].children[known] }
        nodes[node].names.append(token)
        nodes[node].indices.append(JSONPointer.index(token))
        nodes[node].children.append(nodes.count)
        nodes.append(Node())
        return nodes.count - 1
    }

    var count: Int { nodes.count }

    /// The pointers that end at a node.
    func ends(at node: Int) -> [Int] { node >= 0 ? nodes[node].ends : [] }

    func hasChildren(_ node: Int) -> Bool { node >= 0 && !nodes[node].children.isEmpty }

    /// - Parameter name: unescaped.
    /// - Returns: ``none`` where no pointer leads to that member.
    func child(of node: Int, named name: UnsafeBufferPointer<UInt8>) -> Int {
        guard node >= 0 else { return Self.none }
        return nodes[node].child { position in
            let candidate = nodes[node].names[position]
            return candidate.count == name.count && candidate.elementsEqual(name)
        }
    }

    /// - Returns: ``none`` where no pointer leads to that element.
    func child(of node: Int, at index: Int) -> Int {
        guard node >= 0 else { return Self.none }
        return nodes[node].child { nodes[node].indices[$0] == index }
    }
}
