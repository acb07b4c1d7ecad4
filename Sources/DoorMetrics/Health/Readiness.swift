internal import Commands

/// Whether the door can do its work, check by check.
struct Readiness: Sendable, Equatable {
    enum Check: String, Sendable, CaseIterable {
        /// The store can be read.
        case store
        /// A commit succeeds within a second.
        case commit
        /// The disk of the spool has more free bytes than the floor.
        case spool
        /// The coordinator was heard within 5 s.
        case coordinator
        /// The door accepts connections.
        case draining
    }

    /// The sentences of failed checks.
    private(set) var failures: [Check: String] = [:]

    var isReady: Bool { failures.isEmpty }

    mutating func fail(_ check: Check, _ sentence: String) { failures[check] = sentence }

    /// - Parameter hasDetails: with the sentences, which name files.
    func json(hasDetails: Bool) -> JSONValue {
        let failed = Check.allCases.filter { failures[$0] != nil }
        var members: [JSONValue.Member] = [
            .init("ready", .bool(isReady)), .init("failed", .array(failed.map { .string($0.rawValue) })),
        ]
        if hasDetails {
            let details = failed.map { JSONValue.Member($0.rawValue, .string(failures[$0] ?? "")) }
            members.append(.init("details", .object(details)))
        }
        return .object(members)
    }
}
