internal import CLinux
internal import Dispatch
internal import Glibc

/// The terminal as a screen. Its former state is restored at the end of the process, also after a crash.
enum Terminal {
    /// The state that a signal handler restores: written before the handlers are installed, then only read by
    /// them.
    nonisolated(unsafe) private static var original = termios()
    /// Read and written by signal handlers too, which `sig_atomic_t` permits.
    nonisolated(unsafe) private static var isTaken: sig_atomic_t = 0

    /// Whether the terminal moves no cursor, as that of an editor (`TERM=dumb`), or says nothing about itself.
    static let isDumb: Bool = {
        guard let name = getenv("TERM") else { return true }
        return ["", "dumb"].contains(String(cString: name))
    }()

    private static let enter: StaticString = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J"
    private static let leave: StaticString = "\u{1B}[?25h\u{1B}[?1049l"

    /// Takes the terminal: the alternate screen, no cursor, keys one at a time and not echoed.
    static func take() {
        guard tcgetattr(STDIN_FILENO, &original) == 0 else {
            isTaken = 1
            put(enter)
            return
        }
        var quiet = original
        quiet.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &quiet)
        isTaken = 2
        put(enter)
    }

    /// Restores the terminal. Async-signal-safe; a second call does nothing.
    static func restore() {
        let was = isTaken
        isTaken = 0
        if was == 0 { return }
        if was == 2 { tcsetattr(STDIN_FILENO, TCSANOW, &original) }
        put(leave)
    }

    /// Restores the terminal when the process crashes, then lets it crash.
    static func restoreAtCrash() {
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                Terminal.restore()
                raise(number)
            }
            action.sa_flags = CInt(bitPattern: UInt32(SA_RESETHAND)) | CInt(SA_NODEFER)
            sigaction(number, &action, nil)
        }
    }

    /// Columns and rows; 80 by 24 where they are unknown.
    static var size: (columns: Int, rows: Int) { size(of: STDOUT_FILENO) }

    static func size(of descriptor: CInt) -> (columns: Int, rows: Int) {
        var columns: CInt = 0
        var rows: CInt = 0
        guard clinux_terminal_size(descriptor, &columns, &rows) == 0, columns > 0, rows > 0 else { return (80, 24) }
        return (Int(columns), Int(rows))
    }

    /// Draws a whole screen without flicker: each line over the old one, the rest cleared.
    static func draw(_ lines: [String], rows: Int) {
        var frame = "\u{1B}[H"
        for (index, line) in lines.prefix(rows).enumerated() {
            if index > 0 { frame += "\r\n" }
            frame += index == 0 ? "\u{1B}[1m\(line)\u{1B}[0m\u{1B}[K" : "\(line)\u{1B}[K"
        }
        frame += "\u{1B}[J"
        Output.append { $0.append(contentsOf: frame.utf8) }
        Output.flush()
    }

    /// Writes unless the terminal takes no output for 300 ms: these bytes must not keep the process from
    /// ending.
    private static func put(_ text: StaticString) {
        var descriptor = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&descriptor, 1, 300) == 1 else { return }
        _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }
}
