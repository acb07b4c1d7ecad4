/// Something that a test waited for and that did not come.
package struct Missed: Error, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}

/// Returns as soon as `look` finds something; asks again every 10 ms.
/// - Parameters:
///   - what: what is awaited, for the message.
///   - limit: generous, because the machine may be busy: reaching it is a failure.
/// - Throws: ``Missed`` after `limit`, and whatever `look` throws.
package func awaited<Value>(
    _ what: String, within limit: Duration = .seconds(30), isolation: isolated (any Actor)? = #isolation,
    _ look: () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    while true {
        if let found = try await look() { return found }
        guard ContinuousClock.now < deadline else { throw Missed("\(what) did not come within \(limit)") }
        try await Task.sleep(for: .milliseconds(10))
    }
}

/// Returns as soon as `condition` holds; see ``awaited(_:within:isolation:_:)``.
package func until(
    _ what: String, within limit: Duration = .seconds(30), isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    _ = try await awaited(what, within: limit) { try await condition() ? () : nil }
}
