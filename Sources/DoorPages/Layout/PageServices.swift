internal import Commands
internal import Door
internal import DoorLive
internal import HTTPTypes
internal import Queue

/// The services that pages use.
struct PageServices: Sendable {
    let context: DoorContext
    let live: LivePart
    let notices = Notices()

    /// Runs a reading of the queue, as ``QueueAccess/read(isUrgent:_:)``.
    /// - Throws: a problem where the store cannot.
    func read<Value: Sendable>(
        isUrgent: Bool = false, _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(Problem) -> Value {
        do { return try await context.client.read(isUrgent: isUrgent, body) } catch { throw Problem(error) }
    }

    /// Runs a verb of the queue, as ``QueueAccess/write(_:)``.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(Problem) -> Value {
        do { return try await context.client.write(body) } catch { throw Problem(error) }
    }
}
