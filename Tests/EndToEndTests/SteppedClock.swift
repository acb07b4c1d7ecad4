import Commands
import Foundation
import Synchronization
import TestSupport

/// A wall clock that a test sets while processes run, by libfaketime, and the true times at which it was set.
final class SteppedClock: Sendable {
    struct Setting: Sendable {
        /// The true time from which on it holds.
        var since: Timestamp
        /// Of the clock from the true time; negative where it is behind.
        var offset: Duration
    }

    /// The path on Debian and Ubuntu for x86-64.
    static let faketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
    static var isAvailable: Bool { TestSupport.isAvailable(FileManager.default.fileExists(atPath: faketime)) }

    private let path: String
    private let library: String
    private let state = Mutex([Setting(since: Timestamp(milliseconds: 0), offset: .zero)])

    var settings: [Setting] { state.withLock { $0 } }
    var offset: Duration { state.withLock { $0[$0.count - 1].offset } }

    /// - Parameter installation: has the file that libfaketime reads.
    init(in installation: Installation) async throws {
        path = "\(installation.directory.path)/clock"
        library = "\(installation.directory.path)/true-timers.so"
        let source = "\(Installation.repository)/Tests/Tools/TrueTimers/true-timers.c"
        // The toolchain of Swift has clang.
        let compiled = try await installation.run(
            program: "/usr/bin/env", ["clang", "-shared", "-fPIC", "-o", library, source])
        guard compiled.code == 0 else { throw Missed("\(source) cannot be compiled: \(compiled.errors)") }
        try write(.zero)
    }

    /// Of every process that has this clock. The monotonic clock, timers and the times of files stay true; a wait that rests
    /// on the wall clock does not end.
    var environment: [String: String?] {
        [
            "LD_PRELOAD": "\(library) \(Self.faketime)", "FAKETIME_TIMESTAMP_FILE": path,
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
        ]
    }

    func set(_ offset: Duration) throws {
        let since = Timestamp.now
        try write(offset)
        state.withLock { $0.append(Setting(since: since, offset: offset)) }
    }

    /// Sets the clock, and waits until a coordinator has reported the jump.
    func set(_ offset: Duration, seenBy coordinator: ChildProcess) async throws {
        let before = Self.reports(of: coordinator)
        try set(offset)
        try await until("the report of a jump of the clock") { Self.reports(of: coordinator) > before }
    }

    /// How many jumps a coordinator has reported.
    static func reports(of coordinator: ChildProcess) -> Int {
        coordinator.errors.split(separator: "\n").count { $0.contains("The wall clock jumped by") }
    }

    /// By a rename, so that no process reads half of it.
    private func write(_ offset: Duration) throws {
        let seconds = offset.components.seconds
        try Data("\(seconds < 0 ? "" : "+")\(seconds)".utf8).write(to: URL(fileURLWithPath: "\(path).new"))
        guard rename("\(path).new", path) == 0 else { throw Missed("cannot set the clock: \(errno)") }
    }
}
