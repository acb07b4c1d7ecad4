import CLinux
import Commands
import Foundation
import Host
import TestSupport

@testable import Exec
@testable import Transfers

let dash = "/usr/bin/dash"
let perl = "/usr/bin/perl"
let isRoot = geteuid() == 0

/// The events of a run, added up.
struct Run {
    var isWaiting = false
    var pid: Int32?
    var output = OutputTail(limit: 1 << 20)
    var error = OutputTail(limit: 1 << 20)
    var reports: [ProgramReport] = []
    var end = ProgramEnd(outcome: .guardianLost)

    var text: String { String(decoding: output.bytes, as: UTF8.self) }
    var errorText: String { String(decoding: error.bytes, as: UTF8.self) }
}

/// A directory and a lock for runs of programs.
struct Harness {
    let directory: TemporaryDirectory
    var lock: String { "\(directory.path)/lock" }

    init() throws { directory = try TemporaryDirectory("exec") }

    /// A program with the rules of the test: a grace of a second, a minimal environment.
    func program(_ path: String, _ arguments: [String] = []) throws -> GuardedProgram {
        let file = try CheckedProgram(path)
        return GuardedProgram(
            path: path, device: file.device, inode: file.inode, arguments: [path] + arguments,
            environment: ["PATH=/usr/bin:/bin"], directory: try OpenFile(directory.path, O_RDONLY), lockPath: lock,
            grace: .seconds(1))
    }

    /// A script of the shell; `$0` is `sh`.
    func script(_ text: String, _ arguments: [String] = []) throws -> GuardedProgram {
        try program(dash, ["-c", text, "sh"] + arguments)
    }

    /// An executable file.
    func executable(_ name: String, _ text: String, mode: mode_t = 0o755) throws -> String {
        let path = try directory.file(name, Array(text.utf8))
        chmod(path, mode)
        return path
    }

    /// Runs a program to its end.
    /// - Parameter onEvent: called with each event before it is added up.
    func run(
        _ program: GuardedProgram, _ onEvent: (GuardedProcess, ProgramEvent) async throws -> Void = { _, _ in }
    ) async throws -> Run {
        let process = GuardedProcess(program)
        var run = Run()
        while let event = await process.next() {
            try await onEvent(process, event)
            switch event {
            case .waitingForLock: run.isWaiting = true
            case .started(let pid): run.pid = pid
            case .output(.output, let bytes): run.output.append(bytes)
            case .output(.error, let bytes): run.error.append(bytes)
            case .report(let report): run.reports.append(report)
            case .ended(let end): run.end = end
            }
        }
        return run
    }

    func run(_ text: String, _ arguments: [String] = []) async throws -> Run {
        try await run(try script(text, arguments))
    }
}

func withHarness<Result>(_ body: (Harness) async throws -> Result) async throws -> Result {
    let harness = try Harness()
    defer { harness.directory.remove() }
    return try await body(harness)
}

/// Whether the process exists and is not a zombie.
func isAlive(_ pid: Int32) -> Bool {
    guard let text = TextFile.read("/proc/\(pid)/stat"), let end = text.lastIndex(of: ")") else { return false }
    return text[end...].dropFirst(2).first != "Z"
}

/// The processes whose environment has a text.
func processes(with text: String) -> [Int32] {
    let needle = Array(text.utf8)
    return (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) }.filter { pid in
        guard let bytes = contents(of: "/proc/\(pid)/environ"), !bytes.isEmpty else { return false }
        return bytes.split(separator: 0).contains { $0.elementsEqual(needle) }
    } ?? []
}

/// The children of a process, of all its threads.
func children(of pid: Int32) -> [Int32] {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    return tasks.flatMap { task in
        (TextFile.read("/proc/\(pid)/task/\(task)/children") ?? "").split(separator: " ").compactMap { Int32($0) }
    }
}

/// The guardians of a process.
func guardians(of pid: Int32) -> [Int32] {
    children(of: pid).flatMap(children(of:)).filter { TextFile.read("/proc/\($0)/comm") == "sluice-guard\n" }
}

/// A number of kilobytes of /proc/PID/smaps_rollup or status.
func kilobytes(_ name: String, of pid: Int32, in file: String) -> Int? {
    TextFile.read("/proc/\(pid)/\(file)")?.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        .flatMap { $0.split(whereSeparator: \.isWhitespace).dropFirst().first }.flatMap { Int($0) }
}

/// The stand-in for a worker, built beside the tests.
var testWorker: String {
    Bundle.main.bundlePath + "/ExecTestWorker"
}
