import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Schedules of a coordinator whose wall clock is set.
    struct ScheduleClockTests {
        @Test(
            .enabled(
                if: isAvailable(FileManager.default.fileExists(atPath: DurabilityTests.faketime)),
                "libfaketime is not installed"))
        func `a clock that is set forward and back fires every time once`() async throws {
            try await Installation.with { installation in
                let put = try await installation.sluice(
                    "schedule", "put", "beat", "* * * * * *", "noop", "--overlap", "allow", "--missed", "all:50")
                #expect(put.code == 0, "\(put.errors)")
                let store = try installation.store()
                func state() throws -> ScheduleState { try #require(try store.schedule("beat")).state }
                func set(_ offset: String) throws {
                    _ = try installation.directory.file("clock", Array(offset.utf8))
                }
                try set("+0")
                let coordinator = try await installation.coordinator(environment: [
                    "LD_PRELOAD": DurabilityTests.faketime,
                    "FAKETIME_TIMESTAMP_FILE": "\(installation.directory.path)/clock", "FAKETIME_NO_CACHE": "1",
                    "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
                ])
                try await until("the first times") { try state().fired >= 2 }
                // The newest 50 of the times that were passed by, and all of the last minute, fire.
                try set("+600")
                try await until("the times of the step") { try state().fired > 100 }
                try set("+0")
                try await until("the step back") { coordinator.errors.contains("The wall clock jumped by -") }
                let before = try state()
                try set("+1200")
                try await until("the times of the next step") { try state().fired > before.fired + 100 }
                coordinator.signal(SIGTERM)
                #expect(try await coordinator.end(within: .seconds(30)) == .exited(0))

                let after = try state()
                let times = try await installation.sluice("list", "--limit", "0", "--json").lines.map { line in
                    let key = try JSONValue(parsing: Array(line.utf8))["uniqueKey"]?.string ?? ""
                    return try #require(Timestamp(rfc3339: String(key.drop { $0 != "@" }.dropFirst()))).milliseconds
                        / 1000
                }
                #expect(Set(times).count == times.count && Int64(times.count) == after.fired)
                let first = try #require(times.min())
                #expect(after.since.milliseconds / 1000 - first + 1 == after.fired + after.skipped)
            }
        }
    }
}
