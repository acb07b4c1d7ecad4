internal import Host

/// One direction of a connection through a ``ServerProxy``: which bytes are forwarded, and when the fault happens. Makes no
/// system call.
struct ProxiedStream {
    private enum State {
        case forwarding
        /// The fault happens once the pending bytes are forwarded.
        case faulty(ProxyFault.Action)
        case ended
    }

    private struct Part {
        var bytes: ArraySlice<UInt8>
        var due: MonotonicTime
    }

    /// More than this is not read before it is forwarded.
    static let maxPending = 1 << 18

    let direction: ProxyFault.Direction
    private let fault: ProxyFault?
    private var parts: [Part] = []
    private var pending = 0
    private var received = 0
    private var delay = Duration.zero
    private var state = State.forwarding
    private(set) var messages = BackendMessages()

    init(_ direction: ProxyFault.Direction, _ fault: ProxyFault?) {
        self.direction = direction
        self.fault = fault
        // A fault behind no byte happens before the first one.
        if case .bytes(0, direction)? = fault?.trigger, let fault { meet(fault) }
    }

    var isReading: Bool { if case .forwarding = state { pending < Self.maxPending } else { false } }

    /// The fault that happens now.
    var action: ProxyFault.Action? { if case .faulty(let action) = state, parts.isEmpty { action } else { nil } }

    /// Whether all was forwarded and no more comes.
    var isEnded: Bool { if case .ended = state { parts.isEmpty } else { false } }

    /// The time from which bytes are to be forwarded; nil without any.
    var due: MonotonicTime? { parts.first?.due }

    mutating func expectNegotiation() { messages.expectNegotiation() }

    mutating func end() { if case .forwarding = state { state = .ended } }

    /// Takes bytes of the sender.
    mutating func receive(_ bytes: ArraySlice<UInt8>, now: MonotonicTime) {
        switch fault?.trigger {
        case .bytes(let count, direction)?:
            let room = max(count - received, 0)
            received += bytes.count
            // A delay was met before, and forwards everything.
            guard delay == .zero, received >= count, let fault else { return forward(bytes, now) }
            forward(bytes.prefix(room), now)
            meet(fault)
            if isReading { forward(bytes.dropFirst(room), now) }
        case .commitAnswer? where direction == .toClient:
            for message in messages.receive(bytes) {
                if delay == .zero, BackendMessages.tag(of: message) == "COMMIT", let fault {
                    meet(fault)
                    guard isReading else { return }
                }
                forward(message[...], now)
            }
        default: forward(bytes, now)
        }
    }

    private mutating func meet(_ fault: ProxyFault) {
        if case .delay(let time) = fault.action { delay = time } else { state = .faulty(fault.action) }
    }

    private mutating func forward(_ bytes: ArraySlice<UInt8>, _ now: MonotonicTime) {
        guard !bytes.isEmpty else { return }
        parts.append(Part(bytes: bytes, due: now + delay))
        pending += bytes.count
    }

    /// The bytes that may be forwarded now.
    func next(_ now: MonotonicTime) -> ArraySlice<UInt8>? {
        guard let first = parts.first, first.due <= now else { return nil }
        return first.bytes
    }

    /// Some of ``next(_:)`` were forwarded.
    mutating func forwarded(_ count: Int) {
        pending -= count
        if parts[0].bytes.count == count {
            parts.removeFirst()
        } else {
            parts[0].bytes = parts[0].bytes.dropFirst(count)
        }
    }
}
