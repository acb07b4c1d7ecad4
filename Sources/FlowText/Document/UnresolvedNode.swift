internal import Commands

/// A node whose dependencies are not resolved yet, since they can name later nodes.
struct UnresolvedNode {
    /// An entry of `after`: the name of a node, or the start of names with a star.
    struct Entry {
        var name: String
        var condition: DependencyCondition
        var position: SourcePosition
    }

    /// Without dependencies.
    var node: FlowDocument.Node
    var after: [Entry] = []
    /// Nil where the node has no payload.
    var payload: LocatedValue?
}
