import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// Short forms of what `deploy/evaluate-network` measures, with bounds that a busy machine keeps too: Sluice's processes
    /// and real TCP on an emulated link.
    @Suite(.enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"))
    struct NetworkEvaluationTests {
        struct Form: Sendable, CustomTestStringConvertible {
            var scenario: String
            var seconds: Int
            var figures: [(name: String, bounds: ClosedRange<Double>)]
            var testDescription: String { scenario }
        }

        static let forms = [
            // Sharing costs 9 times the time alone.
            Form(scenario: "high-20", seconds: 25, figures: [("slowdown p50", 0.5...2), ("link used (%)", 60...102)]),
            Form(scenario: "high-2", seconds: 25, figures: [("slowdown p50", 0.5...2)]),
            Form(scenario: "reaction", seconds: 18, figures: [("reaction p50 (ms)", 0...500)]),
            Form(scenario: "resume-tus", seconds: 10, figures: [("beyond the size (KiB)", 0...256)]),
            Form(scenario: "resume-content-range", seconds: 10, figures: [("beyond the size (KiB)", 0...256)]),
            Form(
                scenario: "drop-recover", seconds: 36,
                figures: [("level after (s)", 0...3), ("recovered to 80 % after (s)", 0...10)]),
        ]

        @Test(arguments: forms) func `keeps its bounds`(_ form: Form) async throws {
            let place = try TemporaryDirectory("evaluation")
            defer { place.remove() }
            let child = try ChildProcess(
                [
                    "\(Installation.bin)/NetworkEvaluation", "--scenario", form.scenario, "--arm", "ours",
                    "--congestion", "cubic", "--repetitions", "1", "--seconds", "\(form.seconds)", "--exact",
                    "--output",
                    place.path,
                ], environment: ["TMPDIR": place.path], directory: place.path, log: "\(place.path)/log")
            let ending = try await child.end(within: .seconds(180))
            #expect(ending == .exited(0), "\(child.output)\(child.errors)")
            let line = try String(contentsOfFile: "\(place.path)/results.jsonl", encoding: .utf8)
            let record = try JSONValue(parsing: line.utf8)
            #expect(record["error"] == JSONValue.null, "\(child.output)")
            for figure in form.figures {
                let value = try #require(record["figures"]?[figure.name]?.double, "\(figure.name): \(child.output)")
                #expect(figure.bounds.contains(value), "\(figure.name): \(value)")
            }
        }
    }
}
