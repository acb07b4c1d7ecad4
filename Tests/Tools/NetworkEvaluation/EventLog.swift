import Sluice
import Synchronization

/// The received events.
final class EventLog: Sendable {
    private let events = Mutex<[SluiceEvent]>([])
    func add(_ event: SluiceEvent) { events.withLock { $0.append(event) } }
    var all: [SluiceEvent] { events.withLock { $0 } }
}
