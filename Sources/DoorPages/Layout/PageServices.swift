internal import Commands
internal import Door
internal import DoorAPI
internal import DoorLive
internal import HTTPTypes
internal import Host
internal import Queue

/// The services that pages use.
struct PageServices: Sendable {
    let context: DoorContext
    let live: LivePart
    let notices = Notices()

    /// Runs a verb or a reading of the queue, which blocks, on a thread.
    /// - Throws: a problem where the store cannot.
    func queue<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(Problem) -> Value {
        do { return try await BlockingPool.shared.run { [queue = context.client.access] in try body(queue) } } catch {
            throw Problem(SluiceError(error))
        }
    }
}
