internal import Commands
package import Door
internal import Synchronization

/// Follows the events of the coordinator, and serves them as streams.
package final class LivePart: DoorPart {
    private let current = Mutex(LiveSnapshot(asOf: .now))

    package init() {}

    /// The state of this moment. It does not block.
    package var snapshot: LiveSnapshot { current.withLock { $0 } }

    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] { [] }
}
