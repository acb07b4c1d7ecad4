internal import Commands
internal import HTTPClient

extension CommandFailure {
    /// The failure of a request whose answer was cut off.
    /// - Parameter problem: the body, and where it was cut off, as the start of a sentence.
    init(cutOff problem: String, by error: (any Error)?) {
        switch error as? HTTPError {
        case .stalled?, .keptConnectionSilent?:
            self.init(.link, reason: "\(problem): no byte arrived for too long")
        case .invalidResponse(let words, _)?:
            self.init(.command, reason: "\(problem) by something that is not HTTP: \(words)")
        default: self.init(.reset, reason: problem)
        }
    }
}
