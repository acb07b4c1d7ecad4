import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// The words of `status`, `doctor` and `explain` about a queue that stands still.
    struct ConditionTests {
        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a stopped coordinator and a stopped worker are named with their time`() async throws {
            try await Installation.with { installation in
                let coordinator = try await installation.coordinator()
                let worker = try await installation.worker()
                coordinator.signal(SIGSTOP)
                worker.signal(SIGSTOP)
                let id = try await installation.sluice("submit", "noop").ids[0]
                try await until("the stop to be seen") {
                    try await installation.sluice("status").output.contains("coordinator  stopped since 20")
                }
                try await until("the stop of the worker to be seen") {
                    try await installation.sluice("status").output.contains("worker 0: stopped since 20")
                }
                let explained = try await installation.sluice("explain", "\(id)")
                #expect(
                    explained.output.contains("the coordinator makes no progress: stopped since"), "\(explained.output)"
                )
                #expect(explained.output.contains("kill -CONT \(coordinator.pid)"), "\(explained.output)")
                let queue = try await installation.sluice("explain")
                #expect(queue.output.contains("1 command waits"), "\(queue.output)")
                #expect(queue.output.contains("kill -CONT \(worker.pid)"), "\(queue.output)")
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.code == 1 && doctor.output.contains("kill -CONT \(coordinator.pid)"), "\(doctor.output)")
                for process in [coordinator, worker] { process.signal(SIGCONT) }
                try await installation.await(id, .success, in: installation.store())
            }
        }

        /// The door is the third process that holds a lock; `up` kills none that is stopped by a person.
        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a stopped door is named with its time`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let door = try installation.start("door", "--listen", "127.0.0.1:0")
                try await until("the door") {
                    try await installation.sluice("status").output.contains("door         running")
                }
                door.signal(SIGSTOP)
                try await until("the stop to be seen") {
                    try await installation.sluice("status").output.contains("door         stopped since 20")
                }
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.code == 1 && doctor.output.contains("kill -CONT \(door.pid)"), "\(doctor.output)")
                door.signal(SIGCONT)
                try await until("the door to go on") {
                    try await installation.sluice("status").output.contains("door         running")
                }
            }
        }

        @Test func `a pause, and a queue without processes, are named with their counts`() async throws {
            try await Installation.with { installation in
                let lines = [String](repeating: #"{"payload":{}}"#, count: 3).joined(separator: "\n")
                _ = try await installation.sluice("submit", "noop", "--payload", "-", input: lines)
                for arguments in [["status"], ["doctor"], ["explain"]] {
                    let shown = try await installation.run(program: "\(Installation.bin)/sluice", arguments)
                    #expect(shown.code == 0, "\(shown.output)\(shown.errors)")
                    #expect(shown.output.contains("3 commands wait, the oldest for "), "\(shown.output)")
                    #expect(shown.output.contains("no coordinator runs"), "\(shown.output)")
                }
                _ = try await installation.sluice("pause")
                #expect(try await installation.sluice("explain").output.contains("paused by a person: everything"))
                let waiting = try await installation.status()?["waiting"]?.elements
                #expect(waiting?.first?["cause"]?.string == "person" && waiting?.first?["count"]?.integer == 3)
            }
        }

        /// A disk of 24 MB is below the floor of the store, before it is full.
        @Test(.enabled(if: SmallFileSystem.mayExist, "only root can mount"))
        func `a disk without room is a line of status, and doctor exits with 1`() async throws {
            try await Installation.with(data: "small/data", inProcess: false) { installation in
                guard
                    let disk = try await SmallFileSystem(
                        "24m", at: "\(installation.directory.path)/small", log: installation.directory)
                else { return }
                defer { disk.remove() }
                let id = try await installation.sluice("submit", "noop").ids[0]
                let status = try await installation.sluice("status")
                #expect(status.output.contains("the store stops when it is full; make room"), "\(status.output)")
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.code == 1 && doctor.output.contains("make room"), "\(doctor.output)")
                // Half a megabyte is left.
                let free = try FileManager.default.attributesOfFileSystem(forPath: disk.path)[.systemFreeSize]
                _ = try installation.directory.solidFile("small/other", (free as? Int ?? 0) - (512 << 10))
                let explained = try await installation.sluice("explain", "\(id)")
                #expect(explained.output.contains("no progress can be stored"), "\(explained.output)")
            }
        }

        @Test func `resume lifts its own pause, names the others, and with --all every one`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let colleague = ["--destination", "http://a.example:80"]
                for options in [[], colleague, ["--qos", "background"]] {
                    let paused = try await installation.run(
                        program: "\(Installation.bin)/sluice", ["pause"] + options)
                    #expect(paused.code == 0, "\(paused.errors)")
                }
                let resumed = try await installation.sluice("resume")
                #expect(resumed.lines == ["everything: goes on"])
                #expect(resumed.errors.contains("sluice resume --destination http://a.example:80"), "\(resumed.errors)")
                #expect(try await installation.status()?["paused"]?.elements?.count == 2)
                let again = try await installation.sluice("resume")
                #expect(again.lines == ["everything: was not paused"] && again.errors.contains("still paused"))
                #expect(try await installation.sluice("resume", "--all").lines.count == 2)
                #expect(try await installation.status()?["paused"]?.elements?.isEmpty == true)
                #expect(try await installation.sluice("resume", "--all", "--qos", "utility").code == 64)
            }
        }
    }
}
