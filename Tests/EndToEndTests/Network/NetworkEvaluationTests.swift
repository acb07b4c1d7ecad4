import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// Short forms of the scenarios of `deploy/evaluate-network`, with bounds that also hold on a busy
    /// machine: real processes and real TCP on an emulated link.
    @Suite(
        .tags(.measuresTime),
        .enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"))
    struct NetworkEvaluationTests {
        struct Form: Sendable, CustomTestStringConvertible {
            var scenario: String
            var congestion = "cubic"
            var seconds: Int
            /// Mbit/s of the shared link; nil for the rate of the scenario. Two busy cores carried 50 to 70
            /// Mbit/s of a link of 100.
            var uplink: Int?
            /// The part of ``capacity`` that it uses, in Mbit/s; nil for its `uplink`.
            var load: Int?
            var figures: [(name: String, bounds: ClosedRange<Double>)]
            var testDescription: String { "\(scenario) with \(congestion)" }
            var cost: Int { load ?? uplink ?? 20 }
        }

        /// The Mbit/s that two cores carry for all concurrent forms. A form with this cost runs alone.
        static let capacity = 100

        /// All scenarios but two: ten minutes of high QoS and the cost of the coordinator have no meaningful
        /// short form.
        static let forms = [
            Form(
                scenario: "flap", seconds: 60, load: 50,
                // A limit that does not follow the rate would give several level changes for each change, or none.
                figures: [("goodput (%)", 70...102), ("level changes per real change", 0.6...2)]),
            Form(
                scenario: "blackout-refused", seconds: 58,
                figures: [("recovered to 80 % after (s)", 0...10), ("attempts charged", 0...0)]),
            Form(
                scenario: "blackout-silent", seconds: 58,
                figures: [("recovered to 80 % after (s)", 0...10), ("attempts charged", 0...0)]),
            // With equal shares a high upload would take 9 times the time alone.
            Form(scenario: "high-20", seconds: 25, figures: [("slowdown p50", 0.5...2), ("link used (%)", 60...102)]),
            Form(scenario: "high-2", seconds: 25, load: 5, figures: [("slowdown p50", 0.5...2)]),
            Form(scenario: "high-20-shared", seconds: 25, figures: [("slowdown p50", 0.5...2)]),
            Form(scenario: "high-2-shared", seconds: 25, load: 5, figures: [("slowdown p50", 0.5...2)]),
            Form(scenario: "high-2", congestion: "bbr", seconds: 25, load: 5, figures: [("slowdown p50", 0.5...2)]),
            Form(
                scenario: "dead-names", seconds: 45, load: 40,
                figures: [("of the time alone", 0...2), ("host offline (times)", 0...0)]),
            // Loss needs more transfers. A controller that takes loss for a queue has one or two.
            Form(scenario: "loss", seconds: 40, figures: [("limit kept (%)", 60...100)]),
            Form(
                scenario: "estimate", seconds: 36, load: 40,
                figures: [("largest error (%)", 0...25), ("slope (% per transfer)", -0.5...0.5)]),
            Form(
                scenario: "kill", seconds: 28, uplink: 25,
                figures: [("lost", 0...0), ("level known again after (s)", 0...5)]),
            Form(
                scenario: "pushback-503", seconds: 40, load: 50,
                figures: [("requests at once", 3...6), ("503 (%)", 0...10)]),
            Form(
                scenario: "drop-recover", seconds: 36, uplink: 25, load: 50,
                figures: [("level after (s)", 0...3), ("recovered to 80 % after (s)", 0...5)]),
            Form(
                scenario: "drop-recover", congestion: "bbr", seconds: 36, uplink: 25, load: 50,
                figures: [("level after (s)", 0...3), ("recovered to 80 % after (s)", 0...5)]),
            Form(scenario: "drop-low-only", seconds: 30, uplink: 25, load: 35, figures: [("link used (%)", 70...115)]),
            Form(
                scenario: "drop-classes", seconds: 20, load: 60,
                figures: [
                    ("level after (s)", 0...3), ("low obeys after (s)", 0...3), ("cancelled after (s)", 0...3),
                    ("explain names the level", 1...1),
                ]),
            Form(scenario: "steady-100", seconds: 15, uplink: 25, figures: [("goodput (%)", 80...102)]),
            Form(scenario: "reaction", seconds: 18, load: 40, figures: [("reaction p50 (ms)", 0...500)]),
            Form(scenario: "resume-tus", seconds: 10, figures: [("beyond the size (KiB)", 0...256)]),
            Form(scenario: "resume-content-range", seconds: 10, figures: [("beyond the size (KiB)", 0...256)]),
            Form(
                scenario: "isolation", seconds: 30, load: 60,
                figures: [("A's goodput against B absent (%)", 75...140)]),
            // The four transfers with which each starts would have 40 and 12 %.
            Form(scenario: "per-connection-cap", seconds: 25, load: 80, figures: [("goodput (%)", 55...102)]),
            Form(
                scenario: "reset-connects", seconds: 10, figures: [("failed executions per RST", 0.9...1.05)]),
            // It copies 4 GB.
            Form(scenario: "resume-file", seconds: 10, load: 100, figures: [("beyond the size (KiB)", 0...256)]),
            Form(scenario: "small-files", seconds: 30, load: 100, figures: [("goodput (%)", 30...102)]),
            // Files with few bytes or none. The climb to 64 transfers takes 10 to 13 s of each half.
            Form(
                scenario: "empty-files", seconds: 36, load: 100,
                figures: [("rate against files of 1 kB (%)", 70...150)]),
            Form(
                scenario: "max-rate-small-files", seconds: 36, load: 100,
                figures: [("rate with maxRate (%)", 70...150)]),
            Form(
                scenario: "small-after-large", seconds: 40, load: 100,
                figures: [("recovered to 90 % after (s)", 0...8)]),
        ]

        @Test func `a stopped evaluation continues, and a figure that was never reached misses its target`()
            async throws
        {
            let directory = try TemporaryDirectory("evaluation")
            defer { directory.remove() }
            func line(_ repetition: Int, _ figures: String, error: String = "null") -> String {
                "{\"scenario\":\"drop-recover\",\"arm\":\"ours\",\"congestion\":\"cubic\",\"repetition\":\(repetition),"
                    + "\"seconds\":60.0,\"facts\":{},\"figures\":{\(figures)},\"samples\":{},\"goodput\":{\"low\":[90.0,95.0,96.0]},"
                    + "\"marks\":[],\"levels\":[],\"notes\":[],\"error\":\(error)}"
            }
            let lines = [
                line(1, "\"goodput (%)\":95.0,\"recovered to 80 % after (s)\":2.0"), line(2, "\"goodput (%)\":96.0"),
                line(3, "\"goodput (%)\":97.0"), line(4, "", error: "\"the link broke\""),
                // The last line when the machine stopped.
                "{\"scenario\":\"drop-re",
            ]
            _ = try directory.file("results.jsonl", Array(lines.joined(separator: "\n").utf8))
            let arguments = [
                "--scenario", "drop-recover", "--arm", "ours", "--congestion", "cubic", "--repetitions", "3",
            ]
            let child = try ChildProcess(
                ["\(Installation.bin)/NetworkEvaluation"] + arguments + ["--output", directory.path],
                environment: ["TMPDIR": directory.path], directory: directory.path, log: "\(directory.path)/log")
            #expect(try await child.end(within: .seconds(30)) == .exited(0), "\(child.errors)")
            #expect(child.output.contains("3 runs, 3 done before"), "\(child.output)")
            let report = try String(contentsOfFile: "\(directory.path)/report.md", encoding: .utf8)
            let rows = report.split(separator: "\n").filter { $0.hasPrefix("| drop-recover, cubic |") }
            func row(_ figure: String) -> Substring { rows.first { $0.contains(figure) } ?? "" }
            #expect(row("goodput (%)").hasSuffix("| 96 (95–97) | yes |"), "\(report)")
            #expect(row("recovered to 80 %").hasSuffix("| 2, not reached in 2 of 3 | **no** |"), "\(report)")
            #expect(row("level after").hasSuffix("| not reached in 3 of 3 | **no** |"), "\(report)")
            #expect(report.contains("the link broke"), "\(report)")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: directory.path).contains { $0.hasSuffix(".svg") })
        }

        /// Each starts as soon as it fits beside those that run.
        @Test func `each short form keeps its bounds`() async {
            var waiting = Self.forms.filter { NetworkBed.congestionControls.contains($0.congestion) }
            var load = 0
            await withTaskGroup(of: Form.self) { group in
                repeat {
                    while let next = waiting.firstIndex(where: { load == 0 || load + $0.cost <= Self.capacity }) {
                        let form = waiting.remove(at: next)
                        load += form.cost
                        group.addTask {
                            let begin = ContinuousClock.now
                            do { try await Self.run(form) } catch { Issue.record(error, "\(form.testDescription)") }
                            print("\(form.testDescription): \(begin.duration(to: .now))")
                            return form
                        }
                    }
                    guard let ended = await group.next() else { return }
                    load -= ended.cost
                } while true
            }
        }

        private static func run(_ form: Form) async throws {
            let directory = try TemporaryDirectory("evaluation")
            defer { directory.remove() }
            let child = try ChildProcess(
                [
                    "\(Installation.bin)/NetworkEvaluation", "--scenario", form.scenario, "--arm", "ours",
                    "--congestion", form.congestion, "--repetitions", "1", "--seconds", "\(form.seconds)", "--exact",
                    "--output", directory.path,
                ] + (form.uplink.map { ["--uplink", "\($0)"] } ?? []), environment: ["TMPDIR": directory.path],
                directory: directory.path, log: "\(directory.path)/log")
            let ending: ChildProcess.Exit
            do {
                ending = try await child.end(within: .seconds(180))
            } catch {
                await child.finish()
                throw error
            }
            #expect(ending == .exited(0), "\(form.testDescription): \(child.output)\(child.errors)")
            let line = try String(contentsOfFile: "\(directory.path)/results.jsonl", encoding: .utf8)
            let record = try JSONValue(parsing: line.utf8)
            #expect(record["error"] == JSONValue.null, "\(form.testDescription): \(child.output)")
            for figure in form.figures {
                let name = "\(form.testDescription), \(figure.name)"
                guard let value = record["figures"]?[figure.name]?.double else {
                    Issue.record("\(name): \(child.output)")
                    continue
                }
                #expect(figure.bounds.contains(value), "\(name): \(value)\n\(line)")
            }
        }
    }
}
