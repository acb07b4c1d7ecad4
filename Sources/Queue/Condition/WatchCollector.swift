package import Commands
package import Console
internal import Host
internal import Synchronization

/// Collects the parts of events that live displays show: the screen of `sluice watch`, and the pages of the door. A hundred thousand
/// status events a second are common, so an event is parsed only where its status byte says error.
package final class WatchCollector: Sendable {
    private struct State {
        var ended = 0
        var bytes: Int64 = 0
        /// Cumulative bytes of each (destination, direction, worker) as last reported.
        var links: [String: Int64] = [:]
        var progress: [CommandID: CommandProgress] = [:]
        var board = LinkCollector()
        var problems: [WatchState.Problem] = []
        /// Problems parsed in this second; of more than ``maxParsed``, the rest is only counted.
        var parsed = 0
    }

    private let state = Mutex(State())
    private static let maxParsed = 200
    private static let marker = Array("\"status\":\"".utf8)

    package init() {}

    /// The newest first.
    package var problems: [WatchState.Problem] { state.withLock { $0.problems } }

    /// Nil for a command without an event.
    package func progress(of id: CommandID) -> CommandProgress? { state.withLock { $0.progress[id] } }

    /// - Parameter limit: of links shown.
    package func links(limit: Int, overrides: LinkOverrides) -> LinkOverview {
        state.withLock { state in
            var overview = overrides.overview(limit: limit) { state.board.visit($0) }
            state.board.complete(&overview)
            return overview
        }
    }

    /// Forgets the progress of commands that no longer run.
    package func keepProgress(of ids: Set<CommandID>) {
        state.withLock { state in state.progress = state.progress.filter { ids.contains($0.key) } }
    }

    /// Commands ended and bytes moved since the last call.
    package func second() -> (ended: Int, bytes: Int64) {
        state.withLock { state in
            defer {
                state.board.second()
                state.ended = 0
                state.bytes = 0
                state.parsed = 0
            }
            return (state.ended, state.bytes)
        }
    }

    /// Takes a frame of `events.sock`.
    package func take(_ frame: UnsafeRawBufferPointer) {
        switch frame.first {
        case UInt8(ascii: "s"): takeStatus(frame)
        case UInt8(ascii: "p"), UInt8(ascii: "b"), UInt8(ascii: "l"):
            guard let event = SluiceEvent(frame: Array(frame)) else { return }
            take(event)
        default: return
        }
    }

    private func take(_ event: SluiceEvent) {
        let body = event.body
        switch event.kind {
        case "progress":
            guard let id = event.id, let progress = CommandProgress(body: body) else { return }
            state.withLock { $0.progress[id] = progress }
        case "link":
            state.withLock { $0.board.take(kind: event.kind, destination: event.subject, body: body) }
        case "bandwidth":
            state.withLock { $0.board.take(kind: event.kind, destination: event.subject, body: body) }
            guard let bytes = body["bytes"]?.integer else { return }
            let key = "\(event.subject) \(body["direction"]?.string ?? "") \(body["worker"]?.integer ?? -1)"
            state.withLock { state in
                // A first total covers an unknown time. A smaller one comes from a new worker of the same seat.
                if let last = state.links[key] { state.bytes += bytes >= last ? bytes - last : bytes }
                state.links[key] = bytes
            }
        default: return
        }
    }

    private func takeStatus(_ frame: UnsafeRawBufferPointer) {
        guard let start = Self.statusStart(frame), start + 2 < frame.count else { return }
        // success, cancelled, tooManyTimes, inDoubt, error, and others that are not shown
        switch (frame[start], frame[start + 1]) {
        case (UInt8(ascii: "s"), UInt8(ascii: "u")): state.withLock { $0.ended += 1 }
        case (UInt8(ascii: "c"), _): state.withLock { $0.ended += 1 }
        case (UInt8(ascii: "t"), _), (UInt8(ascii: "i"), _):
            state.withLock { $0.ended += 1 }
            note(frame)
        case (UInt8(ascii: "e"), _): note(frame)
        default: return
        }
    }

    /// Where the value of `"status":"` begins.
    private static func statusStart(_ frame: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        while position + marker.count < frame.count {
            // Of the first bytes of the marker, the quote is the rarest.
            guard frame[position] == marker[0], marker.indices.allSatisfy({ frame[position + $0] == marker[$0] }) else {
                position += 1
                continue
            }
            return position + marker.count
        }
        return nil
    }

    private func note(_ frame: UnsafeRawBufferPointer) {
        let isSampled = state.withLock { state in
            state.parsed += 1
            return state.parsed <= Self.maxParsed
        }
        guard isSampled, let event = SluiceEvent(frame: Array(frame)), !event.isSnapshot else { return }
        let problem = WatchState.Problem(
            at: event.body["at"]?.string ?? "", id: String(event.subject), status: event.body["status"]?.string ?? "",
            reason: event.body["reason"]?.string ?? "")
        state.withLock { $0.problems.add(problem) }
    }
}

extension QueueAccess {
    /// A worker reports four times a second.
    private static let progressTimeout: Duration = .milliseconds(800)

    /// How far a running command is, from the next event about it.
    /// - Returns: nil where nothing of it moves, and without a coordinator.
    package func progress(of id: CommandID) async -> CommandProgress? {
        guard coordinator != nil else { return nil }
        let (events, continuation) = AsyncStream.makeStream(of: CommandProgress.self)
        let feed = try? EventFeed(endpoints, prefixes: ["progress/\(id)"]) { frame in
            guard let event = SluiceEvent(frame: Array(frame)), let progress = CommandProgress(body: event.body) else {
                return
            }
            continuation.yield(progress)
        }
        guard let feed else { return nil }
        defer { feed.close() }
        return await withTaskGroup(of: CommandProgress?.self) { group in
            group.addTask { await events.first { _ in true } }
            group.addTask {
                try? await Task.sleep(for: Self.progressTimeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
