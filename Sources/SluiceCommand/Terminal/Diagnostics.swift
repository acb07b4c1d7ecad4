internal import Console
internal import Glibc
internal import Synchronization

/// Standard error: everything that is not data.
enum Diagnostics {
    private static let hasTerminal = isatty(STDERR_FILENO) == 1

    static var isTerminal: Bool { CommandLineRun.current == nil && hasTerminal }

    private static let hasStatus = Mutex(false)

    static func say(_ sentence: String) {
        clearStatus()
        write("sluice: \(TerminalText.plain(sentence))\n")
    }

    /// Shows progress in the last line of the terminal, until another status or a sentence replaces it. Does
    /// nothing where standard error is not a terminal, or one that moves no cursor.
    /// - Parameter text: is given the width of the terminal, and cut to it.
    static func showStatus(_ text: (_ columns: Int) -> String) {
        guard isTerminal, !Terminal.isDumb else { return }
        let columns = Terminal.size(of: STDERR_FILENO).columns - 1
        let line = TerminalText.cut(text(columns), width: columns)
        hasStatus.withLock { hasStatus in
            hasStatus = true
            write("\r\u{1B}[2K\(line)")
        }
    }

    static func clearStatus() {
        hasStatus.withLock { hasStatus in
            if hasStatus { write("\r\u{1B}[2K") }
            hasStatus = false
        }
    }

    static func write(_ text: String) {
        if let run = CommandLineRun.current { return run.errors.withLock { $0 += text.utf8 } }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno != EINTR {
                // An error of standard error has no other place to go.
                return
            }
        }
    }
}
