import Commands
import Host
import Sluice
import TestSupport

/// Destinations of which one half answers and the other refuses connections.
struct LoopbackDestinations {
    let stage: Stage
    let count: Int
    let server: BedDestination
    private let file: String

    private static let port = 8080
    private static let deadPort = 8081

    init(_ stage: Stage, count: Int) async throws {
        self.stage = stage
        self.count = count
        server = try await BedDestination(loopbackOf: stage.bed, port: Self.port, in: stage.directory.path)
        try await server.run("* * : read; answer 201")
        file = try stage.directory.file("small", [UInt8](repeating: 0x61, count: 1000))
    }

    // MARK: Commands

    /// - Parameter origins: the origins of the commands, in order.
    private func submit(
        _ origins: [String], kind: String, qos: Commands.QualityOfService = .default
    ) async throws -> [CommandID] {
        var options = SubmitOptions()
        options.qos = qos
        let drafts = try origins.enumerated().map { number, origin in
            try stage.client.draft(
                "upload",
                payload: [
                    "file": .string(file), "to": .string("\(origin)/\(kind)/\(number)"), "protocol": "put",
                ], options: options)
        }
        var ids: [CommandID] = []
        // The batch size of `sluice submit`.
        for start in stride(from: 0, to: drafts.count, by: 4096) {
            let batch = Array(drafts[start..<min(start + 4096, drafts.count)])
            ids += try await stage.client.submit(bulk: batch).map { try $0.get() }
        }
        return ids
    }

    func submitToDead(_ each: Int) async throws -> [CommandID] {
        let origins = (0..<count / 2).map { BedDestination.origin(loopback: $0, net: 2, port: Self.deadPort) }
        return try await submit((0..<each).flatMap { _ in origins }, kind: "dead")
    }

    func submitToLiving(_ each: Int, kind: String) async throws -> [CommandID] {
        let origins = (0..<count / 2).map { server.origin(loopback: $0) }
        return try await submit((0..<each).flatMap { _ in origins }, kind: kind)
    }

    func succeeded(_ kind: String) async throws -> Int { try await server.count(below: "/\(kind)/").succeeded }

    /// The seconds from the submit of `number` commands to a living destination until all are answered.
    /// - Returns: nil after the timeout.
    func seconds(of number: Int, kind: String, within limit: Double) async throws -> Double? {
        let begin = MonotonicTime.now
        _ = try await submit([String](repeating: server.origin, count: number), kind: kind)
        guard try await stage.holds(within: limit, { try await succeeded(kind) >= number }) else {
            stage.record.set("\(kind): commands done of \(number)", Double(try await succeeded(kind)))
            return nil
        }
        return try await server.count(below: "/\(kind)/").lastEnd.map { ($0 - begin).seconds }
    }

    // MARK: A pause

    /// Measures the time until no command of a paused QoS starts any more, with a deep backlog for 1,000
    /// destinations.
    func measurePause() async throws {
        let deep = 1000
        try await server.run("* * : read; wait 20ms; answer 201")
        let origins = (0..<deep).map { BedDestination.origin(loopback: $0, net: 3, port: Self.port) }
        _ = try await submit((0..<100).flatMap { _ in origins }, kind: "deep", qos: .utility)
        // The pause is measurable only while commands start until it holds.
        let flows = try await stage.holds(within: 20) {
            let count = try await server.count(below: "/deep/")
            return count.succeeded >= deep && count.lastBegin.map { .now - $0 < .milliseconds(100) } == true
        }
        guard flows else {
            let count = try await server.count(below: "/deep/")
            stage.record.notes.append("the deep backlog did not flow: \(count.succeeded) of its commands were done")
            return
        }
        stage.mark("pause")
        let said = MonotonicTime.now
        _ = try await stage.sluice("pause", "--qos", "utility")
        let committed = MonotonicTime.now
        stage.record.set("pause returns after (ms)", (committed - said).seconds * 1000)
        // The pause holds when no command has started for a second.
        var last = try await server.count(below: "/deep/")
        let holds = try await stage.holds(within: 20) {
            let now = try await server.count(below: "/deep/")
            if now.begun != last.begun { last = now }
            return last.lastBegin.map { .now - $0 > .seconds(1) } ?? true
        }
        guard holds, let end = last.lastBegin else { return }
        stage.record.set("pause holds after (ms)", max(0, (end - committed).seconds) * 1000)
    }
}
