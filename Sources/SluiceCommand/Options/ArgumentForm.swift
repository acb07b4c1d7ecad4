internal import Synchronization

/// The form that the last refused value of the command line should have had.
///
/// The parser's error has the option and the value, and nothing of the type that refused the value. It ends at the
/// first refusal.
enum ArgumentForm {
    private static let last = Mutex<String?>(nil)
    private static let lastSuggestion = Mutex<String?>(nil)

    /// Nil where the type is the standard library's: then it is a number.
    static var expected: String? { last.withLock { $0 } }

    /// The value that was probably meant.
    static var suggestion: String? {
        get { lastSuggestion.withLock { $0 } }
        set { lastSuggestion.withLock { $0 = newValue } }
    }

    /// - Parameter form: ends a sentence that begins with “use”.
    static func expect(_ form: String) { last.withLock { $0 = form } }
}
