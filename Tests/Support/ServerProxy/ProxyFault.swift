internal import Commands

/// A fault of one connection through a ``ServerProxy``.
package struct ProxyFault: Sendable, Equatable {
    package enum Direction: String, Sendable, CaseIterable {
        case toServer = "to-server"
        case toClient = "to-client"
    }

    /// The moment at which a fault happens.
    package enum Trigger: Sendable, Equatable {
        /// This number of bytes was forwarded in one direction.
        case bytes(Int, Direction)
        /// The server has committed: its answer to COMMIT is not forwarded, nor is a byte behind it. Not found in a
        /// connection with TLS.
        case commitAnswer
    }

    package enum Action: Sendable, Equatable {
        /// Closes both connections.
        case close
        /// Resets both connections (RST), as a host that has restarted.
        case reset
        /// Forwards nothing more and keeps both connections open, as a network that loses all packets.
        case halfOpen
        /// Forwards every later part of that direction after this time; in the direction to the client for ``Trigger/commitAnswer``.
        case delay(Duration)
    }

    package var action: Action
    package var trigger: Trigger

    package init(_ action: Action, _ trigger: Trigger) {
        self.action = action
        self.trigger = trigger
    }

    /// A random fault that breaks the connection.
    /// - Parameter maxBytes: before the fault, for those that count bytes.
    package static func random(maxBytes: Int, using random: inout SeededRandom) -> ProxyFault {
        let actions: [Action] = [.close, .reset, .halfOpen]
        let action = actions[random.number(in: 0..<actions.count)]
        if random.chance(0.3) { return ProxyFault(action, .commitAnswer) }
        let direction: Direction = random.chance(0.5) ? .toServer : .toClient
        return ProxyFault(action, .bytes(random.number(in: 0..<maxBytes + 1), direction))
    }

    /// As ``random(maxBytes:using:)``, but a connection becomes half open only behind a commit.
    ///
    /// A transaction that has arrived in part keeps its locks. The keepalives of TCP end it where the peer is gone, and the
    /// proxy answers them.
    package static func randomWithoutHeldLocks(maxBytes: Int, using random: inout SeededRandom) -> ProxyFault {
        var fault = Self.random(maxBytes: maxBytes, using: &random)
        if fault.action == .halfOpen, fault.trigger != .commitAnswer { fault.action = .reset }
        return fault
    }
}

/// The form is ACTION@TRIGGER: `close@to-client+1000`, `half-open@to-server+0`, `reset@commit`, `delay=20@to-client+0`, with
/// milliseconds.
extension ProxyFault: LosslessStringConvertible {
    package init?(_ text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        switch parts[0] {
        case "close": action = .close
        case "reset": action = .reset
        case "half-open": action = .halfOpen
        default:
            guard parts[0].hasPrefix("delay="), let time = Int(parts[0].dropFirst(6)), time >= 0 else { return nil }
            action = .delay(.milliseconds(time))
        }
        if parts[1] == "commit" {
            trigger = .commitAnswer
            return
        }
        let words = parts[1].split(separator: "+", omittingEmptySubsequences: false)
        guard words.count == 2, let direction = Direction(rawValue: String(words[0])), let count = Int(words[1]),
            count >= 0
        else { return nil }
        trigger = .bytes(count, direction)
    }

    package var description: String {
        let action =
            switch action {
            case .close: "close"
            case .reset: "reset"
            case .halfOpen: "half-open"
            case .delay(let time): "delay=\(time.milliseconds)"
            }
        return switch trigger {
        case .bytes(let count, let direction): "\(action)@\(direction.rawValue)+\(count)"
        case .commitAnswer: "\(action)@commit"
        }
    }
}
