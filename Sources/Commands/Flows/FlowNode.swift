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
