/// One thing that a server does with a request; `SCRIPT.md` says what each means.
package enum ScriptStep: Sendable, Equatable {
    /// - Parameters:
    ///   - upTo: bytes of the body; nil: all.
    ///   - rate: bytes a second; nil: as they come.
    case read(upTo: Int? = nil, rate: Int? = nil)
    case discard(Duration)
    case wait(Duration)
    case interim(ScriptAnswer)
    case answer(ScriptAnswer)
    case send([UInt8], drip: ScriptDrip? = nil)
    /// - Parameters:
    ///   - after: between the last byte of the body and the response.
    ///   - pause: nil: the body is read as it comes.
    case store(after: Duration, pause: ScriptPause? = nil)
    case tunnel(ScriptAddress?)
    case forward(ScriptAddress?)
    case idle(Duration)
    case close
    case halfClose
    case reset
    case hang

    /// Whether the connection does nothing else after it.
    var isLast: Bool {
        switch self {
        case .tunnel, .forward, .close, .reset, .hang: true
        case .read, .discard, .wait, .interim, .answer, .send, .store, .idle, .halfClose: false
        }
    }
}

/// Sends in small pieces.
package struct ScriptDrip: Sendable, Equatable {
    /// Bytes of a piece, at least 1.
    var size: Int
    var interval: Duration
}

/// Stops reading a body for some time after each piece of it.
package struct ScriptPause: Sendable, Equatable {
    /// Bytes of a piece, at least 1.
    var size: Int
    var length: Duration
}

/// Where a proxy connects to.
package struct ScriptAddress: Sendable, Equatable {
    var host: String
    var port: Int

    /// - Parameter text: `host:port`.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
            let port = Int(text[text.index(after: colon)...]), (1...65_535).contains(port)
        else { return nil }
        host = String(text[..<colon])
        self.port = port
    }
}
