/// One step of a server; `SCRIPT.md` describes each.
package enum ScriptStep: Sendable, Equatable {
    /// - Parameters:
    ///   - upTo: the number of bytes of the body; nil for all.
    ///   - rate: in bytes a second; nil for no limit.
    case read(upTo: Int? = nil, rate: Int? = nil)
    case discard(Duration)
    case wait(Duration)
    case interim(ScriptAnswer)
    case answer(ScriptAnswer)
    case send([UInt8], drip: ScriptDrip? = nil)
    /// - Parameters:
    ///   - after: the time between the last byte of the body and the response.
    ///   - pause: the pauses of the reading; nil for none.
    case store(after: Duration, pause: ScriptPause? = nil)
    case tunnel(ScriptAddress?)
    case forward(ScriptAddress?)
    case idle(Duration)
    case close
    case halfClose
    case reset
    case hang
    /// Asks the server's ``RequestHandler`` for the next steps. No script has it.
    case handle

    /// Whether this is the last step of the connection.
    var isLast: Bool {
        switch self {
        case .tunnel, .forward, .close, .reset, .hang: true
        case .read, .discard, .wait, .interim, .answer, .send, .store, .idle, .halfClose, .handle: false
        }
    }
}
