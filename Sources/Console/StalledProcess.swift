package import Commands
package import Host

/// A process that holds its lock and makes no progress: stopped by a signal, paused with its container, or hung.
package struct StalledProcess: Sendable, Equatable {
    /// The role: `coordinator`, `worker 1`, `door`.
    package var name: String
    /// Nil where the process is in another container.
    package var pid: Int32?
    /// Its last sign of life; nil where it left none.
    package var since: Timestamp?
    /// A signal or a debugger has stopped it.
    package var isStopped: Bool

    /// A process that beats four times a second and is silent for this long counts as stalled. `sluice up` and the
    /// coordinator kill their hung processes after the same time.
    private static let timeout: Duration = .seconds(5)

    /// - Parameters:
    ///   - pid: nil where the process is in another container.
    ///   - pulse: its sign of life; nil where it left none.
    /// - Returns: nil for a process that makes progress.
    package init?(_ name: String, pid: Int32?, pulse: LockPulse?, now: MonotonicTime = .now) {
        isStopped = pid.map { ProcessIdentity.isStopped($0) } ?? false
        // A debugger stops a process for moments, so a stop needs a second of silence too.
        let silence = pulse.map { now - $0.beat } ?? .zero
        guard silence > (isStopped ? .seconds(1) : Self.timeout) else { return nil }
        self.name = name
        self.pid = pid
        since = pulse.map { Timestamp(milliseconds: $0.milliseconds) }
    }

    /// `stopped since 2026-11-28T21:04:11.000Z, process 12`
    package var clause: String {
        let time = since.map { " since \($0)" } ?? ""
        let process = pid.map { ", process \($0)" } ?? ", in another container"
        return (isStopped ? "stopped\(time)" : "no sign of life\(time)") + process
    }

    package var remedy: String {
        guard let pid else { return "resume its container, or end it there" }
        return isStopped ? "“kill -CONT \(pid)” lets it go on" : "end it with “kill \(pid)” and start it again"
    }
}
