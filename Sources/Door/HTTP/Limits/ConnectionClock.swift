internal import Host

/// The deadlines of a connection that do not concern a body.
struct ConnectionClock: Sendable {
    enum Expiry: String, Equatable, CaseIterable {
        /// Nothing came on a new connection.
        case silent
        /// The fields of a request did not end in time.
        case slowHeader = "slow-header"
        /// No further request came.
        case idle
        /// The client takes no bytes.
        case slowReader = "slow-reader"
    }

    private enum Phase {
        case silent, header, busy, idle
    }

    private let timeouts: (header: Duration, keepAlive: Duration, write: Duration)
    private var phase = Phase.silent
    private var phaseBegan: MonotonicTime
    private var requests = 0
    private var isReadingMessage = false
    /// Bytes of the next request arrived while this one is answered.
    private var hasPartialHeader = false
    private var pendingWrites = 0
    private var writeProgress: MonotonicTime

    init(header: Duration, keepAlive: Duration, write: Duration, now: MonotonicTime) {
        timeouts = (header, keepAlive, write)
        phaseBegan = now
        writeProgress = now
    }

    var isAnswering: Bool { requests > 0 }

    mutating func bytesArrived(at now: MonotonicTime) {
        switch phase {
        case .silent: phase = .header
        case .idle: (phase, phaseBegan) = (.header, now)
        case .busy: hasPartialHeader = hasPartialHeader || !isReadingMessage
        case .header: break
        }
    }

    mutating func headRead() {
        phase = .busy
        requests += 1
        isReadingMessage = true
        hasPartialHeader = false
    }

    mutating func messageRead() { isReadingMessage = false }

    mutating func responseWritten(at now: MonotonicTime) {
        requests = max(0, requests - 1)
        guard requests == 0 else { return }
        phaseBegan = now
        phase = hasPartialHeader ? .header : .idle
    }

    mutating func writeBegan(at now: MonotonicTime) {
        if pendingWrites == 0 { writeProgress = now }
        pendingWrites += 1
    }

    mutating func writeEnded(at now: MonotonicTime) {
        pendingWrites -= 1
        writeProgress = now
    }

    /// The earliest time at which ``expiry(at:)`` can find something; nil: only after another event.
    var deadline: MonotonicTime? {
        let phaseEnd: MonotonicTime? =
            switch phase {
            case .silent, .header: phaseBegan + timeouts.header
            case .idle where !isReadingMessage: phaseBegan + timeouts.keepAlive
            case .idle, .busy: nil
            }
        guard pendingWrites > 0 else { return phaseEnd }
        let writeEnd = writeProgress + timeouts.write
        return min(phaseEnd ?? writeEnd, writeEnd)
    }

    func expiry(at now: MonotonicTime) -> Expiry? {
        if pendingWrites > 0, now >= writeProgress + timeouts.write { return .slowReader }
        switch phase {
        case .silent: return now >= phaseBegan + timeouts.header ? .silent : nil
        case .header: return now >= phaseBegan + timeouts.header ? .slowHeader : nil
        case .idle: return !isReadingMessage && now >= phaseBegan + timeouts.keepAlive ? .idle : nil
        case .busy: return nil
        }
    }
}
