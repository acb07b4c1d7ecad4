import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The progress of flows, as monitors and people see it.
    struct FlowEventTests {
        private static let document = """
            name: steps
            nodes:
              a: {type: noop, payload: {milliseconds: 300}}
              b: {type: noop, payload: {milliseconds: 300}, after: a}
              c: {type: noop, payload: {milliseconds: 300}, after: b}
            """

        private func bodies(_ child: ChildProcess, _ topic: String) -> [JSONValue] {
            child.output.split(separator: "\n").compactMap { try? JSONValue(parsing: Array($0.utf8)) }
                .filter { $0["topic"]?.string == topic }
        }

        @Test func `a monitor sees the nodes of a flow end, and one that names it sees its end later`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let watch = try installation.start("watch", "--topic", "flow/", "--topic", "counts")
                try await until("the subscription") { watch.output.contains("counts") }
                let flow = try await installation.sluice("flow", "submit", "-", input: Self.document)
                let id = try #require(flow.ids.first, "\(flow.errors)")
                let topic = "flow/\(id)"
                try await until("the end of the flow") {
                    bodies(watch, topic).last?["status"]?.string == "success"
                }
                let events = bodies(watch, topic)
                let ended = events.compactMap { $0["ended"]?.integer }
                #expect(ended == ended.sorted() && ended.last == 3 && ended.count >= 3, "\(ended)")
                #expect(events.allSatisfy { $0["nodes"]?.integer == 3 && $0["failed"]?.integer == 0 })
                let times = events.compactMap { $0["at"]?.string.flatMap { Timestamp(rfc3339: $0) } }
                for (first, second) in zip(times, times.dropFirst()) {
                    #expect(second - first >= .milliseconds(245), "at most four a second")
                }
                let named = try installation.start("watch", "--topic", topic)
                try await until("the answer") { !bodies(named, topic).isEmpty }
                let answer = try #require(bodies(named, topic).first)
                #expect(answer["snapshot"] == true && answer["ended"]?.integer == 3)
            }
        }

        @Test func `status and watch show flows, keys and schedules where there are any`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let empty = try await installation.sluice("status")
                #expect(!empty.output.contains("flows") && !empty.output.contains("schedules"))
                for member in ["flows", "orderingKeys", "schedules"] {
                    #expect(try await installation.sluice("status", "--json").json()[member] == .null)
                }
                _ = try await installation.sluice("flow", "submit", "-", input: Self.document)
                for _ in 0..<3 { _ = try await installation.sluice("submit", "noop", "--ordering-key", "k") }
                _ = try await installation.sluice("schedule", "put", "yearly", "@yearly", "noop")
                let status = try await installation.sluice("status")
                #expect(status.output.contains("flows        1 open\n  steps …"), "\(status.output)")
                #expect(status.output.contains("keys         2 commands wait for 1; “k” has 2"))
                #expect(status.output.contains("schedules    “yearly” in "))
                let json = try await installation.sluice("status", "--json").json()
                #expect(json["flows"]?["newest"]?.elements?.first?["nodes"]?.integer == 3)
                #expect(json["orderingKeys"]?["waiting"]?.integer == 2)
                #expect(json["schedules"]?["next"]?["schedule"]?.string == "yearly")
                let lines = try installation.start("watch", "--json")
                try await until("the overview") { !bodies(lines, "overview").isEmpty }
                #expect(bodies(lines, "overview").first?["flows"]?["count"]?.integer == 1)
                let terminal = try Pseudoterminal(columns: 50, rows: 20)
                let watch = try installation.start("watch", terminal: terminal)
                try await until("the screen") {
                    let screen = terminal.screen
                    return screen.contains { $0.hasPrefix("flows") } && screen.contains { $0.hasPrefix("keys") }
                        && screen.contains { $0.hasPrefix("schedules") } && screen.allSatisfy { $0.count <= 50 }
                }
                terminal.type("q")
                #expect(try await watch.end(within: .seconds(20)) == .exited(0))
            }
        }
    }
}
