import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The time of what one change does to many commands, beside that of as many in another shape. The chain of commands and
    /// the star have the same rows; other shapes are cancelled by the same pages: flows, batches, and ordering keys.
    @Suite(.tags(.measuresTime)) struct CascadeTimeTests {
        /// The time in which the cancellation of the first node has cancelled all others.
        private static func time(_ count: Int, isChain: Bool, _ store: any CommandStore) throws -> Duration {
            let noop = CommandDraft(
                type: "noop", payload: Array("{}".utf8), destination: .none, qos: .default, idempotent: true)
            let nodes = (0...count).map { number in
                let parent = number == 0 ? [:] : ["n\(isChain ? number - 1 : 0)": DependencyCondition.success]
                return FlowNode("n\(number)", noop, after: parent)
            }
            var flow = FlowDraft("f", nodes: nodes)
            flow.stopsOnFailure = false
            let id = try store.submit(FlowPlan(flow), allowUnknownTypes: false).submission.id
            let first = try #require(store.flowNodes(id, after: 0, limit: 1).first)
            let before = try store.counts()[.cancelled]
            let start = MonotonicTime.now
            _ = try store.cancel(first.command.id, reason: "no")
            let shard = id.shard(of: store.shardCount)
            while try store.settle(shard: shard, limit: 1000).hasMore {}
            let time = MonotonicTime.now - start
            // The flow ends too, and not as cancelled.
            #expect(try store.counts()[.cancelled] == before + count + 1)
            return time
        }

        @Test func `cancelling a chain takes a bounded time for each command, as a star does`() async throws {
            try await Installation.with { installation in
                _ = try await installation.sluice("submit", "noop")
                let store = try installation.store()
                func best(_ count: Int, isChain: Bool) throws -> Duration {
                    try (0..<3).map { _ in try Self.time(count, isChain: isChain, store) }.min() ?? .zero
                }
                let (star, chain) = (try best(6000, isChain: false), try best(6000, isChain: true))
                let half = try best(3000, isChain: true)
                print("6,000 cancelled: star \(star), chain \(chain), half of the chain \(half)")
                #expect(chain < star * 4, "chain \(chain), star \(star)")
                #expect(chain < half * 4, "chain \(chain), half of it \(half)")
            }
        }
    }

    /// Commands that wait for others, on the command line.
    struct DependencyTests {
        @Test func `a command runs after those that it waits for, and explain says what it waits for`() async throws {
            try await Installation.with { installation in
                let first = try #require(
                    try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":50}"#).ids.first)
                let second = try #require(
                    try await installation.sluice("submit", "noop", "--after", "\(first)").ids.first)
                let bulk = try await installation.sluice(
                    "submit", "noop", "-",
                    input: #"{"payload":{},"after":["\#(second):end","\#(first)"]}"# + "\n"
                        + #"{"payload":{},"after":"\#(second):failure"}"#)
                #expect(bulk.ids.count == 2, "\(bulk.errors)")
                let explained = try await installation.sluice("explain", "\(second)")
                #expect(
                    explained.output.hasPrefix("dependencies: it waits for “\(first)” (new)"), "\(explained.output)")
                let shown = try await installation.sluice("status", "\(bulk.ids[0])", "--json")
                #expect(try shown.json()["status"]?.string == "blocked")
                #expect(try shown.json()["waitsFor"]?.elements?.count == 2)
                let up = try await installation.up()
                let last = try await installation.sluice("submit", "noop", "--after", "\(bulk.ids[0])", "--wait")
                #expect(last.code == 0, "\(last.errors)")
                let store = try installation.store()
                let ends = try ([first, second] + bulk.ids + last.ids).map { try store.command($0)?.status }
                #expect(ends == [.success, .success, .success, .cancelled, .success])
                let begun = try [first, second, bulk.ids[0]].map { id in
                    try #require(try store.timeline(id).first { $0.status == .sent }).seq
                }
                #expect(begun == begun.sorted())
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
            }
        }

        @Test func `an urgent command does not wait behind a paused quality of service`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                #expect(try await installation.sluice("pause", "--qos", "background").code == 0)
                var ids: [CommandID] = []
                let program = "\(Installation.bin)/sluice"
                for extra in [[], [], ["--ordering-key", "k"]] {
                    ids += try await installation.run(
                        program: program, ["submit", "noop", "--qos", "background"] + extra
                    ).ids
                }
                let held = try await installation.sluice(
                    "submit", "noop", "--qos", "background", "--after", "\(ids[0])")
                let explained = try await installation.sluice("explain", "\(try #require(held.ids.first))")
                #expect(explained.output.contains("pause: “\(ids[0])” waits: "), "\(explained.output)")
                let after = ["--after", "\(ids[0])"]
                for extra in [after, ["--ordering-key", "k"]] {
                    let urgent = try await installation.run(
                        program: program, ["submit", "noop", "--qos", "userInitiated", "--wait"] + extra)
                    #expect(urgent.code == 0, "\(urgent.errors)")
                }
                let store = try installation.store()
                #expect(try store.command(ids[1])?.status == .new, "no command waits for it")
                #expect(try store.command(ids[0])?.status == .success && store.command(ids[2])?.status == .success)
            }
        }

        @Test func `a command that could never run is refused`() async throws {
            try await Installation.with { installation in
                let first = try #require(try await installation.sluice("submit", "noop").ids.first)
                _ = try await installation.sluice("cancel", "\(first)")
                let refused = try await installation.sluice("submit", "noop", "--after", "\(first)")
                #expect(refused.code == 65 && refused.errors.contains("would never run"), "\(refused.errors)")
                let unknown = try await installation.sluice(
                    "submit", "noop", "--after", "01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f")
                #expect(unknown.code == 66 && unknown.errors.contains("no command"), "\(unknown.errors)")
                for argument in ["x", "\(first):later", "\(first):"] {
                    let malformed = try await installation.sluice("submit", "noop", "--after", argument)
                    #expect(malformed.code == 64, "\(argument): \(malformed.errors)")
                }
                let flow = try await installation.sluice("submit", "flow", "--allow-unknown")
                #expect(flow.code == 65 && flow.errors.contains("sluice flow submit"), "\(flow.errors)")
                #expect(try await installation.sluice("submit", "noop", "--after", "\(first):end").code == 0)
            }
        }
    }
}
