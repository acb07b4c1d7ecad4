import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

/// Clients that submit, cancel and retry commands round by round, and write down what was acknowledged to them.
struct TortureRounds: Sendable {
    let ledger = TortureLedger()

    private func run(
        _ arguments: [String], _ lines: [String], of installation: Installation,
        _ kind: (Int) -> TortureLedger.Entry.Kind
    ) async throws {
        let finished = try await installation.run(
            program: "\(Installation.bin)/sluice", arguments, input: Array(lines.joined(separator: "\n").utf8))
        #expect(finished.code == 0, "\(finished.errors)")
        for (index, id) in finished.ids.enumerated() { ledger.acknowledged(id, kind(index)) }
    }

    /// Submits commands of each kind, and cancels and retries some.
    func submit(
        _ number: Int, of installation: Installation, to origin: String, _ random: inout SeededRandom
    ) async throws {
        let first = number * 100
        let quality = QualityOfService.allCases[random.number(in: 0..<5)].name
        let source = try installation.directory.file("source-\(number)", random.bytes(number * 97 % 5000))
        let sum = sha256(contents(of: source) ?? [])
        func lines(_ payload: (Int) -> String) -> [String] {
            (0..<12).map { #"{"payload":\#(payload(first + $0)),"qos":"\#(quality)"}"# }
        }
        try await run(
            ["submit", "upload", "--payload", "-"],
            lines { #"{"file":"\#(source)","to":"\#(origin)/put/\#($0)","method":"PUT"}"# }, of: installation
        ) { .put(path: "/put/\(first + $0)", sha256: sum) }
        try await run(
            ["submit", "request", "--payload", "-"],
            lines { #"{"url":"\#(origin)/post/\#($0)","method":"POST","body":"request \#($0)"}"# },
            of: installation
        ) { .post(path: "/post/\(first + $0)") }
        try await run(
            ["submit", "noop", "--payload", "-"],
            (0..<12).map { #"{"payload":{"milliseconds":\#($0 % 5)},"orderingKey":"key \#($0 % 3)"}"# },
            of: installation
        ) { _ in .noop }
        try await run(
            ["batch", "submit", "noop", "-", "--then-end", #"{"type":"noop"}"#],
            (0..<12).map { #"{"payload":{"milliseconds":\#($0)}}"# }, of: installation
        ) { _ in .batch(members: 12) }
        let nodes = (0..<12).map { node in
            let after = node == 0 ? "" : #""n\#(random.number(in: 0..<node))""#
            return #""n\#(node)":{"type":"noop","payload":{"milliseconds":1},"after":[\#(after)]}"#
        }
        try await run(
            ["flow", "submit", "-"], [#"{"nodes":{\#(nodes.joined(separator: ","))}}"#], of: installation
        ) { _ in .noop }
        for (action, note) in [("cancel", ledger.willCancel), ("retry", ledger.willRetry)] {
            let order = ledger.order
            let id = order[random.number(in: max(order.count - 40, 0)..<order.count)]
            note(id)
            // It may have ended, or not have been cancelled.
            _ = try await installation.sluice(action, "\(id)")
        }
    }
}
