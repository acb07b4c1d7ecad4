/// A command that another one waits for.
public struct Dependency: Sendable, Hashable {
    /// The command whose end is waited for.
    public var parent: CommandID
    /// The ends that let the command run. The default is `success`.
    public var condition: DependencyCondition

    /// Makes a dependency.
    public init(on parent: CommandID, _ condition: DependencyCondition = .success) {
        self.parent = parent
        self.condition = condition
    }
}

/// The ends of a parent that satisfy a dependency. `inDoubt` is not an end: the commands that depend on such a command
/// wait until a person has resolved it.
///
/// The raw values are in the store.
public enum DependencyCondition: Int, Sendable, CaseIterable, Codable {
    /// The parent is `success`, or has failed and may fail (``FlowNode/mayFail``).
    case success = 0
    /// The parent is `tooManyTimes` or `cancelled`.
    case failure = 1
    /// The parent has ended in any way.
    case end = 2

    /// The word in documents and output: the name of the case.
    public var name: String {
        switch self {
        case .success: "success"
        case .failure: "failure"
        case .end: "end"
        }
    }

    /// The condition with that ``name``; nil for any other word.
    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

/// The commands that one command waits for, at one moment.
public struct CommandDependencies: Sendable, Equatable {
    /// A command that another one waits for.
    public struct Parent: Sendable, Equatable {
        public var command: Command
        /// Its name in its flow; nil outside of one.
        public var name: String?
        /// The ends that let the other one run.
        public var condition: DependencyCondition

        package init(command: Command, name: String?, condition: DependencyCondition) {
            self.command = command
            self.name = name
            self.condition = condition
        }
    }

    /// The flow that the command is a node or a callback of; nil where it is in none.
    public var flow: CommandID?
    /// Its name in that flow; nil for a callback.
    public var name: String?
    /// The number of all commands that it depends on.
    public var count: Int
    /// The number of those that have not ended as it needs.
    public var open: Int
    /// The first of those.
    public var parents: [Parent]

    package init(flow: CommandID?, name: String?, count: Int, open: Int, parents: [Parent]) {
        self.flow = flow
        self.name = name
        self.count = count
        self.open = open
        self.parents = parents
    }
}

/// The end of a command that another one depends on, for references to its result.
package struct ParentResult: Sendable, Equatable {
    /// Ascending among the parents of a command, and in a flow the order of its nodes.
    package var position: Int64
    package var id: CommandID
    /// Its name in its flow; nil outside of one.
    package var name: String?
    package var status: CommandStatus
    /// JSON; nil where it has not succeeded, or has returned none.
    package var result: [UInt8]?

    package init(position: Int64, id: CommandID, name: String?, status: CommandStatus, result: [UInt8]?) {
        self.position = position
        self.id = id
        self.name = name
        self.status = status
        self.result = result
    }
}

/// The place of a command in the queue of its ordering key, at one moment.
public struct OrderingKeyState: Sendable, Equatable {
    public var key: String
    /// Commands that may hold the key at once.
    public var limit: Int
    /// Commands that hold it.
    public var open: Int
    /// The command that got the key last; nil where it is deleted.
    public var holder: Command?
    /// Commands that wait before this one; nil where this one holds the key.
    public var ahead: Int?

    package init(key: String, limit: Int, open: Int, holder: Command?, ahead: Int?) {
        self.key = key
        self.limit = limit
        self.open = open
        self.holder = holder
        self.ahead = ahead
    }
}
