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
