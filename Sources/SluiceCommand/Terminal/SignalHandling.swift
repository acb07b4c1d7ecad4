internal import Dispatch
internal import Glibc
internal import Synchronization

/// The signals SIGINT, SIGTERM and SIGHUP of a command that is not a service: the process ends, and submitted
/// commands continue.
enum SignalHandling {
    private static let farewell = Mutex<(@Sendable () -> Void)?>(nil)
    private static let isExiting = Atomic<Bool>(false)

    /// Ends the process with 128 and the signal's number, after `body`. A second call replaces the `body` of
    /// the first.
    static func exits(after body: @escaping @Sendable () -> Void = {}) {
        guard CommandLineRun.current == nil else { return }
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

    /// The signals that end a process in order, with its exit codes. Without SIGHUP where nohup(1) has
    /// ignored it.
    static var endings: [(signal: CInt, code: ExitCode)] {
        [(SIGINT, .interrupted), (SIGTERM, .terminated), (SIGHUP, .hungUp)].filter {
            $0.signal != SIGHUP || !isIgnored($0.signal)
        }
    }

    /// Does not return while a signal ends the process: the error of the interrupted work is not reported.
    static func letExit() async {
        while isExiting.load(ordering: .acquiring) { try? await Task.sleep(for: .seconds(1)) }
    }

    static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// Calls `body` at each of these signals, with the number of signals so far.
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
        // A dispatch source without references is cancelled; this one lasts as long as the process.
        _ = Unmanaged.passRetained(source as AnyObject)
    }
}
