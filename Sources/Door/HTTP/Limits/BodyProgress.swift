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

/// Whether a body arrives fast enough. Only the time in which the server waits for bytes counts: a server that is slow
/// itself must not blame the client.
struct BodyRate: Sendable {
    enum Verdict: Equatable {
        case tooSlow
        /// Not before this time can the body be too slow.
        case checkAfter(Duration)
    }

    private let minBytes: Int
    private let window: Duration
    private var waited: Duration = .zero
    private var waitingSince: MonotonicTime?
    private var bytes = 0

    /// - Parameter rate: bytes a second.
    init(rate: Int, window: Duration) {
        minBytes = Int(clamping: Int64((Double(rate) * (window / .seconds(1))).rounded(.up)))
        self.window = window
    }

    mutating func begin() { (waited, waitingSince, bytes) = (.zero, nil, 0) }

    mutating func beginWait(at now: MonotonicTime) { waitingSince = now }

    mutating func endWait(at now: MonotonicTime, bytes received: Int) {
        if let waitingSince { waited += now - waitingSince }
        waitingSince = nil
        bytes += received
    }

    mutating func check(at now: MonotonicTime) -> Verdict {
        let total = waited + (waitingSince.map { now - $0 } ?? .zero)
        guard total >= window else { return .checkAfter(window - total) }
        guard bytes >= minBytes else { return .tooSlow }
        (waited, bytes) = (.zero, 0)
        if waitingSince != nil { waitingSince = now }
        return .checkAfter(window)
    }
}

/// The bytes of a chunked body that are not its content: the sizes and extensions of chunks, which the parser drops without
/// a limit. Used on the event loop of its connection only.
final class ChunkOverhead {
    /// Bytes for each byte of content: a chunk of one byte has five.
    static let maxRatio = 16
    /// Bytes in addition, with the fields of the request, which come in the same read.
    static let allowance = 256 << 10

    private var isChunked = false
    private var read = 0
    private var content = 0
    /// Called once, when a body has too many.
    var exceeded: () -> Void = {}

    func beginBody(isChunked: Bool) { (self.isChunked, read, content) = (isChunked, 0, 0) }

    func contentRead(_ bytes: Int) { content += bytes }

    func endBody() { isChunked = false }

    /// Bytes of the socket were read, and those of a body among them were given to ``contentRead(_:)``.
    func bytesRead(_ bytes: Int) {
        guard isChunked else { return }
        read += bytes
        guard read - content > Self.allowance, (read - content - Self.allowance) / Self.maxRatio > content else {
            return
        }
        isChunked = false
        exceeded()
    }
}
