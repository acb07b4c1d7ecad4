/// Runs bodies that block on threads of its own.
package protocol BodyPerformer: Sendable {
    typealias Body = @Sendable () -> Void

    /// Hands a body in and returns at once.
    /// - Parameter isUrgent: it begins before the bodies that are not urgent.
    func perform(isUrgent: Bool, _ body: @escaping Body)
}

extension BodyPerformer {
    /// Runs `body`, which may block, and waits for its result without blocking.
    package func run<Value: Sendable, Failure: Error>(
        isUrgent: Bool = false, _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
            perform(isUrgent: isUrgent) {
                continuation.resume(returning: Result { () throws(Failure) in try body() })
            }
        }.get()
    }
}

/// Bodies that wait for a thread: the urgent ones first, and those of a kind in the order of their calls.
struct BodyQueue {
    typealias Body = BodyPerformer.Body

    private struct Line {
        private var new: [Body] = []
        /// The first one last.
        private var next: [Body] = []

        var isEmpty: Bool { new.isEmpty && next.isEmpty }

        mutating func append(_ body: @escaping Body) { new.append(body) }

        mutating func popFirst() -> Body? {
            if next.isEmpty {
                next = new.reversed()
                new.removeAll(keepingCapacity: true)
            }
            return next.popLast()
        }
    }

    private var urgent = Line()
    private var others = Line()

    var isEmpty: Bool { urgent.isEmpty && others.isEmpty }

    mutating func append(_ body: @escaping Body, isUrgent: Bool = false) {
        if isUrgent { urgent.append(body) } else { others.append(body) }
    }

    mutating func popFirst() -> Body? { urgent.popFirst() ?? others.popFirst() }

    mutating func popUrgent() -> Body? { urgent.popFirst() }
}
