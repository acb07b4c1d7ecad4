/// A flow that is about to be submitted: commands, and the order in which their ends let others run.
public struct FlowDraft: Sendable, Equatable {
    /// A command that runs when the flow has ended, and is not a part of it.
    public struct Callback: Sendable, Equatable {
        /// The ends of the flow that let it run.
        public var condition: DependencyCondition
        /// The command. It has no unique key.
        public var draft: CommandDraft

        /// Makes a callback.
        public init(on condition: DependencyCondition, _ draft: CommandDraft) {
            self.condition = condition
            self.draft = draft
        }
    }

    /// A name for people; it need not be unique.
    public var name: String
    /// In any order. An empty flow is a success at once.
    public var nodes: [FlowNode]
    /// At most one for each condition. Empty by default.
    public var callbacks: [Callback] = []
    /// Whether the failure of one node cancels the others. The default is false: nodes that do not depend on it run on.
    public var stopsOnFailure = false
    /// How urgent the flow itself is, for lists; each node has its own. The default is `default`.
    public var qos = QualityOfService.default
    /// The flow is cancelled at this time. Nil, the default: never.
    public var deadline: Timestamp?
    /// As ``CommandDraft/uniqueKey``: equal flows are compared by their documents. Nil, the default.
    public var uniqueKey: String?
    /// As ``CommandDraft/uniqueFor``.
    public var uniqueFor = UniquePeriod.kept
    /// As ``CommandDraft/orderingKey``: the flow holds it from its first node to its end. Nil, the default.
    public var orderingKey: String?
    /// As ``CommandDraft/keyLimit``.
    public var keyLimit: Int?
    /// As ``CommandDraft/keyFailure``.
    public var keyFailure = OrderingKeyFailure.pass

    /// Makes a flow whose other fields have their defaults.
    public init(_ name: String, nodes: [FlowNode]) {
        self.name = name
        self.nodes = nodes
    }

    /// The maximum number of nodes.
    public static let maxNodes = 100_000
    /// The maximum number of dependencies between nodes.
    public static let maxDependencies = 1_000_000
}

/// A command of a flow that is about to be submitted.
public struct FlowNode: Sendable, Equatable {
    /// Unique in its flow: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.
    public var name: String
    /// The command. It has no unique key: the flow may have one.
    public var draft: CommandDraft
    /// The nodes that it waits for, by name. Empty, the default: it may run at once.
    public var after: [String: DependencyCondition]
    /// Whether its failure satisfies dependencies on its success, and does not fail the flow. The default is false.
    public var mayFail: Bool

    /// Makes a node.
    public init(
        _ name: String, _ draft: CommandDraft, after: [String: DependencyCondition] = [:], mayFail: Bool = false
    ) {
        self.name = name
        self.draft = draft
        self.after = after
        self.mayFail = mayFail
    }

    /// Whether `name` has the form of a node's name.
    public static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
