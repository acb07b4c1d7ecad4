/// Returns as soon as `look` finds a value. Calls it every 10 ms, because most of these states have no
/// notification.
/// - Parameters:
///   - what: the awaited state, for the message.
///   - limit: the timeout, long enough for a busy machine.
/// - Throws: ``Missed`` after `limit`, and the errors of `look`.
package func awaited<Value>(
    _ what: String, within limit: Duration = .seconds(30), isolation: isolated (any Actor)? = #isolation,
    _ look: () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    while true {
        if let found = try await look() { return found }
        guard ContinuousClock.now < deadline else { throw Missed("timed out after \(limit) waiting for \(what)") }
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
