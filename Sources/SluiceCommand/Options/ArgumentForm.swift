internal import Synchronization

/// The form that the last refused value of the command line should have had.
///
/// The parser's error has the option and the value, and nothing of the type that refused the value. It ends at the
/// first refusal.
enum ArgumentForm {
    struct State {
        var expected: String?
        var suggestion: String?
    }

    private static let ofProcess = Mutex(State())

    /// Nil where the type is the standard library's: then it is a number.
    static var expected: String? { withState { $0.expected } }

    /// The value that was probably meant.
    static var suggestion: String? {
        get { withState { $0.suggestion } }
        set { withState { $0.suggestion = newValue } }
    }

    /// - Parameter form: ends a sentence that begins with “use”.
    static func expect(_ form: String) { withState { $0.expected = form } }

    private static func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        guard let run = CommandLineRun.current else { return ofProcess.withLock { body(&$0) } }
        return run.argumentForm.withLock { body(&$0) }
    }
}
