internal import Host
internal import Synchronization

/// The rate of the body that a connection reads. The task of the request writes it, and the event loop checks it.
final class BodyProgress: Sendable {
    private let rate: Mutex<BodyRate>

    init(rate: Int, window: Duration) { self.rate = Mutex(BodyRate(rate: rate, window: window)) }

    func begin() { rate.withLock { $0.begin() } }
    func beginWait() { rate.withLock { $0.beginWait(at: .now) } }
    func endWait(bytes: Int) { rate.withLock { $0.endWait(at: .now, bytes: bytes) } }
    func check() -> BodyRate.Verdict { rate.withLock { $0.check(at: .now) } }
}
