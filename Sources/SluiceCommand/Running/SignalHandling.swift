internal import Dispatch
internal import Glibc
internal import Synchronization

/// What Ctrl-C means to a command that is no service, and a SIGTERM or a terminal that is closed: the process ends, and what
/// was submitted goes on.
enum SignalHandling {
    private static let farewell = Mutex<(@Sendable () -> Void)?>(nil)
    private static let isExiting = Atomic<Bool>(false)

    /// Ends the process with 128 and the signal's number, after `body`. A second call replaces the `body` of the first.
    static func exits(after body: @escaping @Sendable () -> Void = {}) {
        let isFirst = farewell.withLock { farewell in
            defer { farewell = body }
            return farewell == nil
        }
        guard isFirst else { return }
        for (number, code) in endings {
            handle(number) {
                isExiting.store(true, ordering: .releasing)
                farewell.withLock { $0 }?()
                Diagnostics.clearStatus()
                Output.finish(code: code)
            }
        }
    }

    /// The signals that end a process in order, and its exit code then. A closed terminal is none of them where nohup
    /// wishes so.
    static var endings: [(signal: CInt, code: ExitCode)] {
        [(SIGINT, .interrupted), (SIGTERM, .terminated), (SIGHUP, .hungUp)].filter {
            $0.signal != SIGHUP || !isIgnored($0.signal)
        }
    }

    /// Does not return where a signal is ending the process: what it has broken off is no failure to speak of.
    static func letExit() async {
        while isExiting.load(ordering: .acquiring) { try? await Task.sleep(for: .seconds(1)) }
    }

    static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// Calls `body` at each of these signals, with how many of them have come so far.
    static func count(_ numbers: [CInt], _ body: @escaping @Sendable (Int) -> Void) {
        final class Count: Sendable { let value = Atomic<Int>(0) }
        let count = Count()
        for number in numbers where number != SIGHUP || !isIgnored(number) {
            handle(number) { body(count.value.add(1, ordering: .relaxed).newValue) }
        }
    }

    /// Calls `body` on a thread of its own at each `number`.
    static func handle(_ number: CInt, _ body: @escaping @Sendable () -> Void) {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler(handler: body)
        source.resume()
        // A dispatch source that nobody holds is cancelled; this one lasts as long as the process.
        _ = Unmanaged.passRetained(source as AnyObject)
    }
}
